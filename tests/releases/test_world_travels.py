"""The public world travels with the release: a folder is opened, asked and moved without another word on it."""

import json
import shutil

import numpy as np
import pytest

import wayveil as wv
from ring_networks import ring_of_stops
from wayveil.errors import InputError
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.tap_margins import TapMargins
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.keys import public_text, signing_key
from wayveil.privacy.units import Event, Trip
from wayveil.releases.release import Release
from wayveil.run import make_release
from wayveil.taps.boardings import Boardings
from wayveil.taps.taps import Taps
from wayveil.trips.history import AS_READ
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid
from wayveil.world.places import PlaceList
from wayveil.world.world import World

RING = ring_of_stops(9, routes=3)
WORLDS = {
    "network": RING,
    "grid": Grid.of_metres("10,20,10.02,20.02", 700),
    "places": PlaceList(np.array(list("abc")), np.array(["Alba", "Bern", "Łódź"]), np.ones(3), np.ones(3)),
    "places of a network": PlaceList.of_network(RING),
    "symbols": World.of_symbols("abc"),
}


def trips_over(world):
    """Trips along possible moves."""
    starts = np.arange(400) % world.size
    return Trips.of_lists(
        [[int(s), int(world.successors.nth(np.array([s]), np.array([0]))[0])] for s in starts], world
    )


def release_over(world):
    tree = NoisyPrefixTree(height=2)
    return make_release(trips_over(world), tree, epsilon=8, unit=Trip(), bits=SeededBits(1), seed=1)


def release_of_taps():
    """Counts of taps by stop, route and hour, made in a world of stops with their routes."""
    place = np.arange(600) % RING.size
    taps = Taps(
        place.astype(np.int32),
        np.full(600, 19_000 * 86_400 + 8 * 3600),
        RING,
        route=(place // 3).astype(np.int32),
        history=AS_READ,
    )
    margins = TapMargins(first_day="2022-01-08", days=1)
    return make_release(Boardings(RING).of(taps), margins, epsilon=8, unit=Event(), bits=SeededBits(1))


def as_before(folder):
    """The release as the format before wrote it: without its world."""
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "world.npz").unlink()
    del manifest["files"]["world.npz"]
    text = json.dumps({**manifest, "format": 3, "public_key": public_text(signing_key())}).encode()
    (folder / "manifest.json").write_bytes(text)
    (folder / "manifest.sig").write_bytes(signing_key().sign(text))
    return folder


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS.keys())
def test_a_folder_that_was_moved_is_opened_without_its_world(world, tmp_path):
    made = release_over(world)
    moved = shutil.move(made.save(tmp_path / "here"), tmp_path / "there" / "far away")
    back = Release.load(moved)
    assert type(back.world) is type(world)
    assert back.world.fingerprint() == world.fingerprint()
    assert back.trips.to_lists() == made.trips.to_lists()
    for question in ("boardings", "stops", "pairs"):
        assert back.ask(question).table.equals(made.ask(question).table)


def test_counts_of_taps_know_their_routes_without_a_word_on_the_world(tmp_path):
    made = release_of_taps()
    back = Release.load(made.save(tmp_path / "taps"))
    assert back.world.fingerprint() == RING.fingerprint()
    for question in ("routes", "stop-hours", "most-used"):
        assert back.ask(question, anyway=True).table.equals(made.ask(question, anyway=True).table)
    assert back.ask("boardings", route="line 1").table.equals(made.ask("boardings", route="line 1").table)


def test_a_changed_world_is_found(tmp_path):
    folder = release_over(RING).save(tmp_path / "out")
    World.of_symbols("abc").save(folder / "world.npz")
    with pytest.raises(InputError, match=r"world\.npz.*was changed after it was signed"):
        Release.load(folder)


def test_a_world_that_is_given_must_be_the_one(tmp_path):
    folder = release_over(RING).save(tmp_path / "out")
    assert Release.load(folder, ring_of_stops(9, routes=3)).world.size == 9
    with pytest.raises(InputError, match=r"made for another world .* omit it: the release holds its own"):
        Release.load(folder, ring_of_stops(9))


def test_the_format_before_is_opened_with_a_world_or_refused_in_a_sentence(tmp_path):
    made = release_over(RING)
    folder = as_before(made.save(tmp_path / "out"))
    with pytest.raises(InputError, match=r"format 3, which does not hold its public world: .* with --world"):
        Release.load(folder)
    with pytest.raises(wv.WayveilError, match="--world"):
        wv.ask(folder, "boardings")
    assert Release.load(folder, RING).trips.to_lists() == made.trips.to_lists()
    with pytest.raises(InputError, match="made for another world"):
        Release.load(folder, ring_of_stops(9))
