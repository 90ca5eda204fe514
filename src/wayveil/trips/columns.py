"""Suggest which column of a table is which of ours, by its header and by the world."""

from pathlib import Path
from shlex import quote

from wayveil.disclosures import LAYOUT
from wayveil.errors import InputError
from wayveil.sources.column_names import candidates, guess_columns
from wayveil.sources.formats import SUFFIXES, format_of, open_part
from wayveil.sources.frames import Source
from wayveil.sources.reading import Reading
from wayveil.trips.tables import first_rows, table_header
from wayveil.world.locating import find_places
from wayveil.world.world import World

PLACES = ("stop_id", "origin", "destination")
# So many rows tell which of two columns has the ids of the world.
LOOKED_AT = 1_000


def map_columns(source: Source, world: World | None = None) -> dict[str, str]:
    """Map ours to theirs for the columns of a table of trips that go by another name.

    Where several columns may name the same places, those count whose values the world knows best.
    """
    header = table_header(source)
    guessed = guess_columns(header)
    pairs = {"origin", "destination"} <= set(guessed) and "stop_id" not in header
    wanted = (
        ("origin", "destination", "start", "end", "trip_id", "rider_id")
        if pairs
        else ("trip_id", "stop_id", "seq", "event_time", "rider_id")
    )
    for ours in wanted:
        several = candidates(header, ours) if ours in PLACES else []
        if world is not None and len(several) > 1:
            guessed[ours] = _best_known(source, several, world)
    return {ours: theirs for ours, theirs in guessed.items() if ours in wanted and theirs != ours}


def _best_known(source: Source, names: list[str], world: World) -> str:
    """The column of whose first values the world knows most; the first of equals."""
    rows = first_rows(source, names, LOOKED_AT)
    known = [int((find_places(rows[name].drop_nulls(), world) >= 0).sum()) for name in names]
    return names[known.index(max(known))]


def refuse_hidden_riders(path: Path, reading: Reading) -> None:
    """Refuse riders under a name that is not read: they would silently lose their protection as riders.

    Whoever has said which column is the rider is not asked.
    """
    columns = reading.columns
    if format_of(path) not in SUFFIXES or "rider_id" in columns:
        return
    theirs = guess_columns(open_part(path, reading).columns).get("rider_id", "rider_id")
    if theirs not in ("rider_id", "uid") and theirs not in columns.values():
        raise InputError(
            f"has a column {theirs!r} that looks like riders: say --map {quote(f'rider_id={theirs}')}, or --unit trip. "
            "Nothing was spent",
            file=path,
            tells=LAYOUT,
        )
