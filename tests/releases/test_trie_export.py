"""The trie of a saved release as JSON."""

import json

import pytest

from wayveil.cli import main
from wayveil.errors import ParameterError
from wayveil.exports.write import export
from wayveil.mechanisms.mobitrie import MobiTrie
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.privacy.bits import SeededBits
from wayveil.releases.release import Release
from wayveil.run import make_release as release
from wayveil.trips.trips import Trips
from wayveil.world.world import World

TRIPS = Trips.of_lists([[0, 1, 2], [0, 1]] * 400, World(list("abc")))


def saved(mechanism, folder):
    made = release(TRIPS, mechanism, epsilon=20, bits=SeededBits(0))
    return made, made.save(folder)


def test_a_saved_trie_is_written_as_it_was_released(tmp_path):
    made, folder = saved(MobiTrie(), tmp_path / "out")
    (path,) = export(Release.load(folder, TRIPS.world), "trie", tmp_path / "trie.json")
    read = json.loads(path.read_text())
    assert read == {"n": 3, "root": made.model.nested()}
    begin = next(node for node in read["root"]["children"] if node["stop"] == "^")
    assert begin["children"][0]["stop"] == "a"
    assert len(made.model.nested(widest=1)["children"]) == 1


def test_the_command_line_writes_it_too(tmp_path, monkeypatch, capsys):
    made, folder = saved(MobiTrie(), tmp_path / "out")
    (tmp_path / "stops.txt").write_text("a\nb\nc\n")
    words = ["export", folder, "--format", "trie"]
    monkeypatch.setattr("sys.argv", ["wayveil", *map(str, words), "--out", str(tmp_path / "trie.json")])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code
    assert "trie" in capsys.readouterr().out
    assert json.loads((tmp_path / "trie.json").read_text())["root"] == made.model.nested()


def test_a_release_without_ngrams_has_no_trie(tmp_path):
    made, _ = saved(NoisyPrefixTree(height=2), tmp_path / "out")
    with pytest.raises(ParameterError, match="has no trie"):
        export(made, "trie", tmp_path / "trie.json")
