"""The datasheet as a page that a privacy officer can read, print and sign. The report shows the same parts.

The datasheet in the words of a page: the promise first, then what was paid, then everything else.

A datasheet is plain data and may grow; whatever this module has no words for is shown as it stands.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, TemplateNotFound, UndefinedError

from wayveil.errors import InputError, decimal
from wayveil.released.officer import SIGNED, Usefulness, officer_lines
from wayveil.released.released_trips import NOT_STATED, Datasheet, say_factor

_SPEND_TITLES = {
    "label": "Bought",
    "price": "Price",
    "sensitivity": "Sensitivity",
    "scale": "Noise scale",
    "error_95": "95 % of noise within ±",
    "group": "Disjoint group",
}
# The parts that a reader looks for, in this order; the rest stands behind a fold.
_PARTS = {
    "guarantee": "Who is protected",
    "of_what": "What the numbers count",
    "needs": "Needs: promised and reached",
    "source": "The data behind it",
    "mechanism": "Mechanism and public parameters",
    "before": "Before counting",
    "public_inputs": "Public inputs",
    "not_protected": "Not protected",
    "limitations": "Limitations",
    "noise": "Noise",
    "ledger": "Ledger",
}
_BEFORE = "preprocessing_and_hyperparameter_tuning"
_SAID_ELSEWHERE = {"private", "not_private_because", "spends", "wayveil"}


@dataclass(frozen=True)
class StatedGuarantee:
    """The guarantee as the head of the page shows it."""

    holds: bool
    sentence: str
    meaning: str
    amount: str
    currency: str
    unit: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Spends:
    """The table of spends: titles, rows of text, and each row's share of the total in percent."""

    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    shares: tuple[float, ...]


def promise(sheet: Mapping[str, Any]) -> StatedGuarantee:
    """Say what is guaranteed, to whom, and what that means for one of them."""
    stated: Mapping[str, Any] = sheet.get("guarantee") or {}
    reasons = tuple(sheet.get("not_private_because") or ())
    holds = bool(stated) and bool(sheet.get("private", not reasons)) and not reasons
    currency = "rho" if "rho" in stated else "epsilon"
    amount, unit = _amount(stated.get(currency, "")), str(stated.get("unit", "unit"))
    sentence = str(stated.get("sentence") or "This output comes without a stated privacy guarantee.")
    sentence = sentence.replace("`", "")
    meaning = ""
    if holds and currency == "epsilon" and (epsilon := _fraction(stated["epsilon"])) is not None:
        meaning = (
            f"In plain words: adding or removing any one {unit} changes the probability of anything seen here by a "
            f"factor of at most {say_factor(float(epsilon))}."
        )
    return StatedGuarantee(holds, sentence, meaning, amount, currency, unit, reasons)


def spends(sheet: Mapping[str, Any]) -> Spends | None:
    """Every spend with its share; nothing where the datasheet lists none."""
    rows: Sequence[Mapping[str, Any]] = list(sheet.get("spends") or ())
    keys = [key for key in _SPEND_TITLES if any(row.get(key) is not None for row in rows)]
    keys += sorted({key for row in rows for key in row} - set(_SPEND_TITLES))
    if not rows:
        return None
    prices = [_fraction(row.get("price")) or Fraction(0) for row in rows]
    total = sum(prices, Fraction(0)) or Fraction(1)
    return Spends(
        tuple(_SPEND_TITLES.get(key, words(key)) for key in keys),
        tuple(tuple("" if row.get(key) is None else _number(row[key]) for key in keys) for row in rows),
        tuple(round(float(price / total) * 100, 1) for price in prices),
    )


@dataclass(frozen=True)
class DatasheetView:
    """A whole datasheet as pages show it: the promise, the spends, the parts with a title, and the rest."""

    promise: StatedGuarantee
    spends: Spends | None
    parts: tuple[tuple[str, Any], ...]
    rest: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, sheet: Mapping[str, Any]) -> "DatasheetView":
        """Sort the parts of a datasheet; those that nobody foresaw are in the rest."""
        filled = {key: part for key, part in sheet.items() if part not in (None, "", [], {})}
        if "guarantee" in filled:
            # The promise says the sentence in larger letters.
            filled["guarantee"] = {k: v for k, v in filled["guarantee"].items() if k != "sentence"}
        before = filled.get("deployment", {}).get("implementation", {}).get(_BEFORE)
        if before:
            filled["before"] = before
        parts = tuple((title, filled[key]) for key, title in _PARTS.items() if key in filled)
        rest = tuple(
            (words(key), part)
            for key, part in filled.items()
            if key not in _PARTS and key not in _SAID_ELSEWHERE
        )
        return cls(promise(sheet), spends(sheet), parts, rest)


def words(key: object) -> str:
    """A field name as people write it."""
    text = str(key).replace("_", " ")
    return text[:1].upper() + text[1:]


def _amount(value: object) -> str:
    """Exact rationals of the datasheet as decimals; all else as it is."""
    found = _fraction(value) if isinstance(value, str) and "/" in value else None
    return str(value) if found is None else decimal(found)


def _number(value: object) -> str:
    """A number in a column of numbers: thousands apart, all of them decimals; all else as it is."""
    found = None if isinstance(value, bool) else _fraction(value)
    if found is None:
        return str(value)
    return f"{round(found):,}" if found.denominator == 1 or abs(found) >= 1000 else f"{float(found):.6g}"


def _fraction(value: object) -> Fraction | None:
    try:
        return Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        return None


def datasheet_page(datasheet: Datasheet, use: Usefulness | None = None) -> str:
    """Return a self-contained HTML page, without script: ten lines for the officer to sign, the rest as an annex."""
    try:
        basic = datasheet["deployment"]["basic"]
        curators = (each["data_curator_name"] for each in basic["data_curators"])
        origin = [*(name for name in curators if name != NOT_STATED), basic["publication_date"]]
        origin.append(f"Wayveil {datasheet['wayveil']['version']}")
        return (
            templates("wayveil.released")
            .get_template("datasheet.html.j2")
            .render(
                name=basic["name"],
                origin=" · ".join(filter(None, origin)),
                view=DatasheetView.of(datasheet),
                lines=officer_lines(datasheet, use or Usefulness()),
                fields=SIGNED,
            )
        )
    except (KeyError, TypeError, ValueError, AttributeError, UndefinedError) as error:
        # Datasheets come from files that others may have changed.
        raise InputError(f"this is not the datasheet of a release: {error} is missing or wrong") from error


@cache
def templates(*rooms: str) -> Environment:
    """The templates of these rooms, read once: everything is escaped, and a name that is missing is an error."""
    folders = [files(room).joinpath("templates") for room in rooms]

    def load(name: str) -> str:
        for folder in folders:
            if (file := folder.joinpath(name)).is_file():
                return file.read_text(encoding="utf-8")
        raise TemplateNotFound(name)

    environment = Environment(
        loader=FunctionLoader(load),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["words"] = words
    return environment
