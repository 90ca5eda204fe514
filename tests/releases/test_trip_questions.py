"""Questions about trips, on trips that can be counted by hand."""

import json
from dataclasses import replace

import numpy as np
import pytest

from bare_release import bare_release
from ring_networks import ring_of_stops
from wayveil.accuracy.accuracy import Accuracy
from wayveil.accuracy.verdicts import Verdict
from wayveil.answers.asked import Asked
from wayveil.answers.questions import say_question
from wayveil.answers.trip_questions import answer_trips
from wayveil.errors import InputError, ParameterError, RefusedError
from wayveil.privacy.bits import SeededBits
from wayveil.trips.trips import Trips
from wayveil.utility.raw_answers import RawAnswers
from wayveil.world.districts import read_districts
from wayveil.world.network_lines import line_edges

# Two lines meet at stops 0 and 3.
RING = ring_of_stops(6, seconds=600, routes=2)
TRIPS = Trips.of_lists([[0, 1, 2], [2, 3, 4], [2, 3, 4], [4]], RING)


SHEET = {"guarantee": {"epsilon": "1", "unit": "trip", "bounds": {}}}
EIGHT = 8 * 3_600


def asked(question, trips=TRIPS, raw=None, bits=None, **options):
    add = None if raw is None else RawAnswers(raw, bits=bits).add_trips
    return answer_trips(bare_release(trips, SHEET), Asked.of(question, **options), add=add)


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


def test_the_busiest_stretch_of_each_line_in_each_direction():
    assert rows("line-load", "line", "from", "to") == {
        ("line 0", "S002", "S003"): 2,
        ("line 1", "S003", "S004"): 2,
    }


def test_riders_of_express_runs_are_on_the_track_that_they_pass():
    """Timetable edges split local and express trains: 267 were counted where 408 riders crossed."""
    ring = ring_of_stops(6, seconds=600, skip=2)
    ring.metres = 1_000.0 * ((ring.indices - ring.sources) % 6)
    trips = Trips.of_lists([[0, 1, 2]] * 3 + [[0, 2]] * 2 + [[1, 2]], ring)
    (row,) = (row for row in asked("line-load", trips).table.to_dicts() if row["answer"])
    assert (row["from"], row["to"], row["answer"]) == ("S001", "S002", 6)
    ring.metres = np.full(ring.edges, 1_000.0)  # the short way is another street
    assert max(asked("line-load", trips).table["answer"]) == 4


def test_lines_that_share_a_stretch_share_its_trips_by_their_runs():
    lines = line_edges(RING)
    assert np.bincount(lines.edge, lines.share, RING.edges) == pytest.approx(1.0)


def test_durations_and_distances_as_shares_and_as_classes():
    assert asked("durations", over=15).table["answer"].to_list() == [0.75]
    assert asked("durations", over=20).table["answer"].to_list() == [0.0]
    classes = asked("durations").table.to_dicts()
    assert [(row["from_minutes"], row["to_minutes"], row["answer"]) for row in classes] == [
        (0, 10, 1),
        (20, 30, 3),
    ]
    longest = float(RING.metres.max()) / 1000
    assert asked("distances", over=1.5 * longest).table["answer"].to_list() == [0.75]


def test_answers_by_hour_weekday_and_day():
    day = 86_400
    monday = (np.datetime64("2026-11-16") - np.datetime64("1970-01-01")).astype(int) * day
    times = (
        np.array([EIGHT, EIGHT + 3_600, EIGHT + 7_200, EIGHT, EIGHT, EIGHT + 3_600, 0, 60, 120, 0]) + monday
    )
    timed = replace(TRIPS, time=times + np.repeat([0, 0, day, day], TRIPS.lengths))

    def by(question, period):
        found = asked(question, timed, by=period).table.to_dicts()
        return {(row.get("stop_id"), str(row[period])): row["answer"] for row in found}

    assert by("boardings", "hour") == {("s000", "8"): 1, ("s002", "8"): 1, ("s002", "0"): 1, ("s004", "0"): 1}
    assert by("alightings", "hour")[("s002", "10")] == 1
    assert by("boardings", "weekday")[("s004", "Tuesday")] == 1
    assert by("boardings", "day")[("s000", "2026-11-16")] == 1
    shares = {
        row["weekday"]: row["answer"]
        for row in asked("durations", timed, over=15, by="weekday").table.to_dicts()
    }
    assert shares == {"Monday": 1.0, "Tuesday": 0.5}
    peaks = asked("line-load", timed, by="hour").table.to_dicts()
    assert {(row["line"], row["hour"]): row["answer"] for row in peaks} == {
        ("line 0", 0): 1,
        ("line 0", 8): 1,
        ("line 0", 9): 1,
        ("line 0", 10): 1,
        ("line 1", 0): 1,
        ("line 1", 9): 1,
    }


def test_periods_that_the_times_do_not_tell_are_refused():
    hours = replace(TRIPS, time=np.full(TRIPS.visits, EIGHT))
    with pytest.raises(ParameterError, match="no times"):
        asked("boardings", by="hour")
    with pytest.raises(ParameterError, match="no weekdays"):
        asked("boardings", hours, by="weekday")
    with pytest.raises(ParameterError, match="no dates"):
        asked("boardings", hours, by="day")


def test_what_a_question_has_no_use_for_is_refused():
    made = bare_release(TRIPS, SHEET)
    for given in ({"over": 30}, {"districts": "d.csv"}):
        with pytest.raises(ParameterError, match="is for"):
            made.ask("boardings", **given)
    with pytest.raises(ParameterError, match="no times"):
        made.ask("stops", by="hour")


def test_districts_may_be_areas_on_a_map(tmp_path):
    middle = 45.01
    corners = [[-179, middle], [179, middle], [179, 89], [-179, 89], [-179, middle]]
    area = {"type": "Polygon", "coordinates": [corners]}
    feature = {"type": "Feature", "properties": {"name": "north"}, "geometry": area}
    file = tmp_path / "areas.geojson"
    file.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    found = read_districts(file, RING)
    named = found.names[found.of_place].tolist()
    assert named == ["north" if lat > middle else "elsewhere" for lat in RING.lat]
    assert {"north", "elsewhere"} == set(named)
    feature["properties"] = {}
    file.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    with pytest.raises(InputError, match="without a name"):
        read_districts(file, RING)


def test_plain_laplace_stands_beside_raw_counts():
    raw = Trips.of_lists([[0, 1, 2]] * 500, RING)
    questions = {"boardings": 500, "journeys": 500, "line-load": 500, "transfers": 0}
    for question, true in questions.items():
        table = asked(question, raw=raw, bits=SeededBits(3)).table
        assert table["raw"].max() == true
        assert abs(table["plain_laplace"].max() - true) < 200
    share = asked("durations", raw=raw, over=15, bits=SeededBits(3)).table.to_dicts()[0]
    assert share["raw"] == 1.0
    assert abs(share["plain_laplace"] - 1) < 0.1


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
        answer_trips(tapped, Asked("alightings"))
    assert answer_trips(tapped, Asked("boardings")).table["answer"].sum() == TRIPS.visits


def test_changes_that_the_error_of_the_release_may_make_are_refused_or_marked():
    """A woven release had 2,096 changes at stops of Cairns where nobody changes, and said nothing."""
    sure, unsure = (
        Accuracy({}, (Verdict("triples", 4, error, None, sure=True, says_more=True, is_noise=False),), None)
        for error in (0.1, 1.5)
    )
    one = replace(bare_release(TRIPS, SHEET), known_accuracy=sure)
    assert one.ask("transfers").table["answer"].sum() == 2
    one = replace(one, known_accuracy=unsure)
    with pytest.raises(RefusedError, match=r"Trips that change lines at each stop: noise.*--anyway"):
        one.ask("transfers", anyway=False)
    assert one.ask("transfers", anyway=True).note.startswith("Trips that change lines at each stop: noise")
