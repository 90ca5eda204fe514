"""The ledger as a new user meets it: one for all files, one name for the same people, policies that stay."""

import json
import shlex
import shutil
import sys
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from wayveil.cli import main
from wayveil.privacy.keys import key_fingerprint, key_path, own_public
from wayveil.releases.accounts import default_place
from wayveil.trips.trips import Trips
from wayveil.trips.visits import write_visits
from wayveil.world.world import World

STOPS = [f"s{i:02}" for i in range(12)]


def riders(first, last, seed=0):
    chance = np.random.default_rng([seed, 5])
    location = chance.integers(0, len(STOPS), (4000, 3)).astype(np.int32)[first:last]
    time = np.sort(chance.integers(0, 86_400, (4000, 3)), axis=1)[first:last] + 86_400 * 20_000
    offsets = np.arange(last - first + 1) * 3
    return Trips(location.ravel(), offsets, World(STOPS), time.ravel(), np.arange(first, last))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a world and the trips of 400 riders, and a home of its own."""
    (tmp_path / "stops.txt").write_text("\n".join(STOPS))
    write_visits(riders(0, 400), tmp_path / "trips.parquet", riders=True)
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def wayveil(monkeypatch, capsys, place):
    def run(*words):
        monkeypatch.setattr(sys, "argv", ["wayveil", *(str(word) for word in words)])
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        return stopped.value.code or 0, out, err

    return run


def release(wayveil, file, out, *more, epsilon="1"):
    return wayveil(
        *("release", file, "--world", "stops.txt", "-e", epsilon, "-o", out, "-m", "noisy-prefix-tree"),
        *("--set", "height=2", "--quiet", *more),
    )


def shown(wayveil, *words):
    return json.loads(wayveil("ledger", *words, "--json")[1])


def test_a_newcomer_is_told_the_one_command_that_is_missing(wayveil, place):
    code, out, err = release(wayveil, "trips.parquet", "r1")
    assert (code, out) == (2, "")
    assert "does not know the dataset 'trips.parquet' (it knows: none)" in err
    command = err.split("`")[1]
    assert command.startswith("wayveil ledger init")
    assert "--unit rider" in command
    assert wayveil(*shlex.split(command)[1:])[0] == 0
    assert release(wayveil, "trips.parquet", "r1")[0] == 0
    code, _, err = release(wayveil, "trips.parquet", "r2", "--dataset", "x; rm -rf ~", "--new-people")
    assert (code, "--dataset 'x; rm -rf ~'" in err) == (2, True), "a command to copy holds no other command"
    assert shown(wayveil, "show")[0]["spent"] == "1"
    assert shown(wayveil, "reserve-status") == []
    assert default_place() == place / "home" / "ledger"
    assert (place / "home" / "ledger").stat().st_mode & 0o077 == 0, "the key of fingerprints is not for all"


def test_a_policy_can_be_given_with_the_first_release_and_is_not_ignored_later(wayveil, place):
    assert release(wayveil, "trips.parquet", "r1", "--policy-epsilon", "3")[0] == 0
    assert shown(wayveil, "policy", "-d", "trips.parquet")["total_epsilon"] == "3"
    assert release(wayveil, "trips.parquet", "r2", "--policy-epsilon", "3")[0] == 0
    code, _, err = release(wayveil, "trips.parquet", "r3", "--policy-epsilon", "30")
    assert (code, "has a policy already (3 in all)" in err) == (2, True)
    code, _, err = release(wayveil, "trips.parquet", "r3", "--policy-epsilon", "3", "--ledger", "none")
    assert (code, "--policy-epsilon" in err) == (2, True)


def test_the_same_riders_under_six_names_are_released_once(wayveil, place):
    """Copy, csv, symlink, moved folder, another --dataset, other order: all are known, and cost the same budget."""
    assert release(wayveil, "trips.parquet", "r0", "--policy-epsilon", "1")[0] == 0
    rows = pl.read_parquet("trips.parquet")
    shutil.copy("trips.parquet", "copy.parquet")
    rows.write_csv("trips.csv")
    (place / "link.parquet").symlink_to(place / "trips.parquet")
    (place / "moved").mkdir()
    shutil.copy("trips.parquet", place / "moved" / "other.parquet")
    rows.reverse().write_parquet("turned.parquet")
    rows.filter(pl.col("rider_id") < 300).write_parquet("fewer.parquet")
    rows.drop("rider_id").write_parquet("nobody.parquet")
    names = [
        "copy.parquet",
        "trips.csv",
        "link.parquet",
        "moved/other.parquet",
        "turned.parquet",
        "fewer.parquet",
    ]
    for number, name in enumerate([*names, "nobody.parquet"], 1):
        code, _, err = release(wayveil, name, f"r{number}", "--policy-epsilon", "1")
        assert code == 2, name
        assert "known as 'trips.parquet'" in err, name
        assert "--dataset trips.parquet" in err, name
        assert not (place / f"r{number}").exists()
    code, _, err = release(wayveil, "trips.parquet", "r9", "--dataset", "B", "--policy-epsilon", "1")
    assert (code, "known as 'trips.parquet'" in err) == (2, True)
    code, _, err = release(wayveil, "trips.csv", "r9", "--dataset", "trips.parquet")
    assert (code, "1 too much" in err) == (2, True)
    assert [(row["dataset"], row["releases"]) for row in shown(wayveil, "show")] == [("trips.parquet", 1)]


def test_other_people_need_a_word_only_where_they_look_the_same(wayveil, place):
    assert release(wayveil, "trips.parquet", "r1", "--policy-epsilon", "1")[0] == 0
    write_visits(riders(1000, 1400), place / "others.parquet", riders=True)
    numbered = pl.read_parquet("others.parquet").with_columns(
        rider_id="x" + pl.col("rider_id").cast(pl.String)
    )
    numbered.write_parquet("others.parquet")
    assert release(wayveil, "others.parquet", "r2", "--policy-epsilon", "1")[0] == 0
    write_visits(riders(0, 400, seed=1), place / "same-ids.parquet", riders=True)
    code, _, err = release(wayveil, "same-ids.parquet", "r3", "--policy-epsilon", "1")
    assert (code, "of the riders" in err) == (2, True)
    assert release(wayveil, "same-ids.parquet", "r3", "--new-people", "--policy-epsilon", "1")[0] == 0


def test_a_ledger_beside_the_data_is_not_passed_over(wayveil, place):
    from wayveil.privacy.ledger import open_ledger

    open_ledger(place / "trips.parquet.ledger")
    code, _, err = release(wayveil, "trips.parquet", "r1", "--policy-epsilon", "1")
    assert code == 2
    assert "add --ledger" in err
    given = ("--ledger", "trips.parquet.ledger", "--policy-epsilon", "1")
    assert release(wayveil, "trips.parquet", "r1", *given)[0] == 0


def test_the_default_ledger_is_that_of_the_project_or_of_the_home(place, monkeypatch):
    monkeypatch.delenv("WAYVEIL_HOME")
    monkeypatch.setenv("HOME", str(place / "somebody"))
    assert default_place() == place / "somebody" / ".wayveil" / "ledger"
    (place / ".wayveil").mkdir()
    (place / "deep" / "down").mkdir(parents=True)
    monkeypatch.chdir(place / "deep" / "down")
    assert default_place() == place / ".wayveil" / "ledger"
    monkeypatch.setattr("os.getuid", lambda: 12_345)
    assert default_place() == place / "somebody" / ".wayveil" / "ledger", "a stranger's folder is passed by"


def test_init_of_a_project_makes_its_ledger(wayveil, place, monkeypatch):
    monkeypatch.delenv("WAYVEIL_HOME")
    monkeypatch.setenv("HOME", str(place / "somebody"))
    assert wayveil("ledger", "init", "--project", "-d", "trips.parquet", "--total-epsilon", "2")[0] == 0
    assert release(wayveil, "trips.parquet", "r1")[0] == 0
    assert shown(wayveil, "show", place / ".wayveil" / "ledger")[0]["spent"] == "1"


def test_policy_options_are_never_ignored_and_do_not_erase_each_other(wayveil):
    wayveil("ledger", "init", "-d", "A", "--total-epsilon", "5", "--unit", "trip")
    wayveil("ledger", "policy", "-d", "A", "--per-period-epsilon", "1", "--period-days", "30")
    wayveil("ledger", "policy", "-d", "A", "--actor", "ana", "--trips-per-rider", "4")
    wayveil("ledger", "policy", "-d", "A", "--total-epsilon", "6")
    wayveil("ledger", "policy", "-d", "A", "--period-days", "7", "--total-delta", "1e-9")
    facts = shown(wayveil, "policy", "-d", "A")
    assert facts == {
        "dataset": "A", "total_epsilon": "6", "per_period_epsilon": "1", "period_days": 7, "actors": ["ana"],
        "total_delta": "1/1000000000", "unit": "trip", "trips_per_rider": 4,
    }  # fmt: skip
    wayveil("ledger", "policy", "-d", "A", "--no-period", "--everybody")
    facts = shown(wayveil, "policy", "-d", "A")
    assert (facts["period_days"], facts["actors"], facts["total_epsilon"]) == (None, None, "6")


def test_an_unknown_dataset_is_an_error_that_lists_the_known_ones(wayveil):
    wayveil("ledger", "init", "-d", "trips")
    wayveil("ledger", "init", "-d", "taps")
    for words in (("-d", "tripz"), ("-d", "tripz", "--total-epsilon", "99")):
        code, out, err = wayveil("ledger", "policy", *words)
        assert (code, out) == (2, "")
        assert "no dataset 'tripz'" in err
        assert "it knows: taps, trips" in err
    code, _, err = wayveil("ledger", "init", "-d", "trips", "--total-epsilon", "99")
    assert (code, "has a policy already" in err) == (2, True)
    code, _, err = wayveil("ledger", "init", "--total-epsilon", "99")
    assert (code, "--dataset" in err) == (2, True)


def test_looks_at_the_raw_trips_are_booked_and_the_datasheet_tells(wayveil, place):
    assert release(wayveil, "trips.parquet", "r1", "--policy-epsilon", "9")[0] == 0
    before = json.loads((place / "r1" / "datasheet.json").read_text())
    assert before["ledger"]["looks_before"] == 0
    tuning = "preprocessing_and_hyperparameter_tuning"
    assert "No looks at the raw data were booked" in before["deployment"]["implementation"][tuning]
    world = ("--world", "stops.txt", "--queries", 50, "--quiet")
    assert wayveil("score", "trips.parquet", "r1", *world)[0] == 0
    shutil.copy("trips.parquet", "renamed.parquet")
    compared = ("-m", "markov", "-e", "1", "--repetitions", 1, "--workers", 1, "-o", "cmp")
    assert wayveil("lab", "compare", "renamed.parquet", *world, *compared)[0] == 0
    assert wayveil("report", "r1", *world, "--raw", "trips.parquet", "-o", "r.html")[0] == 0
    assert release(wayveil, "trips.parquet", "r2")[0] == 0
    after = json.loads((place / "r2" / "datasheet.json").read_text())
    assert after["ledger"]["looks_before"] == 3
    text = after["deployment"]["implementation"][tuning]
    assert "3 looks at the raw data were booked before this release." in text
    lines = shown(wayveil, "show", "--lines")
    assert [line["step"] for line in lines].count("look") == 3
    assert {row["dataset"]: row["spent"] for row in shown(wayveil, "show")}["trips.parquet"] == "2"


def test_a_check_is_a_look_with_and_without_a_world(wayveil, place):
    assert release(wayveil, "trips.parquet", "r1", "--policy-epsilon", "9")[0] == 0
    assert wayveil("check", "trips.parquet")[0] == 0
    assert wayveil("check", "trips.parquet", "--world", "stops.txt")[0] == 0
    assert release(wayveil, "trips.parquet", "r2")[0] == 0
    assert json.loads((place / "r2" / "datasheet.json").read_text())["ledger"]["looks_before"] == 2
    assert wayveil("check", "trips.parquet", "--ledger", "nowhere.db")[0] == 0
    assert not (place / "nowhere.db").exists()


def test_no_ledger_is_made_for_a_look(wayveil, place):
    assert release(wayveil, "trips.parquet", "r1", "--ledger", "none")[0] == 0
    sheet = json.loads((place / "r1" / "datasheet.json").read_text())
    said = sheet["deployment"]["implementation"]["preprocessing_and_hyperparameter_tuning"]
    assert "No ledger was asked" in said
    assert wayveil("score", "trips.parquet", "r1", "--queries", 50, "--quiet")[0] == 0
    assert not (place / "home" / "ledger").exists()


@pytest.mark.parametrize("epsilon", ["1e-12", "1e-20", "0.00001", "1001", "1e300"])
def test_an_epsilon_outside_the_range_is_refused_before_anything_is_reserved(wayveil, place, epsilon):
    wayveil("ledger", "init", "-d", "trips.parquet", "--total-epsilon", "10000")
    code, _, err = release(wayveil, "trips.parquet", "r1", epsilon=epsilon)
    assert code == 2
    assert "from 0.001 to 1000" in err
    assert len(err) < 300
    assert [line["step"] for line in shown(wayveil, "show", "--lines")] == ["policy"]


def test_a_release_that_cannot_be_written_is_paid_once_and_finished_later(wayveil, place, monkeypatch):
    from wayveil import files

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "move_folder", full)
        code, _, err = release(wayveil, "trips.parquet", "r1", "--policy-epsilon", "9")
    assert (code, "No space left" in err) == (2, True)
    assert len(shown(wayveil, "reserve-status")) == 1
    assert shown(wayveil, "show")[0]["spent"] == "1"
    assert "the same command finishes it" in " ".join(err.split())
    assert release(wayveil, "trips.parquet", "r1", "--policy-epsilon", "9")[0] == 0
    assert shown(wayveil, "reserve-status") == []
    assert shown(wayveil, "show")[0]["spent"] == "1"


def test_a_mechanism_that_would_pass_the_memory_limit_costs_nothing_before_its_first_spend(wayveil):
    code, _, err = release(wayveil, "trips.parquet", "r1", "--policy-epsilon", "9", "--with", "memory=0.001", "--set",
                           "threshold_scales=0.001", "--set", "when_explosive=allow", "--set", "height=6",
                           epsilon="0.01")  # fmt: skip
    assert code == 2
    assert "over the limit of 0.0 GiB" in err
    state = shown(wayveil, "show")[0]
    assert state["open"] == 0
    assert Fraction(state["spent"]) < Fraction(1, 100)


def test_people_read_decimals_and_machines_fractions():
    from fractions import Fraction

    from wayveil.errors import decimal

    assert decimal(Fraction(3667604, 1826297)) == "2.00822"
    assert (decimal(Fraction(1, 3)), decimal(Fraction(1, 4))) == ("1/3", "0.25")


def test_verify_holds_a_release_against_what_was_booked(wayveil, place):
    assert release(wayveil, "trips.parquet", "out", "--max-trips", 1, "--policy-epsilon", 5)[0] == 0
    assert wayveil("ledger", "verify", "--release", "out")[0] == 0
    sheet = json.loads((place / "out" / "datasheet.json").read_text())
    sheet["guarantee"]["epsilon"] = "0.01"
    (place / "out" / "datasheet.json").write_text(json.dumps(sheet))
    code, out, err = wayveil("ledger", "verify", "--release", "out")
    assert (code != 0, "was changed after it was signed" in out + err) == (True, True)


def test_a_release_made_without_the_ledger_can_be_adopted(wayveil, place):
    options = ("--max-trips", 1)
    assert release(wayveil, "trips.parquet", "out", *options, "--ledger", "none")[0] == 0
    wayveil("ledger", "init", "--dataset", "trips.parquet", "--total-epsilon", 5)
    code, out, _ = wayveil("ledger", "verify", "--release", "out")
    assert (code, "no release that was committed" in out) == (1, True)
    code, out, err = wayveil("ledger", "adopt", "out", "--dataset", "trips.parquet")
    assert (code, "with epsilon 1" in out) == (0, True), err
    assert wayveil("ledger", "verify", "--release", "out")[0] == 0
    assert [row["spent"] for row in shown(wayveil, "show")] == ["1"]
    assert wayveil("ledger", "adopt", "out", "--dataset", "nobody")[0] != 0


def test_an_officers_ledger_by_command(wayveil, place, monkeypatch):
    wayveil("ledger", "init", "--dataset", "trips.parquet", "--total-epsilon", 2)
    assert "nobody" in wayveil("ledger", "officer")[1]
    monkeypatch.setenv("WAYVEIL_HOME", str(place / "officer"))
    ledger = place / "home" / "ledger"
    assert wayveil("ledger", "officer", ledger, "--appoint", "me")[0] == 0
    assert wayveil("ledger", "policy", ledger, "--dataset", "trips.parquet", "--total-epsilon", 3)[0] == 0
    monkeypatch.setenv("WAYVEIL_HOME", str(place / "home"))
    code, _, err = wayveil("ledger", "policy", "--dataset", "trips.parquet", "--total-epsilon", 99)
    assert (code, "only the officer of this ledger" in err) == (2, True)
    code, _, err = wayveil("ledger", "init", "--dataset", "another", "--total-epsilon", 99)
    assert (code, "only the officer of this ledger" in err) == (2, True)
    assert release(wayveil, "trips.parquet", "out", "--max-trips", 1)[0] == 0
    assert wayveil("ledger", "verify", "--release", "out")[0] == 0


def test_heads_are_countersigned_elsewhere_and_checked(wayveil, place):
    wayveil("ledger", "init", "--dataset", "trips.parquet")
    notes = place / "elsewhere.jsonl"
    head = wayveil("ledger", "head", "--sign", notes)[1].strip()
    assert head == wayveil("ledger", "head")[1].strip()
    assert wayveil("ledger", "verify", "--heads", notes)[0] == 0
    (place / "home" / "ledger").unlink()
    wayveil("ledger", "init", "--dataset", "trips.parquet")
    code, _, err = wayveil("ledger", "verify", "--heads", notes)
    assert (code, "no head of this ledger" in err) == (2, True)


def test_a_signing_key_is_replaced_and_revoked(wayveil, place):
    options = ("--max-trips", 1, "--policy-epsilon", 5)
    assert release(wayveil, "trips.parquet", "first", *options)[0] == 0
    old = key_fingerprint(own_public(key_path()))
    assert wayveil("ledger", "rotate")[0] == 0
    assert wayveil("verify", "first")[0] == 0, "what the old key signed stays good"
    assert release(wayveil, "trips.parquet", "second", "--max-trips", 1)[0] == 0
    assert wayveil("ledger", "revoke", old, "--reason", "stolen")[0] == 0
    code, _, err = wayveil("verify", "first")
    assert (code, "revoked" in err) == (2, True)
    assert wayveil("verify", "second")[0] == 0
