"""Noise and budget: the only room that draws the randomness that protects people."""
