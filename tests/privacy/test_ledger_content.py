"""A dataset is what is in it: fingerprints, overlaps, renamed copies, and what they tell outsiders."""

import threading

import numpy as np
import polars as pl
import pytest

from privacy.ledger_tools import Burglar
from wayveil.privacy.ledger import BrokenLedgerError, Ledger, LedgerError, LineFacts, Policy, open_ledger
from wayveil.privacy.ledger.fingerprint import fingerprint
from wayveil.privacy.ledger.samples import SIZE, Sample, overlap, sip_hash
from wayveil.privacy.units import Rider
from wayveil.trips.read import read_trips
from wayveil.trips.trips import Trips
from wayveil.world.world import World

pytest_plugins = ["privacy.ledger_places"]

WORLD = World([f"s{i:02}" for i in range(40)])
KEY = bytes(range(32))


def people(first: int, last: int, *, seed: int = 0, week: int = 0, ids: bool = True) -> Trips:
    """Two timed trips of three visits for each rider from `first` up to `last`; a rider's trips are their own."""
    chance = np.random.default_rng([seed, week])
    many = 2 * 20_000
    location = chance.integers(0, WORLD.size, (many, 3)).astype(np.int32)
    time = np.sort(chance.integers(0, 86_400, (many, 3)), axis=1) + 86_400 * (20_000 + 7 * week)
    rider = np.repeat(np.arange(20_000), 2)
    kept = slice(2 * first, 2 * last)
    return Trips(
        location[kept].ravel(),
        np.arange(2 * (last - first) + 1) * 3,
        WORLD,
        time[kept].ravel(),
        rider[kept],
        rider_ids=pl.Series([f"card-{i}" for i in range(20_000)]) if ids else None,
    )


@pytest.fixture
def ledger(place: str) -> Ledger:
    return open_ledger(place)


@pytest.fixture
def quick(tmp_path) -> Ledger:
    made = open_ledger(tmp_path / "ledger")
    made.take_in("A", people(0, 5000), actor="ana")
    return made


def test_siphash_is_the_published_one() -> None:
    message = np.array([int.from_bytes(bytes(range(8)), "little")], np.uint64)
    assert hex(int(sip_hash(message, bytes(range(16)))[0])) == "0x93f5f5799a932462"


def test_the_same_people_under_another_name_are_refused_with_the_way_on(ledger: Ledger) -> None:
    ledger.set_policy("A", Policy(1, unit="rider"), actor="officer")
    rows = ledger.take_in("A", people(0, 500), actor="ana")
    ledger.reserve("A", 1, actor="ana", mechanism="tree", unit=Rider(2), facts=LineFacts(content=rows))
    with pytest.raises(
        LedgerError, match=r"known as 'A'.* the trips are the same.*--dataset A.*--new-people"
    ):
        ledger.take_in("B", people(0, 500), actor="ana")
    assert ledger.take_in("A", people(0, 500), actor="ana") == rows, "known rows need no second line"
    assert [line.kind for line in ledger.entries()] == ["policy", "content", "reserve"]
    ledger.take_in("B", people(0, 500), actor="ana", new_people=True)
    assert open_ledger_again(ledger).entries()[-1].payload["new_people"] is True
    assert ledger.verify().ok


def open_ledger_again(ledger: Ledger) -> Ledger:
    return Ledger(ledger._storage, ledger._clock)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (people(0, 5000).take(np.random.default_rng(1).permutation(10_000)), "the trips are the same"),
        (people(0, 5000, ids=False), "the trips are the same"),
        (people(0, 5000).without_times(), "the trips are the same"),
        (people(0, 5000, week=1), "100% of the riders"),
        (people(4000, 12_000), "of the riders"),
        (people(2000, 2200), "100% of the riders"),
        (people(0, 4999, ids=False), "of the timed trips"),
    ],
    ids=[
        "shuffled",
        "ids dropped",
        "times dropped",
        "next week",
        "a part in common",
        "a part of it",
        "one less",
    ],
)
def test_people_are_found_again_in_other_rows(quick: Ledger, data: Trips, why: str) -> None:
    with pytest.raises(LedgerError, match=f"known as 'A'.*{why}"):
        quick.take_in("B", data, actor="ana")


def test_other_people_are_not_taken_for_them(quick: Ledger) -> None:
    quick.take_in("B", people(5000, 9000), actor="ana")
    quick.take_in("C", people(9000, 9500, ids=False, seed=3), actor="ana")
    with pytest.raises(LedgerError, match="known as 'B'"):
        quick.take_in("D", people(8900, 9100), actor="ana")


def test_the_rows_of_a_dataset_add_up_over_its_releases(quick: Ledger) -> None:
    quick.take_in("A", people(6000, 7000), actor="ana")
    with pytest.raises(LedgerError, match="known as 'A'"):
        quick.take_in("B", people(6500, 6600), actor="ana")
    with pytest.raises(LedgerError, match="known as 'A'"):
        quick.take_in("B", people(100, 200), actor="ana")


def test_csv_and_parquet_of_the_same_rows_agree(tmp_path) -> None:
    rows = pl.DataFrame(
        {
            "trip_id": [1, 1, 2, 2],
            "stop_id": ["s01", "s02", "s03", "s01"],
            "event_time": [
                "2026-03-01 08:00:00",
                "2026-03-01 08:10:00",
                "2026-03-01 09:00:00",
                "2026-03-01 09:05:00",
            ],
            "rider_id": [17, 17, 4, 4],
        }
    )
    rows.write_csv(tmp_path / "rows.csv")
    rows.with_columns(pl.col("event_time").str.to_datetime()).write_parquet(tmp_path / "rows.parquet")
    turned = pl.concat([rows[2:], rows[:2]]).with_columns(
        trip_id=pl.lit("t") + pl.col("trip_id").cast(pl.String)
    )
    turned.write_csv(tmp_path / "turned.csv")
    found = [
        fingerprint(read_trips(tmp_path / name, WORLD), KEY).payload()
        for name in ("rows.csv", "rows.parquet", "turned.csv")
    ]
    assert found[0] == found[1] == found[2]
    assert set(found[0]["samples"]) == {"places", "timed", "riders"}


def test_a_fingerprint_says_nothing_without_its_key() -> None:
    one, other = (fingerprint(people(0, 3000), key) for key in (KEY, bytes(32)))
    assert one.totals != other.totals
    for of in ("riders", "timed"):
        assert overlap(one.samples[of], other.samples[of]).common == 0


def test_an_overlap_is_estimated_as_well_as_it_says() -> None:
    whole = fingerprint(people(0, 10_000), KEY).samples["riders"]
    for last in (10_500, 12_000, 19_000):
        part = fingerprint(people(9_500, last), KEY).samples["riders"]
        found, share = overlap(whole, part), 500 / (last - 9_500)
        low = 4 * np.sqrt(share * (1 - share) / found.new)
        assert abs(found.common / found.new - share) <= low + 1 / found.new
        assert found.new <= SIZE
    assert overlap(whole, Sample.of(np.zeros(0, np.uint64))).blind_spot == 1
    assert overlap(whole, fingerprint(people(12_000, 20_000), KEY).samples["riders"]).blind_spot < 0.01


def test_two_processes_cannot_take_in_the_same_people_under_two_names(place: str) -> None:
    """The check and the line are one step: of two writers, one is refused."""
    data, outcomes = people(0, 300), []

    def attempt(name: str) -> None:
        try:
            open_ledger(place).take_in(name, data, actor="ana")
            outcomes.append("in")
        except LedgerError as error:
            outcomes.append(str(error))

    open_ledger(place)
    threads = [threading.Thread(target=attempt, args=(name,)) for name in "ABCD"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("in") == 1, outcomes
    assert all(said == "in" or "known as" in said for said in outcomes)


def test_another_judgement_of_likeness_does_not_break_an_old_ledger(quick: Ledger, monkeypatch) -> None:
    quick.take_in("B", people(5000, 9000, seed=4, ids=False), actor="ana")
    monkeypatch.setattr("wayveil.privacy.ledger.fingerprint.TIMED_SHARE", -1)
    assert open_ledger_again(quick).verify().ok


def test_a_changed_key_is_noticed(place: str) -> None:
    ledger = open_ledger(place)
    ledger.take_in("A", people(0, 50), actor="ana")
    Burglar(place).set_fact("content_key", "00" * 32)
    assert "key of fingerprints" in (open_ledger(place).verify().problem or "")
    with pytest.raises(BrokenLedgerError, match="key of fingerprints"):
        open_ledger(place).take_in("B", people(0, 50), actor="ana")


def test_a_release_pays_for_rows_that_are_booked(quick: Ledger) -> None:
    quick.set_policy("B", Policy(1, unit="rider"), actor="officer")
    rows = quick.take_in("A", people(0, 5000), actor="ana")
    with pytest.raises(LedgerError, match="never booked for B"):
        quick.reserve("B", 1, actor="ana", mechanism="tree", unit=Rider(2), facts=LineFacts(content=rows))


def test_looks_are_found_by_name_and_by_rows(ledger: Ledger) -> None:
    ledger.look("trips.csv", "compare", people(0, 300), actor="ana")
    ledger.look("trips.csv", "score", people(0, 300), actor="ana")
    ledger.look("others.csv", "score", people(9000, 9300), actor="ana")
    rows = ledger.take_in("A", people(0, 290), actor="ana")
    assert [line.purpose for line in ledger.looks("A", rows)] == ["compare", "score"]
    assert len(ledger.looks("others.csv")) == 1
    assert "fingerprint" not in ledger.entries()[1].payload, "known rows are described once"
    assert [state.looks for state in open_ledger_again(ledger).summary()] == [0, 1, 2]
    assert ledger.spent("trips.csv") == 0
