import hashlib
import json
import os
import subprocess
from fractions import Fraction

import numpy as np
import pytest

from wayveil.errors import BudgetExceededError, InputError, ParameterError
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.ppdp import PPDP
from wayveil.mechanisms.safepath import SafePath
from wayveil.mechanisms.seqpt import SeqPT
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.keys import key_fingerprint, public_text, signing_key
from wayveil.privacy.ledger import Policy, open_ledger
from wayveil.privacy.units import Rider, Trip
from wayveil.released.verification import UnknownKeyError, read_pins, verify_release
from wayveil.releases.order import default_mechanism
from wayveil.releases.release import Release, load_datasheet
from wayveil.run import make_release as release
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips
from wayveil.world.successors import SparseSuccessors
from wayveil.world.world import World

WORLD = World.of_symbols("abcdef")
TREE = NoisyPrefixTree()


def some_trips(riders=True, count=400):
    rng = np.random.default_rng(0)
    lists = [rng.integers(0, 6, rng.integers(1, 5)).tolist() for _ in range(count)]
    columns = {"rider": np.arange(count)} if riders else {}
    return Trips.of_lists(lists, WORLD, **columns)


@pytest.fixture
def saved(tmp_path):
    made = release(some_trips(), NoisyPrefixTree(height=3), epsilon=2, curator="Test Transit")
    return made, made.save(tmp_path / "out")


def test_weave_is_the_default_but_for_lists_too_long_for_it():
    long = World([f"{place:05d}" for place in range(5_000)])
    assert default_mechanism(WORLD).name == "weave"
    assert default_mechanism(long).name == "noisy-prefix-tree"


def test_riders_are_the_unit_where_the_data_knows_riders():
    assert release(some_trips(), TREE, epsilon=1).datasheet["guarantee"]["unit"] == "rider"
    assert release(some_trips(riders=False), TREE, epsilon=1).datasheet["guarantee"]["unit"] == "trip"


def test_the_datasheet_spends_add_up_to_the_claim():
    sheet = release(some_trips(), NoisyPrefixTree(height=7), epsilon="0.3", unit=Rider(max_trips=2)).datasheet
    assert sum(Fraction(spend["price"]) for spend in sheet["spends"]) == Fraction(3, 10)
    assert sheet["guarantee"]["epsilon"] == "0.3"
    assert sheet["private"] is True
    assert sheet["not_private_because"] == []
    assert all(spend["error_95"] > 0 for spend in sheet["spends"])


def test_seeded_noise_is_called_not_private():
    sheet = release(some_trips(), TREE, epsilon=1, bits=SeededBits(1)).datasheet
    assert sheet["private"] is False
    assert "not private: seeded noise" in sheet["not_private_because"][0]
    assert "no privacy guarantee" in sheet["guarantee"]["sentence"]


def test_a_universe_read_off_the_trips_is_called_not_private():
    world = World.of_symbols("abcdef", public=False)
    trips = some_trips()
    sheet = release(Trips(trips.location, trips.offsets, world), TREE, epsilon=1).datasheet
    assert "read off the sensitive trips" in sheet["not_private_because"][0]


def test_tuning_on_the_data_is_declared():
    sheet = release(some_trips(), TREE, epsilon=1, tuned_on_data=True).datasheet
    assert "NOT covered" in sheet["deployment"]["implementation"]["preprocessing_and_hyperparameter_tuning"]


def test_steps_are_held_to_the_network_and_taps_are_not():
    rows = SparseSuccessors(np.arange(7), np.roll(np.arange(6), -1))
    world = World(list("abcdef"), successors=rows)
    assert NoisyPrefixTree().rule(world).impossible == "cut"
    assert NoisyPrefixTree(successors="all").rule(world).impossible == "keep"
    for kind in (SafePath, PPDP, SeqPT, TapCounts):
        assert kind().rule(world) == LegalityRule(repeats="keep", impossible="keep")
    assert NoisyPrefixTree().rule(WORLD).repeats == "keep"


def test_two_releases_differ_and_a_public_seed_does_not_make_them_equal():
    first = release(some_trips(), TREE, epsilon=1, seed=5).model.table()
    second = release(some_trips(), TREE, epsilon=1, seed=5).model.table()
    assert not first.equals(second)


def test_a_saved_release_is_verified_and_read_back(saved):
    made, folder = saved
    found = verify_release(folder, trust=key_fingerprint(public_text(signing_key())))
    assert len(found.files) == 8
    again = Release.load(folder, WORLD)
    assert again.trips.to_lists() == made.trips.to_lists()
    assert again.datasheet == json.loads(json.dumps(made.datasheet))
    assert "Test Transit" in (folder / "datasheet.html").read_text()
    assert again.model.table().equals(made.model.table())
    assert again.model.generate(1).to_lists() == made.model.generate(1).to_lists()
    assert Release.load(again.save(folder.with_name("copy")), WORLD).datasheet == again.datasheet


@pytest.mark.parametrize(
    "name",
    [
        "trips.parquet",
        "model.npz",
        "model.parquet",
        "accuracy.json",
        "datasheet.json",
        "datasheet.html",
        "manifest.json",
        "manifest.sig",
    ],
)
def test_a_changed_byte_is_found_and_the_file_is_named(saved, name):
    _, folder = saved
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(bytes(content))
    with pytest.raises(InputError, match=r"manifest\.json" if name.startswith("manifest") else name):
        verify_release(folder)
    with pytest.raises(InputError, match=r"manifest\.json" if name.startswith("manifest") else name):
        Release.load(folder, WORLD)


def test_a_missing_and_an_added_file_are_found(saved):
    _, folder = saved
    (folder / "extra.txt").write_text("x")
    with pytest.raises(InputError, match=r"extra\.txt"):
        verify_release(folder)
    (folder / "extra.txt").unlink()
    (folder / "model.parquet").unlink()
    with pytest.raises(InputError, match=r"model\.parquet"):
        verify_release(folder)


def test_somebody_elses_signature_is_told_apart(saved, tmp_path):
    made, _ = saved
    folder = made.save(tmp_path / "other", key=tmp_path / "other-key.pem")
    theirs = key_fingerprint(public_text(signing_key(tmp_path / "other-key.pem")))
    with pytest.raises(InputError, match="another key"):
        verify_release(folder, trust=key_fingerprint(public_text(signing_key())))
    with pytest.raises(UnknownKeyError, match="signed by an unknown key"):
        verify_release(folder)
    with pytest.raises(UnknownKeyError, match="signed by an unknown key"):
        Release.load(folder, WORLD)
    assert verify_release(folder, trust="any").key == theirs
    assert read_pins() == {}
    assert Release.load(folder, WORLD, trust=theirs).datasheet == made.datasheet
    assert set(read_pins()) == {theirs}
    verify_release(folder)


def test_a_release_over_another_world_is_refused(saved):
    _, folder = saved
    with pytest.raises(InputError, match="made for another world"):
        Release.load(folder, World.of_symbols("abcdeg"))


def test_links_and_names_that_lead_out_of_the_folder_are_refused(saved, tmp_path):
    _, folder = saved
    content = (folder / "datasheet.html").read_bytes()
    (tmp_path / "elsewhere.html").write_bytes(content)
    (folder / "datasheet.html").unlink()
    (folder / "datasheet.html").symlink_to(tmp_path / "elsewhere.html")
    with pytest.raises(InputError, match="is a link"):
        verify_release(folder)
    for name in ("../elsewhere.html", "/etc/hostname", "a\\b", "manifest.sig"):
        sign_again(folder, {name: hashlib.sha256(content).hexdigest()})
        with pytest.raises(InputError, match="no file of a release"):
            verify_release(folder)


def sign_again(folder, files):
    """What an insider with the key could write."""
    key = signing_key()
    manifest = json.dumps({"format": 3, "files": files, "public_key": public_text(key)}).encode()
    (folder / "manifest.json").write_bytes(manifest)
    (folder / "manifest.sig").write_bytes(key.sign(manifest))


def test_a_release_of_the_format_before_is_refused_with_a_sentence(saved):
    _, folder = saved
    files = json.loads((folder / "manifest.json").read_text())["files"]
    for name in ("model.npz", "accuracy.json"):
        (folder / name).unlink()
        del files[name]
    manifest = json.dumps({"format": 1, "files": files, "public_key": public_text(signing_key())}).encode()
    (folder / "manifest.json").write_bytes(manifest)
    (folder / "manifest.sig").write_bytes(signing_key().sign(manifest))
    verify_release(folder)
    with pytest.raises(InputError, match="format 1; this version reads format 4"):
        Release.load(folder, WORLD)


def test_a_folder_that_is_no_release_is_refused(tmp_path):
    with pytest.raises(InputError, match="not a signed release"):
        verify_release(tmp_path)
    with pytest.raises(InputError, match="datasheet"):
        load_datasheet(tmp_path)


def test_a_release_is_never_written_over_another(saved):
    made, folder = saved
    with pytest.raises(InputError, match="already exists"):
        made.save(folder)
    assert [path.name for path in folder.parent.iterdir()] == ["out"]


def test_what_a_killed_writer_left_is_swept_away_and_a_living_one_is_left_alone(saved, tmp_path):
    made, _ = saved
    dead = subprocess.Popen(["true"])
    dead.wait()
    for writer in (dead.pid, os.getppid()):
        (tmp_path / f".next.partial-{writer}").mkdir()
    made.save(tmp_path / "next")
    assert not (tmp_path / f".next.partial-{dead.pid}").exists()
    assert (tmp_path / f".next.partial-{os.getppid()}").exists()


def test_a_file_that_is_no_key_signs_nothing(saved, tmp_path):
    made, _ = saved
    (tmp_path / "key.pem").write_text("no key")
    with pytest.raises(InputError, match=r"key\.pem"):
        made.save(tmp_path / "unsigned", key=tmp_path / "key.pem")
    assert not (tmp_path / "unsigned").exists()


def test_the_ledger_has_the_spend_and_the_commit(tmp_path):
    ledger = open_ledger(tmp_path / "ledger")
    ledger.set_policy("trips", Policy(2, unit="rider"), actor="officer")
    made = release(some_trips(), TREE, epsilon="1.5", ledger=ledger)
    assert ledger.spent("trips") == Fraction(3, 2)
    assert [held.started for held in ledger.open_reservations()] == [True]
    made.save(tmp_path / "out")
    assert ledger.open_reservations() == []
    assert ledger.verify([made.datasheet["ledger"]["head"]]).ok
    with pytest.raises(BudgetExceededError, match=r"needs epsilon 1, but .* 0\.5 left: 0\.5 too much"):
        release(some_trips(), TREE, epsilon=1, ledger=ledger)
    assert ledger.spent("trips") == Fraction(3, 2)


def test_an_error_before_the_first_noise_gives_the_budget_back(tmp_path):
    ledger = open_ledger(tmp_path / "ledger")
    ledger.set_policy("trips", Policy(2, unit="rider"), actor="officer")
    with pytest.raises(ParameterError, match="plain list"):
        release(some_trips(), NoisyPrefixTree(successors="network"), epsilon=1, ledger=ledger)
    with pytest.raises(ParameterError, match="rider id"):
        release(some_trips(riders=False), TREE, epsilon=1, unit=Rider(max_trips=1), ledger=ledger)
    assert ledger.spent("trips") == 0


def test_an_error_after_the_first_noise_gives_nothing_back(tmp_path, monkeypatch):
    from wayveil.synthesis.tree import PrefixTree

    monkeypatch.setattr(PrefixTree, "generate", lambda *_: 1 / 0)
    ledger = open_ledger(tmp_path / "ledger")
    ledger.set_policy("trips", Policy(2, unit="rider"), actor="officer")
    with pytest.raises(ZeroDivisionError):
        release(some_trips(), TREE, epsilon=1, ledger=ledger)
    assert ledger.spent("trips") == 1
    assert ledger.open_reservations() == []


@pytest.mark.parametrize("epsilon", [0, -1, "no", float("nan"), float("inf")])
def test_an_epsilon_without_meaning_is_refused_before_anything_is_reserved(tmp_path, epsilon):
    ledger = open_ledger(tmp_path / "ledger")
    with pytest.raises(ParameterError, match="epsilon"):
        release(some_trips(), TREE, epsilon=epsilon, ledger=ledger)
    assert ledger.entries() == []


def test_no_trips_is_refused():
    with pytest.raises(ParameterError, match="no trips"):
        release(Trips.of_lists([], WORLD), epsilon=1, unit=Trip())


def test_visits_one_after_the_other_are_protected_together():
    made, event = (
        release(some_trips(), TREE, epsilon=1, unit=unit, **more).datasheet
        for unit, more in (("points", {"consecutive": 3}), ("event", {}))
    )
    assert (made["guarantee"]["unit"], made["guarantee"]["bounds"]) == ("points", {"length": 3})
    # A changed trip goes and comes, however many of its visits are changed.
    levels = [[one["scale"] for one in sheet["spends"] if "level" in one["label"]] for sheet in (made, event)]
    assert levels[0] == levels[1] != []
    visits = [
        [Fraction(one["scale"]) for one in sheet["spends"] if "visits" in one["label"]]
        for sheet in (made, event)
    ]
    assert visits[0] == [3 * visits[1][0]], "of the number of visits it covers all three"
    for given, words in (
        ({"unit": "points"}, "consecutive=3"),
        ({"unit": "trip", "consecutive": 3}, "no meaning"),
    ):
        with pytest.raises(ParameterError, match=words):
            release(some_trips(), TREE, epsilon=1, **given)
