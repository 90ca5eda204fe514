import numpy as np
import polars as pl

from wayveil.trips.identity import _hash_bytes, keyed_words, name_riders, name_trips
from wayveil.trips.trips import Trips
from wayveil.trips.visits import read_visits
from wayveil.world.world import World

# The key 00 01 .. 0f of the published test vectors, as two words.
KEY = np.frombuffer(bytes(range(16)), "<u8").astype(np.uint64)


def test_words_are_those_of_the_published_vectors():
    # Of the messages 00, 00 01, ... of 0, 1, 7, 8 and 15 bytes, from the paper's reference implementation.
    expected = {
        0: 0x726FDB47DD0E0E31,
        1: 0x74F839C593DC67FD,
        7: 0xAB0200F58B01D137,
        8: 0x93F5F5799A932462,
        15: 0xA129CA6149BE45E5,
    }
    for length, word in expected.items():
        found = _hash_bytes(KEY, np.arange(length, dtype=np.uint8), np.array([0, length]))
        assert int(found[0]) == word


def test_a_pair_of_words_is_hashed_as_its_sixteen_bytes():
    pair = np.array([123456789, 987], np.uint64)
    whole = _hash_bytes(KEY, pair.view(np.uint8), np.array([0, 16]))
    assert keyed_words(KEY, pair[:1], np.array([987])).tolist() == whole.tolist()


def test_names_tell_riders_and_trips_apart_wherever_they_stand():
    riders, trips = pl.Series(["a", "ab", None, "a", "ä"]), pl.Series(["bc", "c", "abc", "c", "c"])
    names = name_trips(riders, trips)
    assert len(set(names.tolist())) == 5
    back = name_trips(riders.reverse(), trips.reverse())
    assert back.tolist() == names.tolist()[::-1]
    assert name_trips(None, pl.Series([1, 2])).tolist() == name_trips(None, pl.Series(["1", "2"])).tolist()
    assert len(name_trips(None, pl.Series([], dtype=pl.String))) == 0


def test_without_ids_a_trip_is_called_by_rider_and_visits_wherever_it_stands():
    world = World(list("abc"))
    trips = Trips.of_lists([[0, 1], [0, 1], [0, 1], [2], [0, 1]], world, rider=np.array([5, 5, 7, 7, -1]))
    names = trips.names().tolist()
    assert len(set(names)) == 5
    # Others come before and between: everybody keeps their names, and trips alike share the same two.
    more = Trips.of_lists(
        [[0, 1], [2], [0, 1], [0, 1], [0, 1], [0, 1], [2], [0, 1]],
        world,
        rider=np.array([6, 6, 7, 5, 6, 5, 7, -1]),
    )
    assert {*names} == {*more.take(more.rider != 6).names().tolist()}
    assert {*names} < {*more.names().tolist()}
    assert more.part(3, 6).names().tolist() == more.names()[3:6].tolist()
    assert len(Trips.of_lists([], world).names()) == 0


def test_trips_numbered_anew_for_every_rider_keep_their_names_when_another_comes():
    table = pl.DataFrame({"uid": ["b", "b", "c"], "tid": [1, 2, 1], "stop_id": ["a", "b", "c"]})
    other = pl.DataFrame({"uid": ["a", "a"], "tid": [1, 2], "stop_id": ["a", "b"]})
    alone, among = (read_visits(rows, World(list("abc"))) for rows in (table, pl.concat([other, table])))
    assert among.names()[2:].tolist() == alone.names().tolist()
    assert alone.to_lists() == [[0], [1], [2]]


def test_riders_are_called_by_their_ids_whatever_codes_they_got():
    one = name_riders(np.array([0, 1, -1]), pl.Series(["x", "y"]), 3)
    other = name_riders(np.array([1, 0, -1]), pl.Series(["y", "x"]), 3)
    assert one.tolist() == other.tolist()
    assert len(set(one.tolist())) == 3
