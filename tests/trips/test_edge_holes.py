"""Steps that look at other rows, made on purpose: one unit more moves more than one, and here it can be seen."""

from collections import Counter

import numpy as np
import polars as pl

from edge_holes import active_stops_only, deduplicating_reader, first_day_of_the_file, majority_of_time_forms
from wayveil.taps.read import read_taps
from wayveil.trips.read import read_trips
from wayveil.world.timebins import DAY
from wayveil.world.world import World

ABC = World.of_symbols(["a", "b", "c"])


def rows(*trips, days=None):
    visits = [(n, stop, DAY * (days[n] if days else 1)) for n, places in enumerate(trips) for stop in places]
    return pl.DataFrame(visits, schema=["trip_id", "stop_id", "event_time"], orient="row")


def trips_moved(reader, within, without):
    """How many trips come or go."""
    one, other = (
        Counter(
            zip(
                map(tuple, read.to_lists()),
                np.add.reduceat(read.time, read.offsets[:-1]).tolist(),
                strict=True,
            )
        )
        for read in (reader(within), reader(without))
    )
    return ((one - other) + (other - one)).total()


def honest(source):
    return read_trips(source, ABC)


def test_a_reader_that_drops_equal_trips_moves_the_trips_of_others():
    """Here a trip more takes away the one that was there."""
    within, without = rows("ab", "bc", "ab"), rows("ab", "bc")
    broken = deduplicating_reader(read_trips)
    assert len(broken(within, ABC)) < len(broken(without, ABC))
    assert trips_moved(honest, within, without) == 1


def test_counting_from_the_first_day_in_the_file_moves_everybody():
    within, without = rows("ab", "bc", "ca", days=[9, 9, 1]), rows("ab", "bc", days=[9, 9])
    assert trips_moved(lambda source: first_day_of_the_file(honest(source)), within, without) == 5
    assert trips_moved(honest, within, without) == 1


def test_stops_that_must_be_active_move_other_trips():
    within, without = rows("ab", "bc", "a"), rows("ab", "bc")
    broken = (active_stops_only(honest(source)).to_lists()[:2] for source in (within, without))
    assert next(broken) != next(broken)
    assert honest(within).to_lists()[:2] == honest(without).to_lists()


def test_the_form_of_most_times_flips_all_taps():
    local, zoned = ("2024-12-16T07:00:00", "a"), ("2024-12-16T07:00:00Z", "b")

    def counts(taps):
        return np.bincount(taps.location, minlength=3)

    tables = [
        pl.DataFrame([local] * 200 + [zoned] * many, schema=["event_time", "stop_id"], orient="row")
        for many in (200, 201)
    ]
    taps = [read_taps(table, ABC).taps for table in tables]
    assert np.abs(counts(taps[0]) - counts(taps[1])).sum() == 1
    voted = [counts(majority_of_time_forms(table, read)) for table, read in zip(tables, taps, strict=True)]
    assert np.abs(voted[0] - voted[1]).sum() == 401
