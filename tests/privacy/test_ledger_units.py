"""Whose loss a ledger adds up: units on lines, conversions, refusals, and ledgers of the first schema."""

from fractions import Fraction

import numpy as np
import pytest

from privacy.ledger_tools import Burglar, FakeClock
from wayveil.errors import BudgetExceededError, ParameterError
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.ledger import Ledger, LedgerError, LineFacts, Policy, open_ledger
from wayveil.privacy.ledger.conversion import POLICY_UNITS, BookedUnit, Stated, steps
from wayveil.privacy.ledger.lines import Line, canonical, digest
from wayveil.privacy.units import Event, Points, Rider, RiderDay, Trip, Unit, Window
from wayveil.trips.trips import Trips
from wayveil.world.world import World

pytest_plugins = ["privacy.ledger_places"]

TAPS = "taps"


@pytest.fixture
def ledger(place: str, clock: FakeClock) -> Ledger:
    return open_ledger(place, clock=clock)


@pytest.fixture
def quick(tmp_path, clock: FakeClock) -> Ledger:
    return open_ledger(tmp_path / "ledger", clock=clock)


def reserve(ledger: Ledger, unit: Unit | None, epsilon: object = 1, **more: object):
    return ledger.reserve(TAPS, epsilon, actor="ana", mechanism="tree", unit=unit, facts=LineFacts(**more))


def test_lines_carry_the_unit_and_its_bounds(ledger: Ledger) -> None:
    ledger.set_policy(TAPS, Policy(5, unit="rider"), actor="officer")
    reserve(ledger, Rider(max_trips=3))
    line = open_ledger_again(ledger).entries()[-1]
    assert line.unit["name"] == "rider"
    assert line.unit["bounds"]["max_trips"] == 3
    assert ledger.verify().ok


def open_ledger_again(ledger: Ledger) -> Ledger:
    return Ledger(ledger._storage, ledger._clock)


def test_event_and_rider_releases_are_not_added_up_as_if_they_were_one(ledger: Ledger) -> None:
    ledger.set_policy(TAPS, Policy(5, unit="rider"), actor="officer")
    reserve(ledger, Rider(max_trips=2))
    with pytest.raises(LedgerError, match=r"one `event` cannot be added .* --visits-per-rider NUMBER"):
        reserve(ledger, Event())
    with pytest.raises(LedgerError, match=r"one `trip` cannot be added .* --trips-per-rider NUMBER"):
        reserve(ledger, Trip())
    assert ledger.spent(TAPS) == 1
    ledger.set_policy(TAPS, Policy(5, unit="rider", trips_per_rider=3, visits_per_rider=20), actor="officer")
    reserve(ledger, Trip())
    assert ledger.spent(TAPS) == 4, "three trips of a rider are three times a trip"
    with pytest.raises(BudgetExceededError, match=r"\(20 x, for the unit `rider`\) needs epsilon 20"):
        reserve(ledger, Event())
    (summary,) = ledger.summary()
    assert summary.by_unit == {"rider": 1, "trip": 1}
    assert (summary.unit, summary.spent, summary.remaining) == ("rider", 4, 1)
    assert ledger.composition(TAPS, "1e-9").sum_epsilon == 4


def test_a_rider_release_covers_trips(quick: Ledger) -> None:
    quick.set_policy(TAPS, Policy(5, unit="trip"), actor="officer")
    reserve(quick, Rider(max_trips=2))
    reserve(quick, Trip())
    assert quick.spent(TAPS) == 2
    reserve(quick, Rider(max_trips=1))
    assert quick.spent(TAPS) == 4, "with one counted trip, one more trip can swap two: that is 2 epsilon"


def test_a_change_of_policy_converts_what_was_spent_before(quick: Ledger) -> None:
    quick.set_policy(TAPS, Policy(5, unit="trip"), actor="officer")
    held = reserve(quick, Trip())
    quick.set_policy(TAPS, Policy(5, unit="rider"), actor="officer")
    assert quick.remaining(TAPS) == 0
    with pytest.raises(LedgerError, match="cannot be added up"):
        quick.spent(TAPS)
    with pytest.raises(LedgerError, match="cannot be added to what a `rider` may lose"):
        reserve(quick, Rider(max_trips=2))
    assert [state.spent for state in quick.summary()] == [None]
    held.cancel("not needed")
    reserve(quick, Rider(max_trips=2))
    assert quick.spent(TAPS) == 1


def test_settling_gives_back_in_the_unit_of_the_policy(quick: Ledger) -> None:
    quick.set_policy(TAPS, Policy(10, 9, 30, unit="rider", trips_per_rider=3), actor="officer")
    held = reserve(quick, Trip(), 2)
    assert quick.remaining(TAPS) == 3
    held.start()
    held.settle(Fraction(1, 2), "refused")
    assert quick.spent(TAPS) == Fraction(3, 2)
    assert quick.remaining(TAPS) == Fraction(15, 2)


def test_a_delta_is_not_multiplied_but_refused(quick: Ledger) -> None:
    quick.set_policy(TAPS, Policy(10, total_delta="1e-6", unit="rider", trips_per_rider=2), actor="officer")
    with pytest.raises(LedgerError, match="cannot be added"):
        quick.reserve(TAPS, 1, "1e-9", actor="ana", mechanism="tree", unit=Trip())
    quick.reserve(TAPS, 1, "1e-9", actor="ana", mechanism="tree", unit=Rider(2))


def test_a_release_that_is_not_private_is_in_no_sum_and_needs_leave(ledger: Ledger) -> None:
    ledger.set_policy(TAPS, Policy(2, unit="rider"), actor="officer")
    with pytest.raises(LedgerError, match="without a guarantee may not be made"):
        reserve(ledger, Rider(2), private=False)
    ledger.set_policy(TAPS, Policy(2, unit="rider", not_private=True), actor="officer")
    held = reserve(ledger, Rider(2), 50, private=False)
    held.start()
    held.commit("cafe")
    reserve(ledger, Rider(2), 2)
    (summary,) = open_ledger_again(ledger).summary()
    assert (summary.spent, summary.not_private, summary.by_unit) == (2, 1, {"rider": 2})
    assert ledger.composition(TAPS, "1e-9").releases == 1


def test_a_policy_without_a_unit_admits_no_release_with_one(quick: Ledger) -> None:
    quick.set_policy(TAPS, Policy(2), actor="officer")
    with pytest.raises(LedgerError, match="does not say whose loss it limits"):
        reserve(quick, Rider(2))
    with pytest.raises(ParameterError, match="unit must be one of"):
        Policy(2, unit="person")


def test_without_a_policy_units_are_not_mixed(quick: Ledger) -> None:
    reserve(quick, Trip())
    reserve(quick, Trip())
    assert quick.spent(TAPS) == 2
    with pytest.raises(LedgerError, match="protect another unit than `event`"):
        reserve(quick, Event())


# --- the factors, against counts of neighbours


UNITS: list[Unit] = [Trip(), Event(), Points(3), Window(3600, 2)]
UNITS += [kind(max_trips=m) for kind in (Rider, RiderDay) for m in (1, 2, 4)]


def booked(unit: Unit) -> BookedUnit:
    return BookedUnit(unit.name, {**unit.describe()["bounds"]})


def test_every_pair_of_units_is_converted_or_refused() -> None:
    known = Stated(days_per_rider=5, trips_per_rider=7, visits_per_rider=11)
    for unit in UNITS:
        for policy in POLICY_UNITS:
            certain, told = steps(booked(unit), policy, Stated()), steps(booked(unit), policy, known)
            assert told is not None
            assert certain in (None, told)
            assert certain is not None or told in (5, 7, 11, 2 * 5, 2 * 7)


def test_an_element_is_what_a_rider_does_at_one_group_of_places() -> None:
    known = Stated(days_per_rider=5, trips_per_rider=7, visits_per_rider=11)
    assert "element" in POLICY_UNITS
    for unit, times in (
        (Rider(4), 2),
        (RiderDay(max_trips=4), 10),
        (Trip(), 14),
        (Event(), 11),
        (Points(3), 11),
    ):
        assert steps(booked(unit), "element", known) == times
    assert steps(booked(Rider(4)), "element", Stated()) == 2
    assert steps(booked(Trip()), "element", Stated()) is None
    with pytest.raises(ParameterError, match="unknown unit 'element'"):
        BookedUnit.from_payload({"name": "element", "bounds": {}})
    with pytest.raises(ParameterError, match="earlier_unit"):
        Stated(earlier_unit="element")


def test_what_cannot_be_charged_to_an_element_says_the_way_on(quick: Ledger) -> None:
    quick.set_policy(TAPS, Policy(10, unit="element"), actor="officer")
    with pytest.raises(
        LedgerError, match=r"Release for the unit `rider`, or state it with .*--trips-per-rider"
    ):
        reserve(quick, Trip())
    reserve(quick, Rider(2))
    assert quick.spent(TAPS) == 2


@pytest.mark.parametrize("unit", [Rider(max_trips=1), Rider(max_trips=2), Rider(max_trips=4)])
def test_one_trip_more_moves_bounded_counts_by_no_more_than_the_factor_says(unit: Rider) -> None:
    """With the common trips' words fixed, the counted trips differ by at most a swap."""
    world = World.of_symbols("abcdefgh")
    lists = [[i] for i in range(7)]
    for seed in range(40):
        owner = np.array([0, 0, 0, 0, 1, 1, 2])
        less = Trips.of_lists(lists, world, rider=owner)
        # The added trip comes last, so that seeded words of the common trips are the same.
        more = Trips.of_lists([*lists, [7]], world, rider=np.append(owner, 0))
        counts = [
            np.bincount(unit.bound(trips, SeededBits(seed)).location, minlength=8) for trips in (less, more)
        ]
        moved = np.abs(counts[0] - counts[1]).sum()
        factor = steps(booked(unit), "trip", Stated())
        assert factor is not None
        assert moved <= factor * unit.max_trips


# --- ledgers of the first schema


OLD = ("policy", "reserve", "start", "commit")


def write_old_ledger(place: str) -> list[tuple[int, str, str]]:
    """Turn a new, empty ledger into one of schema 1 with one release, as the first version wrote it."""
    open_ledger(place)
    burglar = Burglar(place)
    facts = dict(burglar.run(("SELECT name, value FROM wayveil_ledger_facts", ())))
    previous = digest(canonical({"id": facts["id"], "created": facts["created"]}))
    rows = []
    for number, kind in enumerate(OLD, 1):
        record = {
            "sequence": number, "time": f"2026-01-01T08:00:0{number}.000000+00:00", "actor": "ana", "kind": kind,
            "dataset": TAPS, "previous": previous, "reservation": None if kind == "policy" else "a1",
            "epsilon": "1" if kind == "reserve" else None, "delta": "0" if kind == "reserve" else None, "rho": None,
            "mechanism": "tree" if kind == "reserve" else "", "purpose": "",
            "payload": {"policy": {"total_epsilon": "3", "per_period_epsilon": None, "period_days": None,
                                   "actors": None, "total_delta": "0"},
                        "commit": {"release": "cafe", "summary": None}}.get(kind),
        }  # fmt: skip
        text = canonical(record)
        previous = digest(text)
        rows.append((number, text, previous))
    burglar.rewrite(rows)
    burglar.set_fact("head", f"{len(rows)}:{previous}")
    burglar.set_fact("schema", "1")
    burglar.run(("DELETE FROM wayveil_ledger_facts WHERE name = 'content_key'", ()))
    return rows


def test_a_ledger_of_the_first_schema_keeps_its_chain_and_asks_for_its_unit(place: str) -> None:
    rows = write_old_ledger(place)
    ledger = open_ledger(place)
    noted = ledger.head()
    assert ledger.verify([noted]).ok
    assert ledger.spent(TAPS) == 1
    assert [line.unit for line in ledger.entries()] == [None] * 4
    with pytest.raises(LedgerError, match="does not say whose loss it limits"):
        reserve(ledger, Rider(2))
    ledger.set_policy(TAPS, Policy(3, unit="rider"), actor="officer")
    with pytest.raises(LedgerError, match=r"an earlier version wrote them.*--earlier-unit"):
        reserve(ledger, Rider(2))
    ledger.set_policy(TAPS, Policy(3, unit="rider", earlier_unit="rider"), actor="officer")
    reserve(ledger, Rider(2))
    assert ledger.spent(TAPS) == 2
    assert open_ledger(place).verify([noted]).ok
    kept = [(line.sequence, line.text, line.hash) for line in ledger.entries()[:4]]
    assert kept == rows, "old lines keep their text and their hash"


def test_a_line_without_the_later_fields_is_written_without_them() -> None:
    line = Line(1, FakeClock().now, "ana", "start", TAPS, "0" * 64, reservation="a1")
    assert "unit" not in line.text
    assert "private" not in line.text
    assert Line.parse(line.text) == line
