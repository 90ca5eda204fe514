"""A small city of taps, counted in a ledger of its own: for tests of what is booked."""

import numpy as np

from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.units import Event
from wayveil.run import make_release
from wayveil.trips.history import AS_READ
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips
from wayveil.world.timebins import HOUR
from wayveil.world.world import World

KEEP = LegalityRule(repeats="keep", impossible="keep")
CITY = World([f"s{at:02}" for at in range(30)])
TAPS = "taps"


def taps_of(week=0, many=15_000):
    """Taps of one week, at the same busy stops every week."""
    rng = np.random.default_rng(week)
    stop = (CITY.size * rng.random(many) ** 3).astype(np.int32)
    time = rng.integers(6, 22, many) * HOUR + 7 * 86_400 * week
    return Trips(stop, np.arange(many + 1), CITY, time, history=AS_READ)


def counted(trips, epsilon, ledger=None, **options):
    """Release taps by stop and hour."""
    options = {"unit": Event(), "rule": KEEP, "dataset": TAPS, "actor": "ana", "seed": 1, **options}
    return make_release(trips, TapCounts(), epsilon=epsilon, ledger=ledger, **options)
