"""A saved world comes back with the fingerprint that it had, whatever kind of world it is."""

import numpy as np
import pytest

from ring_networks import ring_of_stops
from wayveil.errors import InputError, ParameterError
from wayveil.taps.boardings import Boardings
from wayveil.world.grid import Grid
from wayveil.world.places import KINDS, PlaceList, load_world
from wayveil.world.successors import SparseSuccessors
from wayveil.world.timed import Later
from wayveil.world.world import World

CITY = ring_of_stops(12)
PLACES = PlaceList(
    np.array(["a", "b"]), np.array(["Alba", "Ωmega"]), np.array([1.0, 2.0]), np.array([3.0, 4.0])
)
WORLDS = {
    "symbols": World.of_symbols(["x", "y", "ż"]),
    "not public": World.of_symbols("xy", public=False),
    "moves": World(list("abc"), successors=SparseSuccessors([0, 1, 2, 3], [1, 2, 0])),
    "places": PLACES,
    "places without coordinates": PlaceList(np.array(["a", "b"]), np.array(["Alba", "Bern"])),
    "places of a network": PlaceList.of_network(CITY),
    "network": CITY,
    "grid": Grid.of_metres("10,20,10.03,20.03", 500),
    "boardings": Boardings(CITY),
}


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS.keys())
def test_a_saved_world_comes_back_equal(world, tmp_path):
    world.save(tmp_path / "world.npz")
    again = load_world(tmp_path / "world.npz", (*KINDS, Boardings))
    assert type(again) is type(world)
    assert again.fingerprint() == world.fingerprint()
    assert again.describe() == world.describe()
    assert again.public == world.public
    assert again.names.tolist() == world.names.tolist()
    assert again.restricts_moves == world.restricts_moves
    for name in ("lat", "lon", "seconds", "route_names", "service"):
        assert np.array_equal(getattr(again, name, None), getattr(world, name, None))
    known = [*CITY.stop_ids.tolist(), *world.ids.tolist()]
    assert again.index_of(known).tolist() == world.index_of(known).tolist()


def test_moves_that_no_file_can_hold_are_refused():
    timed = Later(SparseSuccessors([0, 1, 2], [1, 0]), 2)
    with pytest.raises(ParameterError, match="cannot be saved"):
        World(list("abcd"), successors=timed).stored()


def test_a_kind_of_world_that_nobody_knows_is_refused(tmp_path):
    Boardings(CITY).save(tmp_path / "world.npz")
    with pytest.raises(InputError, match="unknown kind, 'Boardings'"):
        load_world(tmp_path / "world.npz")
