"""Whatever is done to the stored lines behind the ledger's back, `verify` says so and spending stops."""

import json
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privacy.ledger_tools import Burglar, Row
from wayveil.errors import ParameterError
from wayveil.privacy.ledger import BrokenLedgerError, Head, Ledger, Policy, open_ledger
from wayveil.privacy.ledger.lines import Line, canonical, digest

pytest_plugins = ["privacy.ledger_places"]

LINES = 8
attacks = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)


@pytest.fixture
def ledger(place: str) -> Ledger:
    """Eight lines of every kind."""
    ledger = open_ledger(place)
    ledger.set_policy("taps", Policy(5), actor="officer")
    for end in ("commit", "cancel"):
        reservation = ledger.reserve("taps", 1, actor="ana", mechanism="prefix tree")
        if end == "cancel":
            reservation.cancel("wrong file")
        else:
            reservation.start()
            reservation.commit("cafe")
    ledger.reserve("taps", "1/3", actor="ana", mechanism="n-grams").start()
    assert ledger.head().count == LINES
    return ledger


@pytest.fixture
def burglar(ledger: Ledger, place: str) -> Burglar:
    return Burglar(place)


@pytest.fixture
def honest(burglar: Burglar) -> list[Row]:
    return burglar.rows()


def problem(ledger: Ledger) -> str:
    verdict = ledger.verify()
    assert verdict.problem is not None
    assert not verdict.ok
    return verdict.problem


def test_an_honest_ledger_verifies(ledger: Ledger) -> None:
    verdict = ledger.verify(known_heads=[line.head for line in ledger.entries()])
    assert verdict.ok
    assert verdict.head == ledger.head()


@attacks
@given(number=st.integers(1, LINES), data=st.data())
def test_any_changed_character_of_a_line_is_reported(
    ledger: Ledger, burglar: Burglar, honest: list[Row], number: int, data: st.DataObject
) -> None:
    sequence, text, line_hash = honest[number - 1]
    at = data.draw(st.integers(0, len(text) - 1))
    character = data.draw(st.characters(codec="utf-8", exclude_characters=text[at] + "\x00"))
    burglar.rewrite(
        [
            *honest[: number - 1],
            (sequence, text[:at] + character + text[at + 1 :], line_hash),
            *honest[number:],
        ]
    )
    assert problem(ledger).startswith(f"line {number} ")


@attacks
@given(number=st.integers(1, LINES), at=st.integers(0, 63), character=st.sampled_from("0123456789abcdefX"))
def test_any_changed_character_of_a_hash_is_reported(
    ledger: Ledger, burglar: Burglar, honest: list[Row], number: int, at: int, character: str
) -> None:
    sequence, text, line_hash = honest[number - 1]
    forged = line_hash[:at] + character + line_hash[at + 1 :]
    burglar.rewrite([*honest[: number - 1], (sequence, text, forged), *honest[number:]])
    assert ledger.verify().ok == (forged == line_hash)


@attacks
@given(
    number=st.integers(1, LINES),
    change=st.sampled_from(
        [
            ("epsilon", "1/1000"),
            ("epsilon", None),
            ("epsilon", "1/0"),
            ("actor", "somebody else"),
            ("dataset", "gps"),
            ("kind", "cancel"),
            ("kind", "gift"),
            ("time", "2026-01-01T00:00:00.000000+00:00"),
            ("time", "2026-01-01"),
            ("payload", {"total_epsilon": "1000"}),
            ("reservation", "0" * 16),
            ("sequence", 99),
            ("purpose", 5),
            ("previous", "0" * 64),
            ("unheard of", 1),
        ]
    ),
    rehash=st.booleans(),
)
def test_a_changed_field_is_reported_even_when_the_line_is_hashed_again(
    ledger: Ledger, burglar: Burglar, honest: list[Row], number: int, change: tuple[str, object], rehash: bool
) -> None:
    sequence, text, line_hash = honest[number - 1]
    forged = canonical(json.loads(text) | {change[0]: change[1]})
    if forged == text:
        return
    forged_hash = digest(forged) if rehash else line_hash
    burglar.rewrite([*honest[: number - 1], (sequence, forged, forged_hash), *honest[number:]])
    # A line that is consistent in itself is given away by its successor, or by the head record.
    assert any(word in problem(ledger) for word in (f"line {number} ", f"line {number + 1} ", "head record"))


@attacks
@given(number=st.integers(1, LINES))
def test_a_deleted_line_is_reported(ledger: Ledger, burglar: Burglar, honest: list[Row], number: int) -> None:
    burglar.rewrite(honest[: number - 1] + honest[number:])
    expected = f"line {number} is missing" if number < LINES else f"ends at line {LINES - 1}"
    assert expected in problem(ledger)


@attacks
@given(number=st.integers(1, LINES - 1))
def test_a_deleted_line_is_reported_even_when_the_rest_is_renumbered(
    ledger: Ledger, burglar: Burglar, honest: list[Row], number: int
) -> None:
    kept = honest[: number - 1] + honest[number:]
    burglar.rewrite([(i, text, line_hash) for i, (_, text, line_hash) in enumerate(kept, 1)])
    assert problem(ledger).startswith(f"line {number} carries the number {number + 1}")


@attacks
@given(order=st.permutations(range(LINES)))
def test_re_ordered_lines_are_reported(
    ledger: Ledger, burglar: Burglar, honest: list[Row], order: list[int]
) -> None:
    burglar.rewrite([(i, honest[source][1], honest[source][2]) for i, source in enumerate(order, 1)])
    assert ledger.verify().ok == (order == sorted(order))


@attacks
@given(kept=st.integers(0, LINES - 1))
def test_lines_cut_off_at_the_end_are_reported(
    ledger: Ledger, burglar: Burglar, honest: list[Row], kept: int
) -> None:
    burglar.rewrite(honest[:kept])
    assert f"the last {LINES - kept} lines were deleted" in problem(ledger)


def test_an_edited_or_missing_record_beside_the_lines_is_reported(
    ledger: Ledger, burglar: Burglar, honest: list[Row]
) -> None:
    head = burglar.head()
    for forged in (f"7:{honest[6][2]}", f"8:{honest[6][2]}", f"9:{honest[7][2]}", "nonsense", ""):
        burglar.set_fact("head", forged)
        assert "head record" in problem(ledger) or "were deleted" in problem(ledger)
    burglar.set_fact("head", head)
    assert ledger.verify().ok
    burglar.set_fact("created", "2020-01-01T00:00:00.000000+00:00")
    assert "line 1 does not follow" in problem(ledger)
    burglar.run(("DELETE FROM wayveil_ledger_facts WHERE name = 'created'", ()))
    assert "records of created are missing" in problem(ledger)


def test_nothing_is_spent_from_a_broken_ledger(
    ledger: Ledger, burglar: Burglar, honest: list[Row], place: str
) -> None:
    burglar.rewrite(honest[:-1])
    opened_later = open_ledger(place)
    for broken in (ledger, opened_later):
        with pytest.raises(BrokenLedgerError, match="Nothing may be spent"):
            broken.reserve("taps", 1, actor="ana", mechanism="prefix tree")
    with pytest.raises(BrokenLedgerError, match="Nothing may be spent"):
        opened_later.entries()
    assert burglar.rows() == honest[:-1]


def recompute(ledger: Ledger, honest: list[Row], edit: dict[str, object]) -> list[Row]:
    """Edit the first reservation, then chain and hash everything again: the perfect forgery."""
    rows, previous = [], json.loads(honest[0][1])["previous"]
    for sequence, text, _ in honest:
        record = json.loads(text) | {"previous": previous} | (edit if sequence == 2 else {})
        previous = digest(canonical(record))
        rows.append((sequence, canonical(record), previous))
    return rows


def test_somebody_who_recomputes_everything_is_given_away_only_by_a_head_noted_elsewhere(
    ledger: Ledger, burglar: Burglar, honest: list[Row], place: str
) -> None:
    noted = ledger.entries()[3].head
    forged = recompute(ledger, honest, {"epsilon": "1/1000"})
    burglar.rewrite(forged)
    burglar.set_fact("head", str(Head(LINES, forged[-1][2])))
    innocent = open_ledger(place)
    assert innocent.spent("taps") == Fraction(1, 1000) + Fraction(1, 3)
    assert innocent.verify().ok
    for known in (noted, str(noted)):
        assert "the head noted at line 4 is not in this ledger" in (innocent.verify([known]).problem or "")
    assert "line 8 " in (innocent.verify([Head(LINES, honest[-1][2])]).problem or "")
    # A process that was running all the time remembers, too.
    with pytest.raises(BrokenLedgerError, match="behind the ledger's back"):
        ledger.spent("taps")


def test_a_forged_line_that_breaks_the_policy_is_reported_although_its_hashes_fit(
    ledger: Ledger, burglar: Burglar, honest: list[Row]
) -> None:
    forged = recompute(ledger, honest, {"epsilon": "6"})
    burglar.rewrite(forged)
    burglar.set_fact("head", str(Head(LINES, forged[-1][2])))
    assert "line 2 should never have been written: prefix tree needs epsilon 6" in problem(ledger)


def test_an_old_copy_put_back_is_noticed_by_a_noted_head(
    ledger: Ledger, burglar: Burglar, honest: list[Row]
) -> None:
    noted = ledger.head()
    burglar.rewrite(honest[:5])
    burglar.set_fact("head", f"5:{honest[4][2]}")
    assert ledger.verify().ok
    assert "line 8 is not in this ledger" in (ledger.verify([noted]).problem or "")


def test_the_storage_itself_refuses_to_change_or_delete_lines(place: str) -> None:
    ledger = open_ledger(place)
    ledger.set_policy("taps", Policy(5), actor="officer")
    clumsy = Burglar.__new__(Burglar)
    clumsy._place, clumsy._is_postgres = place, place.startswith("postgresql://")
    for statement in ("UPDATE wayveil_ledger_lines SET text = ''", "DELETE FROM wayveil_ledger_lines"):
        with pytest.raises(Exception, match="ledger lines are never"):
            clumsy.run((statement, ()))
    assert ledger.verify().ok


def test_a_line_reads_back_as_it_was_written(ledger: Ledger) -> None:
    for line in ledger.entries():
        assert Line.parse(line.text) == line


@pytest.mark.parametrize("text", ["", "12", "12:abc", "x:" + "0" * 64, "-1:" + "0" * 64])
def test_a_noted_head_that_is_none_is_refused(ledger: Ledger, text: str) -> None:
    with pytest.raises(ParameterError, match="COUNT:HASH"):
        ledger.verify([text])
