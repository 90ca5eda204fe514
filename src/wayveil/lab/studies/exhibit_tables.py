"""The tables of a study: for every place what was printed, then ours."""

from dataclasses import dataclass

from wayveil.lab.studies.figure_verdicts import number
from wayveil.lab.studies.study import Exhibit, is_number
from wayveil.lab.studies.study_results import Results, Value


@dataclass(frozen=True)
class TableRow:
    """One row: the place, whose it is, and its cells."""

    head: str
    series: str
    cells: list[str]
    theirs: bool = False


def _columns(exhibit: Exhibit, results: Results) -> tuple[str, ...]:
    return exhibit.columns or tuple(
        dict.fromkeys(
            [across for _, across in exhibit.printed] + [across for _, across, _ in results.places(exhibit)]
        )
    )


def table_heads(exhibit: Exhibit, results: Results) -> list[str]:
    """The names of the columns of a table."""
    return [exhibit.column_name(one) for one in _columns(exhibit, results)]


def table_rows(exhibit: Exhibit, results: Results) -> list[TableRow]:
    """For every place down: the study's row where it printed one, then ours."""
    columns, places = _columns(exhibit, results), results.places(exhibit)
    downs = list(dict.fromkeys([down for down, _ in exhibit.printed] + [down for down, _, _ in places]))
    if all(map(is_number, downs)):
        downs.sort(key=float)
    names = dict.fromkeys(series for _, _, series in places)
    made = []
    for down in downs:
        theirs = [_theirs(exhibit, down, column) for column in columns]
        rows = [TableRow(down, "the study", theirs, theirs=True)] if any(theirs) else []
        for name in names:
            ours = [_ours(places.get((down, column, name))) for column in columns]
            rows += [TableRow(down, name, ours)] if any(ours) else []
        made += [row if at == 0 else TableRow("", row.series, row.cells) for at, row in enumerate(rows)]
    return made


def _theirs(exhibit: Exhibit, down: str, column: str) -> str:
    value, spread = exhibit.printed.get((down, column)), exhibit.spread.get((down, column))
    return "" if value is None else number(value) + ("" if spread is None else f" ± {number(spread)}")


def _ours(value: Value | None) -> str:
    if value is None:
        return ""
    if value.deviation is None:
        return number(value.mean)
    return f"{number(value.mean)} ± {value.deviation:{'.2g' if value.deviation < 100 else ',.0f'}}"
