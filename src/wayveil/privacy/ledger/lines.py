"""One line of the ledger, its canonical text and its hash.

A line is stored as canonical JSON: ASCII, sorted keys, no spaces. Its hash is the SHA-256 of exactly that
text, and the text holds the hash of the line before, so every line vouches for all earlier ones.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, Self, get_args

from wayveil.disclosures import KNOWN_PEOPLE
from wayveil.errors import ParameterError, WayveilError
from wayveil.privacy.budget import Rational, exact
from wayveil.privacy.ledger.data_time import Days

Kind = Literal["policy", "content", "look", "reserve", "start", "settle", "commit", "cancel", "key"]
LINE_KINDS: tuple[str, ...] = get_args(Kind)
# Fields that came later. A line that does not use them is written without them, so that every line of an earlier
# version keeps its text and its hash.
LATER: dict[str, Any] = {"unit": None, "private": True, "signature": None}


class LedgerError(WayveilError):
    """The ledger cannot be read, cannot be written, or does not allow this step."""


class KnownRowsError(LedgerError):
    """Rows of people who are in another dataset of the ledger."""

    def __init__(self, dataset: str, said: str) -> None:
        super().__init__(said, tells=KNOWN_PEOPLE)
        self.dataset = dataset


class BrokenLedgerError(LedgerError):
    """The ledger's own lines contradict each other: somebody or something changed them."""


@dataclass(frozen=True)
class Head:
    """Number of lines of the ledger and the hash of the last one: enough to notice any later change to them.

    Written down elsewhere (in a datasheet, on paper) it also exposes somebody who rewrites the whole ledger.
    """

    count: int
    hash: str

    def __str__(self) -> str:
        return f"{self.count}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> Self:
        count, _, digest = text.partition(":")
        if not (count.isascii() and count.isdigit() and len(digest) == 64):
            raise ParameterError(f"a ledger head reads COUNT:HASH with 64 hexadecimal digits, not {text!r}")
        return cls(int(count), digest)


@dataclass(frozen=True)
class Line:
    """One step: what happened, when, by whom. Amounts stand on `reserve` and `settle` lines only, exact, as text
    ("1/2") in storage.

    `time` is what the clock said, in UTC; accounting never relies on it alone (see `Book.time`).
    `unit` is whom the release protects, with its bounds (see `conversion`); lines of an earlier version have none.
    `private` is false for a release that carries no guarantee: it is recorded and never added to any sum.
    `signature` is the officer's over the line without it, where the ledger has an officer (see `roles`).
    """

    sequence: int
    time: datetime
    actor: str
    kind: Kind
    dataset: str
    previous: str
    reservation: str | None = None
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    mechanism: str = ""
    purpose: str = ""
    payload: Any = None
    unit: Any = None
    private: bool = True
    signature: str | None = None

    @property
    def days(self) -> Days | None:
        """Which days the rows of a reservation are of, where it says so."""
        said = self.payload.get("days") if isinstance(self.payload, dict) else None
        return None if said is None else Days.parse(said)

    @property
    def trained(self) -> bool:
        """Tell whether the release was trained: only training is paid for with a delta and without rho."""
        return bool(self.delta) and self.rho is None

    @cached_property
    def text(self) -> str:
        """The canonical JSON that is stored and hashed."""
        record = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, unused in LATER.items():
            if record[name] == unused:
                del record[name]
        record["time"] = moment_text(self.time)
        for name in ("epsilon", "delta", "rho"):
            record[name] = None if record[name] is None else str(record[name])
        return canonical(record)

    @cached_property
    def hash(self) -> str:
        return digest(self.text)

    @property
    def head(self) -> Head:
        """The ledger's head when this is its last line."""
        return Head(self.sequence, self.hash)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a stored line; anything that `text` could not have written is refused."""
        try:
            record = json.loads(text)
            for name in ("epsilon", "delta", "rho"):
                record[name] = None if record[name] is None else Fraction(record[name])
            record["time"] = datetime.fromisoformat(record["time"])
            line = cls(**record)
            names = (line.actor, line.dataset, line.mechanism, line.purpose, line.reservation or "")
            well_formed = (
                line.text == text
                and line.kind in LINE_KINDS
                and isinstance(line.private, bool)
                and isinstance(line.signature, str | None)
                and all(isinstance(name, str) for name in names)
            )
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, ParameterError) as error:
            raise BrokenLedgerError(f"it is not a line of a ledger ({error})") from error
        if not well_formed:
            raise BrokenLedgerError("it is not a line of a ledger in its canonical form")
        return line


def canonical(value: Any) -> str:
    """The one JSON text of a value, so that equal content has equal hashes on every machine."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"the ledger stores plain JSON only: {error}") from error


def digest(text: str) -> str:
    """SHA-256 of a stored text; bytes that are not UTF-8 come out of storage as surrogates."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def moment_text(moment: datetime) -> str:
    """A moment in UTC with microseconds, such as 2026-03-01T08:00:00.000000+00:00."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


@dataclass(frozen=True)
class LineFacts:
    """Facts on the line of a reservation beside its price, its mechanism and its unit.

    rho      of a run that is accounted in zCDP, beside the (epsilon, delta) that it is charged as
    private  false for a run that protects nobody: it is recorded, and in no sum
    content  the name of the rows, as `Ledger.take_in` returned it
    days     which days of data they are of
    asked    what is asked of them (see `terms`)
    """

    purpose: str = ""
    rho: Rational | None = None
    private: bool = True
    content: str | None = None
    days: Days | None = None
    asked: Mapping[str, Any] | None = None

    def fields(self) -> dict[str, Any]:
        """The fields of the line."""
        days = None if self.days is None else str(self.days)
        payload = {"content": self.content, "days": days, "asked": self.asked}
        return {
            "rho": None if self.rho is None else exact(self.rho, "rho"),
            "purpose": self.purpose,
            "private": self.private,
            "payload": {name: said for name, said in payload.items() if said is not None} or None,
        }
