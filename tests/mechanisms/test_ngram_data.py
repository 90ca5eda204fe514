"""The n-gram family on real sequences, none of which it was made for."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from wayveil.mechanisms.markov import Markov
from wayveil.mechanisms.mobitrie import MobiTrie, MobiTrieSearch
from wayveil.mechanisms.variable_ngrams import VariableNgrams
from wayveil.run import make_release as release
from wayveil.trips.sequences import read_sequences
from wayveil.trips.trips import Trips
from wayveil.world.successors import SparseSuccessors
from wayveil.world.world import World

DATA = Path(os.environ.get("WAYVEIL_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
SEQUENCES = {
    "flights": "flights/US_flights_train.ngram",
    "gazelle": "sequences/BMS1_gazelle.dat",
    "bike": "sequences/BIKE.txt",
}
# A search that hardly ever gives up: whether it finds something is not the question here.
PATIENT = MobiTrieSearch(quality="1/1000", gamma="1/100000000", slack=0)
MECHANISMS = [Markov(), Markov(order=2), MobiTrie(), PATIENT, VariableNgrams()]


def tube():
    """20,000 journeys on the Tube's real graph between uniformly drawn stations, on shortest paths."""
    pairs = [
        line.split(";") for line in (DATA / "london-tube/tube.edges").read_text().splitlines() if ";" in line
    ]
    names = sorted({name.strip() for pair in pairs for name in pair[:2]})
    place = {name: index for index, name in enumerate(names)}
    ends = np.array([(place[a.strip()], place[b.strip()]) for a, b, *_ in pairs])
    both = np.concatenate([ends, ends[:, ::-1]])
    graph = csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(len(names),) * 2)
    graph.sum_duplicates()
    graph.sort_indices()
    world = World(names, successors=SparseSuccessors(graph.indptr, graph.indices))
    _, before = shortest_path(graph, unweighted=True, return_predecessors=True)
    rng = np.random.default_rng(0)
    lists = []
    for origin, end in rng.integers(0, len(names), (20_000, 2)):
        path = [int(end)]
        while path[-1] != origin and before[origin, path[-1]] >= 0:
            path.append(int(before[origin, path[-1]]))
        lists.append(path[::-1])
    return Trips.of_lists(lists, world)


def load(name):
    path = DATA / ("london-tube/tube.edges" if name == "tube" else SEQUENCES[name])
    if not path.exists():
        pytest.skip(f"{path} is not there; set WAYVEIL_DATA to the folder of the public data sets")
    return tube() if name == "tube" else read_sequences(path, universe_from_data=True)


@pytest.mark.data
@pytest.mark.parametrize("name", [*SEQUENCES, "tube"])
def test_every_mechanism_releases_trips_from_it(name):
    trips = load(name)
    for mechanism in MECHANISMS:
        private = release(trips, mechanism, epsilon=4).trips
        assert len(private) == pytest.approx(len(trips), rel=0.02), mechanism
        assert private.lengths.min() >= 1
        if trips.world.restricts_moves:
            inside = np.setdiff1d(np.arange(private.visits), private.offsets[1:] - 1)
            assert trips.world.successors.contains(
                private.location[inside], private.location[inside + 1]
            ).all()
