"""Everything on the way to a release that depends on raw rows and is not noised: refusals, choices, progress.

An error that hangs on what is in the rows names its entry here (`tells=`), and a test walks the readers for errors that
name none. `python -m wayveil.disclosures docs/promise.md` writes the table.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

BEGIN, END = "<!-- disclosures: made by `python -m wayveil.disclosures` -->", "<!-- end of disclosures -->"
HOLDER = "the data holder"
Work = TypeVar("Work", bound=Callable[..., Any])


@dataclass(frozen=True)
class Disclosure:
    """One thing that raw rows decide.

    when      in which case it happens
    tells     what whoever sees it learns
    to        who sees it
    removed   what in a plan takes it away; empty: nothing
    """

    name: str
    kind: Literal["refusal", "choice", "statement", "progress", "public"]
    when: str
    tells: str
    to: str = HOLDER
    removed: str = ""


REGISTRY: dict[str, Disclosure] = {}


def discloses(what: Disclosure) -> Callable[[Work], Work]:
    """Mark a function that decides or says something by raw rows."""

    def marked(work: Work) -> Work:
        work.discloses = what  # type: ignore[attr-defined]
        return work

    return marked


def _listed(*given: str, **more: str) -> Disclosure:
    made = Disclosure(*given, **more)  # type: ignore[arg-type]
    REGISTRY[made.name] = made
    return made


LAYOUT = _listed(
    "layout",
    "public",
    "a file's name, header or format does not fit",
    "nothing of a row: these are public facts",
)
EMPTY = _listed("empty", "refusal", "a file has no row, or reading leaves no trip", "that nothing is left")
DAMAGED = _listed(
    "damaged", "refusal", "a file cannot be read in its format", "why, perhaps with a value", removed=""
)
BAD_ROW = _listed(
    "bad row",
    "refusal",
    "a row lacks an id, a place or a time, or its order, number, year, form of time or names do not fit the others",
    "the number of the first such row and its value",
    removed="taps: such rows are dropped one by one; points: `order`, `repeated`, `no_fix`",
)
UNKNOWN_STOP = _listed(
    "unknown stop",
    "refusal",
    "a row names a stop that the world lacks",
    "row and value of the first one, and how many stops are unknown",
    removed="taps: such rows are dropped one by one; in Python `on_unknown='drop-trip'`",
)
SWAPPED = _listed(
    "swapped",
    "refusal",
    "more than half of the points lie outside the box, and inside if swapped",
    "that it is so",
)
MISSING_RIDER = _listed(
    "no rider", "refusal", "some trips have no rider id", "that there are some", removed="`no_rider`"
)
HALF_NAMED = _listed(
    "half a rider",
    "refusal",
    "some trips have rows with and without their rider, under the unit window",
    "that there are some",
)
SEVERAL_TRIPS = _listed(
    "several trips",
    "refusal",
    "riders have several trips and nobody said how many count",
    "that somebody has several",
    removed="`max_trips`",
)
MISFIT = _listed(
    "misfit",
    "refusal",
    "nobody said what a row is, and the network lacks many of the moves",
    "the share of such moves",
    removed="`rows`",
)
MARKED = _listed(
    "marked", "refusal", "a row is marked filled, reconstructed or not private", "that there is one"
)
SIMULATED_ROWS = _listed(
    "simulated",
    "statement",
    "every row is marked as simulated",
    "that all are; the datasheet says that it is about nobody",
    to="whoever reads the release",
)
OTHER_DAYS = _listed(
    "other days",
    "refusal",
    "rows are of other days than the plan says",
    "the day of the first one, and how many there are",
    removed='`outside = "drop"`',
)
MOVING_DAYS = _listed(
    "moving days",
    "refusal",
    "days are said, single visits are protected, and a trip has several of them",
    "that there is such a trip",
    removed="the unit `trip`, `rider` or `rider-day`, or no `days`",
)
LATE_ROWS = _listed(
    "late rows",
    "refusal",
    "a file of a period that was released, or begun, has changed since",
    "that it has changed",
)
KNOWN_PEOPLE = _listed(
    "known people",
    "refusal",
    "the ledger knows these people under another name",
    "that name, and the share of people or trips in both",
    removed="the name (`--dataset`), or `new_people`",
)
ENGINE_SIZE = _listed(
    "engine",
    "choice",
    "the size of the files decides whether they are read into memory or in pieces",
    "about how many rows there are, and how much memory is free",
    removed="`engine`",
)
ROOM = _listed(
    "room",
    "refusal",
    "a disk has less room than files of this size may need",
    "about how large the files are",
    removed="a larger disk (`scratch`)",
)
ORDER_ON_DISK = _listed(
    "order",
    "choice",
    "rows of one unit do not stand together, so that they are sorted on disk",
    "by the time it takes",
)
PROGRESS = _listed(
    "progress",
    "progress",
    "always, at a terminal",
    "how many rows and trips are read, and how long each step takes",
    removed="`--quiet`; not the time",
)
CHECKED = _listed(
    "check",
    "statement",
    "`wayveil check` is run",
    "exact facts about the rows, and a bound that suits them; booked as a look",
    removed="not running it",
)


def table() -> str:
    """All of them as a table in Markdown."""
    head = (
        "| what | kind | when | what it tells | to whom | what takes it away |\n|---|---|---|---|---|---|\n"
    )
    rows = [
        f"| {each.name} | {each.kind} | {each.when} | {each.tells} | {each.to} | {each.removed or 'nothing'} |"
        for each in REGISTRY.values()
    ]
    return head + "\n".join(rows) + "\n"


def write(page: Path) -> None:
    """Put the table between its marks on a page."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{table()}{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
