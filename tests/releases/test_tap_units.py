"""Who is protected when taps are released: units with bounds, sensitive stops, and wishes not to be counted."""

from datetime import date

import numpy as np
import polars as pl
import pytest

from ring_networks import ring_of_stops
from tap_releases import release_taps
from wayveil.errors import InputError, ParameterError
from wayveil.plan.tap_units import advise_units, say_unit
from wayveil.privacy.bits import SeededBits
from wayveil.simulate.fare_boxes import simulate_taps
from wayveil.taps.read import read_taps
from wayveil.taps.sensitive import SensitiveStops
from wayveil.taps.taps import Taps
from wayveil.trips.history import AS_READ
from wayveil.world.timebins import DAY
from wayveil.world.world import World

CITY = ring_of_stops(20, seconds=120, skip=3, routes=3)
FIRST, DAYS = date(2024, 12, 16), 4
MADE = simulate_taps(CITY, 4_000, seed=5, first_day=FIRST, days=DAYS).taps
PERIOD = {"first_day": FIRST, "days": DAYS}


def scales(made):
    return [float(scale) for scale in made.model.scales]


def test_counts_with_routes_protect_riders_with_a_bound_on_their_taps():
    event = release_taps(MADE, "counts-first", epsilon=2, bits=SeededBits(1), **PERIOD)
    rider = release_taps(
        MADE,
        "counts-first",
        epsilon=2,
        unit="rider",
        max_taps=4,
        bits=SeededBits(1),
        **PERIOD,
    )
    assert rider.datasheet["guarantee"]["unit"] == "rider"
    assert rider.datasheet["guarantee"]["bounds"]["max_trips"] == 4
    assert scales(rider) == pytest.approx([4 * scale for scale in scales(event)])
    kept = np.minimum(np.bincount(MADE.card), 4).sum()
    held = []
    for seed in range(20):
        for bounding, truth in (("draw", kept), ("weights", len(MADE.location))):
            bounded = release_taps(
                MADE, "counts", epsilon=2, unit="rider", max_taps=4, bits=SeededBits(seed), bounding=bounding
            )
            row = bounded.ask("total").table.row(0, named=True)
            held.append((bounding, row["low"] <= truth <= row["high"]))
    assert min(sum(each == (bounding, True) for each in held) for bounding in ("draw", "weights")) >= 17
    answer = rider.ask("total")
    assert abs(answer.table["answer"][0] - kept) <= 1.5 * (
        answer.table["high"][0] - answer.table["answer"][0]
    )
    assert "at most 4 of a rider, chosen at random" in answer.note
    assert rider.ask("routes", by="hour").table["low"].null_count() == 0


@pytest.mark.parametrize("way", ["counts", "counts-first"])
def test_every_unit_of_taps_pays_for_what_one_unit_can_move(way):
    period = PERIOD if way == "counts-first" else {}

    def first(unit, **bounds):
        made = release_taps(MADE, way, epsilon=2, unit=unit, bits=SeededBits(1), **bounds, **period)
        return scales(made)[0]

    one = first("event")
    assert first("rider-day", max_taps=3) == pytest.approx(3 * one)
    assert first("rider", max_taps=5) == pytest.approx(5 * one)
    # Any window meets two of the clock, in each of which as many may come as go.
    assert first("window", max_taps=2, window_hours=3) == pytest.approx(8 * one)


def test_cards_are_protected_as_riders_days_and_trips():
    for unit, more in (("rider", {"max_trips": 3}), ("rider-day", {}), ("trip", {})):
        made = release_taps(MADE, "cards", epsilon=2, unit=unit, bits=SeededBits(1), **more)
        assert made.datasheet["guarantee"]["unit"] == unit


def test_what_a_unit_has_no_use_for_is_refused_before_anything_is_spent():
    bare = Taps(MADE.location, MADE.time, CITY, route=MADE.route, history=AS_READ)
    refusals = [
        (MADE, "counts", {"unit": "rider-day"}, "--max-taps"),
        (
            MADE,
            "counts",
            {"unit": "window", "window_hours": 3, "max_taps": 2, "bounding": "weights"},
            "bounding has no",
        ),
        (MADE, "counts", {"unit": "event", "max_taps": 3}, "--max-taps has no meaning for the unit 'event'"),
        (MADE, "counts", {"unit": "window", "max_taps": 3}, "window_hours="),
        (
            MADE,
            "counts",
            {"unit": "rider", "max_taps": 3, "window_hours": 2},
            "--with window_hours has no meaning for the unit 'rider'",
        ),
        (MADE, "counts", {"unit": "trip"}, "unit event"),
        (MADE, "counts", {"unit": "person"}, "unknown unit"),
        (MADE, "counts", {"max_trips": 2}, "--max-trips has no meaning"),
        (MADE, "counts", {"without_id": "drop"}, "--no-rider"),
        (MADE, "cards", {"unit": "event"}, "chains the taps"),
        (MADE, "cards", {"unit": "rider", "max_taps": 3}, "--max-taps has no meaning"),
        (MADE, "cards", {"unit": "rider-day", "period": "week"}, "rider's week"),
        (MADE, "study", {"unit": "trip"}, "chains the taps"),
        (MADE, "counts", {"sensitive_epsilon": "0.1"}, "sensitive_epsilon"),
        (bare, "counts", {"unit": "rider", "max_taps": 3}, "no cards"),
    ]
    for taps, way, given, sentence in refusals:
        with pytest.raises(ParameterError, match=sentence):
            release_taps(taps, way, epsilon=2, **given)


def test_the_advice_says_what_event_means_for_a_frequent_rider():
    advice = advise_units(MADE, 0.5)
    per_card = np.bincount(MADE.card)
    often = np.percentile(per_card[per_card > 0], 99)
    event = advice[0]
    assert (event.unit, event.kept, event.noise) == ("event", 1.0, 2.0)
    assert event.person == pytest.approx(often * 0.5)
    two = next(one for one in advice if (one.unit, one.max_taps) == ("rider", 2))
    assert two.kept == pytest.approx(np.minimum(per_card, 2).sum() / len(MADE))
    assert (two.noise, two.person) == (4.0, 0.5)
    _, per_day = np.unique(np.stack([MADE.card, MADE.time // DAY]), axis=1, return_counts=True)
    day = next(one for one in advice if (one.unit, one.max_taps) == ("rider-day", 1))
    assert day.kept == pytest.approx(len(per_day) / len(MADE))
    assert f"at most {often:,.0f} taps" in say_unit(advice, MADE)[0]
    with pytest.raises(ParameterError, match="no cards"):
        advise_units(Taps(MADE.location, MADE.time, CITY), 1.0)


def listed(tmp_path, **columns):
    file = tmp_path / "sensitive.csv"
    pl.DataFrame(columns).write_csv(file)
    return file


def test_merged_stops_cannot_be_told_from_their_surroundings(tmp_path):
    """The release is the same to the byte whether somebody tapped at the clinic or at the stop beside it."""
    stops = SensitiveStops.of_file(listed(tmp_path, stop_id=["s003", "s011"]), CITY)
    clinic, beside = int(stops.stop[0]), int(stops.into[0])
    assert beside in (2, 4)
    there, elsewhere = MADE.location.copy(), MADE.location.copy()
    there[:200], elsewhere[:200] = clinic, beside
    sides = [Taps(place, MADE.time, CITY, card=MADE.card, history=AS_READ) for place in (there, elsewhere)]
    made = [
        release_taps(side, "counts", epsilon=2, sensitive=stops, bits=SeededBits(3), seed=1) for side in sides
    ]
    assert np.array_equal(made[0].model.stops, made[1].model.stops)
    assert np.array_equal(made[0].model.counts, made[1].model.counts)
    unmerged = [release_taps(side, "counts", epsilon=2, bits=SeededBits(3), seed=1) for side in sides]
    assert not np.array_equal(unmerged[0].model.stops, unmerged[1].model.stops)
    sheet = made[0].datasheet
    assert any("merged into their surroundings" in said for said in sheet["limitations"])
    assert {"name": "sensitive stops", "title": "sensitive.csv", "sha256": stops.sha256, "stops": 2} in sheet[
        "public_inputs"
    ]


def test_a_list_says_itself_where_stops_go_and_is_checked(tmp_path):
    named = SensitiveStops.of_file(
        listed(tmp_path, stop_id=["s003", "s011"], merge_into=["s009", None]), CITY
    )
    assert named.into[0] == 9
    for columns, sentence in (
        ({"stop": ["s003"]}, "stop_id"),
        ({"stop_id": ["nowhere"]}, "not in the network"),
        ({"stop_id": ["s003", "s011"], "merge_into": ["s011", None]}, "sensitive itself"),
    ):
        with pytest.raises(InputError, match=sentence):
            SensitiveStops.of_file(listed(tmp_path, **columns), CITY)
    with pytest.raises(InputError, match="no coordinates"):
        SensitiveStops.of_file(listed(tmp_path, stop_id=["a"]), World(["a", "b"]))


@pytest.mark.parametrize(("unit", "bound", "distance"), [(None, {}, 1), ("rider", {"max_taps": 3}, 2)])
def test_sensitive_stops_have_a_stronger_epsilon_of_their_own(tmp_path, unit, bound, distance):
    stops = SensitiveStops.of_file(listed(tmp_path, stop_id=["s003"]), CITY)
    made = release_taps(
        MADE,
        "counts",
        epsilon=1,
        unit=unit,
        sensitive=stops,
        sensitive_epsilon="0.1",
        bits=SeededBits(3),
        **bound,
    )
    chance = made.datasheet["sensitive_stops"]["chance"]
    assert chance == pytest.approx(np.expm1(0.1) / np.expm1(distance))
    answer = made.ask("stops").table
    there = int((MADE.location == 3).sum())
    row = answer.filter(pl.col("stop_id") == "s003")
    assert row["low"][0] <= there * chance + 3 * np.sqrt(there)
    assert row["answer"][0] < there / 2
    assert "chance of" in made.ask("stops").note
    assert any("epsilon 0.1 instead" in said for said in made.datasheet["limitations"])


def test_a_stronger_epsilon_is_refused_where_its_guarantee_is_not_known(tmp_path):
    stops = SensitiveStops.of_file(listed(tmp_path, stop_id=["s003"]), CITY)
    with pytest.raises(ParameterError, match="event, rider and rider-day"):
        release_taps(
            MADE,
            "counts",
            epsilon=1,
            unit="window",
            max_taps=2,
            window_hours=1,
            sensitive=stops,
            sensitive_epsilon=0.1,
        )
    with pytest.raises(ParameterError, match="stronger epsilon"):
        release_taps(MADE, "counts", epsilon=1, sensitive=stops, sensitive_epsilon=2)


def test_rows_that_opt_out_change_nothing_at_all(tmp_path):
    """Whatever an opted-out row says, the taps that are read, their cards and the report of the others are the same."""
    rows = [(f"2024-12-16T08:0{at}:00", f"s00{at}", f"c{at % 3}", "") for at in range(6)]
    wishes = [("2024-12-16T09:00:00", "s005", "c9", "yes"), ("2024-12-16T07:00:00", "s001", "c1", "TRUE")]
    columns = ["event_time", "stop_id", "card_id", "no_thanks"]

    def read(some):
        return read_taps(pl.DataFrame(some, schema=columns, orient="row"), CITY, opt_out="no_thanks")

    plain, wished = read(rows), read([wishes[0], *rows[:3], wishes[1], *rows[3:]])
    for name in ("location", "time", "card"):
        assert np.array_equal(getattr(plain.taps, name), getattr(wished.taps, name))
    assert wished.taps.card_ids.to_list() == plain.taps.card_ids.to_list()
    assert wished.report.dropped == 2
    with pytest.raises(InputError, match="no column"):
        read_taps(pl.DataFrame(rows, schema=columns, orient="row"), CITY, opt_out="wish")
