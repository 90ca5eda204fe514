"""Mistakes between a file and a release, made on purpose around a sound mechanism.

Each of them is a wrapper around the parts that `release` is made of, so that it brings its hole back however these
parts are mended. None works outside an audit: they live in a `with` block that only audits open.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl

from wayveil.counting import engines
from wayveil.counting.local import LocalCounter
from wayveil.errors import RefusedError
from wayveil.lab.audits.door import FilePair, nothing_broken
from wayveil.lab.audits.door_files import (
    ANY_MOVE,
    MakePair,
    PairWriter,
    bad_rows_beside,
    every_unit,
    many_without_id,
    one_tap_more,
    rare_stop,
    same_visits,
    stops_to_fill,
    two_forms_of_time,
)
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.plan import reading
from wayveil.privacy.contributions import Contribution, Sensitivity
from wayveil.privacy.gate import Gate
from wayveil.privacy.ledger import Reservation
from wayveil.privacy.units import Event, Rider, Trip, Window
from wayveil.released.datasheet_making import make_datasheet
from wayveil.releases import making
from wayveil.sources import opening
from wayveil.sources.bad_rows import RULES, apply_rules, bad_rows
from wayveil.taps import read as taps_reader
from wayveil.trips import visits as visits_reader
from wayveil.trips.history import AS_READ, UNMOVED, History
from wayveil.trips.legality import LegalityRule
from wayveil.trips.read import read_trips
from wayveil.trips.trips import Trips
from wayveil.world.world import World

TREE: Mechanism = NoisyPrefixTree(height=3, false_children=1.0)
VISITS: Mechanism = TapCounts(max_visits=60, time="60")
EPSILON = Fraction(2)


@dataclass(frozen=True)
class DoorVariant:
    """One mistake, the pair of files that shows it, and the mechanism that it is made around.

    `chances`: which trips of a rider are counted is left to chance, so the pair is looked at so often.
    """

    name: str
    broken: Callable[[], AbstractContextManager[Any]]
    pair: MakePair
    mechanism: Mechanism = TREE
    gate: type[Gate] = Gate
    chances: int = 6


def changed_reading(change: Callable[[Trips], Trips]) -> Callable[[], AbstractContextManager[Any]]:
    """The reader of trips, and what is done to all of them afterwards."""

    def broken() -> AbstractContextManager[Any]:
        return patch.object(
            engines, "read_trips", lambda *given, **options: change(read_trips(*given, **options))
        )

    return broken


def _table(module: Any, change: Callable[[pl.DataFrame], pl.DataFrame]) -> AbstractContextManager[Any]:
    """The table of a file, and what is done to it before its rows are looked at."""
    read = module.read_marked_table

    def changed(*given: Any, **options: Any) -> tuple[pl.DataFrame, frozenset[str]]:
        table, marks = read(*given, **options)
        return change(table), marks

    return patch.object(module, "read_marked_table", changed)


def _deduplicating() -> AbstractContextManager[Any]:
    """Of visits at the same place and time only the last one stays, whoever they are of."""
    return _table(
        visits_reader,
        lambda table: table.unique(["stop_id", "event_time"], keep="last", maintain_order=True),
    )


def _majority() -> AbstractContextManager[Any]:
    """Times in the form that most rows use stay, the others go."""

    def kept(table: pl.DataFrame) -> pl.DataFrame:
        zoned = table["event_time"].cast(pl.String).str.contains(r"[+Z]").to_numpy()
        return table.filter(pl.Series(zoned == (2 * zoned.sum() > len(zoned))))

    return _table(taps_reader, kept)


def _drop_by_trip_alone() -> AbstractContextManager[Any]:
    """A bad row drops every row with its trip_id, whoever they are of; a row without one, every row of its stop."""

    def dropped(
        table: pl.DataFrame, rules: Mapping[str, str], world: World | None, *, of_trips: bool
    ) -> pl.DataFrame:
        kind, *others = rules
        bad = table.with_columns(bad=bad_rows(table, kind, world))
        shared = "stop_id" if kind == "empty_id" else "trip_id"
        left = table.filter(~bad.select(pl.col("bad").any().over(shared)).to_series())
        return apply_rules(left, {each: rules[each] for each in others}, world, of_trips=of_trips)

    return patch.object(opening, "apply_rules", dropped)


def _beside(kind: str, rule: str) -> MakePair:
    return lambda writer: bad_rows_beside(writer, kind, rule)


def _from_first_moment(trips: Trips) -> Trips:
    """Time is counted from the first visit in the file."""
    return trips if trips.time is None else replace(trips, time=trips.time - trips.time.min())


def _thinned(trips: Trips) -> Trips:
    """Of a file with many trips every second one is enough."""
    return trips.take(np.arange(len(trips)) % 2 == 0) if len(trips) % 2 else trips


def _rare_suppressed(trips: Trips) -> Trips:
    """Visits to stops with fewer than five of them are left out before the noise, as in k-anonymity."""
    return trips.keep_visits(np.bincount(trips.location, minlength=trips.world.size)[trips.location] >= 5)


def _each_its_own_rider(trips: Trips) -> Trips:
    """Every trip without an id becomes a rider of its own, however many of them one person made."""
    rider = np.full(len(trips), -1) if trips.rider is None else trips.rider
    rider = np.where(rider < 0, 1_000_000 + np.arange(len(trips)), rider)
    return replace(trips, rider=rider, rider_ids=None)


def _nobody_is_a_rider(trips: Trips) -> Trips:
    """All trips without an id become one rider, of whose trips others take the place."""
    rider = np.full(len(trips), -1) if trips.rider is None else trips.rider
    return replace(trips, rider=np.where(rider < 0, 1_000_000, rider), rider_ids=None)


class _CutAfterwards(Gate):
    """Trips are cut at impossible moves once more after they were bounded, which the bound does not know of."""

    def bound(self, trips: Trips, *rule: Any) -> Trips:
        return LegalityRule().apply(super().bound(trips, *rule))


class UnchargedGate(Gate):
    """Rule and reading cost nothing, whatever they move."""

    def bound(self, trips: Trips, rule: LegalityRule | None = None) -> Trips:
        done = super().bound(trips, rule)
        self.unit = replace(self.unit, stability=UNMOVED)
        return done


class RuleFirstGate(Gate):
    """The rule comes before the bound of a window, and costs nothing."""

    def bound(self, trips: Trips, rule: LegalityRule | None = None) -> Trips:
        trips = replace(trips if rule is None else rule.apply(trips), history=AS_READ)
        return self.unit.bound(trips, self.bits)


class SplittingRule(LegalityRule):
    """Cuts a trip at impossible moves and keeps all the pieces, as if one trip were still one trip."""

    def apply(self, trips: Trips) -> Trips:
        offsets = np.union1d(trips.offsets, np.flatnonzero(self._impossible_moves(trips)))
        owner = np.searchsorted(trips.offsets, offsets[:-1], side="right") - 1
        rider = None if trips.rider is None else trips.rider[owner]
        return Trips(trips.location, offsets, trips.world, trips.time, rider, trips.history, trips.rider_ids)


def _splitting() -> AbstractContextManager[Any]:
    return patch.object(LegalityRule, "apply", SplittingRule.apply)


def _filling(history: History | None = None) -> Callable[[], AbstractContextManager[Any]]:
    """Stops are filled in from other taps of the same bus; with a history, as if that were all that had happened."""

    def broken() -> AbstractContextManager[Any]:
        read = taps_reader.read_taps

        def filled(*given: Any, **options: Any) -> Any:
            found = read(*given, **options, fill="same-bus")
            taps = found.taps if history is None else replace(found.taps, history=history, filled=None)
            return replace(found, taps=taps)

        return patch.object(reading, "read_taps", filled)

    return broken


def _not_multiplied() -> AbstractContextManager[Any]:
    """A rider is noised like one trip."""

    def sensitivity(unit: Rider, contribution: Contribution) -> Sensitivity:
        return Trip().sensitivity(contribution)

    return patch.object(Rider, "sensitivity", sensitivity)


def _after_measuring(act: Callable[[Any, Any], Any]) -> Callable[[], AbstractContextManager[Any]]:
    """The mechanism of these audits, and something done with its counter and model."""

    def broken() -> AbstractContextManager[Any]:
        kind = type(TREE)
        measure = kind.measure

        def measured(self: Any, counter: Any, gate: Any) -> Any:
            return act(counter, measure(self, counter, gate))

        return patch.object(kind, "measure", measured)

    return broken


def _true_guard(counter: Any, model: Any) -> Any:
    """A guard of memory that looks at the exact number of trips."""
    if int(counter.lengths(1).counts.sum()) % 2:
        raise RefusedError("the tree would take too much memory")
    return model


def _refused(counter: Any, model: Any) -> Any:
    raise RefusedError("too noisy to be of use")


def _failed(counter: Any, model: Any) -> Any:
    raise OSError("the disk is full")


@contextmanager
def _fingerprint() -> Iterator[None]:
    """The datasheet names the file by a hash of what is in it."""
    seen: list[str] = []

    def counted(trips: Trips, *more: Any) -> Any:
        seen.append(sha256(trips.location.tobytes()).hexdigest())
        return LocalCounter(trips, *more)

    def sheet(**facts: Any) -> Any:
        return {**make_datasheet(**facts), "fingerprint": seen[-1]}

    with (
        patch.object(engines, "LocalCounter", counted),
        patch.object(making, "make_datasheet", sheet),
    ):
        yield


def _seed_from_data() -> AbstractContextManager[Any]:
    """Private trips are drawn with a seed that depends on the number of raw ones."""

    def act(counter: Any, model: Any) -> Any:
        generate, seed = type(model).generate, int(counter.lengths(1).counts.sum())
        return _Generating(model, lambda: generate(model, seed))

    return _after_measuring(act)()


@dataclass(frozen=True)
class _Generating:
    """A model that generates in its own way."""

    model: Any
    make: Callable[[], Trips]

    @property
    def world(self) -> World:
        return self.model.world

    def generate(self, seed: int | None = None) -> Trips:
        return self.make()


@contextmanager
def _not_settled() -> Iterator[None]:
    """Hold for ever what a refused release did not buy."""
    with _after_measuring(_refused)(), patch.object(Reservation, "settle", lambda *given, **options: None):
        yield


@contextmanager
def _given_back() -> Iterator[None]:
    """The first noise is drawn before the ledger hears of it, so that a failure gives everything back."""
    with _after_measuring(_failed)(), patch.object(Gate, "open", lambda self: None):
        yield


def _named(name: str) -> MakePair:
    return lambda writer: next(pair for pair in every_unit(writer) if pair.name == name)


def _cut_by_a_visit(writer: PairWriter) -> FilePair:
    return writer.visits("a visit that cuts a trip", Event(), [4], rule=LegalityRule())


def _cut_in_a_window(writer: PairWriter) -> FilePair:
    window = Window(seconds=600, max_visits=2)
    return writer.visits("a visit that cuts a trip over many windows", window, [4], rule=LegalityRule())


def _impossible_visit(writer: PairWriter) -> FilePair:
    return writer.visits("a visit that makes a move impossible", Event(), [4], rule=ANY_MOVE)


BUSY, HEAVY = _named("one more on the busy path"), _named("a rider with twenty trips")
EARLY, OUTSIDE = _named("somebody long before the others"), _named("moves outside the network, and back")

VARIANTS = (
    DoorVariant("a reader that drops repeated rows", _deduplicating, same_visits),
    DoorVariant("times in the form of the majority", _majority, two_forms_of_time, VISITS),
    DoorVariant(
        "time counted from the first visit in the file", changed_reading(_from_first_moment), EARLY, VISITS
    ),
    *(
        DoorVariant(
            f"a rule for rows with {kind} that drops others",
            _drop_by_trip_alone,
            _beside(kind, rule.choices[0]),
        )
        for kind, rule in RULES.items()
    ),
    DoorVariant("every second trip of a file with many", changed_reading(_thinned), BUSY),
    DoorVariant("rare stops left out before the noise", changed_reading(_rare_suppressed), rare_stop, VISITS),
    DoorVariant("trips without an id, each a rider", changed_reading(_each_its_own_rider), many_without_id),
    DoorVariant("no id taken for an id", changed_reading(_nobody_is_a_rider), many_without_id),
    DoorVariant("a rule after bounding", nothing_broken, _impossible_visit, VISITS, _CutAfterwards),
    DoorVariant("a rule that nobody pays for", nothing_broken, _cut_by_a_visit, VISITS, UnchargedGate),
    DoorVariant(
        "a rule before the bound of a window", nothing_broken, _cut_in_a_window, VISITS, RuleFirstGate
    ),
    DoorVariant("a rule that makes many trips of one", _splitting, OUTSIDE),
    DoorVariant("stops filled from other taps, unmarked", _filling(AS_READ), stops_to_fill, VISITS),
    DoorVariant("a unit that is not multiplied", _not_multiplied, HEAVY),
    DoorVariant("a guard of memory that reads true counts", _after_measuring(_true_guard), BUSY),
    DoorVariant("a fingerprint of the file in the datasheet", _fingerprint, BUSY),
    DoorVariant("trips generated with a seed from the data", _seed_from_data, BUSY),
    DoorVariant("a refused release that is not settled", _not_settled, BUSY),
    DoorVariant("noise drawn before the ledger hears of it", _given_back, BUSY),
)

# Sound as they are: what must hold at the door of every release, whatever the mechanism.
SOUND = (
    DoorVariant("taps", nothing_broken, one_tap_more, VISITS),
    DoorVariant("the same visits", nothing_broken, same_visits),
    DoorVariant("a rare stop", nothing_broken, rare_stop, VISITS),
    DoorVariant("refused after its noise", _after_measuring(_refused), BUSY),
    DoorVariant("failed after its noise", _after_measuring(_failed), BUSY),
    DoorVariant("a rule and a unit of visits", nothing_broken, _cut_by_a_visit, VISITS),
    DoorVariant("a rule and a window", nothing_broken, _cut_in_a_window, VISITS),
    DoorVariant("stops filled from other taps", _filling(), stops_to_fill, VISITS),
    DoorVariant("times in two forms", nothing_broken, two_forms_of_time, VISITS),
    DoorVariant("rows without an id", nothing_broken, many_without_id),
    *(
        DoorVariant(f"rows with {kind}: {choice}", nothing_broken, _beside(kind, choice))
        for kind, rule in RULES.items()
        for choice in rule.choices
    ),
)
