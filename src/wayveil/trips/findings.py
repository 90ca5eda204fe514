"""Problems of a file: everything at once for `wayveil check`, or the first problem as an error.

Readers report every problem to a `Findings`. A strict one turns the first into an `InputError`; the other
kind collects them all, with a few examples each, and the reader goes on as well as it can.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wayveil.disclosures import BAD_ROW
from wayveil.errors import InputError, WayveilError

if TYPE_CHECKING:
    from wayveil.trips.trips import Trips

EXAMPLES = 3


@dataclass(frozen=True)
class Finding:
    """One kind of problem: how many rows have it (0 = the file as a whole) and the first few of them."""

    problem: str
    rows: int = 0
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.rows:
            return self.problem
        return f"{self.problem} ({self.rows:,} row{'s' * (self.rows != 1)}): {join_examples(self.examples, self.rows)}"


def join_examples(examples: Sequence[str], rows: int) -> str:
    """Say which rows have what, each sentence once, and how many more there are.

    >>> join_examples(["row 3: no time", "row 7: no time", "row 8: no stop"], 9)
    'rows 3 and 7: no time; row 8: no stop; 6 more'
    """
    named: dict[str, list[str]] = {}
    for example in examples:
        row, _, sentence = example.partition(": ")
        named.setdefault(sentence, []).append(row.removeprefix("row "))
    said = []
    for sentence, numbers in named.items():
        *others, last = numbers
        which = f"rows {', '.join(others)} and {last}" if others else f"row {last}"
        said.append(f"{which}: {sentence}")
    more = [f"{rows - len(examples):,} more"] if rows > len(examples) else []
    return "; ".join([*said, *more])


@dataclass
class Findings:
    """Kind of a file, its counts, its problems, and notes on what is odd but usable.

    For the data holder's eyes only: these are exact facts about the raw data.
    """

    file: Path | str
    kind: str = "unknown"
    facts: dict[str, object] = field(default_factory=dict)
    problems: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    strict: bool = False
    # A row of pairs is two visits; people count rows.
    visits_per_row: int = 1
    # What was read, where it could be: for a closer look.
    trips: "Trips | None" = None

    def row_number(self, visit: int) -> int:
        """The row (1 = first data row) in which a visit (0-based) stands."""
        return visit // self.visits_per_row + 1

    @property
    def ok(self) -> bool:
        """Tell whether the file can be used as it is."""
        return not self.problems

    def rows(
        self,
        problem: str,
        rows: NDArray[np.integer],
        say: Callable[[int], str],
        error: Callable[[], InputError] | None = None,
    ) -> None:
        """Report the rows (0-based) that have a problem; `say` makes the sentence for one of them."""
        if len(rows) == 0:
            return
        if self.strict:
            first = int(rows[0])
            row = self.row_number(first)
            raise error() if error else InputError(say(first), file=self.file, row=row, tells=BAD_ROW)
        examples = tuple(f"row {self.row_number(int(row))}: {say(int(row))}" for row in rows[:EXAMPLES])
        self.problems.append(Finding(problem, len(rows), examples))

    def error(self, error: WayveilError) -> None:
        """Report a problem of the file as a whole; a strict `Findings` lets it pass as it is."""
        if self.strict:
            raise error
        self.problems.append(Finding(str(error).removeprefix(f"{self.file}: ")))

    def lines(self) -> list[str]:
        """The findings as sentences: what it is, every problem, and the notes."""
        facts = ", ".join(f"{name.replace('_', ' ')} {_say(value)}" for name, value in self.facts.items())
        head = f"{self.file}: {self.kind}" + (f" ({facts})" if facts else "")
        problems = [f"problem: {problem}" for problem in self.problems] or ["no problem found"]
        return [head, *problems, *(f"note: {note}" for note in self.notes)]


def _say(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if type(value) is int else str(value)
