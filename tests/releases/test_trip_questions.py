"""Questions about trips, on trips that can be counted by hand."""

import pytest

from bare_release import bare_release
from ring_networks import ring_of_stops
from wayveil.errors import InputError, ParameterError
from wayveil.releases.answers import say_question
from wayveil.releases.trip_questions import answer_trips
from wayveil.trips.trips import Trips

# Two lines meet at stops 0 and 3.
RING = ring_of_stops(6, seconds=600, routes=2)
TRIPS = Trips.of_lists([[0, 1, 2], [2, 3, 4], [2, 3, 4], [4]], RING)


def asked(question, **options):
    return answer_trips(bare_release(TRIPS), question, **options)


def rows(question, *keys, **options):
    table = asked(question, **options).table
    return {tuple(row[key] for key in keys): row["answer"] for row in table.to_dicts() if row["answer"]}


def test_boardings_alightings_and_passing_trips():
    assert rows("boardings", "stop_id", "stop") == {
        ("s002", "S002"): 2,
        ("s000", "S000"): 1,
        ("s004", "S004"): 1,
    }
    assert rows("alightings", "stop_id") == {("s004",): 3, ("s002",): 1}
    assert rows("through", "stop_id")[("s002",)] == 3


def test_journeys_and_districts_have_names():
    assert rows("journeys", "from", "to")[("S002", "S004")] == 2
    halves = {"stop_id": RING.ids[:4].tolist(), "district": ["a", "a", "b", "b"]}
    found = rows("districts", "from", "to", districts=halves)
    assert found == {("b", "elsewhere"): 2, ("a", "b"): 1, ("elsewhere", "elsewhere"): 1}
    with pytest.raises(ParameterError, match="district"):
        asked("districts")
    with pytest.raises(InputError, match="stop_id and district"):
        asked("districts", districts={"stop": ["x"]})


def test_transfers_are_where_no_line_goes_on():
    assert rows("transfers", "stop_id") == {("s003",): 2}


def test_the_busiest_stretch_of_each_line_and_the_share_of_long_trips():
    assert rows("line-load", "line", "from", "to") == {
        ("line 0", "S002", "S003"): 2,
        ("line 1", "S003", "S004"): 2,
    }
    assert asked("durations", over=15).table["answer"].to_list() == [0.75]
    assert asked("durations", over=20).table["answer"].to_list() == [0.0]


def test_raw_counts_stand_beside_and_make_the_answer_internal():
    answer = asked("boardings", raw=Trips.of_lists([[5]], RING))
    assert answer.internal
    beside = {row["stop_id"]: (row["answer"], row["raw"]) for row in answer.table.to_dicts()}
    assert (beside["s002"], beside["s005"]) == ((2, 0), (0, 1))
    assert not asked("boardings").internal


def test_tap_ins_never_stand_for_trips():
    assert "tap" not in say_question("stops", taps=False)
    assert "tap-ins" in say_question("stops", taps=True)
    tapped = bare_release(TRIPS, taps=True)
    with pytest.raises(ParameterError, match="got off"):
        answer_trips(tapped, "alightings")
    assert answer_trips(tapped, "boardings").table["answer"].sum() == TRIPS.visits
