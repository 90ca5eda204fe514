"""A run that dies between its first noise and its model: the second try is the same run, and is paid for once."""

from datetime import date
from pathlib import Path

import numpy as np
import pytest

from wayveil.errors import InputError
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.bits import EntropyError, KeptBits
from wayveil.privacy.ledger import DataLimit, Days, Ledger, Policy, open_ledger
from wayveil.privacy.units import Event
from wayveil.releases.paid import Paid
from wayveil.releases.release import Release
from wayveil.run import make_release as release
from wayveil.trips.history import AS_READ
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips
from wayveil.world.world import World

DAYS = Days.parse("2026-01-05/2026-01-11")
KEEP = LegalityRule(repeats="keep", impossible="keep")


class PowerCutError(BaseException):
    """As final for a process as a kill, and kinder to a test."""


@pytest.fixture
def taps() -> Trips:
    world = World.of_symbols([f"stop {number}" for number in range(40)])
    rng = np.random.default_rng(5)
    stops, times = rng.integers(0, 40, 300).astype(np.int32), rng.integers(0, 604_800, 300)
    monday = (DAYS.first - date(1970, 1, 1)).days * 86_400
    return Trips(stops, np.arange(301), world, monday + times, history=AS_READ)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = open_ledger(tmp_path / "ledger")
    policy = Policy(None, unit="event", data=DataLimit("week", 1))
    ledger.set_policy("taps", policy, actor="officer")
    return ledger


def attempt(taps: Trips, ledger: Ledger, out: Path, mechanism: TapCounts | None = None) -> Release:
    return release(
        taps,
        TapCounts() if mechanism is None else mechanism,
        epsilon=1,
        unit=Event(),
        rule=KEEP,
        ledger=ledger,
        dataset="taps",
        days=DAYS,
        keep=Paid(out, same_noise=True),
        seed=1,
    )


def counts_of(made: Release) -> list[float]:
    return made.model.counts.tolist()  # type: ignore[attr-defined]


def test_the_second_try_draws_the_same_noise_and_is_paid_for_once(
    taps: Trips, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "week"
    seen: list[list[float]] = []
    measure = TapCounts.measure

    def dies(self, counter, gate):  # type: ignore[no-untyped-def]
        seen.append(measure(self, counter, gate).counts.tolist())
        raise PowerCutError

    monkeypatch.setattr(TapCounts, "measure", dies)
    with pytest.raises(PowerCutError):
        attempt(taps, ledger, out)
    monkeypatch.undo()
    assert Paid(out).noise.stat().st_mode & 0o077 == 0
    (left,) = ledger.open_reservations("taps")
    assert left.started
    made = attempt(taps, ledger, out)
    assert counts_of(made) == seen[0]
    assert made.reservation is not None
    assert made.reservation.id == left.id
    assert made.datasheet["private"]
    made.save(out)
    assert not Paid(out).noise.exists(), "the key must not outlive the answers"
    assert ledger.spans("taps")[0].spent.epsilon == 1
    assert ledger.verify().ok


def test_nothing_is_taken_up_for_other_questions_or_other_rows(
    taps: Trips, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "week"

    def dies(self, counter, gate):  # type: ignore[no-untyped-def]
        raise PowerCutError

    with monkeypatch.context() as patch:
        patch.setattr(TapCounts, "measure", dies)
        with pytest.raises(PowerCutError):
            attempt(taps, ledger, out)
    with pytest.raises(InputError, match="asked something else"):
        attempt(taps, ledger, out, TapCounts(max_visits=3))
    # Other rows are another release: nothing is taken up for them, and the first reservation keeps its price.
    other = taps.take(np.arange(len(taps)) != 7)
    first = ledger.open_reservations("taps")[0].id
    ledger.set_policy("taps", Policy(None, unit="event", data=DataLimit("week", 2)), actor="officer")
    made = attempt(other, ledger, out)
    assert made.reservation is not None
    assert made.reservation.id != first
    assert ledger.spans("taps")[0].spent.epsilon == 2


def test_a_key_that_comes_back_from_a_backup_draws_no_noise_for_other_rows(
    taps: Trips, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else two published releases would differ by exactly what their rows do."""

    def dies(self, counter, gate):  # type: ignore[no-untyped-def]
        raise PowerCutError

    with monkeypatch.context() as patch:
        patch.setattr(TapCounts, "measure", dies)
        with pytest.raises(PowerCutError):
            attempt(taps, ledger, tmp_path / "week")
    backup = Paid(tmp_path / "week").noise.read_text()
    first = attempt(taps, ledger, tmp_path / "week")
    ledger.set_policy("taps", Policy(None, unit="event", data=DataLimit("week", 2)), actor="officer")
    Paid(tmp_path / "mended").noise.write_text(backup)
    second = attempt(taps.take(np.arange(len(taps)) != 7), ledger, tmp_path / "mended")
    differing = np.array(counts_of(first)) != np.array(counts_of(second))
    assert differing.sum() > 10
    assert ledger.spans("taps")[0].spent.epsilon == 2


def test_kept_bits_repeat_only_themselves() -> None:
    key = KeptBits.new_key()
    bits, again, other = KeptBits(key), KeptBits(key), KeptBits(KeptBits.new_key())
    words = bits.words(1000)
    assert np.array_equal(words, np.concatenate([again.words(400), again.words(600)]))
    assert not np.array_equal(words, other.words(1000))
    assert len(np.unique(np.concatenate([words, bits.words(1000)]))) == 2000
    with pytest.raises(EntropyError):
        KeptBits(b"short")
