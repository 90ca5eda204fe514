import numpy as np
import polars as pl
import pytest

from wayveil.errors import InputError, ParameterError
from wayveil.world.opening import open_world
from wayveil.world.world import World


def test_symbols_are_sorted_and_found_again():
    world = World.of_symbols(["pear", "apple", "pear", "fig"])
    assert world.ids.tolist() == ["apple", "fig", "pear"]
    assert world.index_of(["pear", "nothing", "apple"]).tolist() == [2, -1, 0]
    assert world.index_of(pl.Series(["fig", None])).tolist() == [1, -1]


def test_a_world_needs_ascending_ids_and_at_least_one():
    with pytest.raises(ParameterError):
        World([])
    with pytest.raises(ParameterError):
        World(["b", "a"])


def test_the_fingerprint_changes_with_any_location():
    assert World(["a", "b"]).fingerprint() == World(["a", "b"]).fingerprint()
    assert World(["a", "b"]).fingerprint() != World(["a", "c"]).fingerprint()
    assert World(["ab", "c"]).fingerprint() != World(["a", "bc"]).fingerprint()


def test_a_list_of_locations_is_a_world(tmp_path):
    path = tmp_path / "places.txt"
    path.write_text("\ufeffb\n\na \nb\n", encoding="utf-8")
    world = open_world(path)
    assert world.ids.tolist() == ["a", "b"]
    assert world.public
    assert not world.restricts_moves
    assert world.successors.contains(np.array([0]), np.array([0])).all()


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xff\xfe\xfa"])
def test_an_unusable_list_is_named(tmp_path, content):
    path = tmp_path / "places.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"places\.txt"):
        open_world(path)


def test_feed_options_do_not_apply_to_a_list(tmp_path):
    path = tmp_path / "places.txt"
    path.write_text("a\n")
    with pytest.raises(ParameterError, match="GTFS"):
        open_world(path, bbox="1,2,3,4")
    with pytest.raises(InputError, match="does not exist"):
        open_world(tmp_path / "nowhere.zip")
