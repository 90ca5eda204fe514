"""Results of a study's cells: one long table, and the means and spreads that exhibits show."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from typing import Any

import numpy as np
import polars as pl

from wayveil.arrays import Floats
from wayveil.lab.studies.sources import Sources
from wayveil.lab.studies.study import FIGURE, Exhibit, Setting, Study
from wayveil.report.chart import Chart
from wayveil.utility.scorecard import mean_and_interval

_OWN = ("part", "repetition", "status", "message", FIGURE, "value")


@dataclass(frozen=True)
class Value:
    """The mean of one place over repetitions, its 95 % interval, the standard deviation, and how many there were."""

    mean: float
    low: float
    high: float
    deviation: float | None
    runs: int


@dataclass(frozen=True, eq=False)
class Results:
    """A row per cell and figure: `part`, coordinates as text, `repetition`, `figure`, `value`; and what made them."""

    table: pl.DataFrame
    cells: Sequence[Mapping[str, Any]]
    code: Sources
    apart: Sources

    @classmethod
    def of(
        cls, cells: Sequence[Mapping[str, Any]], code: Sources | None = None, apart: Sources | None = None
    ) -> "Results":
        """Put the cells together; one that was refused or failed is a row with its message."""
        rows: list[dict[str, Any]] = []
        for cell in cells:
            about = {"part": cell["part"], **cell["setting"], "repetition": cell["repetition"]}
            about |= {"status": cell["status"], "message": cell["message"]}
            rows += [about] if not cell["rows"] else [{**about, **row} for row in cell["rows"]]
        named = dict.fromkeys(name for row in rows for name in row if name not in _OWN)
        schema: dict[str, Any] = {
            "part": pl.String,
            **dict.fromkeys(named, pl.String),
            "repetition": pl.Int64,
        }
        schema |= {"status": pl.String, "message": pl.String, FIGURE: pl.String, "value": pl.Float64}
        table = pl.DataFrame(rows, schema=schema, infer_schema_length=None).with_columns(
            pl.col("value").fill_nan(None)
        )
        return cls(table, cells, code or {}, apart or {})

    @cached_property
    def seconds(self) -> float:
        """Time of all cells together."""
        return float(sum(cell.get("seconds", 0.0) for cell in self.cells))

    def rows(self, part: str | Sequence[str], **where: str) -> pl.DataFrame:
        """The measured rows of a part (or of several) with these coordinates."""
        names = [part] if isinstance(part, str) else list(part)
        found = self.table.filter(pl.col("part").is_in(names) & pl.col("value").is_not_null())
        for name, value in where.items():
            if name not in found.columns:
                return found.clear()
            found = found.filter(pl.col(name) == value)
        return found

    def value(self, part: str, figure: str, **where: str) -> Value | None:
        """One figure at one place, over the repetitions that have it."""
        return summarise(self.rows(part, **{**where, FIGURE: figure})["value"].to_numpy())

    def mean(self, part: str, figure: str, **where: str) -> float:
        """The mean of one figure; not a number where it was not measured."""
        found = self.value(part, figure, **where)
        return float("nan") if found is None else found.mean

    def curve(self, part: str, figure: str, down: str, **where: str) -> dict[float, float]:
        """The means of one figure along a coordinate of numbers, ascending; empty where it was not measured."""
        found = self.rows(part, **{**where, FIGURE: figure})
        if found.is_empty():
            return {}
        means = found.group_by(down).agg(pl.col("value").mean())
        return dict(sorted((float(place), float(value)) for place, value in means.iter_rows()))

    def places(self, exhibit: Exhibit) -> dict[tuple[str, str, str], Value]:
        """(down, across, series) -> value, of everything that an exhibit shows, in the order of the cells."""
        found = self.rows(exhibit.parts, **exhibit.where)
        by = [exhibit.down, exhibit.across, exhibit.series]
        if found.is_empty() or any(name not in found.columns for name in by):
            return {}
        for name, shown in ((exhibit.across, exhibit.columns), (exhibit.series, exhibit.only)):
            if shown:
                found = found.filter(pl.col(name).is_in(shown))
        groups = found.drop_nulls(by).group_by(by, maintain_order=True).agg(pl.col("value"))
        made = {}
        for down, across, series, values in groups.iter_rows():
            summary = summarise(np.asarray(values))
            if summary is not None:
                made[down, across, series] = summary
        return made

    def pictures(self, exhibit: Exhibit) -> list[Chart]:
        """The pictures that the cells of an exhibit drew."""
        return [
            _picture(picture, exhibit)
            for cell in self.cells
            if cell["part"] in exhibit.parts
            and all(cell["setting"].get(name) == value for name, value in exhibit.where.items())
            and (not exhibit.only or cell["setting"].get(exhibit.series) in exhibit.only)
            for picture in cell["pictures"]
        ]

    @cached_property
    def measured(self) -> set[tuple[str, frozenset[tuple[str, str]]]]:
        """(part, setting) of everything that has figures."""
        return {
            (cell["part"], frozenset(cell["setting"].items()))
            for cell in self.cells
            if cell["status"] == "measured"
        }

    def unmeasured(self, study: Study, exhibit: Exhibit) -> list[Setting]:
        """The settings that an exhibit shows and that have no figures: not run, refused or failed."""
        return [
            setting
            for part in exhibit.parts
            for setting in study.part(part).settings
            if all(setting.get(name, value) == value for name, value in exhibit.where.items())
            and (part, frozenset(setting.items())) not in self.measured
        ]

    def extent(self, study: Study) -> str:
        """Return how often every part was run, where that is less often than planned; empty where all was run."""
        words = []
        for part in study.parts:
            times = sorted(
                sum(cell["part"] == part.name and cell["setting"] == dict(setting) for cell in self.cells)
                for setting in part.settings
            )
            if times and times[0] < part.repetitions:
                often = f"{times[0]}" if times[0] == times[-1] else f"{times[0]} to {times[-1]}"
                words.append(f"{part.name} {often} of {part.repetitions}")
        return f"Run less often than planned: {', '.join(words)} times." if words else ""

    def times(self) -> dict[str, float]:
        """Seconds of all cells of a part."""
        total: dict[str, float] = {}
        for cell in self.cells:
            total[cell["part"]] = total.get(cell["part"], 0.0) + cell.get("seconds", 0.0)
        return total

    def gaps(self) -> list[tuple[str, str]]:
        """Cells without figures, with the reason, each once."""
        found = {}
        for cell in self.cells:
            if cell["status"] != "measured":
                words = ", ".join(f"{name} {value}" for name, value in cell["setting"].items())
                found[f"{cell['part']}: {words}"] = f"{cell['status']}: {cell['message']}"
        return list(found.items())


def _picture(kept: Mapping[str, Any], exhibit: Exhibit) -> Chart:
    """A picture of a cell. It may stand in several exhibits of a page, and has a title of its own in each."""
    title = f"{kept['name']}-title"
    svg = kept["svg"].replace(title, f"{title}-{re.sub(r'[^a-z0-9]+', '-', exhibit.label.lower())}")
    return Chart(**{**kept, "svg": svg, "data": pl.read_csv(StringIO(kept["data"]))})


def summarise(values: Any) -> Value | None:
    """Mean, interval and deviation of repetitions; None of nothing."""
    if len(values) == 0:
        return None
    mean, low, high = mean_and_interval(values)
    spread = _deviation(np.asarray(values)) if len(values) > 1 else None
    return Value(mean, mean if low is None else low, mean if high is None else high, spread, len(values))


def _deviation(values: Floats) -> float:
    """The standard deviation; of equal values 0, where rounding of their mean would leave a trace."""
    return float(np.std(values, ddof=1)) if np.ptp(values) > 0 else 0.0
