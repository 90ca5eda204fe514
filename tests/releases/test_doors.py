"""Python as its users write it: words, paths and short names."""

import numpy as np
import pytest

import wayveil as wv
from ring_networks import ring_of_stops

RING = ring_of_stops(6)


def some_trips(count=60):
    return wv.Trips.of_lists([[i % 6, (i + 1) % 6, (i + 2) % 6] for i in range(count)], RING)


def test_words_and_paths_do_what_objects_do(tmp_path):
    RING.save(tmp_path / "ring.npz")
    wv.open_ledger(tmp_path / "ledger").set_policy("trips", wv.Policy(5, unit="trip"), actor="officer")
    made = wv.release(
        some_trips(6_000), "noisy-prefix-tree", epsilon=1, unit="trip", ledger=str(tmp_path / "ledger")
    )
    folder = made.save(tmp_path / "out")
    world = tmp_path / "ring.npz"
    assert wv.open_world(world).size == 6
    assert wv.ask(folder, "stops", anyway=True).table.equals(made.ask("stops", anyway=True).table)
    assert wv.export(folder, "od", tmp_path / "od.csv")
    assert len(wv.sample(made, 10)) == 10
    timed = wv.Trips.of_lists([[0, 1]] * 50, RING, time=np.tile([0, 60], 50))
    counted = wv.release(timed, "tap-counts", epsilon=1, unit="event", ledger=None)
    with pytest.raises(wv.WayveilError, match="its own number"):
        wv.sample(counted, 10)
    (folder / "world.npz").unlink()
    with pytest.raises(wv.WayveilError, match=r"world\.npz"):
        wv.ask(folder, "stops")
    with pytest.raises(wv.WayveilError, match="unknown unit"):
        wv.release(some_trips(), epsilon=1, unit="person")
    with pytest.raises(wv.WayveilError, match="unknown mechanism"):
        wv.release(some_trips(), "magic", epsilon=1)


def test_the_head_of_trips_is_trips_and_a_cut_cuts():
    trips = some_trips()
    assert len(trips.head(3)) == 3
    assert trips.head(3).to_lists() == trips.to_lists()[:3]
    assert len(trips.head(1000)) == len(trips)
    assert np.all(trips.cut(2).lengths == 2)


def test_a_release_without_a_ledger_says_so():
    made = wv.release(some_trips(), "noisy-prefix-tree", epsilon=1, ledger=None)
    assert any("No ledger was kept" in said for said in made.datasheet["limitations"])


def test_python_books_where_the_command_line_books(tmp_path, monkeypatch):
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path))
    with pytest.raises(wv.WayveilError, match="policy_epsilon=10"):
        wv.release(some_trips(), "noisy-prefix-tree", epsilon=1)
    made = wv.release(some_trips(), "noisy-prefix-tree", epsilon=1, policy_epsilon=3)
    made.save(tmp_path / "out")
    assert wv.open_ledger(tmp_path / "ledger").spent("trips") == 1
    assert not any("No ledger" in said for said in made.datasheet["limitations"])
    with pytest.raises(wv.WayveilError, match="left"):
        wv.release(some_trips(), "noisy-prefix-tree", epsilon=5)
    with pytest.raises(wv.WayveilError, match="there is none"):
        wv.release(some_trips(), "noisy-prefix-tree", epsilon=1, ledger=None, policy_epsilon=3)
