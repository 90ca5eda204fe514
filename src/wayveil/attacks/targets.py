"""Who is attacked: riders, or trips where nobody knows riders; people outside the data; and the attacker's draws.

Draws of an attacker, the same for every release that is compared.

What an attacker happens to know must not differ between two releases, or their difference is partly luck. So a draw is
a function of what it is about (a label, a seed, the number of the target) and of nothing else: no generator whose
state depends on how many draws came before.
"""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import ArrayLike, NDArray

from wayveil.arrays import Floats, Ints
from wayveil.errors import InputError, ParameterError
from wayveil.sources.formats import format_of
from wayveil.trips.read import read_trips
from wayveil.trips.tables import TABLE_SUFFIXES, read_table
from wayveil.trips.trips import Trips
from wayveil.world.world import World

Words = NDArray[np.uint64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)
_UNIT = 2.0**-53


@njit(cache=True)
def mixed(word):  # type: ignore[no-untyped-def]
    """One step of the SplitMix64 generator as a hash (Steele, Lea and Flood 2014)."""
    word = word + _GOLDEN
    word = (word ^ (word >> _S30)) * _FIRST
    word = (word ^ (word >> _S27)) * _SECOND
    return word ^ (word >> _S31)


@njit(cache=True)
def unit_of(word: np.uint64) -> float:
    """A hashed word as a number of [0, 1)."""
    return float(word >> _S11) * _UNIT


def key_of(label: str, seed: int) -> np.uint64:
    """The key of everything that is drawn under this label."""
    digest = hashlib.sha256(f"{label} {seed}".encode()).digest()
    return np.uint64(int.from_bytes(digest[:8], "little"))


def words(label: str, seed: int, *numbers: ArrayLike) -> Words:
    """One word for every combination of numbers (broadcast like numpy operands)."""
    with np.errstate(over="ignore"):
        word = np.asarray(key_of(label, seed))
        for number in numbers:
            word = mixed.py_func(word ^ np.asarray(number).astype(np.uint64))
    return np.asarray(word, np.uint64)


def uniform(label: str, seed: int, *numbers: ArrayLike) -> Floats:
    """A number of [0, 1) for every combination of numbers."""
    return (words(label, seed, *numbers) >> _S11).astype(np.float64) * _UNIT


FEWEST_TARGETS = 20


@dataclass(frozen=True, eq=False)
class Targets:
    """One trip of each person who is attacked, and how many people there are to attack in all."""

    trips: Trips
    people: int
    kind: str

    def __len__(self) -> int:
        return len(self.trips)


def people_of(trips: Trips) -> Ints:
    """A number for the person of each trip, from 0; trips without a rider are persons of their own."""
    if trips.rider is None:
        return np.arange(len(trips))
    alone = trips.rider < 0
    code = np.where(alone, trips.rider.max(initial=0) + 1 + np.arange(len(trips)), trips.rider)
    return np.unique(code, return_inverse=True)[1].astype(np.int64)


def draw_targets(trips: Trips, most: int, seed: int, who: str) -> Targets:
    """At most so many people, drawn by key, each with one of his trips, also drawn by key.

    A released trip is one trip, so an attack on a rider starts from one of the rider's trips.
    """
    trips = trips.take(trips.lengths > 0)
    kind = "trips" if trips.rider is None else "riders"
    person = people_of(trips)
    people = int(person.max(initial=-1)) + 1
    if people < FEWEST_TARGETS:
        raise ParameterError(
            f"{who} has {people} {kind} with a visit, and fewer than {FEWEST_TARGETS} say nothing about rates; "
            "bring more data"
        )
    lot = uniform("one trip of each target", seed, np.arange(len(trips)))
    order = np.lexsort((lot, person))
    chosen = order[np.unique(person[order], return_index=True)[1]]
    turn = np.argsort(uniform("which people", seed, np.arange(people)), kind="stable")
    return Targets(trips.take(np.sort(chosen[turn[:most]])), people, kind)


def some_people(trips: Trips, most: int, seed: int) -> Trips:
    """All trips of at most so many people, drawn by key."""
    person = people_of(trips)
    people = int(person.max(initial=-1)) + 1
    if people <= most:
        return trips
    chosen = np.zeros(people, bool)
    chosen[np.argsort(uniform("which people", seed, np.arange(people)), kind="stable")[:most]] = True
    return trips.take(chosen[person])


def split_people(trips: Trips, seed: int) -> tuple[Trips, Trips]:
    """The trips of one half of the people, and those of the other half: members and hold-out of a trial."""
    person = people_of(trips)
    people = int(person.max(initial=-1)) + 1
    rank = np.empty(people, np.int64)
    rank[np.argsort(uniform("held out", seed, np.arange(people)), kind="stable")] = np.arange(people)
    held = (rank < people // 2)[person]
    return trips.take(~held), trips.take(held)


def read_holdout(path: str | Path, raw_path: str | Path, raw: Trips, world: World) -> Trips:
    """The trips of a hold-out file, riders numbered after those of the raw trips; ids in both files are refused."""
    for column, what in (("rider_id", "riders"), ("trip_id", "trip ids")):
        shared = _ids(raw_path, column) & _ids(path, column)
        if shared:
            raise InputError(
                f"shares {len(shared):,} {what} with {raw_path} ({min(shared)!r}, for example); people outside the "
                f"data must not be in it, and trips of two files need ids of their own",
                file=path,
            )
    return holdout_numbers(read_trips(path, world), raw)


def holdout_numbers(holdout: Trips, raw: Trips) -> Trips:
    """A hold-out whose riders are numbered after those of the raw trips: for files known to share nobody."""
    if holdout.rider is None or raw.rider is None:
        return holdout
    shift = int(raw.rider.max(initial=-1)) + 1
    return replace(holdout, rider=np.where(holdout.rider < 0, -1, holdout.rider + shift))


def _ids(path: str | Path, column: str) -> set[str]:
    """The different values of a column of a table of visits; none where the file has no such column."""
    if format_of(Path(path)) not in TABLE_SUFFIXES:
        return set()
    table = read_table(Path(path), None, ("trip_id",), ("rider_id",))
    if column not in table.columns:
        return set()
    return set(table[column].cast(pl.String).drop_nulls().unique().to_list()) - {""}
