"""The corpus: one truth in many files. Each entry writes a file and says what kind of rows it holds."""

import bz2
import gzip
import json
import lzma
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import truth
from truth import DUTCH, ENGLISH, FRENCH, GERMAN, SPANISH, named, write_text

ZONE = "Europe/London"


@dataclass(frozen=True)
class Entry:
    """A file: what writes it (and returns what is given to `check`), and the clean rows that it must be read as."""

    write: Callable[[Path, pl.DataFrame], str]
    kind: str = "pairs"
    riders: bool = True


def _text(table_of, name="rides.csv", **written):
    def write(folder, rides):
        write_text(table_of(rides), folder / name, **written)
        return name

    return write


def _pairs(times="%Y-%m-%dT%H:%M:%S", **names):
    return lambda rides: named(rides, times, **names)


def _packed(suffix, pack):
    def write(folder, rides):
        (folder / f"rides.csv{suffix}").write_bytes(pack(named(rides, **ENGLISH).write_csv().encode()))
        return f"rides.csv{suffix}"

    return write


def _zst(content):
    import zstandard

    return zstandard.compress(content)


def _zip(folder, rides):
    with zipfile.ZipFile(folder / "2026-rides.zip", "w") as archive:
        archive.writestr("2026-rides.csv", named(rides, **ENGLISH).write_csv())
    return "2026-rides.zip"


def _frame(name, write):
    def made(folder, rides):
        write(rides, folder / name)
        return name

    return made


def _excel(rides, path):
    path.unlink(missing_ok=True)
    rides.select(
        pl.col("rider_id").alias("Card"),
        pl.col("origin").alias("Entry Station"),
        pl.col("start").alias("Entry Time"),
        pl.col("destination").alias("Exit Station"),
        pl.col("end").alias("Exit Time"),
    ).write_excel(path, worksheet="Trips 2026")


def _ods(rides, path):
    """The least OpenDocument sheet that a reader takes."""
    table = named(rides, **ENGLISH)
    rows = [table.columns, *table.rows()]
    cells = "".join(
        "<table:table-row>"
        + "".join(
            f'<table:table-cell office:value-type="string"><text:p>{cell}</text:p></table:table-cell>'
            for cell in row
        )
        + "</table:table-row>"
        for row in rows
    )
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text")
    )
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {spaces} office:version="1.2"><office:body>'
        f'<office:spreadsheet><table:table table:name="Rides">{cells}</table:table></office:spreadsheet>'
        "</office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
        archive.writestr(
            "META-INF/manifest.xml",
            '<?xml version="1.0"?><manifest:manifest xmlns:manifest='
            '"urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
        )


def _bikes(rides):
    """As Citi Bike and Divvy publish rides since 2020."""
    return rides.select(
        pl.col("trip_id").alias("ride_id"),
        pl.lit("classic_bike").alias("rideable_type"),
        pl.col("start").dt.strftime("%Y-%m-%d %H:%M:%S.123").alias("started_at"),
        pl.col("end").dt.strftime("%Y-%m-%d %H:%M:%S.456").alias("ended_at"),
        pl.col("origin_name").alias("start_station_name"),
        pl.col("origin").alias("start_station_id"),
        pl.col("destination_name").alias("end_station_name"),
        pl.col("destination").alias("end_station_id"),
        pl.col("origin_lat").alias("start_lat"),
        pl.col("origin_lon").alias("start_lng"),
        pl.col("destination_lat").alias("end_lat"),
        pl.col("destination_lon").alias("end_lng"),
        pl.lit("member").alias("member_casual"),
    )


def _old_bikes(rides):
    """As Citi Bike published rides before: tripduration, starttime, stoptime."""
    return rides.select(
        (pl.col("end") - pl.col("start")).dt.total_seconds().alias("tripduration"),
        pl.col("start").dt.strftime("%-m/%-d/%Y %H:%M:%S").alias("starttime"),
        pl.col("end").dt.strftime("%-m/%-d/%Y %H:%M:%S").alias("stoptime"),
        pl.col("origin").alias("start station id"),
        pl.col("origin_name").alias("start station name"),
        pl.col("origin_lat").alias("start station latitude"),
        pl.col("origin_lon").alias("start station longitude"),
        pl.col("destination").alias("end station id"),
        pl.col("destination_name").alias("end station name"),
        pl.lit(17).alias("bikeid"),
        pl.lit("Subscriber").alias("usertype"),
        pl.lit(1980).alias("birth year"),
    )


def _clipper(rides):
    return rides.select(
        pl.col("rider_id").alias("clippercardid"),
        pl.lit("GG").alias("tripsequenceid"),
        pl.col("origin_name").alias("tagonlocation_name"),
        pl.col("start").dt.strftime("%Y-%m-%d %H:%M:%S").alias("tagontime_time"),
        pl.col("destination_name").alias("tagofflocation_name"),
        pl.col("end").dt.strftime("%Y-%m-%d %H:%M:%S").alias("tagofftime_time"),
        pl.lit("2.50").alias("fareamount"),
    )


def _apart(date, clock, **names):
    """Date and clock in two columns."""

    def table(rides):
        return rides.select(
            pl.col("rider_id").alias(names["rider"]),
            pl.col("origin").alias(names["origin"]),
            pl.col("start").dt.strftime(date).alias(names["start_date"]),
            pl.col("start").dt.strftime(clock).alias(names["start"]),
            pl.col("destination").alias(names["destination"]),
            pl.col("end").dt.strftime(date).alias(names["end_date"]),
            pl.col("end").dt.strftime(clock).alias(names["end"]),
        )

    return table


def _counted(parts):
    def table(rides):
        moments = [truth.epoch(rides, name, ZONE, parts).alias(f"{name}_ts") for name in ("start", "end")]
        return rides.select(
            pl.col("rider_id").alias("user"), from_stop="origin", to_stop="destination"
        ).with_columns(moments)

    return table


def _zoned(rides):
    at = {name: [truth.utc(each, ZONE) for each in rides[name]] for name in ("start", "end")}
    return rides.select("rider_id", "origin", "destination").with_columns(
        started_at=pl.Series(at["start"]), ended_at=pl.Series(at["end"])
    )


def _lines(rides):
    rows = named(rides, **ENGLISH).rows(named=True)
    return "\n".join(map(json.dumps, rows)) + "\n"


def _calls(**names):
    def table(rides):
        return truth.visits(rides).select(
            (pl.col(our).dt.strftime("%d/%m/%Y %H:%M:%S") if our == "event_time" else pl.col(our)).alias(
                their
            )
            for our, their in names.items()
        )

    return table


def _taps(times="%Y-%m-%d %H:%M:%S", **names):
    def table(rides):
        return truth.taps(rides).select(
            (pl.col(our).dt.strftime(times) if our == "event_time" else pl.col(our)).alias(their)
            for our, their in names.items()
        )

    return table


def _with_exits(rides):
    """Check-ins and check-outs in rows of their own, as Dutch and Seattle cards have them."""
    halves = [
        rides.select(
            pl.col("rider_id").alias("Kaartnummer"),
            pl.lit(word).alias("Transactie type"),
            pl.col(place).alias("Halte"),
            pl.col(at).dt.strftime("%d-%m-%Y %H:%M:%S").alias("Tijdstip"),
        )
        for word, place, at in (("Check-in", "origin", "start"), ("Check-uit", "destination", "end"))
    ]
    return pl.concat(halves)


def _sube(rides):
    return rides.select(
        pl.col("rider_id").alias("id_tarjeta"),
        pl.col("start").dt.strftime("%d/%m/%Y").alias("fecha"),
        pl.col("start").dt.strftime("%H:%M:%S").alias("hora"),
        pl.col("origin").alias("id_parada"),
        pl.lit(12).alias("id_linea"),
    )


def _tides(folder, rides):
    package = folder / "tides"
    package.mkdir(exist_ok=True)
    table = rides.select(
        pl.int_range(pl.len()).cast(pl.String).alias("transaction_id"),
        pl.col("start").dt.strftime("%Y-%m-%d").alias("service_date"),
        pl.col("start").dt.strftime("%Y-%m-%dT%H:%M:%S").alias("event_timestamp"),
        pl.lit(2.5).alias("amount"),
        pl.lit("Enter").alias("fare_action"),
        pl.lit("false").alias("fare_capped"),
        pl.col("origin").alias("stop_id"),
        pl.col("rider_id").alias("token_id"),
    )
    table.write_csv(package / "fare_transactions.csv")
    (package / "datapackage.json").write_text("{}")
    return "tides"


def _months(folder, rides, order=lambda names: names):
    """A folder of files, one for every five days."""
    parts = folder / "months"
    parts.mkdir(exist_ok=True)
    table = rides.with_row_index("at")
    for number, (_, part) in enumerate(sorted(table.group_by(pl.col("at") // 40))):
        named(part, "%d.%m.%Y %H:%M:%S", **GERMAN).write_csv(
            parts / f"fahrten-{number + 1}.csv", separator=";"
        )
    return "months"


def _sqlite(folder, rides):
    truth.write_sqlite(
        {"rides": named(rides, **ENGLISH), "notes": pl.DataFrame({"a": ["x"]})}, folder / "city.db"
    )
    return "sqlite:///city.db?table=rides"


def _duckdb(folder, rides):
    import duckdb

    (folder / "city.duckdb").unlink(missing_ok=True)
    with duckdb.connect(str(folder / "city.duckdb")) as connection:
        connection.register("given", named(rides, **ENGLISH).to_arrow())
        connection.execute("CREATE TABLE rides AS SELECT * FROM given")
    return "city.duckdb"


def _mds(folder, rides):
    (folder / "trips.json").write_text(truth.mds(rides, ZONE))
    return "trips.json"


def _mds_events(folder, rides):
    """Starts and ends as events of MDS 2.0."""
    starts, ends = (truth.epoch(rides, name, ZONE, 1000).to_list() for name in ("start", "end"))
    events = [
        {
            "device_id": f"v{number % 9}",
            "event_types": [word],
            "timestamp": moments[number],
            "location": {"lat": row[f"{place}_lat"], "lng": row[f"{place}_lon"]},
            "trip_ids": [row["trip_id"]],
        }
        for number, row in enumerate(rides.iter_rows(named=True))
        for word, moments, place in (("trip_start", starts, "origin"), ("trip_end", ends, "destination"))
    ]
    (folder / "events.json").write_text(json.dumps({"version": "2.0.0", "events": events}))
    return "events.json"


def _write_lines(folder, rides):
    (folder / "rides.jsonl").write_text(_lines(rides))
    return "rides.jsonl"


def _headless(rides):
    return named(rides, "%Y-%m-%d %H:%M:%S", **ENGLISH)


def _without_header(folder, rides):
    text = _headless(rides).select("Tap On Stop", "Tap Off Stop", "Tap On Time", "Tap Off Time").write_csv()
    (folder / "export.csv").write_text(text.split("\n", 1)[1])
    return "export.csv"


def _envelope(folder, rides):
    moments = truth.epoch(rides, "start", ZONE, 1000)
    rows = zip(rides["rider_id"], rides["origin"], moments, strict=True)
    taps = [dict(zip(("cardId", "stopId", "ts"), row, strict=True)) for row in rows]
    (folder / "answer.json").write_text(json.dumps({"page": 1, "taps": taps}))
    return "answer.json"


def _zip_with_readme(folder, rides):
    with zipfile.ZipFile(folder / "export.zip", "w") as archive:
        archive.writestr("export/rides.csv", named(rides, **ENGLISH).write_csv())
        archive.writestr("export/readme.txt", "one ride a row")
    return "export.zip"


def _behind_notes(rides, path):
    """A sheet with two lines above its header, behind a sheet of notes."""
    import xlsxwriter

    table = named(rides, "%Y-%m-%d %H:%M:%S", **ENGLISH)
    with xlsxwriter.Workbook(str(path)) as book:
        book.add_worksheet("Notes").write(0, 0, "Contact: operations")
        sheet = book.add_worksheet("Data")
        for number, row in enumerate([["Ridership"], ["made on 1 October"], table.columns, *table.rows()]):
            sheet.write_row(number, 0, row)


def _clocks_of_a_service_day(rides):
    """A service day that ends at four in the morning, and clocks that pass 24."""
    day = (pl.col("start") - pl.duration(hours=4)).dt.date()
    since = {name: (pl.col(name) - day.cast(pl.Datetime)).dt.total_seconds() for name in ("start", "end")}
    clock = {
        name: pl.format(
            "{}:{}:00",
            (at // 3600).cast(pl.String).str.zfill(2),
            (at // 60 % 60).cast(pl.String).str.zfill(2),
        )
        for name, at in since.items()
    }
    return rides.select(
        day.dt.strftime("%Y%m%d").alias("operating_day"),
        pl.col("rider_id").alias("passenger_id"),
        pl.col("origin").alias("board_stop"),
        clock["start"].alias("board_time"),
        pl.col("destination").alias("alight_stop"),
        clock["end"].alias("alight_time"),
    )


def _lines_of(rides):
    return named(rides, "%Y-%m-%d %H:%M:%S", **ENGLISH).write_csv().splitlines()


def _trailing_commas(folder, rides):
    header, *rows = _lines_of(rides)
    (folder / "commas.csv").write_text("\n".join([header, *(f"{row}," for row in rows)]))
    return "commas.csv"


def _fractions(rides):
    seconds = truth.epoch(rides, "start", ZONE).cast(pl.Float64) + 0.25
    return rides.select(user_hash="rider_id", stop="origin").with_columns(t=seconds)


def _numbered(number):
    """Taps whose clock is a whole number beside a date."""

    def table(rides):
        clock = pl.col("start").dt
        parts = (each().cast(pl.Int64) for each in (clock.hour, clock.minute, clock.second))
        return rides.select(
            card_id="rider_id",
            board_stop="origin",
            service_date=clock.strftime("%Y-%m-%d"),
            board_time=number(*parts),
        )

    return table


def _two_header_lines(folder, rides):
    names = ("rider_id", "origin", "start", "destination", "end")
    rows = named(rides, "%Y-%m-%d %H:%M:%S", **{name: name for name in names})
    header = ",Entry,,Exit,\nCard,Station,Time,Station,Time\n"
    (folder / "two.csv").write_text(header + rows.write_csv(include_header=False))
    return "two.csv"


def _in_words(*names, times="%d.%m.%Y %H:%M", **written):
    """Rides under five names: of rider, origin, start, destination and end."""
    ours = ("rider_id", "origin", "start", "destination", "end")
    return _text(_pairs(times, **dict(zip(ours, names, strict=True))), **written)


def _cells_apart(rides, path):
    """A sheet with dates and clocks in cells of their own."""
    import xlsxwriter

    with xlsxwriter.Workbook(str(path), {"default_date_format": "dd/mm/yyyy"}) as book:
        sheet, clock = book.add_worksheet(), book.add_format({"num_format": "hh:mm"})
        sheet.write_row(0, 0, ["Card", "From", "Date", "Dep", "To", "Arrival date", "Arr"])
        for number, row in enumerate(rides.iter_rows(named=True), start=1):
            start, end = row["start"], row["end"]
            sheet.write_row(number, 0, [row["rider_id"], row["origin"], start.date()])
            sheet.write_datetime(number, 3, start.time(), clock)
            sheet.write_row(number, 4, [row["destination"], end.date()])
            sheet.write_datetime(number, 6, end.time(), clock)


def _sheet_a_week(rides, path):
    import xlsxwriter

    table = named(rides, "%Y-%m-%d %H:%M:%S", **ENGLISH)
    with xlsxwriter.Workbook(str(path)) as book:
        book.add_worksheet("Stops").write_row(0, 0, ["stop", "name"])
        for number, part in enumerate(table.iter_slices(80)):
            sheet = book.add_worksheet(f"Week {number + 1}")
            for at, row in enumerate([part.columns, *part.rows()]):
                sheet.write_row(at, 0, row)


def _cut(name, folder, rides, write):
    """A folder of two files of one table, of which each is written its own way."""
    (folder / name).mkdir(exist_ok=True)
    for number, part in enumerate(rides.iter_slices(80)):
        write(number, part, folder / name / f"rides-{number + 1}.csv")
    return name


def _new_names(folder, rides):
    def write(number, part, path):
        old = dict(
            zip(
                ENGLISH,
                ["Trip", "Card", "Start Station", "Start Time", "End Station", "End Time"],
                strict=True,
            )
        )
        named(part, "%Y-%m-%d %H:%M:%S", **[ENGLISH, old][number]).write_csv(path)

    return _cut("renamed", folder, rides, write)


def _new_separator(folder, rides):
    def write(number, part, path):
        named(part, "%Y-%m-%d %H:%M:%S", **ENGLISH).write_csv(path, separator=",;"[number])

    return _cut("separated", folder, rides, write)


def _view(folder, rides):
    (folder / "view.sqlite").unlink(missing_ok=True)
    truth.write_sqlite(
        {"notes": pl.DataFrame({"a": ["x"]}), "rides": named(rides, **ENGLISH)}, folder / "view.sqlite"
    )
    return "view.sqlite"


def _status_changes(folder, rides):
    """Starts and ends as MDS had them before 2.0."""
    starts, ends = (truth.epoch(rides, name, ZONE, 1000).to_list() for name in ("start", "end"))
    changes = [
        {
            "device_id": f"v{number % 9}",
            "event_types": [word],
            "event_time": moments[number],
            "event_location": _feature(row, place, moments[number]),
            "trip_id": row["trip_id"],
        }
        for number, row in enumerate(rides.iter_rows(named=True))
        for word, moments, place in (("trip_start", starts, "origin"), ("trip_end", ends, "destination"))
    ]
    (folder / "status.json").write_text(json.dumps({"version": "1.2.0", "data": {"status_changes": changes}}))
    return "status.json"


def _feature(row, place, moment):
    point = {"type": "Point", "coordinates": [row[f"{place}_lon"], row[f"{place}_lat"]]}
    return {"type": "Feature", "properties": {"timestamp": moment}, "geometry": point}


def _routes(folder, rides):
    """Trips of MDS before 2.0, whose ends only their routes say."""
    starts, ends = (truth.epoch(rides, name, ZONE, 1000).to_list() for name in ("start", "end"))
    trips = [
        {
            "trip_id": row["trip_id"],
            "start_time": starts[at],
            "end_time": ends[at],
            "route": {
                "type": "FeatureCollection",
                "features": [_feature(row, "origin", starts[at]), _feature(row, "destination", ends[at])],
            },
        }
        for at, row in enumerate(rides.iter_rows(named=True))
    ]
    (folder / "routes.json").write_text(json.dumps({"version": "1.2.0", "data": {"trips": trips}}))
    return "routes.json"


def _cells_of_two(rides):
    """Coordinates as portals of open data have them."""
    moments = named(rides, "%m/%d/%Y %I:%M:%S %p", start="Start Time", end="End Time", rider_id="Member ID")
    return moments.with_columns(
        rides.select(
            pl.format("POINT ({} {})", f"{end}_lon", f"{end}_lat").alias(f"{name} Location")
            for name, end in (("Start", "origin"), ("End", "destination"))
        )
    )


def _with_rows(name, change):
    def write(folder, rides):
        (folder / name).write_text("\n".join(change(_lines_of(rides))))
        return name

    return write


def _joined_by(end, name, encoding):
    def write(folder, rides):
        (folder / name).write_bytes((end.join(_lines_of(rides)) + end).encode(encoding))
        return name

    return write


def _broken_header(folder, rides):
    header, *rows = _lines_of(rides)
    names = ",".join('"' + name.replace(" ", "\n", 1) + '"' for name in header.split(","))
    (folder / "broken.csv").write_text("\n".join([names, *rows]))
    return "broken.csv"


def _entries_and_exits(rides):
    words = ("Dual-tag entry transaction, no fare deduction", "Dual-tag exit transaction, fare payment")
    halves = [
        rides.select(
            pl.col("rider_id").alias("Card Serial Number"),
            pl.col(at).dt.strftime("%m/%d/%Y %I:%M:%S %p").alias("Date/Time"),
            pl.lit(word).alias("Transaction Type"),
            pl.col(place).alias("Location"),
        )
        for word, place, at in zip(words, ("origin", "destination"), ("start", "end"), strict=True)
    ]
    return pl.concat(halves)


def _runs(rides):
    """As GTFS-ride has riders: `trip_id` is that of the bus."""
    return rides.select(
        pl.col("rider_id"),
        pl.format("run {}", pl.int_range(pl.len()) % 4).alias("trip_id"),
        pl.col("origin").alias("boarding_stop_id"),
        pl.col("start").dt.strftime("%Y%m%d").alias("service_date"),
        pl.col("start").dt.strftime("%H:%M:%S").alias("boarding_time"),
        pl.col("destination").alias("alighting_stop_id"),
        pl.when(pl.col("end").dt.date() > pl.col("start").dt.date())
        .then(
            pl.format(
                "{}:{}", 24 + pl.col("end").dt.hour().cast(pl.Int64), pl.col("end").dt.strftime("%M:%S")
            )
        )
        .otherwise(pl.col("end").dt.strftime("%H:%M:%S"))
        .alias("alighting_time"),
    )


def _formula(name):
    return pl.format('="{}"', name).alias(name)


def _as_json(form):
    def write(folder, rides):
        (folder / "form.json").write_text(json.dumps(form(named(rides, **ENGLISH))))
        return "form.json"

    return write


def _socrata(table):
    columns = [{"id": number, "name": name} for number, name in enumerate(table.columns)]
    return {"meta": {"view": {"columns": columns}}, "data": table.rows()}


def _structs(rides, path):
    rides.select(
        "rider_id",
        *(
            pl.struct(stop_id=place, lat=f"{place}_lat", time=pl.col(at)).alias(place)
            for place, at in (("origin", "start"), ("destination", "end"))
        ),
    ).write_parquet(path)


def _days(folder, rides):
    """As engines write tables in parts: the folder says the day, and the rows have clocks."""
    for (day,), part in rides.group_by(pl.col("start").dt.date()):
        inside = folder / "lake" / f"start_date={day}" / "part-0.parquet"
        inside.parent.mkdir(parents=True, exist_ok=True)
        part.select(
            "rider_id", "origin", "destination", "end", start=pl.col("start").dt.strftime("%H:%M:%S")
        ).write_parquet(inside)
    return "lake"


def _two_places(between, *ends):
    """Both ends of a ride in one cell."""

    def table(rides):
        both = pl.format(f"{{}}{between}{{}}", *ends).alias("Relation")
        return named(rides, rider_id="Card", start="Departure", end="Arrival").with_columns(
            rides.select(both)
        )

    return table


def _parts_of_dates(rides):
    """Year, month, day and clock in columns of their own."""
    parts = [
        pl.col(at).dt.strftime(form).str.strip_prefix("0").alias(f"{at}_{part}")
        for at in ("start", "end")
        for part, form in {"year": "%Y", "month": "%m", "day": "%d"}.items()
    ]
    clocks = [pl.col(at).dt.strftime("%H:%M:%S").alias(f"{at}_time") for at in ("start", "end")]
    return rides.select(pl.col("rider_id").alias("card"), "origin", "destination", *parts, *clocks)


def _parts_of_moments(rides):
    parts = {"Jahr": "year", "Monat": "month", "Tag": "day", "Stunde": "hour", "Minute": "minute"}
    at = pl.col("start").dt
    return rides.select(
        pl.col("rider_id").alias("Karte"),
        pl.col("origin").alias("Halt"),
        *(getattr(at, part)().alias(name) for name, part in parts.items()),
    )


def _halves_apart(rides):
    """AM and PM in a column of their own."""
    forms = {"date": "%d/%m/%Y", "time": "%I:%M:%S", "ampm": "%p"}
    parts = [
        pl.col(at).dt.strftime(form).alias(f"{part}_{word}")
        for at, word in (("start", "on"), ("end", "off"))
        for part, form in forms.items()
    ]
    return rides.select(pl.col("rider_id").alias("card"), from_stop="origin", to_stop="destination").hstack(
        rides.select(parts)
    )


def _whole_degrees(scale, names):
    """Coordinates as whole numbers."""

    def table(rides):
        ours = [f"{end}_{axis}" for end in ("origin", "destination") for axis in ("lat", "lon")]
        degrees = [
            (pl.col(our) * scale).round().cast(pl.Int64).alias(name)
            for our, name in zip(ours, names, strict=True)
        ]
        moments = named(rides, "%Y-%m-%d %H:%M:%S", rider_id="user", start="start_time", end="end_time")
        return moments.hstack(rides.select(degrees))

    return table


APART = {
    "rider": "Karten-Nr",
    "origin": "Von",
    "start_date": "Startdatum",
    "start": "Startzeit",
    "destination": "Nach",
    "end_date": "Enddatum",
    "end": "Endzeit",
}
SHORT = {"rider_id": "user", "origin": "from", "destination": "to", "start": "tap_on", "end": "tap_off"}
NO_TRIPS = {key: value for key, value in ENGLISH.items() if key != "trip_id"}
BY_NAME = {**NO_TRIPS, "origin_name": "Tap On Stop", "destination_name": "Tap Off Stop"}
BY_NAME = {our: their for our, their in BY_NAME.items() if our not in ("origin", "destination")}

CORPUS: dict[str, Entry] = {
    # how text is written
    "clean": Entry(_text(truth.clean)),
    "semicolons in windows-1252": Entry(_text(_pairs(**GERMAN), encoding="windows-1252", separator=";")),
    "accents in windows-1252": Entry(_text(_pairs(**FRENCH), encoding="windows-1252", separator=";")),
    "utf-16 with tabs": Entry(_text(_pairs(**ENGLISH), encoding="utf-16", separator="\t")),
    "utf-8 with a mark": Entry(_text(_pairs(**ENGLISH), encoding="utf-8-sig")),
    "bars": Entry(_text(_pairs(**ENGLISH), separator="|")),
    "tabs": Entry(_text(_pairs(**ENGLISH), "rides.tsv", separator="\t")),
    "quotes around everything": Entry(_text(_pairs(**ENGLISH), quote="always")),
    "lines before the header": Entry(
        _text(_pairs(**ENGLISH), before="Export of 2026-10-01\nCity of Doggerbank\n\n")
    ),
    "named .txt": Entry(_text(_pairs(**ENGLISH), "rides.txt", separator=";")),
    "without header": Entry(_without_header, riders=False),
    "gzip": Entry(_packed(".gz", gzip.compress)),
    "bzip2": Entry(_packed(".bz2", bz2.compress)),
    "xz": Entry(_packed(".xz", lzma.compress)),
    "zstd": Entry(_packed(".zst", _zst)),
    "zip of one csv": Entry(_zip),
    # languages and names
    "english": Entry(_text(_pairs(**ENGLISH))),
    "german": Entry(_text(_pairs("%d.%m.%Y %H:%M:%S", **GERMAN), separator=";")),
    "french": Entry(_text(_pairs("%d/%m/%Y %H:%M:%S", **FRENCH), separator=";")),
    "spanish": Entry(_text(_pairs("%d/%m/%Y %H:%M:%S", **SPANISH), separator=";")),
    "dutch": Entry(_text(_pairs("%d-%m-%Y %H:%M:%S", **DUTCH), separator=";")),
    "italian": Entry(
        _text(
            _pairs(
                "%d/%m/%Y %H:%M:%S",
                rider_id="Tessera",
                origin="Fermata partenza",
                start="Ora partenza",
                destination="Fermata arrivo",
                end="Ora arrivo",
            )
        ),
    ),
    "portuguese": Entry(
        _text(
            _pairs(
                "%d/%m/%Y %H:%M:%S",
                rider_id="Cartão",
                origin="Paragem de origem",
                start="Hora embarque",
                destination="Paragem de destino",
                end="Hora desembarque",
            )
        ),
    ),
    "danish": Entry(
        _text(
            _pairs(
                "%d.%m.%Y %H.%M.%S",
                rider_id="Rejsekortnr.",
                origin="Fra stoppested",
                start="Afgangstidspunkt",
                destination="Til stoppested",
                end="Ankomsttidspunkt",
            ),
            separator=";",
        ),
    ),
    "polish": Entry(
        _text(
            _pairs(
                "%Y-%m-%d %H:%M:%S",
                rider_id="Numer karty",
                origin="Przystanek początkowy",
                start="Godzina wsiadania",
                destination="Przystanek końcowy",
                end="Godzina wysiadania",
            ),
            separator=";",
        ),
    ),
    "swedish taps, minutes with a point": Entry(
        _text(
            lambda rides: truth.taps(rides).select(
                pl.col("rider_id").alias("Kortnummer"),
                pl.col("event_time").dt.strftime("%Y-%m-%d").alias("Datum"),
                pl.col("event_time").dt.strftime("%H.%M").alias("Tid"),
                pl.col("stop_id").alias("Hållplats"),
            ),
            separator=";",
        ),
        kind="taps",
    ),
    "times called like stops": Entry(_text(_pairs("%Y-%m-%d %H:%M:%S", **SHORT))),
    "stops by name": Entry(_text(_pairs(**BY_NAME))),
    "stops by name in capitals": Entry(
        _text(lambda rides: named(rides.with_columns(pl.col("^.*_name$").str.to_uppercase()), **BY_NAME)),
    ),
    # times
    "month/day with AM and PM": Entry(_text(_pairs("%-m/%-d/%Y %-I:%M:%S %p", **ENGLISH))),
    "day/month": Entry(_text(_pairs("%d/%m/%Y %H:%M:%S", **ENGLISH))),
    "names of months": Entry(_text(_pairs("%d-%b-%Y %H:%M:%S", **ENGLISH))),
    "month first by name": Entry(_text(_pairs("%b %d, %Y %I:%M:%S %p", **ENGLISH), separator=";")),
    "two digits of the year": Entry(_text(_pairs("%d.%m.%y %H:%M:%S", **ENGLISH))),
    "no marks in times": Entry(_text(_pairs("%Y%m%d%H%M%S", **ENGLISH))),
    "slashes, year first": Entry(_text(_pairs("%Y/%m/%d %H:%M:%S", **ENGLISH))),
    "seconds since 1970": Entry(_text(_counted(1))),
    "milliseconds": Entry(_text(_counted(1000))),
    "microseconds": Entry(_text(_counted(10**6))),
    "UTC": Entry(_text(_zoned)),
    "date and clock apart": Entry(_text(_apart("%d.%m.%Y", "%H:%M:%S", **APART), separator=";")),
    "compact date and clock": Entry(_text(_apart("%Y%m%d", "%H%M%S", **APART))),
    # formats
    "parquet": Entry(_frame("rides.parquet", lambda r, p: named(r, **ENGLISH).write_parquet(p))),
    "typed parquet": Entry(
        _frame(
            "typed.parquet",
            lambda r, p: r.select(
                "rider_id", "origin", "destination", started="start", ended="end"
            ).write_parquet(p),
        ),
    ),
    "arrow": Entry(_frame("rides.arrow", lambda r, p: named(r, **ENGLISH).write_ipc(p))),
    "feather": Entry(_frame("rides.feather", lambda r, p: named(r, **ENGLISH).write_ipc(p))),
    "excel": Entry(_frame("rides.xlsx", _excel)),
    "opendocument": Entry(_frame("rides.ods", _ods)),
    "sqlite": Entry(_sqlite),
    "duckdb": Entry(_duckdb),
    "json lines": Entry(_write_lines),
    "MDS trips": Entry(_mds, riders=False),
    "MDS events": Entry(_mds_events, "taps", riders=False),
    # layouts
    "Citi Bike": Entry(_text(_bikes), riders=False),
    "Citi Bike before 2020": Entry(_text(_old_bikes), riders=False),
    "Bay Area bikes": Entry(
        _text(
            _pairs(
                "%-m/%-d/%Y %H:%M:%S",
                trip_id="trip_id",
                start="start_date",
                origin="start_station",
                end="end_date",
                destination="end_station",
            )
        ),
        riders=False,
    ),
    "Clipper": Entry(_text(_clipper)),
    "Oyster": Entry(
        _text(
            _pairs(
                "%d-%b-%Y %H:%M:%S",
                rider_id="prestigeid",
                origin="StartStn",
                start="EntTime",
                destination="EndStation",
                end="ExTime",
            )
        ),
    ),
    "calls of journeys": Entry(
        _text(
            _calls(
                trip_id="Journey No",
                rider_id="Smart Card ID",
                stop_id="Stop Code",
                seq="Order",
                event_time="Timestamp",
            )
        ),
        "calls",
    ),
    "calls in german": Entry(
        _text(
            _calls(
                trip_id="Fahrt",
                rider_id="Karte",
                stop_id="Haltestelle",
                seq="Reihenfolge",
                event_time="Zeitpunkt",
            ),
            separator=";",
        ),
        "calls",
    ),
    "ORCA": Entry(
        _text(
            _taps(
                "%m/%d/%Y %I:%M:%S %p",
                rider_id="CSN",
                event_time="Transaction Date Time",
                stop_id="Boarding Stop ID",
            )
        ),
        "taps",
    ),
    "MTA": Entry(
        _text(_taps(rider_id="card_serial", event_time="swipe_timestamp", stop_id="station_id")),
        "taps",
    ),
    "SUBE": Entry(_text(_sube), "taps"),
    "OV-chipkaart": Entry(_text(_with_exits, separator=";"), "taps"),
    "TIDES": Entry(_tides, "taps"),
    "taps with decimal commas": Entry(
        _text(
            lambda rides: _taps(
                "%d.%m.%Y %H:%M:%S", rider_id="Karte", event_time="Zeit", lat="Breite", lon="Länge"
            )(rides).with_columns(
                pl.col("Breite", "Länge").cast(pl.String).str.replace(".", ",", literal=True)
            ),
            separator=";",
            encoding="windows-1252",
        ),
        "taps",
    ),
    "japanese in shift_jis": Entry(
        _text(
            _pairs(
                "%Y年%m月%d日 %H時%M分%S秒",
                rider_id="カード番号",
                origin="乗車駅",
                start="乗車時刻",
                destination="降車駅",
                end="降車時刻",
            ),
            encoding="shift_jis",
        ),
    ),
    "russian in windows-1251": Entry(
        _text(
            _pairs(
                "%d.%m.%Y %H:%M:%S",
                rider_id="Номер карты",
                origin="Остановка посадки",
                start="Время посадки",
                destination="Остановка высадки",
                end="Время высадки",
            ),
            encoding="windows-1251",
            separator=";",
        ),
    ),
    "chinese in gb18030": Entry(
        _text(
            _pairs(
                "%Y-%m-%d %H:%M:%S",
                rider_id="卡号",
                origin="上车站点",
                start="上车时间",
                destination="下车站点",
                end="下车时间",
            ),
            encoding="gb18030",
        ),
    ),
    "a sheet behind notes": Entry(_frame("notes.xlsx", _behind_notes)),
    "zip with a readme": Entry(_zip_with_readme),
    "an answer of a service": Entry(_envelope, "taps"),
    "fractions of seconds": Entry(_text(_fractions), "taps"),
    "clocks of a service day": Entry(_text(_clocks_of_a_service_day)),
    "a comma after every row": Entry(_trailing_commas),
    "seconds since midnight": Entry(_text(_numbered(lambda h, m, s: h * 3_600 + m * 60 + s)), "taps"),
    "minutes since midnight": Entry(_text(_numbered(lambda h, m, s: h * 60 + m)), "taps"),
    "clocks as numbers": Entry(_text(_numbered(lambda h, m, s: h * 100 + m)), "taps"),
    "two lines of header": Entry(_two_header_lines),
    "names of cells": Entry(
        _text(_pairs(rider_id="A1", origin="B1", start="C1", destination="D1", end="E1")), riders=False
    ),
    "polish entries and exits": Entry(
        _text(
            _pairs(
                "%d.%m.%Y %H:%M",
                rider_id="Numer karty",
                origin="Przystanek początkowy",
                start="Czas wejścia",
                destination="Przystanek końcowy",
                end="Czas wyjścia",
            ),
            separator=";",
        )
    ),
    "hungarian": Entry(
        _text(
            _pairs(
                "%Y.%m.%d. %H:%M",
                rider_id="Kártyaszám",
                origin="Felszállás megálló",
                start="Felszállás ideje",
                destination="Leszállás megálló",
                end="Leszállás ideje",
            )
        )
    ),
    "finnish": Entry(
        _in_words(
            "Matkakortti", "Nousupysäkki", "Nousuaika", "Poistumispysäkki", "Poistumisaika", separator=";"
        )
    ),
    "greek in windows-1253": Entry(
        _in_words(
            *("Αριθμός κάρτας", "Στάση επιβίβασης", "Ώρα επιβίβασης", "Στάση αποβίβασης", "Ώρα αποβίβασης"),
            encoding="windows-1253",
        )
    ),
    "chinese in big5": Entry(
        _in_words(
            *("卡號", "上車站", "上車時間", "下車站", "下車時間"),
            times="%Y/%m/%d %H:%M:%S",
            encoding="big5",
        )
    ),
    "days and clocks in cells": Entry(_frame("apart.xlsx", _cells_apart)),
    "a sheet a week": Entry(_frame("weeks.xlsx", _sheet_a_week)),
    "tabs called .xls": Entry(_text(_pairs("%d/%m/%Y %H:%M", **ENGLISH), "export.xls", separator="\t")),
    "a folder whose names changed": Entry(_new_names),
    "a folder whose separator changed": Entry(_new_separator),
    "one of several tables": Entry(_view),
    "MDS status changes": Entry(_status_changes, "taps", riders=False),
    "MDS trips with routes": Entry(_routes, riders=False),
    "two coordinates in a cell": Entry(_text(_cells_of_two)),
    "lines that end in returns": Entry(_joined_by("\r", "old.csv", encoding="mac-roman")),
    "cells that go on on the next line": Entry(_broken_header),
    "blanks after commas": Entry(
        _with_rows("blanks.csv", lambda lines: [x.replace(",", ", ") for x in lines])
    ),
    "korean halves of the day": Entry(
        _in_words(
            *("카드번호", "승차정류장", "승차일시", "하차정류장", "하차일시"),
            times="%Y-%m-%d %p %I:%M:%S",
            encoding="cp949",
        )
    ),
    "names of zones": Entry(_text(_pairs("%d-%b-%y %I.%M.%S.000000 %p EUROPE/LONDON", **NO_TRIPS))),
    "years of two digits first": Entry(_text(_pairs("%y-%m-%d %H:%M:%S", **ENGLISH))),
    "thai": Entry(_in_words("หมายเลขบัตร", "สถานีเข้า", "เวลาเข้า", "สถานีออก", "เวลาออก")),
    "arabic": Entry(
        _in_words("رقم البطاقة", "محطة الصعود", "وقت الصعود", "محطة النزول", "وقت النزول", separator=";")
    ),
    "indonesian": Entry(_in_words("No Kartu", "Halte Naik", "Waktu Naik", "Halte Turun", "Waktu Turun")),
    "hebrew in windows-1255": Entry(
        _in_words("מספר כרטיס", "תחנת עליה", "שעת עליה", "תחנת ירידה", "שעת ירידה", encoding="windows-1255")
    ),
    "french with an apostrophe": Entry(
        _in_words(
            "Numéro d'abonné", "Arrêt d'origine", "Heure d'entrée", "Arrêt d'arrivée", "Heure d'arrivée"
        )
    ),
    "Clipper's history": Entry(_text(_entries_and_exits), "taps"),
    "trips of vehicles": Entry(_text(_runs)),
    "ids as formulas": Entry(_text(lambda rides: named(rides.with_columns(_formula("origin")), **ENGLISH))),
    "names beside ids": Entry(
        _text(
            lambda rides: named(
                rides.with_columns(pl.format("{} - {}", "origin", "origin_name").alias("origin_name")),
                **BY_NAME,
            )
        )
    ),
    "columns in JSON": Entry(_as_json(lambda table: {n: dict(enumerate(table[n])) for n in table.columns})),
    "lists in JSON": Entry(_as_json(lambda table: table.to_dict(as_series=False))),
    "names beside rows in JSON": Entry(_as_json(_socrata)),
    "JSON of a search": Entry(
        _as_json(lambda table: {"hits": {"hits": [{"_source": row} for row in table.rows(named=True)]}})
    ),
    "parts inside of columns": Entry(_frame("parts.parquet", _structs)),
    "two places in a cell": Entry(_text(_two_places(" to ", "origin_name", "destination_name"))),
    "two ids in a cell": Entry(_text(_two_places("-", "origin", "destination"), separator=";")),
    "parts of dates in columns": Entry(_text(_parts_of_dates)),
    "parts of moments in columns": Entry(_text(_parts_of_moments, separator=";"), "taps"),
    "halves of the day in columns": Entry(_text(_halves_apart)),
    "ten millionths of degrees": Entry(
        _text(_whole_degrees(10**7, ["startLatE7", "startLngE7", "endLatE7", "endLngE7"]))
    ),
    "millionths of degrees": Entry(
        _text(_whole_degrees(10**6, ["from_lat", "from_lon", "to_lat", "to_lon"]))
    ),
    "two lines of names": Entry(
        _with_rows("lines.csv", lambda lines: [",,Boarding,Boarding,Alighting,Alighting", *lines])
    ),
    "weekdays and zones of logs": Entry(_text(_pairs("[%d/%b/%Y:%H:%M:%S:123 +0100]", **NO_TRIPS))),
    "a folder a day": Entry(_days),
    "a folder of files": Entry(_months),
    "a pattern of files": Entry(lambda folder, rides: _months(folder, rides) + "/fahrten-*.csv"),
}


def _terminal(folder, rides):
    """As psql prints a table."""
    table = named(rides, "%Y-%m-%d %H:%M:%S", **ENGLISH)
    rows = [table.columns, *table.rows()]
    lines = [" " + " | ".join(row) + " " for row in rows]
    lines.insert(1, "-+-".join("-" * 12 for _ in table.columns))
    (folder / "terminal.txt").write_text("\n".join([*lines, f"({len(table)} rows)", ""]))
    return "terminal.txt"


def _one_date(rides):
    """One date beside two clocks: some rides end after midnight."""
    return rides.select(
        pl.col("rider_id").alias("OV-chipkaart nr"),
        pl.col("start").dt.strftime("%d-%m-%Y").alias("Datum"),
        pl.col("start").dt.strftime("%H:%M").alias("Check-in"),
        pl.col("origin_name").alias("Vertrek"),
        pl.col("end").dt.strftime("%H:%M").alias("Check-uit"),
        pl.col("destination_name").alias("Bestemming"),
    )


# Files with something that nobody may decide unasked: `check` refuses them, and ends with the command that goes on.
ASKED: dict[str, Entry] = {
    "a row of totals": Entry(_with_rows("totals.csv", lambda lines: [*lines, "Total,,160 rides,,,"])),
    "a row of units": Entry(
        _with_rows(
            "units.csv", lambda lines: [lines[0], "(text),(text),(id),(local),(id),(local)", *lines[1:]]
        )
    ),
    "a table of a terminal": Entry(_terminal),
    "a date for two clocks": Entry(_text(_one_date, separator=";")),
}
