"""Trips in three steps: where and when from and to, which hop next, and a walk that arrives."""
