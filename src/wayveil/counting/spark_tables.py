"""Files of visits as a table of Spark whose partitions hold whole units, and the places of rows in files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import polars as pl

from wayveil.counting.file_pieces import ROW, UNIT, time_form
from wayveil.counting.spark_tasks import FILE
from wayveil.disclosures import BAD_ROW
from wayveil.errors import InputError
from wayveil.sources.text_files import separator_of
from wayveil.trips.ids import spark_id
from wayveil.trips.matching import unknown_stop
from wayveil.trips.times import Form
from wayveil.trips.trip_files import TripFiles
from wayveil.world.locating import find_places

BLOCK = "block of the file"


@dataclass(frozen=True)
class SparkRows:
    """A table of visits under our names, units together, and how its times are written."""

    files: TripFiles
    table: Any
    unsorted: Any
    form: Form | None
    zone: str | None

    def row_error(self, file: str, row: int, what: str) -> InputError:
        """The error of a row that a task found."""
        return InputError(what, file=self._path(file), row=self._row(file, row), tells=BAD_ROW)

    def unknown_stop_error(self) -> InputError:
        """The sentence for the first unknown stop of all files, which tells how many there are."""
        from pyspark.sql import functions as sql

        stops = [row["stop_id"] for row in self.unsorted.select("stop_id").distinct().collect()]
        distinct = pl.Series([stop for stop in stops if stop], dtype=pl.String)
        unknown = distinct.filter(pl.Series(find_places(distinct, self.files.world) < 0))
        listed = self.unsorted.where(sql.col("stop_id").isin(unknown.to_list()))
        first = listed.orderBy(FILE, *([BLOCK] if BLOCK in listed.columns else []), ROW).first()
        file, row = self._path(first[FILE]), self._row(first[FILE], first[ROW])
        return unknown_stop(first["stop_id"], row, len(unknown), len(distinct), self.files.world, file)

    def _path(self, address: str) -> Path:
        """The file as the person named it."""
        known = {str(path.absolute()): path for path in self.files.paths}
        return known.get(unquote(urlparse(address).path), Path(address))

    def _row(self, file: str, row: int) -> int:
        """The row in its file, from 1. Parquet knows it; in csv, the rows before it are counted."""
        from pyspark.sql import functions as sql

        if self.files.parquet:
            return row + 1
        own = self.unsorted.where(sql.col(FILE) == file)
        block = own.where(sql.col(ROW) == row).first()[BLOCK]
        earlier = (sql.col(BLOCK) < block) | ((sql.col(BLOCK) == block) & (sql.col(ROW) <= row))
        return int(own.where(earlier).count())


def visits_table(session: Any, files: TripFiles, unit: str) -> SparkRows:
    """The files as a table; every partition holds whole units, sorted by unit, trip and place in the file."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sql

    paths = [str(path.absolute()) for path in files.paths]
    if files.parquet:
        source = session.read.parquet(*paths)
        place = [sql.col("_metadata.row_index").alias(ROW)]
        lazy = pl.scan_parquet(list(files.paths))
    else:
        separator = separator_of(files.paths[0])
        source = session.read.csv(paths, header=True, sep=separator, inferSchema=False, escape='"')
        place = [
            sql.monotonically_increasing_id().alias(ROW),
            sql.col("_metadata.file_block_start").alias(BLOCK),
        ]
        lazy = pl.scan_csv(list(files.paths), separator=separator, infer_schema=False)
    kinds = lazy.collect_schema()
    ours = [
        _as_text(sql.col(f"`{their}`"), kinds[their]).alias(our)
        if our in ("trip_id", "stop_id", "rider_id")
        else sql.col(f"`{their}`").alias(our)
        for our, their in files.names.items()
    ]
    visits = source.select(*ours, sql.col("_metadata.file_path").alias(FILE), *place)
    unsorted = visits
    trip = sql.concat(sql.lit("trip "), sql.coalesce("trip_id", sql.lit("")))
    key = trip
    if unit == "rider_id":
        # A trip belongs to one rider. Where the file says otherwise the trip stays whole, and the check tells.
        whose = sql.min(spark_id("rider_id")).over(Window.partitionBy("trip_id"))
        key = sql.coalesce(sql.concat(sql.lit("rider "), whose), trip)
    order = [UNIT, "trip_id", FILE, *([] if files.parquet else [BLOCK]), ROW]
    together = visits.withColumn(UNIT, key).repartition(sql.col(UNIT)).sortWithinPartitions(*order)
    together = together if files.parquet else together.drop(BLOCK)
    time = kinds.get(files.names.get("event_time", ""))
    zone = time.time_zone if isinstance(time, pl.Datetime) else None
    return SparkRows(files, together, unsorted, time_form(lazy, files.names), zone)


def _as_text(column: Any, kind: pl.DataType) -> Any:
    """An id as text. Fractions that are whole lose their point, as where tables are read into memory."""
    from pyspark.sql import functions as sql

    if not kind.is_float():
        return column.cast("string")
    whole = column.cast("bigint")
    text = sql.when(column == whole, whole.cast("string")).otherwise(column.cast("string"))
    return sql.when(~sql.isnan(column), text)
