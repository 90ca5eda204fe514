"""Treatment of bad rows: one rule for each kind, said in the plan. A rule looks at one row, or at one trip, alone.

`refuse` is always the default: a bad row may be a misunderstanding of the file. Stability of the other rules:

    drop        of a row: one row more is at most one row more. Of a trip (`per_trip`): one row more can drop that trip,
                and no other. Rows are of one trip if trip and rider are the same, so that nobody drops another's trip
    swap, clip, next_day   a row is mended by itself: one row more is one row more
    split       a trip of two riders becomes one trip of each: how a row's trip is called hangs on that row alone
    duplicate   what is left is the set of different rows: one row more is at most one more. In a trip whose visits
                stand in the order of the file it can also take the place of a later one that is equal (`MERGED`)

Attacked by tests/sources/test_bad_rows.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from wayveil.errors import ParameterError
from wayveil.sources.categories import as_categories, distinct_values, each_distinct
from wayveil.sources.column_names import DATES
from wayveil.sources.moments import clock_text, iso_text, parse_moments
from wayveil.sources.quick_moments import DAY
from wayveil.world.locating import find_places
from wayveil.world.world import World

# Ends this many seconds before the start are clocks that disagree; more is a ride that is not understood.
BRIEFLY = 300
_FIRST_YEAR, _LAST_YEAR = 1990, 2050
# Kinds of bad rows that times tell.
OF_TIMES = ("missing_time", "ends_early", "ends_long_before", "impossible_year")


@dataclass(frozen=True)
class RowRule:
    """A kind of bad row: what it is, what may be done with it beside refusing the file, and whether to a whole trip."""

    what: str
    choices: tuple[str, ...]
    per_trip: bool = False


RULES: dict[str, RowRule] = {
    "unknown_stop": RowRule("a stop that the world lacks", ("drop",), per_trip=True),
    "missing_end": RowRule("an origin, destination or stop that is empty", ("drop",), per_trip=True),
    "missing_time": RowRule("a time that is empty or cannot be read", ("drop",), per_trip=True),
    "ends_early": RowRule(f"an end up to {BRIEFLY} seconds before the start", ("drop", "swap", "clip")),
    "ends_long_before": RowRule(
        f"an end more than {BRIEFLY} seconds before the start", ("drop", "next_day", "swap")
    ),
    "duplicate": RowRule("a row that repeats another in every column", ("drop",)),
    "impossible_year": RowRule(
        f"a year before {_FIRST_YEAR} or after {_LAST_YEAR}", ("drop",), per_trip=True
    ),
    "empty_id": RowRule("a trip without an id", ("drop",)),
    "two_riders": RowRule("a trip of two riders", ("split",)),
}


def require_rules(given: Mapping[str, str]) -> dict[str, str]:
    """Refuse kinds and rules that nobody knows; return those that do something."""
    for kind, rule in given.items():
        if kind not in RULES:
            raise ParameterError(f"unknown kind of bad rows {kind!r}; choose one of {', '.join(RULES)}")
        choices = ("refuse", *RULES[kind].choices)
        if rule not in choices:
            raise ParameterError(f"bad_rows.{kind}: choose one of {', '.join(choices)}, not {rule!r}")
    return {kind: rule for kind, rule in given.items() if rule != "refuse"}


def say_rules(given: Mapping[str, str]) -> str:
    """Name the rules for a datasheet, without any count."""
    said = [f"{RULES[kind].what}: {rule}" for kind, rule in require_rules(given).items()]
    return "; ".join(said)


def needs_whole_table(given: Mapping[str, str]) -> bool:
    """Tell whether a rule looks at rows that may lie far apart in a table: those of a trip, or equal ones."""
    return any(RULES[kind].per_trip or kind == "duplicate" for kind in require_rules(given))


def changes_trips(given: Mapping[str, str]) -> bool:
    """Tell whether one row more can change all of its trip."""
    return any(RULES[kind].per_trip for kind in require_rules(given))


def count_bad_rows(table: pl.DataFrame, world: World | None) -> dict[str, int]:
    """Count the rows of every kind, for `wayveil check` alone."""
    moments = _moments(table)
    return {kind: int(bad_rows(table, kind, world, moments).sum()) for kind in RULES}


def _moments(table: pl.DataFrame) -> dict[str, pl.Series]:
    return {name: _seconds(table[name]) for name in DATES if name in table.columns}


def bad_rows(
    table: pl.DataFrame,
    kind: str,
    world: World | None = None,
    moments: Mapping[str, pl.Series] | None = None,
) -> pl.Series:
    """Return which rows of a table under our names are bad in a way; `moments` if its times are read already."""
    nobody = pl.Series([False]).new_from_index(0, table.height)
    places = [_text(table[name]) for name in ("stop_id", "origin", "destination") if name in table.columns]
    moments = _moments(table) if moments is None and kind in OF_TIMES else moments or {}
    if kind == "unknown_stop":
        return _any([_unknown(place, world) for place in places if world is not None], nobody)
    if kind == "missing_end":
        return _any([place.is_null() for place in places], nobody)
    if kind == "missing_time":
        return _any([moment.is_null() for moment in moments.values()], nobody)
    if kind == "impossible_year":
        return _any([_year(moment) for moment in moments.values()], nobody)
    if kind in ("ends_early", "ends_long_before") and {"start", "end"} <= set(moments):
        early = (moments["start"] - moments["end"]).fill_null(0)
        return (early > BRIEFLY) if kind == "ends_long_before" else ((early > 0) & (early <= BRIEFLY))
    if kind == "duplicate":
        return ~table.select(pl.struct(pl.all()).is_first_distinct()).to_series()
    if kind == "empty_id" and "trip_id" in table.columns:
        return _text(table["trip_id"]).is_null()
    if kind == "two_riders" and {"trip_id", "rider_id"} <= set(table.columns):
        several = pl.col("rider_id").cast(pl.String).drop_nulls().n_unique().over("trip_id") > 1
        return table.select(pl.col("trip_id").is_not_null() & several).to_series()
    return nobody


def apply_rules(
    table: pl.DataFrame, rules: Mapping[str, str], world: World | None, *, of_trips: bool = True
) -> pl.DataFrame:
    """Return the rows that the rules leave, mended as they say; a rule of a trip drops all rows of its trip.

    Not `of_trips`: rows are read one by one, and a column that names trips (of a vehicle, say) joins none of them.
    """
    for kind, rule in require_rules(rules).items():
        if rule == "split":
            table = _of_each_rider(table)
            continue
        bad = bad_rows(table, kind, world)
        if rule in ("swap", "clip", "next_day"):
            table = _mended(table, bad, rule)
        elif of_trips and RULES[kind].per_trip and "trip_id" in table.columns:
            # Trips of one rider: nobody's bad row drops the trip of another.
            own = [name for name in ("trip_id", "rider_id") if name in table.columns]
            whole = table.select(own).with_columns(bad=bad).select(pl.col("bad").any().over(own))
            table = table.filter(~(whole.to_series() & table["trip_id"].is_not_null() | bad))
        else:
            table = table.filter(~bad)
    return table


def _of_each_rider(table: pl.DataFrame) -> pl.DataFrame:
    if not {"trip_id", "rider_id"} <= set(table.columns):
        return table
    trip, rider = pl.col("trip_id").cast(pl.String), pl.col("rider_id").cast(pl.String).fill_null("")
    # The length tells where the rider begins, so that no two trips get one name.
    return table.with_columns(trip_id=pl.concat_str([trip, rider, rider.str.len_chars()], separator=" "))


def _unknown(place: pl.Series, world: World | None) -> pl.Series:
    """Return which texts are no place of the world."""
    if world is None:
        return place.is_null() & False
    distinct = place.drop_nulls().unique()
    lost = distinct.filter(pl.Series(find_places(distinct, world) < 0))
    return place.is_in(lost.implode()).fill_null(False)


def _mended(table: pl.DataFrame, bad: pl.Series, rule: str) -> pl.DataFrame:
    """Swap start and end of a row, let it end when it starts, or on the day after the one that it says."""
    if not {"start", "end"} <= set(table.columns):
        return table
    if rule == "next_day":
        return table.with_columns(
            pl.when(bad).then(_day_later(table["end"])).otherwise(pl.col("end")).alias("end")
        )
    start, end = pl.col("start"), pl.col("end")
    first = pl.when(bad).then(end).otherwise(start) if rule == "swap" else start
    return table.with_columns(first.alias("start"), pl.when(bad).then(start).otherwise(end).alias("end"))


def _day_later(column: pl.Series) -> pl.Series:
    if isinstance(column.dtype, pl.Datetime):
        return column.dt.offset_by("1d")
    if column.dtype.is_integer():
        return column + DAY

    def later(text: pl.Series) -> pl.Series:
        read = parse_moments(text)
        dated = iso_text(read.with_columns(pl.col("day") + 1), None)
        return pl.select(pl.coalesce(dated, clock_text(read["second"] + DAY))).to_series()

    return each_distinct(column, later)


def _text(column: pl.Series) -> pl.Series:
    """A column as text, null where nothing stands."""
    text = column.cast(pl.String).str.strip_chars()
    return pl.select(pl.when(text != "").then(text)).to_series()


def _seconds(column: pl.Series) -> pl.Series:
    """Moments of a column as seconds, with their zone in UTC; clocks as seconds of a day; null where there is none."""
    if isinstance(column.dtype, pl.Datetime):
        return column.dt.epoch("s")
    if column.dtype.is_integer():
        return column.cast(pl.Int64)
    distinct, code = distinct_values(as_categories(column))
    read = parse_moments(distinct)
    moment = read["day"].fill_null(0) * DAY + read["second"] - read["offset"].fill_null(0)
    known = pl.select(pl.coalesce(moment, distinct.cast(pl.Int64, strict=False))).to_series()
    return known.gather(pl.Series(code).replace(-1, None)).alias(column.name)


def _year(moment: pl.Series) -> pl.Series:
    # Clocks have no year.
    year = pl.from_epoch(moment, time_unit="s").dt.year()
    return (((year < _FIRST_YEAR) | (year > _LAST_YEAR)) & (moment.abs() > 4 * DAY)).fill_null(False)


def _any(each: list[pl.Series], nobody: pl.Series) -> pl.Series:
    for one in each:
        nobody = nobody | one.fill_null(False)
    return nobody
