"""The shape of scikit-mobility's TrajDataFrame."""

from pathlib import Path

import numpy as np
import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.spreadsheets import write_csv
from wayveil.errors import ParameterError
from wayveil.exports.parts import moment
from wayveil.trips.tracks import Tracks
from wayveil.world.grid import Grid
from wayveil.world.network import Network
from wayveil.world.timebins import TimeBins


def trajectories(release: JudgedRelease, seed: int | None = None) -> pl.DataFrame:
    """uid, tid, datetime, lat, lng, and how the place was chosen.

    Every trip has a uid of its own: nothing links released trips. On a grid points are drawn in cells, and on the
    straight way from one to the next, about as often as vehicles are seen (`placed` says so): where in a cell a point
    lies says nothing. Elsewhere it is the place of the stop.
    """
    trips = release.trips
    if not isinstance(trips.world, Network):
        raise ParameterError("trajectories need coordinates; this release is over a plain list")
    grid = isinstance(trips.world, Grid)
    points, paced = Tracks.drive(trips, seed) if grid else (Tracks.centres(trips), None)
    trip = np.repeat(np.arange(1, len(trips) + 1), np.diff(points.offsets))
    time, placed = trips.time, np.full(len(trip), "at its stop")
    if paced is not None:
        time = None if time is None else paced.between(time).astype(np.int64)
        placed = np.where(paced.share > 0, "on the way to the next cell", "drawn in its cell")
    return pl.DataFrame({"uid": trip, "tid": trip}).with_columns(
        datetime=pl.lit(None, pl.Datetime("us")) if time is None else moment(time),
        lat=pl.Series(np.round(points.lat, 6)),
        lng=pl.Series(np.round(points.lon, 6)),
        placed=pl.Series(placed),
    )


def write_trajectories(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """One csv."""
    write_csv(trajectories(release), out)
    return [out]
