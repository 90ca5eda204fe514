"""Parts of a study: those that are run, and exhibits (tables and figures) that show them beside what was printed.

A *part* is an experiment: settings, how often each is repeated, and a function that gives the figures of one setting
and repetition. An *exhibit* is one table or figure of the study, filled from the cells of a part (or of several). A
printed value has the same place in it as ours: a row (`down`) and a column (`across`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal, NamedTuple

from wayveil.errors import ParameterError
from wayveil.report.chart import Chart

Setting = Mapping[str, str]
Row = Mapping[str, Any]
Place = tuple[str, str]
Better = Literal["lower", "higher", "same"]
STUDY = "study"  # the series that holds what was printed
FIGURE = "figure"  # the coordinate that names what was measured


@dataclass(frozen=True)
class CellOutcome:
    """Result of one cell: rows (`figure`, `value` and further coordinates), and pictures where it draws some."""

    rows: Sequence[Row]
    pictures: Sequence[Chart] = ()


Measure = Callable[[Setting, int], CellOutcome]


def figures(values: Mapping[str, float | None], **coordinates: str) -> list[dict[str, Any]]:
    """Rows of an outcome, one per figure; the coordinates are shared.

    >>> figures({"F1": 0.5}, length="4")
    [{'length': '4', 'figure': 'F1', 'value': 0.5}]
    """
    return [{**coordinates, FIGURE: name, "value": value} for name, value in values.items()]


def crossed(**axes: Iterable[str]) -> list[Setting]:
    """Every combination of values of the axes, the last one fastest; a name may have _ for a blank.

    >>> crossed(data=("Bus", "Metro"), taxonomy_height=("2",))
    [{'data': 'Bus', 'taxonomy height': '2'}, {'data': 'Metro', 'taxonomy height': '2'}]
    """
    names = [name.replace("_", " ") for name in axes]
    return [dict(zip(names, values, strict=True)) for values in product(*axes.values())]


def is_number(text: str) -> bool:
    """Tell whether a coordinate is a number.

    >>> is_number("0.5"), is_number("Bus")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def tabled(columns: Sequence[str], rows: Mapping[str, Sequence[float]]) -> dict[Place, float]:
    """Return what a study prints in a table, by its place.

    >>> tabled(("trips", "stops"), {"Bus": (10, 3)})
    {('Bus', 'trips'): 10.0, ('Bus', 'stops'): 3.0}
    """
    return {
        (down, column): float(value)
        for down, values in rows.items()
        for column, value in zip(columns, values, strict=True)
    }


@dataclass(frozen=True)
class StudyPart:
    """An experiment. `measure` is called once for every setting and repetition (from 0), in any order and process.

    apart   it makes whole releases, datasheets and all, and is about nothing that is held against the study: its code
            is kept apart, so that a change in it makes no other figure older
    """

    name: str
    settings: Sequence[Setting]
    measure: Measure
    repetitions: int = 1
    apart: bool = False


@dataclass(frozen=True)
class Claim:
    """Something that the study says in words. `test` is given the `Results`: whether it holds in ours (None: these
    results cannot tell), and a sentence with a number.
    """

    words: str
    test: Callable[..., tuple[bool | None, str]]

    @classmethod
    def of(cls, words: str, test: Callable[..., tuple[bool | None, str]], *about: str) -> "Claim":
        """A claim whose test asks the results about something more: a dataset, a mechanism."""
        return cls(words, lambda results: test(results, *about))


class Split(NamedTuple):
    """Two sentences with numbers, the cost of privacy and our own fault; and a rule: whether that fault is mended."""

    privacy: str
    own: str
    mended: bool


@dataclass(frozen=True)
class Exhibit:
    """A table or figure of the study.

    label       as the study numbers it: `Table 7.5`
    down        coordinate of the rows of a table, of the x axis of a chart
    axis        what the axis is called, where the name of the coordinate does not say it
    across      coordinate of the columns of a table; a chart of lines is drawn for each of its values
    series      coordinate that tells rows of the same place, or lines, apart
    columns     values of `across`, in order; () for all that were measured; the two axes of a plane
    only        values of `series` that are shown; () for all that were measured
    where       only cells with these coordinates
    printed     what the study prints: (down, across) -> value
    spread      the standard deviations that it prints, the same way
    ours        the series that is held against the study; None: the exhibit shows, and is not judged by numbers
    better      which side of a printed value counts as reached; `same`: within the margin of it
    exact       ours follow from the data without any chance, so that one run tells them
    claims      what the study says in words about this table or figure
    why         the reason of a difference, computed from the results; asked only where something was not reached
    split       what privacy costs, and what was our own fault
    published   false for what stands beside the study's own exhibits, and is not judged
    missing     why it cannot be reproduced at all; then nothing else is looked at
    """

    label: str
    title: str
    part: str | tuple[str, ...] = ()
    shape: Literal["table", "lines", "plane", "pictures"] = "table"
    down: str = "epsilon"
    axis: str = ""
    across: str = FIGURE
    series: str = "mechanism"
    columns: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    where: Mapping[str, str] = field(default_factory=dict)
    printed: Mapping[Place, float] = field(default_factory=dict)
    spread: Mapping[Place, float] = field(default_factory=dict)
    ours: str | None = None
    better: Better | Mapping[str, Better] = "same"
    exact: bool = False
    claims: tuple[Claim, ...] = ()
    why: Callable[..., str] | None = None
    split: Callable[..., Split] | None = None
    missing: str = ""
    note: str = ""
    published: bool = True

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts whose cells it shows."""
        return (self.part,) if isinstance(self.part, str) else self.part

    def column_name(self, column: str) -> str:
        """Return what stands above a column: a number says what it is a number of."""
        return f"{self.across} {column}" if is_number(column) else column

    def direction(self, across: str) -> Better:
        """Which side of the study's value counts as reached in this column."""
        return self.better if isinstance(self.better, str) else self.better.get(across, "same")


@dataclass(frozen=True)
class Study:
    """A study, ready to be run. `stand_in` says how the data differs from the study's own, where it does."""

    name: str
    title: str
    source: str
    parts: tuple[StudyPart, ...]
    exhibits: tuple[Exhibit, ...]
    stand_in: str = ""

    def __post_init__(self) -> None:
        names = [part.name for part in self.parts]
        if len(set(names)) < len(names):
            raise ParameterError(f"the study {self.name} has two parts of one name")
        for exhibit in self.exhibits:
            absent = [part for part in exhibit.parts if part not in names]
            if absent or not (exhibit.missing or exhibit.parts):
                raise ParameterError(
                    f"{exhibit.label} of {self.name} shows parts that are not there: {absent}"
                )

    def part(self, name: str) -> StudyPart:
        """The part of this name."""
        return next(part for part in self.parts if part.name == name)
