"""The ledger sees through the disguises that its page names, and the page names what it does not see."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from wayveil.privacy.ledger import Ledger, LedgerError, Policy, open_ledger
from wayveil.trips.history import AS_READ
from wayveil.trips.trips import Trips
from wayveil.world.world import World

WORLD = World([f"s{i:02}" for i in range(40)])
PAGE = Path(__file__).parents[2] / "docs" / "ledger.md"


def people(
    seed=0, riders=3000, *, ids=lambda rider: f"card-{rider}", time=lambda t: t, back=False, less=True
):
    """Two timed trips of three visits for each rider, and what somebody made of them; one trip is left out."""
    chance = np.random.default_rng(seed)
    location = chance.integers(0, WORLD.size, (2 * riders, 3)).astype(np.int32)
    times = time(np.sort(chance.integers(0, 86_400, (2 * riders, 3)), axis=1) + 86_400 * 20_000)
    location = location[:, ::-1] if back else location
    made = Trips(
        location.ravel(),
        3 * np.arange(2 * riders + 1),
        WORLD,
        None if times is None else times.ravel(),
        None if ids is None else np.repeat(np.arange(riders), 2),
        AS_READ,
        None if ids is None else pl.Series([ids(rider) for rider in range(riders)]),
    )
    return made.take(np.arange(len(made)) != 11) if less else made


def fresh(rider):
    return f"new-{rider * 7919 % 100_003:x}"


SIX = {
    "ids renamed, a second later": {"ids": fresh, "time": lambda t: t + 1},
    "no riders, minutes": {"ids": None, "time": lambda t: t // 60 * 60},
    "no riders, UTC": {"ids": None, "time": lambda t: t - 3600},
    "ids renamed, no times": {"ids": fresh, "time": lambda t: None},
    "ids padded, minutes": {"ids": lambda rider: f"  CARD-{rider}", "time": lambda t: t // 60 * 60},
    "reversed, ids renamed, no times": {"ids": fresh, "time": lambda t: None, "back": True},
}


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    made = open_ledger(tmp_path / "ledger")
    made.set_policy("A", Policy(1, unit="rider"), actor="officer")
    made.take_in("A", people(less=False), actor="ana")
    return made


@pytest.mark.parametrize("disguise", SIX)
def test_the_same_people_get_no_second_budget(ledger, disguise):
    said = ""
    try:
        ledger.take_in("B", people(**SIX[disguise]), actor="ana")
    except LedgerError as error:
        said = str(error)
    assert "known as 'A'" in said


@pytest.mark.parametrize("disguise", SIX)
def test_other_people_are_not_taken_for_them(ledger, disguise):
    ledger.take_in("B", people(seed=5, **{**SIX[disguise], "ids": fresh}), actor="ana")


def test_a_ledger_keeps_traits_and_a_fingerprint_in_parts_has_the_same(tmp_path):
    from wayveil.privacy.ledger.fingerprint import Fingerprint, fingerprint

    trips, key = people(), bytes(range(32))
    whole = fingerprint(trips, key)
    parts = [
        fingerprint(trips.part(first, min(first + 1000, len(trips))), key)
        for first in range(0, len(trips), 1000)
    ]
    joined = parts[0]
    for part in parts[1:]:
        joined = joined.joined(part)
    assert joined.payload() == whole.payload()
    assert Fingerprint.from_payload(whole.payload()).payload() == whole.payload()


def test_the_page_shows_what_the_script_finds():
    from wayveil.lab.audits.disguises import disguise_table

    page = PAGE.read_text(encoding="utf-8")
    shown = page.partition("<!-- disguises -->\n")[2].partition("\n<!-- /disguises -->")[0]
    assert shown == disguise_table()


def test_every_disguise_comes_out_as_it_is_claimed():
    from wayveil.lab.audits.disguises import DISGUISES, KEY, datasets, outcome
    from wayveil.privacy.ledger.fingerprint import fingerprint

    for trips in datasets().values():
        known = fingerprint(trips, KEY)
        found = {each.name for each in DISGUISES if outcome(each, known, trips) is not None}
        assert {each.name for each in DISGUISES if each.caught} <= found
        alarms = found & {each.name for each in DISGUISES if each.other_people}
        assert alarms <= {"other people, no riders, no times"}
