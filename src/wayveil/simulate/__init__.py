"""Trips where none may be had: an invented city, and riders on any network."""
