"""Data time: the days that rows are of, as opposed to the days on which they are released.

A release says which days its rows are of. That is only true where a rule per row keeps every other row out, and then
rows of other days cannot change it (see docs/ledger.md). Weeks are those of ISO 8601, from Monday to Sunday; a week
belongs to the year that has its Thursday. So `iso-year` is made of whole weeks (52 or 53), and `year` of whole days and
months.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, Self, get_args

from wayveil.errors import ParameterError

Span = Literal["day", "week", "month", "year", "iso-year"]
SPANS: tuple[str, ...] = get_args(Span)
ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, order=True)
class Days:
    """Days in a row, first and last included."""

    first: date
    last: date

    def __post_init__(self) -> None:
        if self.last < self.first:
            raise ParameterError(
                f"a period ends on or after its first day, not {self.last} after {self.first}"
            )

    def __len__(self) -> int:
        return (self.last - self.first).days + 1

    def __iter__(self) -> Iterator[date]:
        return (self.first + timedelta(days=day) for day in range(len(self)))

    def __str__(self) -> str:
        return f"{self.first.isoformat()}/{self.last.isoformat()}"

    def meets(self, other: "Days") -> bool:
        """Tell whether a day is in both."""
        return self.first <= other.last and other.first <= self.last

    def covers(self, other: "Days") -> bool:
        """Tell whether every day of the other one is in this one."""
        return self.first <= other.first and other.last <= self.last

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read `2026-01-05/2026-01-11`, as it stands on lines."""
        try:
            first, last = str(text).split("/")
            return cls(date.fromisoformat(first), date.fromisoformat(last))
        except ValueError as error:
            raise ParameterError(f"days read 2026-01-05/2026-01-11, not {text!r}") from error


def span_of(span: Span, day: date) -> Days:
    """The day, week, month or year that a day lies in.

    >>> str(span_of("week", date(2026, 1, 1)))
    '2025-12-29/2026-01-04'
    """
    if span == "day":
        return Days(day, day)
    if span == "week":
        monday = day - timedelta(days=day.weekday())
        return Days(monday, monday + timedelta(days=6))
    if span == "month":
        following = (day.replace(day=28) + timedelta(days=4)).replace(day=1)
        return Days(day.replace(day=1), following - ONE_DAY)
    if span == "year":
        return Days(date(day.year, 1, 1), date(day.year, 12, 31))
    if span == "iso-year":
        year = day.isocalendar().year
        return Days(date.fromisocalendar(year, 1, 1), date.fromisocalendar(year + 1, 1, 1) - ONE_DAY)
    raise ParameterError(f"a span of data time is one of {', '.join(SPANS)}, not {span!r}")


def spans_in(span: Span, days: Days) -> Iterator[Days]:
    """Every span that some of the days lie in, in order."""
    found = span_of(span, days.first)
    while found.first <= days.last:
        yield found
        found = span_of(span, found.last + ONE_DAY)


def label(span: Span, days: Days) -> str:
    """Return what people call it: 2026-01-05, 2026-W02, 2026-01, 2026."""
    if span == "day":
        return days.first.isoformat()
    if span == "month":
        return f"{days.first:%Y-%m}"
    if span == "year":
        return f"{days.first:%Y}"
    iso = days.first.isocalendar()
    return f"{iso.year}" if span == "iso-year" else f"{iso.year}-W{iso.week:02}"
