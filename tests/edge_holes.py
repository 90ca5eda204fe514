"""Holes at the edges of the promise, made again on purpose: each passes for private and is not.

Audits and tests run on these to see that they would notice. Each is one function or class, named after what is broken;
`docs/promise.md` says what stands in its place. Those around rules are in `wayveil.lab.audits.door_variants`.
"""

from dataclasses import replace

import numpy as np
import polars as pl

from wayveil.privacy.units import Rider
from wayveil.taps.taps import Taps
from wayveil.trips.history import AS_READ
from wayveil.trips.times import Form, read_times
from wayveil.trips.trips import Trips


class NobodyIsARider(Rider):
    """All trips without an id belong to one rider called nobody, of whom a few are counted."""

    def check(self, trips):
        pass

    def groups(self, trips):
        return np.where(trips.rider < 0, trips.rider.max(initial=0) + 1, trips.rider)


class NobodyIsUnbounded(Rider):
    """Trips without an id are each a unit of their own, and the sentence says that riders are protected."""

    def check(self, trips):
        pass

    @property
    def neighbours(self):
        return Rider().neighbours


def deduplicating_reader(read):
    """A reader that takes equal trips of different people for copies and trusts none of them."""

    def reading(source, world, **options):
        trips = read(source, world, **options)
        made = [tuple(places) for places in trips.to_lists()]
        return trips.take(np.array([made.count(places) == 1 for places in made], bool))

    return reading


def majority_of_time_forms(table: pl.DataFrame, taps: Taps) -> Taps:
    """Taps whose time is written as most of the file writes it; the version before."""
    form = read_times(table["event_time"]).form
    readable = form > Form.UNREADABLE
    return taps.take(readable & (form == np.bincount(form[readable], minlength=len(Form)).argmax()))


def first_day_of_the_file(trips: Trips) -> Trips:
    """Times counted from the first day that anybody travelled on."""
    assert trips.time is not None
    first = trips.time.min() // 86_400 * 86_400
    return replace(trips, time=trips.time - first)


def active_stops_only(trips: Trips) -> Trips:
    """Trips without the stops that fewer than two trips visit."""
    seen = np.bincount(trips.location, minlength=trips.world.size)
    return trips.keep_visits(seen[trips.location] >= 2)


def washed(data):
    """Marks are taken off, as by a file format that has no room for them."""
    return replace(data, history=AS_READ)
