"""Every refusal that hangs on raw rows is listed with what it tells; a new one that is not is found."""

import ast
from pathlib import Path

import polars as pl
import pytest

import wayveil
from wayveil import disclosures
from wayveil.disclosures import REGISTRY
from wayveil.errors import ParameterError, WayveilError
from wayveil.lab.audits.tiny_worlds import small_network
from wayveil.plan import reading
from wayveil.run import release
from wayveil.trips import visits

SOURCE = Path(wayveil.__file__).parent
PAGE = SOURCE.parents[1] / "docs" / "promise.md"
READERS = [*(SOURCE / "trips").glob("*.py"), *(SOURCE / "taps").glob("*.py")]
READERS += [*(SOURCE / "counting").glob("*.py"), *(SOURCE / "sources").glob("*.py"), Path(reading.__file__)]
NAMES = {
    value.name: key for key, value in vars(disclosures).items() if isinstance(value, disclosures.Disclosure)
}
CITY = small_network()
GOOD = pl.DataFrame(
    {
        "trip_id": ["a", "a", "b", "b"],
        "stop_id": [CITY.ids[0], CITY.ids[1]] * 2,
        "event_time": ["2024-03-04T08:00:00", "2024-03-04T08:10:00"] * 2,
        "rider_id": ["x", "x", "y", "y"],
    }
)


def unlisted(source):
    """The lines of errors about files that do not name what they tell."""
    return [
        call.lineno
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call)
        and getattr(call.func, "id", "") in ("InputError", "UnknownStopError")
        and not any(
            word.arg == "tells" and getattr(word.value, "id", "") in NAMES.values() for word in call.keywords
        )
    ]


@pytest.mark.parametrize("path", READERS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_error_about_a_file_names_what_it_tells(path):
    assert unlisted(path.read_text()) == []


def test_a_refusal_planted_in_a_reader_is_found():
    source = Path(visits.__file__).read_text()
    planted = source + "\n\ndef f(t):\n    if t.visits % 7:\n        raise InputError('unlucky')\n"
    assert len(unlisted(planted)) == 1


def spoiled(column, value):
    return GOOD.with_columns(
        pl.when(pl.int_range(pl.len()) == 2).then(pl.lit(value)).otherwise(column).alias(column)
    )


SPOILED = {
    "no stop": spoiled("stop_id", None),
    "unknown stop": spoiled("stop_id", "nowhere"),
    "no trip": spoiled("trip_id", None),
    "no time": spoiled("event_time", None),
    "another form of time": spoiled("event_time", "08:00:00"),
    "another zone": spoiled("event_time", "2024-03-04T08:00:00+01:00"),
    "a far year": spoiled("event_time", "1024-03-04T08:00:00"),
    "an earlier time": GOOD.reverse(),
    "two riders": spoiled("rider_id", "x"),
    "no rider": GOOD.with_columns(rider_id=pl.Series(["x", "x", None, None])),
    "several trips": GOOD.with_columns(rider_id=pl.lit("x")),
    "a mark": GOOD.with_columns(wayveil_marks=pl.Series([None, None, "filled", None])),
    "no row": GOOD.head(0),
    "moves outside": GOOD.with_columns(stop_id=pl.Series([CITY.ids[0], CITY.ids[3]] * 2)),
}


# Where all trips of a rider count by weights nobody has to say how many count; some mechanisms need whole ones.
MECHANISMS = {"several trips": "mobitrie-lt"}


def refusal(table, folder, mechanism="noisy-prefix-tree"):
    """The error of a release that follows from the rows: the same header and options, and other rows, are released."""
    path = folder / "rows.csv"
    table.write_csv(path)
    try:
        release(path, mechanism, world=CITY, epsilon=1, ledger=None, dataset="rows")
    except WayveilError as error:
        return error
    return None


def test_whatever_rows_alone_refuse_is_in_the_table(tmp_path):
    assert refusal(GOOD, tmp_path) is None
    found = {
        name: refusal(table, tmp_path, *MECHANISMS.get(name, "").split()) for name, table in SPOILED.items()
    }
    assert [name for name, error in found.items() if error is None] == []
    assert [name for name, error in found.items() if getattr(error.tells, "name", None) not in REGISTRY] == []


def test_a_refusal_planted_on_the_way_is_found(tmp_path, monkeypatch):
    honest = visits.trips_of_table

    def unlucky(*given):
        trips = honest(*given)
        if trips.visits % 2:
            raise ParameterError("an odd number of visits")
        return trips

    monkeypatch.setattr(visits, "trips_of_table", unlucky)
    assert refusal(GOOD, tmp_path) is None
    assert refusal(GOOD.head(3), tmp_path).tells is None


def test_every_entry_is_used_and_the_page_has_the_table():
    used = " ".join(path.read_text() for path in SOURCE.rglob("*.py") if path.name != "disclosures.py")
    assert [name for name in NAMES.values() if name not in used] == []
    text = PAGE.read_text()
    assert disclosures.table() in text, "run `python -m wayveil.disclosures docs/promise.md`"
