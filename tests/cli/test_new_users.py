"""From the file that people have to the release that they meant, and every way to get it wrong."""

import fcntl
import json
import os
import shlex
import shutil
from collections import namedtuple

import polars as pl
import pytest

from ring_networks import ring_of_stops
from wayveil.privacy.ledger import open_ledger
from wayveil.synthesis.tree import NoisyTree

RING = ring_of_stops(6, seconds=60)
A, B, C, D = RING.ids[:4].tolist()
GOOD = f"trip_id,seq,stop_id,event_time\n1,1,{A},08:00:00\n1,2,{B},08:01:00\n2,1,{B},09:00:00\n2,2,{C},09:01:00\n"


def rows(header, *lines):
    return "\n".join([header, *lines]) + "\n"


TIMED = "trip_id,stop_id,event_time"
PLAIN = "trip_id,stop_id"
# What is in the file, and a word of the sentence that has to be said.
FILES = {
    "nothing": ("", "empty"),
    "header only": ("trip_id,stop_id\n", "no rows"),
    "no trip column": (rows("stop_id", A), "trip_id"),
    "no stop column": (rows("trip_id,place", f"1,{A}"), "stop_id"),
    "points": (rows("trip_id,lat,lng", "1,45,-73"), "points"),
    "unknown stop": (rows(PLAIN, f"1,{A}", f"1,{B}", f"2,{C}", "2,x9"), "row 4"),
    "another city": (rows(PLAIN, "1,x1", "1,x2", "2,x3"), "does not fit"),
    "row without stop": (rows(PLAIN, f"1,{A}", "1,"), "row 2"),
    "row without trip": (rows(PLAIN, f"1,{A}", f",{B}"), "row 2"),
    "seq in words": (rows("trip_id,seq,stop_id", f"1,first,{A}"), "whole number"),
    "seq twice": (rows("trip_id,seq,stop_id", f"1,1,{A}", f"1,1,{B}"), "already has"),
    "row without seq": (rows("trip_id,seq,stop_id", f"1,1,{A}", f"1,,{B}"), "no seq"),
    "milliseconds": (rows(TIMED, f"1,{A},1700000000000"), "milliseconds"),
    "year 2200": (rows(TIMED, f"1,{A},7258118400"), "1900 to 2100"),
    "time in words": (rows(TIMED, f"1,{A},noon"), "cannot be read"),
    "two forms of time": (rows(TIMED, f"1,{A},08:00:00", f"2,{A},2021-04-20T08:00:00"), "one form"),
    "zones mixed": (rows(TIMED, f"1,{A},2021-04-20T08:00:00Z", f"2,{A},2021-04-20T08:00:00"), "one form"),
    "row without time": (rows(TIMED, f"1,{A},08:00:00", f"1,{B},"), "event_time"),
    "back in time": (rows(TIMED, f"1,{A},08:00:00", f"1,{B},07:00:00"), "earlier"),
    "a trip of two riders": (rows("trip_id,stop_id,rider_id", f"1,{A},x", f"1,{B},y"), "more than one rider"),
    "some without rider": (rows("trip_id,stop_id,rider_id", f"1,{A},x", f"2,{B},"), "rider"),
    "riders under another name": (rows("trip_id,stop_id,RIDER", f"1,{A},x"), "--map rider_id=RIDER"),
    "legs that nobody named": (
        rows(PLAIN, *(f"{i},{stop}" for i in range(9) for stop in (A, D))),
        "--rows",
    ),
    "pairs that nobody named": (rows("origin,destination", *[f"{A},{D}"] * 9), "--rows"),
    "pairs with an end alone": (rows("origin,destination,end", f"{A},{B},08:00:00"), "no start"),
    "pairs to nowhere": (rows("origin,destination", f"{A},{B}", f"{A},nowhere"), "row 2"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_that_cannot_be_released_gets_a_sentence_and_costs_nothing(wayveil, tmp_path, case):
    text, word = FILES[case]
    file = tmp_path / "trips of zürich.csv"
    file.write_text(text, encoding="utf-8")
    refused(wayveil, tmp_path, word, file=file)


OPTIONS = {
    "epsilon of zero": (("--epsilon", "0"), "epsilon"),
    "negative epsilon": (("--epsilon=-1",), "epsilon"),
    "epsilon in words": (("--epsilon", "much"), "epsilon"),
    "huge epsilon": (("--epsilon", "1e9"), "epsilon"),
    "no such mechanism": (("--mechanism", "magic"), "unknown mechanism 'magic'; choose one of"),
    "no such parameter": (("--set", "colour=red"), "colour"),
    "half a parameter": (("--set", "height"), "name=value"),
    "no such unit": (("--unit", "person"), "choose one of rider, rider-day, trip, event, points, window"),
    "rider without riders": (("--unit", "rider", "--max-trips", "1"), "rider"),
    "no-rider for trips": (("--unit", "trip", "--no-rider", "drop"), "--no-rider"),
    "zero trips": (("--max-trips", "0"), "max-trips"),
    "no such row": (("--visits", "bananas"), "calls, legs"),
    "ways for nothing": (("--ways", "routed"), "legs or pairs"),
    "calls are not routed": (("--visits", "calls", "--ways", "routed"), "only legs"),
    "half a map": (("--map", "stop_id"), "ours=theirs"),
    "map to nothing of ours": (("--map", "colour=stop_id"), "unknown column 'colour'; choose one of"),
    "map of a missing column": (("--map", "stop_id=STATION"), "STATION"),
    "box for a saved world": (("--bbox", "1,1,2,2"), "GTFS"),
    "walks for a saved world": (("--walk-radius", "200"), "GTFS"),
    "a date for a saved world": (("--date", "2021-04-20"), "GTFS"),
    "no world": (("--world", "missing.zip"), "does not exist"),
    "trips as world": (("--world", "trips.csv"), "looks like trips"),
    "empty world": (("--world", "empty.txt"), "no symbol"),
    "damaged world": (("--world", "damaged.npz"), "damaged"),
    "world with an empty id": (("--world", "places.csv"), "row 2"),
    "damaged ledger": (("--ledger", "damaged.npz"), "ledger"),
    "policy without ledger": (("--ledger", "none"), "--policy-epsilon"),
    "more than the policy": (("--epsilon", "11"), "left"),
    "a release is there": (("--out", "taken"), "already exists"),
    "a file is there": (("--out", "trips.csv"), "already exists"),
    "a file is in the way": (("--out", "trips.csv/out"), "cannot be written"),
    "a link is there": (("--out", "link"), "already exists"),
    "a place that takes no files": (("--out", "/proc/wayveil/out"), "cannot be written"),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_an_option_that_makes_no_sense_gets_a_sentence_and_costs_nothing(wayveil, tmp_path, case):
    more, word = OPTIONS[case]
    (tmp_path / "trips.csv").write_text(GOOD)
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "damaged.npz").write_bytes(b"PK\x03\x04 no more of it")
    (tmp_path / "places.csv").write_text("stop_id,stop_name\na,A\n,B\n")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "here").write_text("something")
    (tmp_path / "link").symlink_to("nowhere")
    refused(wayveil, tmp_path, word, *more)


SURROUNDINGS = {
    "no trips": (lambda at: (at / "trips.csv").unlink(), "no such file"),
    "trips are a folder": (lambda at: ((at / "trips.csv").unlink(), (at / "trips.csv").mkdir()), "folder"),
    "trips are a network": (lambda at: shutil.copy(at / "ring.npz", at / "trips.csv"), "csv"),
    "trips are a parquet in name": (lambda at: (at / "trips.csv").write_bytes(b"PAR1"), "column"),
    "binary": (lambda at: (at / "trips.csv").write_bytes(bytes(range(256)) * 4), "trips.csv"),
    "a link to nowhere": (
        lambda at: ((at / "trips.csv").unlink(), (at / "trips.csv").symlink_to("gone")),
        "no such file",
    ),
    "damaged key": (
        lambda at: ((at / "home").mkdir(), (at / "home" / "signing-key.pem").write_text("no key")),
        "signing key",
    ),
}


@pytest.mark.parametrize("case", SURROUNDINGS)
def test_surroundings_that_do_not_work_are_named_before_anything_is_spent(wayveil, tmp_path, case):
    (tmp_path / "trips.csv").write_text(GOOD)
    change, word = SURROUNDINGS[case]
    change(tmp_path)
    refused(wayveil, tmp_path, word)


def test_a_full_disk_is_seen_before_anything_is_spent(wayveil, tmp_path, monkeypatch):
    (tmp_path / "trips.csv").write_text(GOOD)
    full = namedtuple("usage", "total used free")(10, 10, 1 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: full)
    refused(wayveil, tmp_path, "MiB left")


def test_a_second_run_into_one_folder_is_refused_at_once(wayveil, tmp_path):
    (tmp_path / "trips.csv").write_text(GOOD)
    lock = os.open(tmp_path / ".out.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    code, _, err = run_release(wayveil, tmp_path)
    os.close(lock)
    assert (code, "another run" in err) == (2, True)
    assert not (tmp_path / "ledger").exists()


def run_release(wayveil, place, *more, file=None):
    words = ["release", file or place / "trips.csv", "--world", "ring.npz", "--epsilon", "1", "--out", "out"]
    words += ["--mechanism", "noisy-prefix-tree", "--ledger", "ledger", "--policy-epsilon", "10", "--quiet"]
    return wayveil(*words, *more)


def refused(wayveil, place, word, *more, file=None):
    """One sentence, exit code 2, nothing spent, nothing written."""
    before = set(os.listdir(place))
    code, out, err = run_release(wayveil, place, *more, file=file)
    assert (code, out) == (2, "")
    assert word in " ".join(err.split())
    assert "Traceback" not in err
    assert set(os.listdir(place)) - before <= {"ledger", "ledger-wal", "ledger-shm", "home"}
    if (place / "ledger").exists():
        ledger = open_ledger(place / "ledger")
        assert all(ledger.spent(dataset) == 0 for dataset in ledger.datasets())


def test_a_run_that_is_stopped_after_paying_is_finished_without_paying_again(wayveil, tmp_path, monkeypatch):
    (tmp_path / "trips.csv").write_text(GOOD)

    def stop(model, seed=None):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(NoisyTree, "generate", stop)
        code, _, err = run_release(wayveil, tmp_path)
    assert (code, "the same command finishes it without spending again" in " ".join(err.split())) == (
        130,
        True,
    )
    assert not (tmp_path / "out").exists()
    code, _, err = run_release(wayveil, tmp_path, "--epsilon", "2")
    assert (code, "with another plan" in " ".join(err.split())) == (2, True)
    assert run_release(wayveil, tmp_path)[0] == 0
    assert wayveil("verify", "out")[0] == 0
    assert json.loads(wayveil("ledger", "show", "ledger", "--json")[1])[0]["spent"] == "1"
    assert wayveil("ledger", "verify", "ledger", "--release", "out")[0] == 0
    assert not (tmp_path / ".out.paid").exists()
    code, _, err = run_release(wayveil, tmp_path)
    assert (code, "already exists" in err) == (2, True)
    assert json.loads(wayveil("ledger", "show", "ledger", "--json")[1])[0]["spent"] == "1"


def visits_table(kind):
    """Four hundred trips of each kind, as a table with our names: enough to stand out of the noise."""
    stops = {"calls": [A, B, C], "legs": [A, D], "taps": [C]}[kind]
    trips = [(trip, at, stop) for trip in range(400) for at, stop in enumerate(stops)]
    if kind == "taps":  # a few cards tap twice, far apart
        trips += [(trip, 1, A) for trip in range(30)]
    trip, at, stop = zip(*trips, strict=True)
    clock = [f"08:{minute:02d}:00" for minute in at]
    return pl.DataFrame({"trip_id": trip, "seq": at, "stop_id": stop, "event_time": clock, "rider_id": trip})


# Boardings alone: a trip of one stop each, no card that taps twice.
SINGLE = pl.DataFrame({"trip_id": range(400), "stop_id": [C] * 400, "event_time": ["08:00:00"] * 400})
PAIRS = pl.DataFrame({"origin": [A] * 400, "destination": [D] * 400})
WALKS = {
    "calls.csv": (visits_table("calls"), "calls"),
    "calls.parquet": (visits_table("calls").drop("rider_id"), "calls"),
    "legs.csv": (visits_table("legs").drop("event_time"), "legs"),
    "other names.csv": (
        visits_table("legs").rename({"stop_id": "STATION", "rider_id": "Card ID", "trip_id": "Trip"}),
        "legs",
    ),
    "taps.parquet": (visits_table("taps"), "taps"),
    "single taps.csv": (SINGLE, "taps"),
    "pairs.csv": (PAIRS, "pairs"),
    "pairs.parquet": (
        PAIRS.with_columns(start=pl.lit(28_800), end=pl.lit(29_400), USER=pl.int_range(400)),
        "pairs",
    ),
}


@pytest.mark.parametrize("name", WALKS)
def test_what_check_recommends_leads_to_a_release_that_answers(wayveil, tmp_path, name):
    table, kind = WALKS[name]
    file = tmp_path / name
    table.write_csv(file) if name.endswith("csv") else table.write_parquet(file)
    code, out, _ = wayveil("check", name, "--world", "ring.npz", "--quiet")
    assert code == 0
    assert out.startswith("INTERNAL")
    assert f"seems to be {kind}" in out
    command = shlex.split(out.splitlines()[-1])
    assert command[:2] == ["wayveil", "release"]
    code, _, err = wayveil(*command[1:], "--quiet")
    assert (code, err) == (0, "")
    folder = command[command.index("--out") + 1]
    sheet = json.loads((tmp_path / folder / "datasheet.json").read_text())
    assert (sheet["visits"], sheet["rows"]["row"]) == (kind, kind)
    assert wayveil("verify", folder)[0] == 0
    code, out, _ = wayveil("ask", folder, "stops", "--json", "--anyway")
    assert (code, json.loads(out)[0]["stop"] in RING.names) == (0, True)
    beside = ("--raw", name, "--json", "--anyway")
    code, out, err = wayveil("ask", folder, "boardings", *beside)
    assert (code, err) == (0, "")
    assert sum(row["raw"] for row in json.loads(out)) >= 400
    assert wayveil("report", folder, "--quiet")[0] == 0
    # Where people who tapped got off is not known.
    if kind != "taps":
        words = ("export", folder, "--format", "od", "--out", "flows.csv", "--anyway")
        assert wayveil(*words)[::2] == (0, "")


def test_check_shows_what_each_bound_would_give_and_says_none(wayveil, tmp_path):
    table = visits_table("calls").with_columns(pl.lit(1).alias("rider_id"))
    table.write_csv(tmp_path / "trips.csv")
    told = json.loads(wayveil("check", "trips.csv", "--world", "ring.npz", "--json")[1])
    first, second, third = told["bounds"][:3]
    assert [row["most"] for row in (first, second, third)] == [1, 2, 3]
    # All trips are of one rider: twice the weight takes twice the noise, and both stand for the same trips, but for the
    # number of all rows, which is bought with a little less of epsilon where the weight is larger.
    assert second["weight"] == pytest.approx(2 * first["weight"])
    assert second["noise"] == pytest.approx(first["noise"], rel=0.05)
    assert second["noise"] <= first["noise"]
    assert "--max-trips" not in told["command"]
    assert "bounding" not in told["command"]


def test_check_says_when_rows_have_no_order_and_why_moves_do_not_fit(wayveil, tmp_path):
    visits_table("legs").select("trip_id", "stop_id").write_csv(tmp_path / "trips.csv")
    told = wayveil("check", "trips.csv", "--world", "ring.npz", "--quiet")[1]
    assert "rows have no order" in told
    assert "100% stops that are not next to each other" in told


def test_check_names_the_dataset_under_which_the_ledger_knows_the_same_people(wayveil, tmp_path):
    table = visits_table("calls")
    table.write_csv(tmp_path / "first.csv")
    table.write_parquet(tmp_path / "again.parquet")
    words = shlex.split(wayveil("check", "first.csv", "--world", "ring.npz", "--quiet")[1].splitlines()[-1])
    assert wayveil(*words[1:], "--quiet")[0] == 0
    words = shlex.split(
        wayveil("check", "again.parquet", "--world", "ring.npz", "--quiet")[1].splitlines()[-1]
    )
    assert words[words.index("--dataset") + 1] == "first.csv"
    assert wayveil(*words[1:], "--quiet")[0] == 0


def test_a_folder_that_is_not_there_is_called_so(wayveil):
    code, _, err = wayveil("ask", "nowhere", "boardings")
    assert (code, "no such folder" in err) == (2, True)


def test_next_commands_quote_spaces(wayveil, tmp_path):
    (tmp_path / "trips.csv").write_text(GOOD)
    words = ["release", "trips.csv", "--world", "ring.npz", "--epsilon", "1", "--out", "my release"]
    words += ["--mechanism", "noisy-prefix-tree", "--ledger", "ledger", "--policy-epsilon", "10"]
    code, _, err = wayveil(*words)
    assert code == 0
    assert "wayveil verify 'my release'" in " ".join(err.split())


def test_ask_without_a_question_names_all_of_them(wayveil):
    for words in ((), ("release",), ("boardings",)):
        code, _, told = wayveil("ask", *words)
        assert code == 2
        assert "wayveil ask release boardings" in told
        assert "line-load" in told
