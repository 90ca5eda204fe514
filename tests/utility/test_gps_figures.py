"""Sets of places, curves by hour, and next hops, each against the slow way."""

from itertools import combinations

import numpy as np
import pytest
from bench.city_figures import CityFigures

from wayveil.lab.research_figures import hops_of, hour_curves, hours_of, next_hop_figures
from wayveil.mechanisms.od_hops import OdHops
from wayveil.run import make_release as release
from wayveil.trips.tracks import Tracks
from wayveil.trips.trips import Trips
from wayveil.utility.gps_figures import Circles
from wayveil.utility.origin_destination import OriginDestinationDistance
from wayveil.utility.patterns import FrequentItemsets, itemset_supports, top_itemsets
from wayveil.utility.stop_figures import LengthsByHour
from wayveil.world.geo import BoundingBox, haversine
from wayveil.world.grid import Grid, Layout

GRID = Grid(Layout.of_counts("0,0,0.1,0.1", 4, 4))


def some_trips(count, seed):
    rng = np.random.default_rng(seed)
    lists = [rng.integers(0, 16, rng.integers(1, 7)).tolist() for _ in range(count)]
    lengths = [len(one) for one in lists]
    start = rng.integers(0, 86_400, count)
    time = np.concatenate([first + 60 * np.arange(n) for first, n in zip(start, lengths, strict=True)])
    return Trips.of_lists(lists, GRID, time=time)


RAW, OTHER = some_trips(200, 1), some_trips(150, 2)


def test_top_sets_are_those_of_counting_everything():
    count: dict[tuple[int, ...], int] = {}
    for trip in RAW.to_lists():
        places = sorted(set(trip))
        for size in range(2, 6):
            for one in combinations(places, size):
                count[one] = count.get(one, 0) + 1
    slow = sorted(count.items(), key=lambda item: (-item[1], len(item[0]), item[0]))[:40]
    assert top_itemsets(RAW, 40) == slow
    assert itemset_supports(RAW, [one for one, _ in slow]).tolist() == [much for _, much in slow]


def test_itemset_figures_of_the_same_trips_are_perfect():
    found = {m.key: m.value for m in FrequentItemsets(RAW).measure(RAW)}
    assert found["patterns/itemsets/10/found"] == found["patterns/itemsets/100/f1"] == 1
    assert found["patterns/itemsets/50/support_error"] == 0
    other = {m.key: m.value for m in FrequentItemsets(RAW).measure(OTHER)}
    assert other["patterns/itemsets/100/found"] < 1


def test_curves_average_to_the_figures_of_the_scorecard():
    curve = hour_curves(RAW, OTHER)
    weights = curve["raw trips"].to_numpy()
    by_hour = LengthsByHour(RAW).measure(OTHER)[0].value
    assert np.average(curve["length_jsd"], weights=weights) == pytest.approx(by_hour)
    distance = OriginDestinationDistance(RAW).measure(OTHER)[1].value
    assert np.average(curve["od_emd"], weights=weights) == pytest.approx(distance)
    without = hour_curves(RAW, OTHER, ends=False)
    assert without["od_emd"].null_count() == len(without)
    assert without["length_jsd"].to_list() == curve["length_jsd"].to_list()
    same = hour_curves(RAW, RAW, hour="majority")
    assert same["length_jsd"].max() == same["od_emd"].max() == 0


def test_the_majority_hour_is_where_most_of_the_trip_was():
    time = np.array([17 * 3600 + 3480, 18 * 3600 + 600, 3599, 3600, 0, 7300])
    trips = Trips.of_lists([[0, 1], [0, 1], [0, 1]], GRID, time=time)
    assert hours_of(trips, "start").tolist() == [17, 0, 0]
    assert hours_of(trips, "majority").tolist() == [18, 0, 1]


class Knows:
    """Goes north-east with probability 3/4, and stays otherwise."""

    def hops(self, here, to, hour):
        places = np.stack([np.minimum(here + 1, 15), np.where(here > 0, here, -1)], axis=1)
        return places, np.tile([0.75, 0.25], (len(here), 1))


def test_next_hop_figures_by_hand():
    trips = Trips.of_lists([[0, 1, 2], [5, 4]], GRID, time=np.array([0, 1, 2, 7200, 7201]))
    assert [column.tolist() for column in hops_of(trips)] == [[0, 1, 5], [1, 2, 4], [2, 2, 4], [0, 0, 2]]
    loss, accuracy, metres = (m.value for m in next_hop_figures(trips, Knows()))
    assert accuracy == pytest.approx(2 / 3)
    assert loss == pytest.approx((-2 * np.log(0.75) - np.log(1e-9)) / 3)
    assert metres == pytest.approx(2 * 0.025 * 111_195 / 3, rel=1e-3)


def test_a_city_measures_a_release_in_one_row():
    rng = np.random.default_rng(3)
    lists = [[0, 1, 2, 6], [0, 1, 5], [12, 8, 4, 0]] * 20 + [
        rng.integers(0, 16, 3).tolist() for _ in range(40)
    ]
    raw = Trips.of_lists(lists, GRID)
    judge = CityFigures(raw, Tracks.centres(raw), tops=(3, 10))
    own = judge.measure(judge.raw)
    assert own["top 3"] == own["top 10"] == 1
    assert "metres" not in own
    model = release(raw, OdHops(weakest=0), epsilon=4, seed=1).model
    known = judge.measure(model.draw(100, 1), model)
    assert 0 < known["metres"] < 20_000
    assert 0 <= known["top 10"] <= 1


def test_circles_hold_the_points_within_their_radius():
    rng = np.random.default_rng(5)
    box = BoundingBox(22.4, 113.7, 22.9, 114.5)
    circles = Circles.drawn(box, 20, rng)
    lat, lon = rng.uniform(22.4, 22.9, 3_000), rng.uniform(113.7, 114.5, 3_000)
    away = haversine(circles.lat[:, None], circles.lon[:, None], lat, lon)
    assert np.array_equal(circles.contain(lat, lon), away <= circles.radius[:, None])
