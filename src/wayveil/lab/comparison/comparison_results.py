"""The results of a comparison as one table, what people ask of it, and where each mechanism stands."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from wayveil.errors import InputError
from wayveil.files import whole_file
from wayveil.lab.comparison.comparison_cells import PLAIN_LAPLACE, REFERENCES, display_name
from wayveil.lab.comparison.run_cells import SCHEMA
from wayveil.mechanisms.registry import homes
from wayveil.mechanisms.registry import mechanism as find_mechanism
from wayveil.trips.history import RAW_NOTICE
from wayveil.utility.figures import CEILING, EMPTY, FLOOR
from wayveil.utility.scorecard import mean_and_interval


@dataclass(frozen=True)
class Point:
    """One figure of one mechanism at one epsilon: the mean over repetitions and its 95 % interval."""

    name: str
    mechanism: str
    parameters: str
    epsilon: float | None
    key: str
    value: float
    low: float | None
    high: float | None
    repetitions: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """Long table: a row per cell and figure. For the eyes of the data holder only."""

    table: pl.DataFrame
    notice: str = RAW_NOTICE

    @classmethod
    def load(cls, path: str | Path) -> "Comparison":
        """Read results; of a folder, its `results.parquet`."""
        path = Path(path)
        path = path / "results.parquet" if path.is_dir() else path
        try:
            table = pl.read_parquet(path)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"cannot be read as results of a comparison ({error})", file=path) from error
        if missing := sorted(set(SCHEMA) - set(table.columns)):
            raise InputError(f"is not a comparison: the column {missing[0]} is missing", file=path)
        return cls(table)

    def save(self, path: str | Path) -> None:
        """One parquet file that appears whole or not at all."""
        with whole_file(Path(path)) as draft:
            self.table.write_parquet(draft)

    @property
    def figures(self) -> list[dict[str, str]]:
        """The figures that were measured, in the order of the questions: question, key, label, better."""
        columns = ["question", "key", "label", "better"]
        found = self.table.filter(pl.col("key").is_not_null()).select(columns)
        return found.unique("key", keep="first", maintain_order=True).to_dicts()

    @property
    def epsilons(self) -> list[float]:
        """Ascending."""
        return self.table["epsilon"].drop_nulls().unique().sort().to_list()

    @property
    def mechanisms(self) -> list[str]:
        """Names of the mechanisms with what was set, in the order of the plan; no reference lines."""
        rows = self._named.filter(~pl.col("mechanism").is_in(REFERENCES))
        return rows["name"].unique(maintain_order=True).to_list()

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """Every mechanism, epsilon and figure that has a value."""
        by = ["name", "mechanism", "parameters", "epsilon", "key"]
        rows = self._named.drop_nulls(["key", "value"])
        groups = rows.group_by(by, maintain_order=True).agg(pl.col("value"))
        points = []
        for row in groups.iter_rows(named=True):
            found = row.pop("value")
            mean, low, high = mean_and_interval(found)
            points.append(Point(**row, value=mean, low=low, high=high, repetitions=len(found)))
        return tuple(points)

    def summary(self) -> pl.DataFrame:
        """`points` as a table."""
        return pl.DataFrame([vars(point) for point in self.points], infer_schema_length=None)

    def references(self, key: str) -> dict[str, float]:
        """Ceiling, floor and empty release of one figure, where they have a value."""
        rows = self.table.filter((pl.col("key") == key) & pl.col("mechanism").is_in((CEILING, FLOOR, EMPTY)))
        means = rows.drop_nulls("value").group_by("mechanism").agg(pl.col("value").mean())
        return {str(name): float(value) for name, value in means.iter_rows()}

    def curves(self, key: str, *, plain_laplace: bool = True) -> dict[str, list[Point]]:
        """One figure against epsilon: a list of points, ascending, per mechanism."""
        lines: dict[str, list[Point]] = {}
        for point in self.points:
            shown = point.mechanism not in REFERENCES or (plain_laplace and point.mechanism == PLAIN_LAPLACE)
            if point.key == key and shown and point.epsilon is not None:
                lines.setdefault(point.name, []).append(point)
        return {name: sorted(line, key=lambda p: p.epsilon or 0) for name, line in lines.items()}

    def gaps(self) -> Iterator[tuple[str, str]]:
        """Mechanisms that could not be run, with the reason."""
        rows = self._named.filter((pl.col("status") != "measured") & ~pl.col("mechanism").is_in(REFERENCES))
        yield from rows.select("name", "message").unique(maintain_order=True).iter_rows()

    @cached_property
    def _named(self) -> pl.DataFrame:
        """The table with the names that people read; few mechanisms have many rows."""
        pairs = self.table.select("mechanism", "parameters").unique()
        names = [display_name(mechanism, parameters) for mechanism, parameters in pairs.iter_rows()]
        return self.table.join(
            pairs.with_columns(pl.Series("name", names, pl.String)),
            on=["mechanism", "parameters"],
            how="left",
            maintain_order="left",
        )


@dataclass(frozen=True)
class CurvePoint:
    """A point of a curve: the value of the varied parameter, and the figure there."""

    x: float
    point: Point


def varied_parameters(comparison: Comparison) -> list[str]:
    """The parameters with at least two numbers among the settings of one mechanism, in the order of their names."""
    values: dict[tuple[str, str], set[float]] = {}
    for mechanism, parameters in _settings(comparison):
        for name, value in parameters.items():
            number = _number(value)
            if number is not None:
                values.setdefault((mechanism, name), set()).add(number)
    for mechanism, parameters in _settings(comparison):  # a value that is the default is not written down
        for (owner, name), found in values.items():
            number = _value(mechanism, parameters, name) if owner == mechanism else None
            found |= set() if number is None else {number}
    return sorted({name for (_, name), found in values.items() if len(found) > 1})


def curves_over(comparison: Comparison, key: str, parameter: str) -> dict[str, list[CurvePoint]]:
    """One figure against a parameter: a line per mechanism, its other settings, and epsilon; ascending."""
    lines: dict[str, list[CurvePoint]] = {}
    for point in comparison.points:
        if point.key != key or point.epsilon is None or point.mechanism in REFERENCES:
            continue
        chosen = json.loads(point.parameters)
        x = _value(point.mechanism, chosen, parameter)
        if x is None:
            continue
        others = json.dumps({name: value for name, value in chosen.items() if name != parameter})
        name = f"{display_name(point.mechanism, others)}, ε = {point.epsilon:g}"
        lines.setdefault(name, []).append(CurvePoint(x, point))
    ordered = {name: sorted(line, key=lambda place: place.x) for name, line in lines.items()}
    return {name: line for name, line in ordered.items() if len(line) > 1}


def _settings(comparison: Comparison) -> list[tuple[str, dict[str, Any]]]:
    pairs = comparison.table.select("mechanism", "parameters").unique(maintain_order=True)
    return [(name, json.loads(chosen)) for name, chosen in pairs.iter_rows() if name not in REFERENCES]


def _value(mechanism: str, chosen: dict[str, Any], parameter: str) -> float | None:
    """The parameter's number in this setting: what was set, or the default."""
    if parameter in chosen:
        return _number(chosen[parameter])
    if mechanism not in homes():
        return None
    field = find_mechanism(mechanism).model_fields.get(parameter)
    return None if field is None else _number(field.get_default(call_default_factory=True))


def _number(value: object) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(Fraction(str(value)))
    except (ValueError, ZeroDivisionError):
        return None


def apart(one: Point, other: Point) -> bool:
    """Tell whether two 95 % intervals do not overlap; never where there was only one release."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.high < other.low or other.high < one.low
