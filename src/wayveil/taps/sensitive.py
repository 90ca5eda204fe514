"""Sensitive stops (clinics, shelters): a public list, and what becomes of taps at them before anything is counted."""

from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy

from wayveil.arrays import Ints
from wayveil.disclosures import LAYOUT
from wayveil.errors import InputError, ParameterError
from wayveil.taps.taps import Taps
from wayveil.world.geo import project
from wayveil.world.world import World


@dataclass(frozen=True, eq=False)
class SensitiveStops:
    """Stops of a world, ascending, and the stop into which each is merged.

    title, sha256   which public list they come from
    """

    stop: Ints
    into: Ints
    title: str
    sha256: str

    @classmethod
    def of_file(cls, path: str | Path, world: World) -> "SensitiveStops":
        """Read a csv with `stop_id` and, where the nearest other stop is not the right one, `merge_into`."""
        path = Path(path)
        try:
            table = pl.read_csv(path, infer_schema=False)
            digest = sha256(path.read_bytes()).hexdigest()
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(
                f"cannot be read as a list of stops ({error})", file=path, tells=LAYOUT
            ) from error
        if "stop_id" not in table.columns:
            raise InputError(
                f"needs the column stop_id; it has {', '.join(table.columns)}", file=path, tells=LAYOUT
            )
        stop = world.index_of(table["stop_id"].str.strip_chars()).astype(np.int64)
        if np.any(stop < 0):
            row = int(np.argmax(stop < 0))
            raise InputError(
                f"stop {table['stop_id'][row]!r} is not in the network", file=path, row=row + 1, tells=LAYOUT
            )
        into = _nearest(world, np.unique(stop))[stop]
        if "merge_into" in table.columns:
            named = world.index_of(table["merge_into"].fill_null("").str.strip_chars()).astype(np.int64)
            said = table["merge_into"].is_not_null().to_numpy()
            wrong = said & ((named < 0) | np.isin(named, stop))
            if wrong.any():
                row = int(np.argmax(wrong))
                raise InputError(
                    f"merge_into {table['merge_into'][row]!r} is not another stop of the network, or sensitive itself",
                    file=path,
                    row=row + 1,
                    tells=LAYOUT,
                )
            into = np.where(said, named, into)
        if np.any(into < 0):
            raise InputError(
                "this world has no coordinates: name in merge_into where each stop goes",
                file=path,
                tells=LAYOUT,
            )
        stop, first = np.unique(stop, return_index=True)
        return cls(stop, into[first], path.name, digest)

    def merged(self, taps: Taps) -> Taps:
        """The taps with every sensitive stop replaced: nobody can tell any more which of the two it was."""
        moved = np.arange(taps.world.size)
        moved[self.stop] = self.into
        return replace(taps, location=moved[taps.location].astype(np.int32))

    def at(self, taps: Taps) -> Any:
        """Which taps are at a sensitive stop."""
        return np.isin(taps.location, self.stop)

    def record(self) -> dict[str, object]:
        """For the datasheet: a public input with its hash."""
        return {
            "name": "sensitive stops",
            "title": self.title,
            "sha256": self.sha256,
            "stops": len(self.stop),
        }


def _nearest(world: World, sensitive: Ints) -> Ints:
    """For each location the nearest one that is not sensitive; -1 where there are no coordinates."""
    lat, lon = getattr(world, "lat", None), getattr(world, "lon", None)
    if lat is None or lon is None:
        return np.full(world.size, -1, np.int64)
    others = np.setdiff1d(np.arange(world.size), sensitive)
    if len(others) == 0:
        raise ParameterError("every stop of the network is on the list of sensitive ones")
    points = np.column_stack(project(lat, lon))
    return np.asarray(others[scipy.spatial.cKDTree(points[others]).query(points)[1]], np.int64)
