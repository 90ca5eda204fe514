"""Tables of trips from origin to destination: by hour, and in the shape that New York publishes."""

from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.accuracy.numbers import Numbers, judge_numbers
from wayveil.answers.spreadsheets import write_csv
from wayveil.answers.trip_periods import WEEKDAYS
from wayveil.arrays import Ints
from wayveil.exports.parts import dates_of, journeys_of, note_of, texts, times_of
from wayveil.trips.trips import Trips
from wayveil.world.timebins import DAY, HOUR, TimeBins

ENDS: Final = ("origin", "destination")


def od_cells(release: JudgedRelease, bins: TimeBins | None = None) -> pl.DataFrame:
    """`origin`, `destination`, with bins `bin`, `trips`, and `trips_low` and `trips_high` where they are known."""
    trips = journeys_of(release)
    table = _ends(trips)
    if bins is not None:
        table["bin"] = bins.bin_of(times_of(trips)[trips.offsets[:-1]]).astype(np.int64)
    return _with_bars(release, _counted(table), bins)


def od_table(release: JudgedRelease, bins: TimeBins | None = None) -> pl.DataFrame:
    """Trips from origin to destination by period of departure; pairs that are not listed have none.

    Without bins there is one period, whose start and end are empty. `trips_low` and `trips_high` hold the
    true number in 95 of 100 cases, where intervals of the mechanism are known to; else they are empty. They do not
    cover what bounds left out.
    """
    cells = od_cells(release, bins)
    names = release.world.ids
    nowhen: pl.Series = pl.Series([None] * len(cells), dtype=pl.String)
    period = (nowhen, nowhen) if bins is None else _clock_period(cells["bin"].to_numpy(), bins)
    return pl.DataFrame(
        {
            "origin_stop_id": texts(names[cells["origin"].to_numpy()]),
            "destination_stop_id": texts(names[cells["destination"].to_numpy()]),
            "period_start": period[0],
            "period_end": period[1],
            "trips": cells["trips"],
            "trips_low": cells["trips_low"],
            "trips_high": cells["trips_high"],
        }
    )


def od_month_table(release: JudgedRelease) -> pl.DataFrame:
    """Trips by year, month, weekday, hour, origin and destination: totals of all such hours, not averages.

    Intervals are known where all trips lie on one day: a cell is then an hour of a pair.
    """
    trips, world = journeys_of(release), release.world
    departed = dates_of(trips)[trips.offsets[:-1]]
    day = pl.Series(departed // DAY, dtype=pl.Int64).cast(pl.Int32).cast(pl.Date)
    when = {
        "year": day.dt.year().to_numpy().astype(np.int64),
        "month": day.dt.month().to_numpy().astype(np.int64),
        "weekday": (departed // DAY + 3) % 7,
        "bin": departed % DAY // HOUR,
    }
    cells = _counted({**when, **_ends(trips)})
    one_day = len(np.unique(departed // DAY)) == 1
    cells = _with_bars(release, cells, TimeBins.hour_of_day() if one_day else None, known=one_day)
    places = {name: cells[name].to_numpy() for name in ENDS}
    return pl.DataFrame(
        {
            "year": cells["year"],
            "month": cells["month"],
            "day_of_week": texts(np.asarray(WEEKDAYS)[cells["weekday"].to_numpy()]),
            "hour_of_day": cells["bin"],
            "origin_stop_id": texts(world.ids[places["origin"]]),
            "origin": texts(world.names[places["origin"]]),
            "destination_stop_id": texts(world.ids[places["destination"]]),
            "destination": texts(world.names[places["destination"]]),
            "trips": cells["trips"],
            "trips_low": cells["trips_low"],
            "trips_high": cells["trips_high"],
        }
    )


def write_od(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """One csv; by period where trips have times. Every row has the verdict on such numbers."""
    timed = release.trips.time is not None
    write_csv(_with_note(od_table(release, bins if timed else None), release, "od"), out)
    return [out]


def write_od_month(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """One csv, with the verdict in every row."""
    write_csv(_with_note(od_month_table(release), release, "od-month"), out)
    return [out]


def _with_note(table: pl.DataFrame, release: JudgedRelease, format: str) -> pl.DataFrame:
    return table.with_columns(note=pl.lit(note_of(release, format), pl.String))


def _ends(trips: Trips) -> dict[str, Ints]:
    return {
        "origin": trips.origins().astype(np.int64),
        "destination": trips.destinations().astype(np.int64),
    }


def _counted(table: dict[str, Ints]) -> pl.DataFrame:
    keys = list(table)
    return pl.DataFrame(table).group_by(keys).agg(pl.len().cast(pl.Int64).alias("trips")).sort(keys)


def _with_bars(
    release: JudgedRelease, cells: pl.DataFrame, bins: TimeBins | None, *, known: bool = True
) -> pl.DataFrame:
    """The ends of the bars of each cell, where they are known."""
    kind = "journeys" if bins is None else "journey-hours"
    hourly = bins is None or bins.labels == TimeBins.hour_of_day().labels
    if not (known and hourly and len(cells)):
        nothing = pl.lit(None, pl.Int64)
        return cells.with_columns(trips_low=nothing, trips_high=nothing)
    origin, destination = (cells[name].to_numpy() for name in ENDS)
    cell = origin * release.world.size + destination
    cell = cell if bins is None else cell * bins.count + cells["bin"].to_numpy()
    asked = Numbers(kind, cells["trips"].to_numpy().astype(np.float64), kind, cell)
    low, high = judge_numbers(release, asked, anyway=True).whole_ends()
    return cells.with_columns(trips_low=low, trips_high=high)


def _clock_period(bin_: Ints, bins: TimeBins) -> tuple[pl.Series, pl.Series]:
    """`08:00` and `09:00` of a repeating day, `Mon 08:00` of a week: the labels of the bins, cut in two."""
    labels = [label.rsplit("-", 1) for label in bins.labels]
    starts, ends = (np.array([label[side] for label in labels])[bin_] for side in (0, 1))
    return texts(starts), texts(ends)
