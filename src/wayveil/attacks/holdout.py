"""Reading a hold-out: people of the same source who are not in the data, told by the ids in the files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from wayveil.errors import InputError
from wayveil.trips.read import read_trips
from wayveil.trips.tables import TABLE_SUFFIXES, read_table, table_suffix
from wayveil.trips.trips import Trips
from wayveil.world.world import World


def read_holdout(path: str | Path, raw_path: str | Path, raw: Trips, world: World) -> Trips:
    """The trips of a hold-out file, riders numbered after those of the raw trips; ids in both files are refused."""
    for column, what in (("rider_id", "riders"), ("trip_id", "trip ids")):
        shared = _ids(raw_path, column) & _ids(path, column)
        if shared:
            raise InputError(
                f"shares {len(shared):,} {what} with {raw_path} ({min(shared)!r}, for example); people outside the "
                f"data must not be in it, and trips of two files need ids of their own",
                file=path,
            )
    return holdout_numbers(read_trips(path, world), raw)


def holdout_numbers(holdout: Trips, raw: Trips) -> Trips:
    """A hold-out whose riders are numbered after those of the raw trips: for files known to share nobody."""
    if holdout.rider is None or raw.rider is None:
        return holdout
    shift = int(raw.rider.max(initial=-1)) + 1
    return replace(holdout, rider=np.where(holdout.rider < 0, -1, holdout.rider + shift))


def _ids(path: str | Path, column: str) -> set[str]:
    """The different values of a column of a table of visits; none where the file has no such column."""
    if table_suffix(Path(path)) not in TABLE_SUFFIXES:
        return set()
    table = read_table(Path(path), None, ("trip_id",), ("rider_id",))
    if column not in table.columns:
        return set()
    return set(table[column].cast(pl.String).drop_nulls().unique().to_list()) - {""}
