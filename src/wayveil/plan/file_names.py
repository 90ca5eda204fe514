"""Days that the name of a file says: a public rule, so that nobody has to look inside to know."""

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from wayveil.errors import InputError, ParameterError
from wayveil.privacy.ledger.data_time import Days, Span, span_of

_CODES = {
    "%Y": r"(?P<Y>\d{4})",
    "%m": r"(?P<m>\d{2})",
    "%d": r"(?P<d>\d{2})",
    "%G": r"(?P<G>\d{4})",
    "%V": r"(?P<V>\d{2})",
}
_KINDS: dict[frozenset[str], Span] = {
    frozenset("Ymd"): "day",
    frozenset("GV"): "week",
    frozenset("Ym"): "month",
    frozenset("Y"): "year",
}


@dataclass(frozen=True)
class NamePattern:
    """A name such as taps_%G-W%V.csv, and the span that its codes say."""

    text: str
    expression: re.Pattern[str]
    span: Span

    @classmethod
    def parse(cls, text: str) -> "NamePattern":
        """Read a pattern; codes that do not say a day, week, month or year are refused."""
        parts = re.split(r"(%.)", text)
        codes = [part for part in parts if part.startswith("%")]
        unknown = [code for code in codes if code not in _CODES]
        kind = _KINDS.get(frozenset(code[1] for code in codes))
        if unknown or kind is None or len(set(codes)) != len(codes):
            raise ParameterError(
                f"the name of a file says its days by %Y-%m-%d (a day), %G-W%V (a week), %Y-%m (a month) or %Y, each "
                f"once; not by {text!r}"
            )
        if "/" in text:
            raise ParameterError(f"a pattern is of the name of a file, without its folder; not {text!r}")
        return cls(text, re.compile("".join(_CODES.get(part, re.escape(part)) for part in parts)), kind)

    def fits(self, file: str | Path) -> bool:
        """Tell whether a file is named so."""
        return self.expression.fullmatch(Path(file).name) is not None

    def days_of(self, file: str | Path) -> Days:
        """The days that the name of a file says."""
        found = self.expression.fullmatch(Path(file).name)
        if found is None:
            raise InputError(
                f"is not named as the plan says ({self.text}), so nobody has said which days it is of. Nothing was "
                "spent",
                file=file,
            )
        said = {name: int(value) for name, value in found.groupdict().items()}
        try:
            if self.span == "week":
                day = date.fromisocalendar(said["G"], said["V"], 1)
            else:
                day = date(said["Y"], said.get("m", 1), said.get("d", 1))
        except ValueError as error:
            raise InputError(
                f"names no day of the calendar ({error}). Nothing was spent", file=file
            ) from error
        return span_of(self.span, day)
