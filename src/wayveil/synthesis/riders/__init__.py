"""Riders from anonymous taps, by roles: a look at all taps at once, sound where the taps are simulated or private.

One way of releasing taps (`study`, in `wayveil.releases.tap_orders`) hands it raw ones, and says that it protects
nobody.
"""
