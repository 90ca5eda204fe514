"""Findings of audits, as rows for people and for machines."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from io import StringIO
from math import isfinite
from typing import Literal

from rich.console import Console
from rich.table import Table

AS_BUILT = "as built"
Measure = Literal["epsilon >=", "loss", "p"]
Verdict = Literal["pass", "FAIL", "BLIND", "caught", "not seen", "MISSED"]
_COLOURS = {"pass": "green", "caught": "green", "not seen": "dim"}


@dataclass(frozen=True)
class AuditRow:
    """One audit of one variant.

    `figure` is a lower bound on epsilon, a realised privacy loss or a p-value, as `measure` says; `raised` whether the
    audit found a fault, which is bad news for a mechanism as built and good news for a broken one. `reach` is the
    largest epsilon that the audit could have shown: a claim that is not below it makes an audit that cannot fail. None
    where no epsilon is estimated: a distance or a law has no such limit.
    """

    mechanism: str
    audit: str
    variant: str
    pair: str
    claimed: float
    measure: Measure
    figure: float
    raised: bool
    detail: str = ""
    seconds: float = 0.0
    reach: float | None = None

    @property
    def blind(self) -> bool:
        """Tell whether nothing that could have happened would have raised an alarm."""
        return self.reach is not None and self.reach <= self.claimed


class AuditTable:
    """All rows of a run of audits."""

    def __init__(self, rows: Iterable[AuditRow]) -> None:
        self.rows = tuple(rows)
        self._caught = {(row.mechanism, row.variant) for row in self.rows if row.raised}

    @property
    def failures(self) -> list[AuditRow]:
        """Rows in which a mechanism as built failed."""
        return [row for row in self.rows if self.verdict(row) == "FAIL"]

    @property
    def missed(self) -> list[tuple[str, str]]:
        """Broken variants that no audit noticed, as (mechanism, variant)."""
        return sorted({(row.mechanism, row.variant) for row in self.rows if self.verdict(row) == "MISSED"})

    @property
    def blind(self) -> list[AuditRow]:
        """Rows of audits that could not fail."""
        return [row for row in self.rows if row.blind]

    @property
    def ok(self) -> bool:
        return not self.failures and not self.missed and not self.blind

    def verdict(self, row: AuditRow) -> Verdict:
        """A broken variant is caught if one audit catches it; the others need not see it."""
        if row.blind and not row.raised:
            return "BLIND"
        if row.variant == AS_BUILT:
            return "FAIL" if row.raised else "pass"
        if row.raised:
            return "caught"
        return "not seen" if (row.mechanism, row.variant) in self._caught else "MISSED"

    def to_json(self) -> str:
        rows = [_finite(asdict(row)) | {"verdict": self.verdict(row)} for row in self.rows]
        return json.dumps({"ok": self.ok, "rows": rows}, indent=2)

    def rich(self) -> Table:
        """The table for a terminal."""
        table = Table(title="Audits (for the data holder's eyes)", title_justify="left")
        for column in ("mechanism", "variant", "audit", "pair", "claimed", "can show", "found", "verdict"):
            table.add_column(
                column, justify="right" if column in ("claimed", "can show", "found") else "left"
            )
        last = None
        for row in self.rows:
            if last is not None and last.mechanism != row.mechanism:
                table.add_section()
            verdict = self.verdict(row)
            table.add_row(
                row.mechanism if last is None or last.mechanism != row.mechanism else "",
                row.variant,
                row.audit,
                row.pair,
                f"{row.claimed:.3g}",
                "" if row.reach is None else f"{row.reach:.2f}",
                _figure(row),
                f"[{_COLOURS.get(verdict, 'bold red')}]{verdict}[/]",
            )
            last = row
        return table

    def summary(self) -> str:
        """One sentence."""
        broken = {(row.mechanism, row.variant) for row in self.rows if row.variant != AS_BUILT}
        sound = [row for row in self.rows if row.variant == AS_BUILT]
        text = (
            f"{len(sound) - len(self.failures)} of {len(sound)} audits passed; "
            f"{len(broken) - len(self.missed)} of {len(broken)} broken variants caught."
        )
        details = [f"{row.mechanism}, {row.audit}, {row.pair}: {row.detail}" for row in self.failures]
        details += [
            f"{row.mechanism}, {row.audit}, {row.pair}: claims {row.claimed:g}, where it could have shown "
            f"{row.reach:.2f} at most, so it cannot fail"
            for row in self.blind
        ]
        return "\n".join([text, *details])

    def __str__(self) -> str:
        # Rich asks the terminal for its width, and a pipe has none.
        console = Console(file=StringIO(), width=140)
        console.print(self.rich())
        console.print(self.summary(), markup=False, highlight=False)
        text = console.file
        return text.getvalue() if isinstance(text, StringIO) else ""


def _figure(row: AuditRow) -> str:
    if row.audit == "grey box" and row.raised:
        return row.detail.split(":")[0][:34]
    if row.measure == "p":
        return f"p = {row.figure:.2g}"
    return f"{row.measure} {max(row.figure, 0.0):.2f}"


def _finite(row: dict[str, object]) -> dict[str, object]:
    """JSON has no infinity; a bound without limit is null."""
    figure = row["figure"]
    return row | {"figure": figure if isinstance(figure, float) and isfinite(figure) else None}
