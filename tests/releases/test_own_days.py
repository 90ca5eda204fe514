"""Days that a release states are held against the times of its own rows."""

from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest

from releases.small_counts import CITY, KEEP, TAPS
from wayveil.errors import BudgetExceededError, ParameterError, WayveilError
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.ledger import DataLimit, Days, LedgerError, LineFacts, Policy, open_ledger
from wayveil.privacy.units import Event, Rider, RiderDay, Trip, Window
from wayveil.run import make_release
from wayveil.trips.history import AS_READ
from wayveil.trips.trips import Trips

FIRST = date(2026, 1, 5)


def day(number, last=None):
    first = FIRST + timedelta(days=number)
    return Days(first, first if last is None else FIRST + timedelta(days=last))


def taps_on(number, many=500, length=1):
    """Trips that begin on one day: of single visits, or of several, the last of which is after midnight."""
    rng = np.random.default_rng(number)
    begin = (FIRST - date(1970, 1, 1)).days * 86_400 + 86_400 * number
    time = begin + np.sort(rng.integers(6 * 3600, 86_400, (many, length)), axis=1)
    time[:, -1] += 0 if length == 1 else 40_000
    place = rng.integers(0, CITY.size, many * length).astype(np.int32)
    offsets = length * np.arange(many + 1)
    return Trips(place, offsets, CITY, time.ravel(), np.arange(many), history=AS_READ)


@pytest.fixture
def ledger(tmp_path):
    made = open_ledger(tmp_path / "ledger")
    made.set_policy(TAPS, Policy(None, unit="event", data=DataLimit("day", 1)), actor="officer")
    return made


def counted(trips, ledger, days, unit=None, **options):
    options = {"unit": unit or Event(), "rule": KEEP, "dataset": TAPS, "actor": "ana", "seed": 1, **options}
    return make_release(trips, TapCounts(max_visits=3), epsilon=1, ledger=ledger, days=days, **options)


def test_the_rows_of_one_day_are_released_once_whatever_days_are_said(ledger):
    trips, made = taps_on(0), 0
    for number in range(10):
        try:
            counted(trips, ledger, day(number))
            made += 1
        except WayveilError:
            continue
    assert made == 1
    assert [span.spent.epsilon for span in ledger.spans(TAPS)] == [1]


def test_the_refusal_names_both_days_and_spends_nothing(ledger):
    with pytest.raises(
        LedgerError, match=r"said to be of 2026-01-06/2026-01-06, .* of 2026-01-05/2026-01-05"
    ):
        counted(taps_on(0), ledger, day(1))
    assert [line.kind for line in ledger.entries()] == ["policy"]


def test_more_days_than_the_rows_have_are_charged_all(ledger):
    counted(taps_on(3), ledger, day(0, 6))
    assert len(ledger.spans(TAPS)) == 7
    with pytest.raises(BudgetExceededError):
        counted(taps_on(5), ledger, day(5))


def test_a_trip_is_of_the_day_on_which_it_begins(ledger):
    ledger.set_policy(TAPS, Policy(None, unit="trip", data=DataLimit("day", 1)), actor="officer")
    made = counted(taps_on(0, length=3), ledger, day(0), Trip())
    assert made.datasheet["private"]


def test_rows_without_dates_are_of_no_days(ledger):
    trips = taps_on(0)
    undated = replace(trips, time=trips.time % 86_400)
    for rows in (undated, trips.without_times()):
        with pytest.raises(LedgerError, match="have no dates"):
            counted(rows, ledger, day(0))


@pytest.mark.parametrize("unit", [Event(), Window(seconds=3600, max_visits=2)])
def test_single_visits_of_longer_trips_cannot_be_protected_by_days(ledger, unit):
    """One visit more at the front would move the whole trip to another day."""
    with pytest.raises(ParameterError, match="could move a whole trip to another day"):
        counted(taps_on(0, length=3), ledger, day(0), unit)
    assert [line.kind for line in ledger.entries()] == ["policy"]


@pytest.mark.parametrize("unit", [Rider(max_trips=1), RiderDay(max_trips=1)])
def test_units_of_trips_can(ledger, unit):
    ledger.set_policy(TAPS, Policy(None, unit=unit.name, data=DataLimit("day", 1)), actor="officer")
    assert counted(taps_on(0, length=3), ledger, day(0), unit).datasheet["private"]


def test_the_ledger_itself_holds_days_against_the_rows_it_knows(ledger):
    rows = ledger.take_in(TAPS, taps_on(0), actor="ana")
    with pytest.raises(LedgerError, match="their own times"):
        ledger.reserve(
            TAPS, 1, actor="ana", mechanism="counts", unit=Event(), facts=LineFacts(content=rows, days=day(1))
        )
    ledger.reserve(
        TAPS, 1, actor="ana", mechanism="counts", unit=Event(), facts=LineFacts(content=rows, days=day(0))
    )
    assert ledger.verify().ok


def test_days_that_cover_a_part_of_the_rows_are_refused(ledger):
    with pytest.raises(LedgerError, match="said to be of"):
        counted(
            replace(taps_on(0, many=2), time=np.concatenate([taps_on(n, many=1).time for n in (0, 1)])),
            ledger,
            day(0),
        )
    assert ledger.spans(TAPS) == []
