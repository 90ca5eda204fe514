"""One door for every file or frame of trips: `read_trips` to use it, `check` to hear what is wrong with it."""

import zipfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from wayveil.disclosures import LAYOUT
from wayveil.errors import InputError, ParameterError, WayveilError
from wayveil.sources.column_names import OF_TRIPS, guess_columns, our_columns
from wayveil.sources.formats import SUFFIXES, format_of, readable
from wayveil.sources.frames import Source, frame_of, source_name
from wayveil.sources.nested import NESTED
from wayveil.sources.opening import SourceTable, expand_places, open_table
from wayveil.trips.findings import Findings
from wayveil.trips.matched import is_matched, read_matched
from wayveil.trips.pairs import REQUIRED as PAIR_COLUMNS
from wayveil.trips.pairs import read_pairs
from wayveil.trips.point_columns import RECOGNISED
from wayveil.trips.points import read_points
from wayveil.trips.sequences import data_names, read_content, read_sequences, sequence_format
from wayveil.trips.tables import TABLE_SUFFIXES, require_file, table_header
from wayveil.trips.trips import Trips
from wayveil.trips.visits import REQUIRED, read_visits
from wayveil.world.network import Network
from wayveil.world.opening import open_world
from wayveil.world.places import is_place_list
from wayveil.world.world import World

VISITS, PAIRS, SEQUENCES, FEED, NETWORK = "visits", "pairs", "sequences", "GTFS feed", "saved network"
POINTS, MATCHED, PLACES = "GPS points", "matched ways", "list of places"

_READERS: dict[str, Callable[..., Trips]] = {
    VISITS: read_visits,
    PAIRS: read_pairs,
    SEQUENCES: read_sequences,
    POINTS: read_points,
    MATCHED: read_matched,
}


def read_trips(source: Source, world: World, **options: Any) -> Trips:
    """Read visits or pairs (parquet, csv), GPS points (with the columns of scikit-mobility), ways of a map matcher
    (JSON) or sequences (MSNBC, SPMF, comma and space lists), whichever the file holds.

    A polars or pandas frame, or an Arrow table, holds visits or pairs (origin and destination in one row). `options` go
    to the reader of that kind; giving `format` says that the file holds sequences.

    >>> len(wv.read_trips(folder / "trips.parquet", city)) == len(trips)
    True
    """
    if frame_of(source) is not None:
        return _READERS[_table_kind(table_header(source), options.get("columns"))](source, world, **options)
    path = Path(source)
    if "format" not in options and is_table(path) and format_of(path) not in TABLE_SUFFIXES:
        return read_trips(open_table(expand_places([path])), world, **options)
    kind = SEQUENCES if "format" in options else kind_of(path, options.get("columns"))
    if kind in (FEED, NETWORK):
        raise InputError(
            f"is a {kind}, which has no riders in it; give it as the world, not as trips",
            file=path,
            tells=LAYOUT,
        )
    return _READERS[kind](path, world, **options)


def check(source: Source, world: World | None = None, *, kind: str | None = None, **options: Any) -> Findings:
    """Everything that is wrong with a file of trips, a feed or a saved network, not only the first problem.

    Without a world, trips are checked for their own sense only, not for their stops. What is found are exact facts
    about the raw data, for the data holder's eyes only.
    """
    findings = Findings(source_name(source))
    try:
        if frame_of(source) is not None:
            findings.kind = kind or _table_kind(table_header(source), options.get("columns"))
            _check_trips(source, findings.kind, world, options, findings)
            return findings
        path = Path(source)
        kind = SEQUENCES if "format" in options else kind_of(path, options.get("columns"))
        if kind == VISITS and _lists_places(path):
            kind = PLACES
        findings.kind = kind
        if kind in (FEED, NETWORK, PLACES):
            _check_world(path, findings)
        else:
            _check_trips(path, kind, world, options, findings)
    except WayveilError as error:
        findings.error(error)
    return findings


def kind_of(path: Path, columns: Mapping[str, str] | None = None) -> str:
    """Return what a file holds, judged by its suffix, or by its head where the suffix does not tell."""
    if path.is_dir():
        return FEED
    require_file(path)
    suffix = format_of(path)
    if suffix == ".npz":
        return NETWORK
    if is_matched(path):
        return MATCHED
    if suffix in TABLE_SUFFIXES:
        header = set() if columns else set(table_header(path))
        if any(header >= known for known in RECOGNISED) and "stop_id" not in header:
            return POINTS
        return _table_kind(table_header(path), columns)
    if zipfile.is_zipfile(path):
        with readable(path, "zip"), zipfile.ZipFile(path) as archive:
            return SEQUENCES if len(data_names(archive)) == 1 else FEED
    try:
        header = set(table_header(path)) if suffix != ".zip" else set()
    except InputError:
        header = set()
    kind = _table_kind(sorted(header), columns)
    return kind if kind == PAIRS or _named(header, columns).issuperset(REQUIRED) else SEQUENCES


def is_table(path: Path) -> bool:
    """Tell whether a file holds a table in a format of its own: a workbook, a database, Arrow, JSON that nobody
    matched.
    """
    kind = format_of(path)
    text = kind in (".txt", ".dat")
    return kind in SUFFIXES and not text and not (kind in NESTED and path.exists() and is_matched(path))


def holds_visits(table: SourceTable) -> bool:
    """Tell whether a table has one row per visit, with trips that have ids of their own."""
    return _table_kind(table.columns, None) == VISITS and {"trip_id", "stop_id"} <= set(table.columns)


def is_table_of_trips(path: Path) -> bool:
    """Tell whether a file is a table of visits or pairs, whatever its columns are called; points are none."""
    return format_of(path) in TABLE_SUFFIXES and kind_of(path) in (VISITS, PAIRS)


def _table_kind(header: Collection[str], columns: Mapping[str, str] | None) -> str:
    named = _named(header, columns)
    return PAIRS if named.issuperset(PAIR_COLUMNS) and "stop_id" not in named else VISITS


def _named(header: Collection[str], columns: Mapping[str, str] | None) -> set[str]:
    """The names of a header, with ours in place of those that are mapped."""
    ours = our_columns(columns, OF_TRIPS)
    return (set(header) - set(ours.values())) | {our for our, their in ours.items() if their in header}


def _lists_places(path: Path) -> bool:
    """Tell whether a table is a list of places: with a column that may be a time, a trip or a rider it is none."""
    header = table_header(path)
    return is_place_list(header) and set(guess_columns(header)) <= {"stop_id"}


def _check_world(path: Path, findings: Findings) -> None:
    world = open_world(path)
    findings.facts = {name: value for name, value in world.describe().items() if value is not None}
    findings.notes = list(world.warnings) if isinstance(world, Network) else []


def _check_trips(
    source: Source, kind: str, world: World | None, options: dict[str, Any], findings: Findings
) -> None:
    options = dict(options)
    if world is None and kind not in (POINTS, MATCHED):
        options["universe_from_data"] = True
        findings.notes.append("checked without a world, so any stop was taken as it is")
    if kind in (POINTS, MATCHED) and world is None:
        raise ParameterError(f"{kind} are checked with the public world that they lie in: give --world")
    if kind == SEQUENCES:
        findings.facts["format"] = options.get("format") or sequence_format(read_content(source))
    collected = {} if kind == MATCHED else {"findings": findings}
    trips = _READERS[kind](source, world, **collected, **options)
    if findings.ok:
        findings.facts |= trips.describe()
        findings.trips = trips
