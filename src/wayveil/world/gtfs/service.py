"""Which trips run on a date: calendar.txt and calendar_dates.txt, each of them optional."""

from datetime import date, datetime

import polars as pl

from wayveil.errors import InputError, ParameterError
from wayveil.world.gtfs.feed_tables import Feed

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ADDED, _REMOVED = "1", "2"


def parse_date(value: date | str) -> date:
    """A service date from a date, `2021-04-20` or `20210420`."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    for pattern in ("%Y-%m-%d", "%Y%m%d"):
        try:
            return datetime.strptime(value.strip(), pattern).date()
        except ValueError:
            continue
    raise ParameterError(f"service date {value!r} is not a date like 2021-04-20 or 20210420")


def services_on(feed: Feed, day: date) -> pl.Series:
    """The service_ids that run on a day."""
    stamp = f"{day:%Y%m%d}"
    weekday = _DAYS[day.weekday()]
    running: set[str] = set()
    if feed.has("calendar"):
        weekly = feed.read_small("calendar", ["service_id", weekday, "start_date", "end_date"])
        # Dates are yyyymmdd, so their order as text is their order in time.
        inside = (pl.col("start_date") <= stamp) & (pl.col("end_date") >= stamp) & (pl.col(weekday) == "1")
        running = set(weekly.filter(inside)["service_id"].to_list())
    if feed.has("calendar_dates"):
        exceptions = feed.read_small("calendar_dates", ["service_id", "date", "exception_type"])
        today = exceptions.filter(pl.col("date") == stamp)
        running |= set(today.filter(pl.col("exception_type") == _ADDED)["service_id"].to_list())
        running -= set(today.filter(pl.col("exception_type") == _REMOVED)["service_id"].to_list())
    return pl.Series("service_id", sorted(item for item in running if item is not None), dtype=pl.String)


def covered_dates(feed: Feed) -> tuple[str, str] | None:
    """First and last date with any entry in the calendars, as yyyy-mm-dd; none if there is no calendar."""
    stamps: list[str] = []
    if feed.has("calendar"):
        weekly = feed.read_small("calendar", ["start_date", "end_date"])
        stamps += weekly["start_date"].drop_nulls().to_list() + weekly["end_date"].drop_nulls().to_list()
    if feed.has("calendar_dates"):
        extra = feed.read_small("calendar_dates", ["date", "exception_type"])
        stamps += extra.filter(pl.col("exception_type") == _ADDED)["date"].drop_nulls().to_list()
    if not stamps:
        return None
    first, last = min(stamps), max(stamps)
    return f"{first[:4]}-{first[4:6]}-{first[6:]}", f"{last[:4]}-{last[4:6]}-{last[6:]}"


def read_trips(feed: Feed, service_date: date | None) -> pl.DataFrame:
    """trip_id and route_id of the trips that run on a date, or of all trips."""
    trips = feed.read_small("trips", ["trip_id", "route_id", "service_id"])
    trips = trips.filter(pl.col("trip_id").is_not_null())
    if trips.is_empty():
        raise InputError("trips.txt has no trip in it", file=feed.path)
    if service_date is None:
        return trips.select("trip_id", "route_id").unique("trip_id", keep="first", maintain_order=True)
    covered = covered_dates(feed)
    if covered is None:
        raise InputError(
            "has no dates in calendar.txt or calendar_dates.txt; leave the service date out to use all trips",
            file=feed.path,
        )
    running = trips.join(
        services_on(feed, service_date).to_frame(), on="service_id", how="semi", maintain_order="left"
    )
    if running.is_empty():
        raise InputError(
            f"no trip runs on {service_date}; the feed covers {covered[0]} to {covered[1]}", file=feed.path
        )
    return running.select("trip_id", "route_id").unique("trip_id", keep="first", maintain_order=True)


def runs_of_trips(feed: Feed, trips: pl.DataFrame) -> pl.Series:
    """Return how many vehicles run each trip: 1, or as many as the headways of frequencies.txt say."""
    if not feed.has("frequencies"):
        return pl.Series("runs", [1], dtype=pl.Int64).new_from_index(0, len(trips))
    table = feed.read_small("frequencies", ["trip_id", "start_time", "end_time", "headway_secs"])
    span = seconds_of(pl.col("end_time")) - seconds_of(pl.col("start_time"))
    headway = pl.col("headway_secs").cast(pl.Int64, strict=False)
    usable = table.with_columns(span=span, headway=headway).filter(
        (pl.col("span") > 0) & (pl.col("headway") > 0)
    )
    feed.warn(
        len(table) - len(usable), "row", "of frequencies.txt had no positive span and headway: left out."
    )
    # A vehicle leaves at the start and then every headway, strictly before the end.
    runs = (pl.col("span") + pl.col("headway") - 1) // pl.col("headway")
    per_trip = usable.group_by("trip_id").agg(runs=runs.sum())
    return trips.join(per_trip, on="trip_id", how="left", maintain_order="left")["runs"].fill_null(1)


def seconds_of(text: pl.Expr) -> pl.Expr:
    """`H:MM:SS` as seconds of the service day, past 24 hours where it says so; null where it is no time."""
    part = text.str.strip_chars().str.extract_groups(r"^(\d{1,3}):([0-5]\d):([0-5]\d)$")
    hours, minutes, seconds = (part.struct.field(name).cast(pl.Int64) for name in ("1", "2", "3"))
    return hours * 3_600 + minutes * 60 + seconds
