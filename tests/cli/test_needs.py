"""Needs: sentences that are understood, refused with what is, and what epsilon is spent on because of them."""

import json
import re
import shlex
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from wayveil.cli import main
from wayveil.errors import ParameterError
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.mechanisms.weave import Weave
from wayveil.mechanisms.weave.settings import Shares
from wayveil.plan.files import plan_text, read_plan
from wayveil.plan.needs import Need, WorldSize, parts_of, read_needs
from wayveil.plan.outlook import BOUNDS, Forecast
from wayveil.plan.plan import Plan
from wayveil.plan.promise import say_percent
from wayveil.privacy.units import Rider
from wayveil.released.reached import StatedNeed, reached_needs
from wayveil.releases.order import default_mechanism
from wayveil.simulate.crowd import Crowd
from wayveil.simulate.feed import write_city
from wayveil.simulate.riders import simulate_riders
from wayveil.world.gtfs import read_gtfs

CITY = WorldSize(places=800, routes=40, edges=2400)


@pytest.mark.parametrize(
    ("sentence", "fields"),
    [
        ("boardings per stop, top 50, within 10 %", {"question": "boardings", "top": 50, "within": 0.1}),
        ("boardings per route and hour, within 15 %", {"question": "route-hours", "within": 0.15}),
        (
            "trips between districts of districts.geojson, within 20 %",
            {"question": "districts", "districts": "districts.geojson", "within": 0.2},
        ),
        (
            "load of route 14, 7 to 9, within 15 %",
            {"question": "edges", "route": "14", "hours": (7, 9), "within": 0.15},
        ),
        (
            "change against last week of boardings per stop, at least 20 %",
            {"question": "boardings", "change": True, "within": 0.2},
        ),
    ],
)
def test_a_sentence_and_its_fields_are_the_same_need(sentence, fields):
    need = Need.parse(sentence)
    assert need == Need(**fields)
    assert Need.parse(str(need)) == need


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("top ten stops", "boardings per stop, top 10"),
        ("the 20 busiest stations within 15%", "boardings per stop, top 20, within 15 %"),
        ("Boardings at each station; top 50; +-5 percent", "boardings per stop, top 50, within 5 %"),
        ("OD between zones", "trips between districts"),
        ("OD matrix", "trips between stops"),
        ("trips between zones of our zones.geojson", "trips between districts of our zones.geojson"),
        ("load on line 5 in the morning peak", "load of route 5, 7 to 9"),
        ("load of route 14, 4-6 pm", "load of route 14, 16 to 18"),
        ("rides per hour, error below 3 %", "boardings per hour, within 3 %"),
        ("boardings per line and hour", "boardings per route and hour"),
        (
            "change vs last month in boardings per stop, 20 %",
            "change since the release before of boardings per stop, at least 20 %",
        ),
    ],
)
def test_needs_are_understood_as_people_write_them(sentence, said):
    need = Need.parse(sentence)
    assert str(need).startswith(said)
    assert Need.parse(str(need)) == need


@pytest.mark.parametrize(
    ("sentence", "meant"),
    [
        ("bordings per stop", "boardings per stop"),
        ("daily boardings at each station", "boardings per stop"),
        ("alighting pr stop, top 20", "alightings per stop"),
        ("line loads", "load per line"),
    ],
)
def test_a_slip_is_asked_about_and_not_guessed(sentence, meant):
    with pytest.raises(ParameterError, match=f"not understood \\(did you mean '{meant}'"):
        Need.parse(sentence)


@pytest.mark.parametrize(
    "sentence", ["boardings, within 0 %", "boardings, top 0", "boardings, 9 to 7", "boardings, within 150 %"]
)
def test_a_need_that_makes_no_sense_says_which_part(sentence):
    with pytest.raises(ParameterError, match=f"the need '{sentence}': (within|top|hours): "):
        Need.parse(sentence)


@pytest.mark.parametrize(
    "sentence",
    ["how many dogs", "boardings per stop, on Mondays", "boardings, within ten", "boardings, 5 %, 10 %"],
)
def test_what_is_not_understood_lists_what_is(sentence):
    with pytest.raises(ParameterError, match=r"understood are: total; boardings per stop;"):
        Need.parse(sentence)


def test_taps_have_no_alightings_and_the_refusal_says_what_has():
    with pytest.raises(ParameterError, match=r"taps say where people board.*--rows legs or pairs"):
        read_needs("alightings per stop, within 10 %", taps=True)
    with pytest.raises(ParameterError, match=r"needs: .*no answer in taps"):
        Plan.of(epsilon=1, rows="taps", needs=["alightings per stop, within 10 %"])
    with pytest.raises(ParameterError, match=r"which line they board: release taps with a route column"):
        read_needs(["boardings per route, within 10 %"], taps=False)


def test_needs_that_contradict_each_other_are_refused():
    both = ["boardings per stop, within 10 %", "boardings per stop, within 20 %"]
    with pytest.raises(ParameterError, match=r"contradict each other.*keep the stricter"):
        Plan.of(epsilon=1, needs=both)


def test_a_plan_keeps_sentences_as_fields():
    plan = Plan.of(epsilon=1, needs=["boardings per stop, top 50, within 10 %"])
    assert '[[needs]]\nquestion = "boardings"' in re.sub(r"#.*\n", "", plan_text(plan))
    assert plan == Plan.of(epsilon=1, needs=[{"question": "boardings", "top": 50, "within": 0.1}])


def test_a_question_that_matters_gets_what_it_takes():
    alone = parts_of([Need.parse("boardings per stop, top 50, within 10 %")], CITY)
    assert alone["boardings"] > Fraction(3, 4)
    assert set(alone) == {"total", "hours", "boardings"}
    both = [
        Need.parse(each) for each in ("boardings per stop, within 10 %", "boardings per hour, within 5 %")
    ]
    parts = parts_of(both, CITY)
    assert parts["boardings"] > 10 * parts["hours"] > 0
    looser = parts_of([both[0], Need.parse("boardings per hour, within 50 %")], CITY)
    assert looser["hours"] <= parts["hours"]
    assert all(sum(each.values()) <= Fraction(95, 100) for each in (alone, parts, looser))


def test_shares_follow_the_parts_and_by_hand_they_stay():
    parts = {"boardings": Fraction(1, 2), "hours": Fraction(1, 20)}
    shares = Weave().serving(parts).shares
    weights = shares.weigh_blocks("network", timed=True)
    assert weights["origin"] / sum(weights.values()) == Fraction(1, 2)
    assert weights["hour"] / sum(weights.values()) == Fraction(1, 20)
    by_hand = Weave(shares={"on_network": {"origins": "10"}})
    assert by_hand.serving(parts) == by_hand
    taps = TapCounts().serving(parts)
    assert taps.stops_share > Fraction(4, 5)
    assert taps.times_share + taps.stops_share == 1  # nobody needs both together
    assert TapCounts(stops_share="1/2").serving(parts).stops_share == Fraction(1, 2)


def test_a_question_that_does_not_exist_gets_no_share():
    with pytest.raises(ValueError, match=r"unknown question 'dogs'; choose one of trips"):
        Shares(needed={"dogs": Fraction(1, 2)})
    with pytest.raises(ValueError, match=r"nothing is left for whole trips"):
        Shares(needed={"origin": Fraction(1)})


@pytest.fixture
def city(tmp_path, monkeypatch):
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    write_city("city.zip", seed=3, stops=60, lines=4)
    return tmp_path


def plan_needs(capsys, *words):
    """Exit code and facts of `wayveil plan` with needs; the file of the rows does not exist."""
    command = ["wayveil", "plan", "never-opened.csv", "-w", "city.zip", "--rows", "pairs", *words]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as stopped:
            main()
    out, err = capsys.readouterr()
    return stopped.value.code or 0, json.loads(out) if out.startswith("{") else out + err


BUSIEST = ("--need", "boardings per stop, top 10, within 10 %", "--json")


def test_the_least_epsilon_is_found_before_anything_is_read_or_spent(city, capsys):
    code, facts = plan_needs(capsys, *BUSIEST, "--with", "rides=20000", "--save", "wayveil.toml")
    assert code == 0
    assert 0.05 <= facts["epsilon"] < 2
    at = [row for row in facts["outlooks"] if row["epsilon"] == facts["epsilon"]]
    assert all(row["met"] >= 0.9 and row["median"] <= 0.1 for row in at)
    assert f"--epsilon {facts['epsilon']:g}" in facts["command"]
    assert float(read_plan("wayveil.toml").protection.epsilon) == facts["epsilon"]
    assert "alightings per stop" in facts["given_up"]
    again = plan_needs(capsys, *BUSIEST, "--with", "rides=20000")
    assert again == (code, facts)
    assert not (city / "home" / "ledger").exists()  # nothing is booked


def test_more_rides_or_looser_needs_take_less(city, capsys):
    strict = ("--need", "boardings per stop, top 10, within 2 %", "--json")
    few, many = (
        plan_needs(capsys, *strict, "--with", f"rides={each}", "--with", f"people={each}")[1]
        for each in (3_000, 40_000)
    )
    assert many["epsilon"] < few["epsilon"]
    ways = {each["way"]: each["epsilon"] for each in few["cheaper"]}
    assert ways["'boardings per stop, top 10, within 4 %'"] < few["epsilon"]


def test_no_epsilon_below_the_most_is_exit_code_one(city, capsys):
    code, facts = plan_needs(capsys, *BUSIEST, "--with", "rides=200", "--policy-epsilon", "0.5")
    assert (code, facts["epsilon"], facts["most"]) == (1, None, 0.5)


def test_more_than_the_policy_is_refused_with_what_is_left(city, capsys):
    code, said = plan_needs(
        capsys, *BUSIEST, "--with", "rides=2000", "--policy-epsilon", "1", "--epsilon", "4"
    )
    assert code == 2
    assert "requested 4, remaining 1" in said


def test_without_a_number_of_rides_it_says_how_to_state_one(city, capsys):
    code, said = plan_needs(capsys, *BUSIEST)
    assert code == 2
    assert "--with rides=30000" in said


def test_what_an_epsilon_means_is_never_rounded_to_certainty():
    assert [say_percent(0.5, each) for each in (1, 3, 10)] == ["73 %", "95 %", "99.995 %"]
    assert "100 %" not in say_percent(0.5, 52)


def clock(second):
    return f"2024-05-0{6 + second // 86_400}T{second // 3600 % 24:02d}:{second // 60 % 60:02d}:00"


def rides(count, *, riders=None):
    """Pairs of stops of the city with times; of riders with one to six rides, or of nobody in particular."""
    network, rng = read_gtfs("city.zip"), np.random.default_rng(1)
    made = simulate_riders(network, count, seed=5).trips
    first, last = made.offsets[:-1], made.offsets[1:] - 1
    table = pl.DataFrame(
        {
            "trip_id": np.arange(count),
            "origin": network.ids[made.location[first]].tolist(),
            "destination": network.ids[made.location[last]].tolist(),
            "start": [clock(each) for each in made.time[first].tolist()],
            "end": [clock(each) for each in made.time[last].tolist()],
        }
    )
    if riders is not None:
        table = table.with_columns(rider_id=pl.Series(rng.integers(0, riders, count).astype(str)))
    return table


def boardings(table):
    """The same rides as taps."""
    return table.drop("destination", "trip_id", "end").rename({"origin": "stop_id", "start": "event_time"})


FILES = {
    "pairs of riders": (lambda: rides(6_000, riders=2_000), ()),
    "pairs of nobody": (lambda: rides(6_000), ()),
    "pairs, half as much epsilon": (lambda: rides(9_000, riders=5_000), ("--epsilon", "0.5")),
    "pairs without times": (lambda: rides(6_000, riders=3_000).drop("start", "end"), ()),
    "taps of cards": (lambda: boardings(rides(6_000, riders=2_000)), ()),
    "taps of nobody": (lambda: boardings(rides(6_000)), ()),
}
LABELS = {
    "number of trips": "total",
    "trips by origin": "boardings per stop, top 50",
    "trips by hour": "boardings per hour",
    "visits per stop": "boardings per stop, top 50",
    "visits per time bin": "boardings per hour",
    "visits per stop and time bin": "boardings per stop and hour, top 50",
}


@pytest.mark.parametrize("kind", FILES)
def test_check_tells_the_noise_that_the_datasheet_then_says(city, capsys, monkeypatch, kind):
    make, words = FILES[kind]
    make().write_csv("rides.csv")
    monkeypatch.setattr(sys, "argv", ["wayveil", "check", "rides.csv", "-w", "city.zip", "--json", *words])
    with pytest.raises(SystemExit):
        main()
    facts = json.loads(capsys.readouterr()[0])
    assert facts["ok"], facts["problems"]
    told = {row["question"]: row["noise"] for row in facts["answers"]}
    monkeypatch.setattr(sys, "argv", [*shlex.split(facts["command"]), "--quiet"])
    with pytest.raises(SystemExit):
        main()
    sheet = json.loads(Path("release-rides/datasheet.json").read_text())
    said = {
        LABELS[spend["label"]]: spend["error_95"] for spend in sheet["spends"] if spend["label"] in LABELS
    }
    assert "boardings per stop, top 50" in said
    # Numbers are of all rides: by weights, or as nobody has more rides than count.
    table = make()
    if "rider_id" in table.columns:
        most = table["rider_id"].value_counts()["count"].max()
        assert "size" in sheet or sheet["guarantee"]["bounds"]["max_trips"] == most
    for question, half in said.items():
        assert told[question] == pytest.approx(half, rel=0.2, abs=1.5), question


def test_check_warns_before_a_release_that_would_be_noise(city, capsys, monkeypatch):
    boardings(rides(150, riders=60)).write_csv("taps.csv")
    monkeypatch.setattr(
        sys, "argv", ["wayveil", "check", "taps.csv", "-w", "city.zip", "-e", "0.1", "--quiet"]
    )
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr()[0]
    assert "will be noise" in said
    assert "This would help: a longer period" in said
    assert "at most this sure after epsilon 1: 73 %, 3: 95 %, 10: 99.995 %, 52: more than 99.9999 %" in said


@pytest.mark.parametrize("make", [rides, lambda *few, **who: boardings(rides(*few, **who))])
def test_a_tiny_file_gets_no_bound_recommended_but_what_would_help(city, capsys, monkeypatch, make):
    make(120, riders=60).write_csv("rides.csv")
    monkeypatch.setattr(sys, "argv", ["wayveil", "check", "rides.csv", "-w", "city.zip", "--quiet"])
    with pytest.raises(SystemExit):
        main()
    said = " ".join(capsys.readouterr()[0].split())
    assert "recommended" not in said
    assert "whatever the rides of a rider count as, the 50 busiest stops would be noise" in said
    assert "do not release this as it is" in said
    assert "This would help: a longer period" in said


def test_the_datasheet_sets_what_is_reached_beside_what_was_promised(city, capsys, monkeypatch):
    rides(8_000, riders=4_000).write_csv("never-opened.csv")
    words = ("--need", "boardings per stop, top 10, within 10 %", "--need", "load per line, within 20 %")
    code, _ = plan_needs(
        capsys, *words, "--with", "rides=8000", "--with", "people=4000", "--save", "wayveil.toml"
    )
    assert code == 0
    monkeypatch.setattr(sys, "argv", ["wayveil", "release", "--quiet", "--policy-epsilon", "10"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code, capsys.readouterr()[1]
    busy, load = json.loads(Path("release/datasheet.json").read_text())["needs"]
    assert busy["met"] is True
    promised, reached = (float(busy[key].rstrip("%")) for key in ("promised", "reached"))
    assert 0.5 * promised < reached < 2 * promised
    assert load["reached"] == "answered by whole trips: see the verdict"
    assert "Needs: promised and reached" in Path("release/datasheet.html").read_text()


def test_a_need_about_a_part_says_that_it_is_planned_as_the_whole(city, capsys):
    said = plan_needs(capsys, "--need", "load of route 10, 7 to 9, within 60 %", "--with", "rides=8000")[1]
    assert "planned as the load of all lines at all hours" in said


def test_a_route_that_the_world_does_not_have_is_refused_with_some_that_it_has(city, capsys):
    code, said = plan_needs(capsys, "--need", "load of route 999, within 20 %", "--with", "rides=8000")
    assert code == 2
    assert "names a route that the world does not have; choose one of 10, 11" in " ".join(said.split())


def test_nine_of_ten_tries_hold_where_demand_may_be_another(city):
    world, need = read_gtfs("city.zip"), Need.parse("boardings per stop, top 10, within 10 %")
    crowd = Crowd.simulate(world, 20_000, 4_000)
    mechanism = default_mechanism(world, parts_of([need], CITY))
    told, sure = (
        Forecast(world, each, mechanism, Rider(max_trips=2, bounding="weights"))
        for each in (crowd, replace(crowd, unsure=0.0))
    )
    assert told.at([need], 1)[0].median == sure.at([need], 1)[0].median
    grid = np.geomspace(0.05, 5, 40)
    least = [next(at for at in grid if each.at([need], at)[0].suffices) for each in (told, sure)]
    assert 1.1 < least[0] / least[1] < 2


def test_what_a_need_about_a_part_reached_is_not_told_by_whole_cells():
    stated = StatedNeed("boardings per stop, 7 to 9", "boardings", None, 0.1, None, part=True)
    [row] = reached_needs([stated], model=None)
    assert (row["reached"], row["met"]) == (
        "asks for a part of the cells: see the interval of the answer",
        None,
    )


def test_a_bound_at_which_a_need_is_not_asked_for_is_not_chosen(city):
    world = read_gtfs("city.zip")
    need = Need.parse("boardings per stop, top 10, within 10 %")
    told = Forecast(
        world,
        Crowd.simulate(world, 3_000, 600),
        default_mechanism(world, parts_of([need], CITY)),
        Rider(max_trips=2, bounding="weights"),
    )
    asked = {
        at: [bound for bound in BOUNDS if "boardings" in told.bounded(bound).scales(at)] for at in (0.002, 1)
    }
    assert asked[1] == list(BOUNDS)
    for epsilon, bounds in asked.items():
        assert not bounds or told.with_best_bound([need], epsilon).bound in bounds
    some = [at for at in np.geomspace(0.002, 0.2, 30) if "boardings" in told.scales(at)]
    assert told.with_best_bound([need], some[0]).bound <= 2
