"""A simulated year: the same people every week, a route that opens, and a strike."""

import numpy as np
import pytest

from ring_networks import ring_of_stops
from wayveil.errors import ParameterError
from wayveil.simulate.year import YearEvents, simulate_year_week, write_year
from wayveil.taps.read import read_taps
from wayveil.taps.taps import Taps

CITY = ring_of_stops(24, seconds=120, skip=3, routes=3)


def week(number: int, events: YearEvents | None = None) -> Taps:
    return simulate_year_week(CITY, number, riders=400, seed=7, events=events)


def test_the_same_people_come_back_and_do_not_do_the_same():
    one, two = week(1), week(2)
    assert np.array_equal(one.location, week(1).location)
    assert not np.array_equal(one.location[:200], two.location[:200])
    homes = [
        {card: np.bincount(taps.location[taps.card == card]).argmax() for card in range(400)}
        for taps in (one, two)
    ]
    same = np.mean([homes[0][card] == homes[1][card] for card in range(400)])
    assert same > 0.4, "most people keep their busiest stop; strangers would share it by chance only"
    assert np.all((one.day - two.day.min()) < 0), "weeks do not overlap"


def test_nobody_boards_a_route_before_it_opens_and_a_strike_is_felt():
    new = str(CITY.route_ids[1])
    events = YearEvents(new_route=new, opens=3, strike=4)
    before, after, strike = (week(number, events) for number in (2, 3, 4))
    assert not (before.route == 1).any()
    assert (after.route == 1).mean() > 0.1
    assert len(strike) < 0.5 * len(after)
    with pytest.raises(ParameterError, match="no route 'night bus'"):
        week(1, YearEvents(new_route="night bus"))


def test_the_files_of_a_year_are_named_by_their_weeks(tmp_path):
    files = write_year(CITY, tmp_path, weeks=2, riders=100, seed=1, ending="csv")
    assert [path.name for path in files] == ["taps_2026-W01.csv", "taps_2026-W02.csv"]
    clean = read_taps(files[1], CITY)
    assert clean.report.dropped == 0
    assert clean.taps.card is not None
