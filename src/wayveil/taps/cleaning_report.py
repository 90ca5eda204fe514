"""The cleaning report: what every rule did to how many rows, with examples. Nothing is dropped in silence."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wayveil.trips.findings import join_examples

EXAMPLES = 3


@dataclass(frozen=True)
class RuleCount:
    """One rule: what it looks for, what became of the rows, how many there were, and a few of them.

    `other_rows` marks a rule whose outcome depends on other people's rows: applied before noise, it breaks every
    guarantee.
    """

    rule: str
    done: Literal["dropped", "filled", "kept"]
    rows: int
    examples: tuple[str, ...] = ()
    other_rows: bool = False

    def __str__(self) -> str:
        shown = f": {join_examples(self.examples, self.rows)}" if self.examples else ""
        mark = " [looks at other rows: not before noise]" if self.other_rows else ""
        return f"{self.rule}: {self.rows:,} {self.done}{mark}{shown}"


@dataclass
class CleaningReport:
    """Rows in, rows out, and the rules between. Exact facts about the raw data, for the data holder's eyes only."""

    file: Path | str
    layout: dict[str, str]
    rows_in: int
    rules: list[RuleCount] = field(default_factory=list)

    @property
    def dropped(self) -> int:
        """Rows that some rule dropped; each row is counted by the first rule that drops it."""
        return sum(rule.rows for rule in self.rules if rule.done == "dropped")

    @property
    def rows_out(self) -> int:
        return self.rows_in - self.dropped

    def add(
        self,
        rule: str,
        done: Literal["dropped", "filled", "kept"],
        where: NDArray[np.bool_],
        say: Callable[[int], str],
        *,
        other_rows: bool = False,
    ) -> None:
        """Note the rows (of the file, from 0) that a rule applied to; `say` makes an example of one."""
        rows = np.flatnonzero(where)
        examples = tuple(f"row {row + 1}: {say(int(row))}" for row in rows[:EXAMPLES])
        self.rules.append(RuleCount(rule, done, len(rows), examples, other_rows))

    def lines(self) -> list[str]:
        """For people."""
        layout = ", ".join(f"{our} = {their}" for our, their in self.layout.items())
        head = f"{self.file}: {self.rows_in:,} rows in, {self.rows_out:,} taps out ({layout})"
        return [head, *(str(rule) for rule in self.rules)]

    def as_dict(self) -> dict[str, object]:
        """For machines."""
        return {
            "file": str(self.file),
            "layout": self.layout,
            "rows_in": self.rows_in,
            "rows_out": self.rows_out,
            "rules": [asdict(rule) for rule in self.rules],
        }
