"""`compare`: mechanisms x epsilons x repetitions on one dataset, in parallel, and resumable after a stop.

Every finished cell is one small file in the folder, written whole or not at all; a run that finds it does not
make it again. The results compare with raw trips and are not for publication; whoever chooses parameters by
them declares the release as tuned on the data.
"""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import polars as pl

from wayveil.errors import ParameterError
from wayveil.files import whole_file, write_whole
from wayveil.lab.cell_pool import examined
from wayveil.lab.comparison.comparison_cells import ComparisonCell, plan
from wayveil.lab.comparison.comparison_results import Comparison
from wayveil.lab.comparison.run_cells import Examiner, Settings
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.privacy.budget import Rational
from wayveil.progress import track
from wayveil.trips.trips import Trips

RESULTS = "results.parquet"
OnCell = Callable[[ComparisonCell, str], None]


def compare(
    trips: Trips,
    candidates: Sequence[Mechanism],
    epsilons: Iterable[Rational],
    *,
    repetitions: int = 5,
    settings: Settings | None = None,
    out: str | Path | None = None,
    workers: int | None = None,
    on_cell: OnCell | None = None,
) -> Comparison:
    """Make and measure all releases, beside ceiling, floor, empty release and plain Laplace answers.

    out      folder for results; a second run continues there, and one with more mechanisms, epsilons or
             repetitions adds to it. Without a folder nothing is kept and a stop loses everything.
    workers  processes (default: one per core); 1 works in this process
    on_cell  called for every cell with its status: `kept` (was there), `measured`, `refused` or `failed`
    """
    settings = Settings() if settings is None else settings
    cells = plan(candidates, epsilons, repetitions)
    store = None if out is None else CellStore(Path(out), trips, settings)
    tell = on_cell or (lambda cell, status: None)
    done: dict[str, pl.DataFrame] = {}
    for cell in cells:
        kept = None if store is None else store.load(cell)
        if kept is not None:
            done[cell.key] = kept
            tell(cell, "kept")
    todo = [cell for cell in cells if cell.key not in done]
    workers = min(workers or os.cpu_count() or 1, max(len(todo), 1))
    found = examined(todo, workers, _examiner, trips, settings)
    for cell, table in track(found, "releases compared", total=len(todo)):
        if store is not None:
            store.save(cell, table)
        done[cell.key] = table
        tell(cell, table["status"][0])
    comparison = Comparison(pl.concat([done[cell.key] for cell in cells]), trips.history.notice)
    if store is not None:
        comparison.save(store.folder / RESULTS)
    return comparison


def _examiner(trips: Trips, settings: Settings) -> Callable[[ComparisonCell], pl.DataFrame]:
    return Examiner(trips, settings).examine


class CellStore:
    """The finished cells of one dataset in a folder."""

    def __init__(self, folder: Path, trips: Trips, settings: Settings) -> None:
        self.folder = folder
        (folder / "cells").mkdir(parents=True, exist_ok=True)
        about = {"dataset": trips.fingerprint(), "settings": settings.describe()}
        note = folder / "comparison.json"
        if note.exists():
            before = json.loads(note.read_text())
            if before["settings"].get("questions") != settings.describe()["questions"]:
                raise ParameterError(
                    f"{folder} holds a comparison of an earlier version, which asked fewer questions: its results "
                    "can be read as they are, but not gone on with; choose another folder"
                )
            for part, what in (("dataset", "other trips or another world"), ("settings", "other settings")):
                if before[part] != json.loads(json.dumps(about[part])):
                    raise ParameterError(f"{folder} holds a comparison of {what}; choose another folder")
        else:
            write_whole(note, json.dumps(about, indent=2))

    def path(self, cell: ComparisonCell) -> Path:
        """Where a cell is kept."""
        return self.folder / "cells" / f"{cell.key}.parquet"

    def load(self, cell: ComparisonCell) -> pl.DataFrame | None:
        """A finished cell, or None; one that failed is not finished."""
        if not self.path(cell).exists():
            return None
        table = pl.read_parquet(self.path(cell))
        return None if table["status"][0] == "failed" else table

    def save(self, cell: ComparisonCell, table: pl.DataFrame) -> None:
        """Keep a cell."""
        with whole_file(self.path(cell)) as draft:
            table.write_parquet(draft)
