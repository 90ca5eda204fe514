"""Riders from anonymous taps, by roles: a look at all taps at once, sound where the taps are simulated or private."""
