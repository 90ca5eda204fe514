import numpy as np
import polars as pl

from wayveil.trips.identity import _hash_bytes, keyed_words, name_trips

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
