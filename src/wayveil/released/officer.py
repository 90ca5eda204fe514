"""The first page of a datasheet: ten lines that a privacy officer reads and signs, everything else in an annex."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp
from typing import Any

from wayveil.errors import decimal
from wayveil.released.released_trips import NOT_STATED, say_factor

# Kinds of questions named on the page; the annex and the report have all of them.
MOST_NAMED = 4
# What the officer fills in by hand; `wayveil ledger sign` does the same with her key.
SIGNED = (
    "Privacy officer",
    "Date",
    "Decision (publish, refuse, with conditions)",
    "Signature",
    "Fingerprint of the officer's key",
    "Head of the ledger seen",
)
_BOUNDS = {
    "max_trips": "trips counted of each: at most {}",
    "max_taps": "taps counted of each: at most {}",
    "max_visits": "visits counted of each: at most {}",
    "seconds": "within any {} seconds",
    "length": "any {} visits in a row",
}


@dataclass(frozen=True)
class Usefulness:
    """Judgement of a release on its own numbers: kinds of questions it answers, those it does not, and its trips."""

    fit: Sequence[str] = ()
    unfit: Sequence[str] = ()
    trips: int | None = None


def officer_lines(sheet: Mapping[str, Any], use: Usefulness) -> list[tuple[str, str]]:
    """Return ten lines: who, whose data, days, size, unit, epsilon, spent, an example, fit for, not fit for."""
    basic, stated = sheet["deployment"]["basic"], sheet["guarantee"]
    ledger: Mapping[str, Any] = sheet.get("ledger") or {}
    curators = ", ".join(each["data_curator_name"] for each in basic["data_curators"])
    unit = str(stated["unit"])
    return [
        (
            "Published by",
            f"{curators}, {basic['publication_date']}. Contact: {sheet.get('contact', NOT_STATED)}.",
        ),
        (
            "Whose data",
            f"{basic['name']}; region: {basic.get('data_product_region', NOT_STATED)}.{_simulated(sheet)}",
        ),
        ("Days", _days(ledger)),
        ("How many", _size(sheet, use.trips)),
        ("Who is protected", f"one {unit}{_bounds(stated.get('bounds') or {}, unit)}"),
        ("How strongly", _strength(sheet)),
        ("Spent and allowed", _spent(ledger, unit)),
        ("For example", example_person(sheet)),
        (
            "Fit for",
            f"{_use(basic)}; {_named(use.fit) or 'no kind of question was judged'}",
        ),
        (
            "Not fit for",
            "; ".join(filter(None, [_named(use.unfit), f"facts about groups larger than one {unit}"])),
        ),
    ]


def _simulated(sheet: Mapping[str, Any]) -> str:
    return "".join(
        f" {str(words)[:1].upper()}{str(words)[1:]}." for words in (sheet.get("source") or {}).values()
    )


def _size(sheet: Mapping[str, Any], trips: int | None) -> str:
    """Return the released number of trips with the noise on it; no other number of the data is known."""
    if trips is None:
        return "see the release"
    noise = next((row.get("error_95") for row in sheet["spends"] if row["label"] == "number of trips"), None)
    within = (
        ""
        if noise is None
        else f", a number with noise: in 95 of 100 cases it is within {noise:,} of the number counted"
    )
    return f"{trips:,} private trips{within}"


def _bounds(bounds: Mapping[str, Any], unit: str) -> str:
    if bounds.get("bounding") == "weights":
        return f"; all trips of each are counted, with weights that add up to at most {bounds['max_trips']}"
    # Of a trip that is protected one trip counts: nothing to say.
    said = [
        words.format(bounds[key])
        for key, words in _BOUNDS.items()
        if bounds.get(key) is not None and (key, unit) != ("max_trips", "trip")
    ]
    return "".join(f"; {words}" for words in said)


def _strength(sheet: Mapping[str, Any]) -> str:
    stated = sheet["guarantee"]
    if not sheet.get("private", False):
        return f"NOT PRIVATE: {'; '.join(sheet.get('not_private_because') or ())}"
    epsilon = _epsilon(stated)
    amount = f"rho {decimal(Fraction(stated['rho']))}" if epsilon is None else f"epsilon {decimal(epsilon)}"
    delta = Fraction(str(stated.get("delta", 0)))
    but = f", except with probability {float(delta):g} (delta)" if delta else ""
    if epsilon is None:
        return f"{amount}{but}"
    return (
        f"{amount}: adding or removing one {stated['unit']} changes the probability of any result by a factor of at "
        f"most {say_factor(float(epsilon))}{but}"
    )


def _spent(ledger: Mapping[str, Any], unit: str) -> str:
    if not ledger:
        return "no ledger was kept, so nothing adds this release to others of the same people"
    allowed = ledger.get("allowed")
    limit = (
        "; the ledger has the limit for each span of data"
        if allowed is None
        else f" of {_plain(allowed)} allowed"
    )
    span = f" on data of {ledger['data_of']}" if "data_of" in ledger else ""
    return f"{_plain(ledger['spent_so_far'])}{limit}, for one {ledger.get('spent_so_far_for', unit)}{span}"


def example_person(sheet: Mapping[str, Any]) -> str:
    """Say how sure an observer can become that one person is in the data."""
    epsilon = _epsilon(sheet["guarantee"])
    if epsilon is None or not sheet.get("private", False):
        return "none: no epsilon is claimed"
    unit = str(sheet["guarantee"]["unit"])
    about = "Ana" if unit == "rider" else f"one certain {unit} of Ana"
    sure, unsure = _after(0.5, epsilon), _after(0.01, epsilon)
    return (
        f"An observer who is 50 % sure that {about} is in the data stays between {100 - 100 * sure:.0f} % and "
        f"{100 * sure:.0f} % sure after seeing this release. One who is 1 % sure becomes at most "
        f"{100 * unsure:.1f} % sure"
    )


def _after(before: float, epsilon: Fraction) -> float:
    """Return the most that an observer can believe after a release, by Bayes' rule."""
    odds = before / (1 - before) * exp(min(float(epsilon), 100.0))
    return odds / (1 + odds)


def _epsilon(stated: Mapping[str, Any]) -> Fraction | None:
    return None if stated.get("epsilon") in (None, "") else Fraction(str(stated["epsilon"]))


def _plain(value: object) -> str:
    return decimal(Fraction(str(value)))


def _days(ledger: Mapping[str, Any]) -> str:
    days = ledger.get("days")
    return (
        "not stated in the plan: every day in the files" if days is None else str(days).replace("/", " to ")
    )


def _use(basic: Mapping[str, Any]) -> str:
    use = str(basic.get("intended_use", NOT_STATED))
    return f"intended use {NOT_STATED}" if use == NOT_STATED else use


def _named(kinds: Sequence[str]) -> str:
    more = f" and {len(kinds) - MOST_NAMED} more (annex)" if len(kinds) > MOST_NAMED else ""
    return ", ".join(kinds[:MOST_NAMED]) + more
