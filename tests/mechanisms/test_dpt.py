"""DPT: trips read as steps by plain Python, weights that add up, and releases that hold together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wayveil as wv
from utility.utility_worlds import ABCD, square_city, walks
from wayveil.counting.counter import walks_of
from wayveil.counting.local import LocalCounter
from wayveil.errors import ParameterError
from wayveil.mechanisms.dpt import DPT
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.synthesis.dpt_model import DptModel
from wayveil.trips.trips import Trips
from wayveil.world.geo import project
from wayveil.world.reference_systems import DIRECTIONS, STEPS, ReferenceSystems

CITY = square_city(6, jitter=2)


def plain_events(city, trip, metres, systems, finest):
    """(system, (row, column), symbol) of everything that a trip does; symbols as words."""
    east, north = project(city.lat, city.lon)
    east, north = east - east.min(), north - north.min()

    def cell(stop, system):
        side = metres * 2**system
        return int(north[stop] // side), int(east[stop] // side)

    def natural(a, b):
        for system in range(finest, systems):
            (r, c), (s, d) = cell(a, system), cell(b, system)
            if max(abs(r - s), abs(c - d)) <= 1:
                return system
        return None

    events, here = [], None
    for at, stop in enumerate(trip):
        system = natural(stop, trip[at + 1]) if at + 1 < len(trip) else None
        here = (finest if system is None else system) if here is None else here
        if system is None:
            return [*events, (here, cell(stop, here), "end")]
        if system != here:
            events.append((here, cell(stop, here), ("to", system)))
            here = system
        (r, c), (s, d) = cell(stop, here), cell(trip[at + 1], here)
        events.append((here, (r, c), (s - r, d - c)))
    return events


stops = st.lists(st.lists(st.integers(0, CITY.size - 1), min_size=1, max_size=8), min_size=1, max_size=6)


@given(stops, st.sampled_from([200.0, 700.0, 1500.0]), st.integers(1, 4), st.integers(0, 3))
def test_events_are_those_of_plain_python(lists, metres, systems, finest):
    finest = min(finest, systems - 1)
    grids = ReferenceSystems(CITY, metres, systems)
    found = grids.events(walks_of(Trips.of_lists(lists, CITY)), finest)
    for number, trip in enumerate(lists):
        mine = found.walk == number
        read = []
        for cell, symbol in zip(found.cell[mine], found.symbol[mine], strict=True):
            system = int(np.searchsorted(grids.first, cell, side="right") - 1)
            place = divmod(int(cell - grids.first[system]), grids.wide[system])
            word = "end" if symbol == grids.end else ("to", int(symbol) - DIRECTIONS)
            read.append((system, place, tuple(STEPS[symbol].tolist()) if symbol < DIRECTIONS else word))
        assert read == plain_events(CITY, trip, metres, systems, finest)


class Listening(Gate):
    """Answers without noise and remembers what it was asked."""

    def __init__(self):
        super().__init__(Trip(), Budget(1), SeededBits(1))
        self.asked = []

    def histogram(self, label, exact, contribution, price, **options):
        self.asked.append((label, exact, contribution))
        return super().histogram(label, exact, contribution, price, **options)


@given(stops)
@settings(max_examples=30)
def test_a_trip_gives_at_most_its_weight_to_every_level(lists):
    for one in lists:
        gate = Listening()
        DPT(metres=500, systems=3, height=3, parts=60).measure(
            LocalCounter(Trips.of_lists([one], CITY)), gate
        )
        assert [label for label, *_ in gate.asked][:3] == [
            "number of trips",
            "where trips begin",
            "level 1 of the trees",
        ]
        for _, exact, contribution in gate.asked:
            assert exact.counts.sum() <= contribution.per_trip


def test_the_whole_budget_is_spent_and_no_more():
    made = wv.release(walks(CITY, 200, 1), DPT(metres=500), epsilon=2, bits=SeededBits(1))
    assert made.datasheet["guarantee"]["epsilon"] == "2"


def test_without_noise_walks_follow_the_raw_steps():
    raw = walks(CITY, 800, 1, timed=False)
    made = wv.release(raw, DPT(metres=900, systems=3), epsilon=1000, bits=SeededBits(1), seed=1)
    assert len(made.trips) == 800
    grids = ReferenceSystems(CITY, 900, 3)
    there, here = (
        np.bincount(grids.events(walks_of(t), 0).cell, minlength=grids.cells) for t in (raw, made.trips)
    )
    assert np.abs(there / there.sum() - here / here.sum()).sum() < 0.5
    assert made.trips.lengths.min() >= 1


def test_walks_that_keep_their_direction_get_further():
    # On a long street everybody goes straight on; without a memory of direction walks turn back.
    raw = walks(CITY, 500, 3, timed=False)
    east, _ = project(CITY.lat, CITY.lon)
    spans = []
    for window in (0, 4):
        made = wv.release(
            raw, DPT(metres=900, height=2, window=window), epsilon=1000, bits=SeededBits(2), seed=1
        ).trips
        ends = east[made.destinations()] - east[made.origins()]
        spans.append(np.abs(ends).mean())
    assert spans[1] > spans[0]


def test_a_saved_model_draws_the_same_trips(tmp_path):
    made = wv.release(walks(CITY, 300, 1), DPT(metres=700), epsilon=20, bits=SeededBits(1), seed=3)
    made.model.save(tmp_path)
    again = DptModel.load(tmp_path, CITY)
    assert np.array_equal(again.generate(3).location, made.trips.location)
    assert made.model.draw(17, 1).offsets[-1] > 0
    assert len(made.model.draw(17, 1)) == 17


def test_a_tiny_budget_still_gives_trips():
    made = wv.release(walks(CITY, 50, 1), DPT(metres=500), epsilon=0.001, bits=SeededBits(5), seed=1)
    assert made.trips.lengths.min() >= 1


def test_a_world_without_coordinates_is_refused():
    with pytest.raises(ParameterError, match="coordinates"):
        wv.release(Trips.of_lists([[0, 1]], ABCD), DPT(), epsilon=1, ledger=None)
