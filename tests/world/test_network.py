from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import network_of, networks

from wayveil.errors import InputError
from wayveil.world.network import Network
from wayveil.world.places import load_world

LINE = {(0, 1): (60, 500.0), (1, 0): (70, 500.0), (1, 2): (60, 400.0), (3, 4): (30, 100.0)}


def test_edges_are_found_by_their_ends():
    network = network_of(5, LINE)
    assert network.edge_index([0, 1, 1, 2, 3], [1, 0, 2, 1, 4]).tolist() == [0, 1, 2, -1, 3]
    assert network.edges == 4
    assert network.sources.tolist() == [0, 1, 1, 3]


@given(networks())
def test_edge_index_agrees_with_the_list_of_edges(network):
    listed = {pair: at for at, pair in enumerate(zip(network.sources, network.indices, strict=True))}
    ends = np.arange(network.size)
    source, target = (grid.ravel() for grid in np.meshgrid(ends, ends, indexing="ij"))
    found = network.edge_index(source, target)
    assert found.tolist() == [listed.get(pair, -1) for pair in zip(source, target, strict=True)]


def test_components_are_counted_weakly_and_strongly():
    network = network_of(5, LINE)
    assert network.components()[0] == 2
    assert network.components("strong")[0] == 4
    about = network.describe()
    assert about["stations"] == 5
    assert about["largest component share"] == 0.6
    assert about["bbox"] == "50,8,51,9"


def test_a_single_place_has_no_box():
    assert network_of(1, {}).describe()["bbox"] is None


def test_platform_ids_find_their_station():
    network = network_of(5, LINE)
    assert network.index_of(["s003", "s003-p", "S003", "s000"]).tolist() == [3, 3, -1, 0]


@settings(max_examples=25)
@given(network=networks(), warning=st.text(max_size=9))
def test_a_saved_network_comes_back_whole(network, warning, tmp_path_factory):
    network = Network(*network._parts, name="Zürich", warnings=[warning])
    path = tmp_path_factory.mktemp("saved") / "network"
    network.save(path)
    again = load_world(path)
    assert again.fingerprint() == network.fingerprint()
    assert again.name == "Zürich"
    assert again.warnings == [warning.rstrip("\0")]
    assert again.describe() == network.describe()


def changed(network: Network, part: int, **values) -> Network:
    parts = list(network._parts)
    parts[part] = replace(parts[part], **values)
    return Network(*parts)


def test_the_fingerprint_sees_every_array():
    network = network_of(5, LINE)
    prints = {network.fingerprint()}
    prints.add(changed(network, 0, lat=network.lat + 1e-9).fingerprint())
    prints.add(changed(network, 1, seconds=network.seconds + np.int32(1)).fingerprint())
    prints.add(changed(network, 1, walk=~network.walk).fingerprint())
    prints.add(changed(network, 2, names=np.asarray(["2"])).fingerprint())
    prints.add(changed(network, 3, location=network.stop_location[::-1].copy()).fingerprint())
    assert len(prints) == 6


@pytest.mark.parametrize(
    ("part", "values", "rule"),
    [
        (0, {"lat": np.zeros(3)}, "one name and coordinate per location"),
        (0, {"lon": np.full(5, np.nan)}, "finite coordinates"),
        (1, {"seconds": np.zeros(4, np.int32)}, "positive seconds"),
        (1, {"metres": np.zeros(3)}, "one value per edge"),
        (1, {"route": np.full(4, 7, np.int32)}, "known routes"),
        (1, {"indices": np.asarray([1, 0, 2, 9], np.int32)}, "edges between its locations"),
        (3, {"location": np.full(5, 5, np.int32)}, "a location for every stop"),
    ],
)
def test_parts_that_do_not_fit_are_refused(part, values, rule):
    with pytest.raises(ValueError, match=rule):
        changed(network_of(5, LINE), part, **values)


def test_a_damaged_file_is_refused_in_a_sentence(tmp_path):
    path = tmp_path / "network"
    with pytest.raises(InputError, match="no such file"):
        load_world(path)
    path.write_bytes(b"no network")
    with pytest.raises(InputError, match="is not a saved network"):
        load_world(path)
    np.save(path.with_suffix(".npy"), np.arange(3))
    with pytest.raises(InputError, match="is not a saved network"):
        load_world(path.with_suffix(".npy"))
    network_of(5, LINE).save(path)
    path.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(InputError, match="is not a saved network, or is damaged"):
        load_world(path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"format": np.asarray(99)}, "saved by another version"),
        ({"Edges.metres": None}, "'Edges.metres' is missing"),
        ({"Edges.seconds": np.zeros(4, np.int32)}, "contradicts itself"),
        ({"Places.ids": np.asarray(list("edcba"))}, "contradicts itself"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(tmp_path, change, sentence):
    path = tmp_path / "network.npz"
    network_of(5, LINE).save(path)
    with np.load(path) as file:
        stored = {key: file[key] for key in file.files} | change
    np.savez(path, **{key: value for key, value in stored.items() if value is not None})
    with pytest.raises(InputError, match=sentence):
        load_world(path)
