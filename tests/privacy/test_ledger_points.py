"""The ledger knows GPS points again by the points: on another grid, in other trips, next week by the same vehicles.

Before, a file that was released over cells of 250 m got a fresh budget over cells of 300 m, because fingerprints were
of cells; and vehicles were forgotten where they are not the riders, so that their next week was unknown.
"""

import numpy as np
import polars as pl
import pytest

from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.ledger import KnownRowsError, Policy, open_ledger
from wayveil.privacy.ledger.fingerprint import fingerprint
from wayveil.privacy.units import Trip
from wayveil.run import make_release as release
from wayveil.trips.point_rules import PointRules
from wayveil.trips.points import Split, read_points
from wayveil.world.grid import Grid

BOX = "22.5,113.9,22.7,114.2"
MINUTE, WEEK = 60, 7 * 86_400
FLAT = {"split": Split(gap_seconds=1200), "rules": PointRules(fastest_kmh=None, outside="skip")}
COUNTS = TapCounts(max_visits=3, time="60")
KEY = bytes(range(32))


def drives(seed, vehicles=40, points=60, first=1_700_000_000):
    """Vehicles that wander about, a point every half minute, with six digits of a degree."""
    rng = np.random.default_rng(seed)
    lat = 22.6 + np.cumsum(rng.normal(0, 2e-3, (vehicles, points)), axis=1).clip(-0.09, 0.09)
    lng = 114.05 + np.cumsum(rng.normal(0, 2e-3, (vehicles, points)), axis=1).clip(-0.14, 0.14)
    time = first + 30 * np.arange(points) + rng.integers(0, 80_000, (vehicles, 1))
    return pl.DataFrame(
        {
            "uid": np.repeat([f"taxi {number}" for number in range(vehicles)], points),
            "datetime": time.ravel(),
            "lat": lat.ravel().round(6),
            "lng": lng.ravel().round(6),
        }
    )


def read(folder, table, metres=250, riders="none", **options):
    path = folder / "points.parquet"
    table.write_parquet(path)
    return read_points(path, Grid.of_metres(BOX, metres), riders=riders, **{**FLAT, **options})


def renamed(table, seed=1):
    names = table["uid"].unique(maintain_order=True)
    other = np.random.default_rng(seed).permutation(len(names)) + 500
    return table.with_columns(uid=pl.col("uid").replace_strict(names, [f"v{number}" for number in other]))


POINTS = drives(1)
DISGUISES = {
    "another grid": (lambda table: table, {"metres": 300}),
    "another split": (lambda table: table, {"split": Split(gap_seconds=900, metres=2000)}),
    "other rules": (lambda table: table, {"rules": PointRules(fastest_kmh=90, window_seconds=30)}),
    "other names": (renamed, {"metres": 300}),
    "other names, one vehicle less": (
        lambda table: renamed(table).filter(pl.col("uid") != "v500"),
        {"metres": 300},
    ),
    "other names, a second later": (
        lambda table: renamed(table).with_columns(pl.col("datetime") + 1),
        {"metres": 300},
    ),
    "other names, times to the minute": (
        lambda table: renamed(table).with_columns(pl.col("datetime") // 60 * 60),
        {"metres": 300, "repeated": "first"},
    ),
    "other names, another zone": (
        lambda table: renamed(table).with_columns(pl.col("datetime") - 8 * 3600),
        {"metres": 300},
    ),
    "other names, four digits of a degree": (
        lambda table: renamed(table).with_columns(pl.col("lat", "lng").round(4)),
        {"metres": 300},
    ),
    "half of the points": (lambda table: renamed(table).gather_every(2), {"metres": 300}),
}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_the_same_points_are_known_under_another_name_of_the_file(tmp_path, disguise):
    change, options = DISGUISES[disguise]
    ledger = open_ledger(tmp_path / "ledger")
    ledger.set_policy("taxis", Policy(10, unit="trip"), actor="officer")
    release(read(tmp_path, POINTS), COUNTS, epsilon=1, unit=Trip(), ledger=ledger, dataset="taxis")
    ledger.set_policy("copy", Policy(10, unit="trip"), actor="officer")
    again = read(tmp_path, change(POINTS), **options)
    with pytest.raises(KnownRowsError, match="taxis"):
        release(again, COUNTS, epsilon=1, unit=Trip(), ledger=ledger, dataset="copy")
    assert ledger.spent("copy") == 0


def test_next_week_of_the_same_vehicles_is_known_although_they_are_not_the_riders(tmp_path):
    ledger = open_ledger(tmp_path / "ledger")
    for name in ("taxis", "next week"):
        ledger.set_policy(name, Policy(10, unit="trip"), actor="officer")
    ledger.take_in("taxis", read(tmp_path, POINTS), actor="analyst")
    later = read(tmp_path, drives(2, first=1_700_000_000 + WEEK))
    assert later.rider is None
    with pytest.raises(KnownRowsError, match="100% of the riders"):
        ledger.take_in("next week", later, actor="analyst")
    others = renamed(drives(2, first=1_700_000_000 + WEEK))
    assert ledger.take_in("next week", read(tmp_path, others), actor="analyst")


def test_points_without_times_are_known_by_their_moves(tmp_path):
    named = POINTS.rename({"uid": "tid"}).drop("datetime")
    rules = PointRules(outside="skip")
    bare = [
        read(tmp_path, table, split=None, rules=rules, metres=m) for table, m in ((named, 250), (named, 400))
    ]
    known, new = (fingerprint(trips, KEY) for trips in bare)
    assert known.name == new.name
    assert "moves" in known.likeness(new)
    other = read(tmp_path, drives(3).rename({"uid": "tid"}).drop("datetime"), split=None, rules=rules)
    assert known.likeness(fingerprint(other, KEY)) is None


def test_other_drivers_in_the_same_city_are_other_people(tmp_path):
    known = fingerprint(read(tmp_path, POINTS), KEY)
    assert known.likeness(fingerprint(read(tmp_path, renamed(drives(5))), KEY)) is None
