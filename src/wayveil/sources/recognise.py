"""What a table seems to be: which column is which of ours, how times and places are written, and what a row is.

For `wayveil check` alone, which shows it and writes it into the plan. Names of columns speak first, values second, and
what two readings explain equally well is asked, never chosen.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

import polars as pl

from wayveil.sources.column_names import DATES
from wayveil.sources.header_words import column_for, meanings
from wayveil.sources.moments import ORDERS
from wayveil.sources.opening import SourceTable
from wayveil.sources.profiles import Profile, Profiler
from wayveil.sources.reading import ENDS, Reading
from wayveil.world.world import World

Kind = Literal["calls", "pairs", "taps", "points"]
# Columns that a kind of rows is read with; the first ones it cannot do without.
USED: dict[Kind, tuple[str, ...]] = {
    "pairs": (
        *("origin", "destination", "start", "start_date", "end", "end_date", "trip_id", "rider_id"),
        *("origin_lat", "origin_lon", "destination_lat", "destination_lon"),
    ),
    "calls": ("trip_id", "stop_id", "seq", "event_time", "service_date", "rider_id"),
    "taps": (
        *(
            "event_time",
            "service_date",
            "stop_id",
            "lat",
            "lon",
            "rider_id",
            "route_id",
            "vehicle_id",
            "tap_id",
        ),
        *("action", "device_id"),
    ),
    "points": ("rider_id", "trip_id", "event_time", "service_date", "lat", "lon", "flag"),
}
PLACES = ("stop_id", *ENDS)
MOMENTS = tuple(DATES)
# Rows of one rider that lie closer together are positions, not boardings.
POINTS_APART_SECONDS = 300
MOST = 0.8
# So few different values are kinds of something.
FEW = 12
_ENTRIES = (
    "in",
    "on",
    "enter",
    "entry",
    "check",
    "board",
    "einstieg",
    "montee",
    "subida",
    "instap",
    "validation",
)


@dataclass(frozen=True)
class ColumnGuess:
    """One of our columns, the name that it has in the file, and the reason."""

    ours: str
    theirs: str
    why: str

    def __str__(self) -> str:
        return f"`{self.theirs}` is {self.ours}" + (f" ({self.why})" if self.why else "")


@dataclass(frozen=True)
class Doubt:
    """Two readings that explain a file equally well: the key of the plan that settles it, and its values."""

    question: str
    key: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Recognised:
    """What a table seems to be."""

    reading: Reading
    rows: Kind | None = None
    why: str = ""
    columns: tuple[ColumnGuess, ...] = ()
    notes: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    boardings: tuple[str, ...] = ()
    missing: dict[str, list[str]] = field(default_factory=dict)
    unread: tuple[str, ...] = ()


def recognise(
    table: SourceTable, world: World | None, said: dict[str, str], rows: Kind | None = None
) -> Recognised:
    """Look at the first rows of a table, and at all of its times. `said` are columns that somebody named."""
    head = table.head()
    profiler = Profiler(world)
    profiles = {name: profiler.of(head[name]) for name in head.columns}
    chosen = _assign(profiles, said, world)
    kind, why = (rows, "you said so") if rows else _kind(chosen, head, profiles)
    if kind is None:
        return Recognised(table.reading, missing=_missing(chosen), why=why, unread=tuple(head.columns))
    lone = _lone_time(kind, chosen)
    chosen = _only_used(kind, chosen, profiles)
    places = _called(chosen, profiles)
    times, doubts = _times(table, chosen, profiles, profiler)
    zone, notes = _zone(times, chosen, profiles, world)
    times = "iso" if times == "seconds" and zone is None else times
    boardings = _boardings(head, chosen, profiles) if kind == "taps" else ()
    if kind == "taps" and "action" in chosen and not boardings:
        chosen.pop("action")
    reading = replace(table.reading, columns=chosen, times=times, places=places, zone=zone)
    columns = tuple(
        ColumnGuess(our, their, _reason(our, profiles[their], times, world)) for our, their in chosen.items()
    )
    unread = tuple(name for name in head.columns if name not in chosen.values() and name != "wayveil_marks")
    return Recognised(reading, kind, why, columns, (*lone, *notes), doubts, boardings, unread=unread)


def _assign(profiles: dict[str, Profile], said: dict[str, str], world: World | None) -> dict[str, str]:
    """Map ours to theirs: the best column of those that may be each of ours."""
    candidates: dict[str, list[str]] = {}
    for name, profile in profiles.items():
        if name in said.values() or profile.filled == 0:
            continue
        ours = _by_values(name if name in _ALL else column_for(name), profile, world)
        if ours is not None:
            candidates.setdefault(ours, []).append(name)
    chosen = {
        ours: max(names, key=lambda name: _score(ours, profiles[name])) for ours, names in candidates.items()
    }
    chosen = {**chosen, **said}
    _mend_ends(chosen, candidates, profiles)
    _fill_unnamed(chosen, profiles, world)
    return chosen


_ALL = {name for used in USED.values() for name in used}


def _by_values(ours: str | None, profile: Profile, world: World | None) -> str | None:
    """Correct what a name says by what the values are: times under the name of a place, dates that have clocks."""
    if ours in PLACES and profile.time > MOST and profile.place < MOST:
        return {"stop_id": "event_time", "origin": "start", "destination": "end"}[ours]
    if ours in PLACES and profile.date > MOST and profile.place < MOST:
        return {"stop_id": "service_date", "origin": "start_date", "destination": "end_date"}[ours]
    if ours == "trip_id" and profile.moments and profile.clocks > MOST:
        return "event_time"  # `tid` is a trip of some tools, and the time in the north
    if ours == "rider_id" and "unknown" in meanings(profile.name) and profile.distinct <= FEW:
        return None  # `member_casual`, `passenger class`: kinds of people
    if ours in MOMENTS:
        if profile.date > MOST:
            return DATES[ours]
        return ours if profile.time > 0.5 or profile.clocks > 0.5 else None
    if ours in DATES.values():
        if profile.time > MOST:
            return next(time for time, date in DATES.items() if date == ours)
        return ours if profile.date > 0.5 else None
    if ours in ("lat", "lon") or (ours or "").endswith(("_lat", "_lon")):
        return ours if profile.degrees > 0.5 else None
    return ours


def _score(ours: str, profile: Profile) -> tuple[float, float]:
    """Rank columns that may be the same of ours."""
    said = meanings(profile.name)
    named = ("id" in said) + 2 * (profile.name == ours)
    if ours in PLACES:
        return (round(profile.place, 2), named - ("name" in said))
    if ours in MOMENTS:
        return (round(max(profile.time, profile.clocks / 2), 2), named - ("unknown" in said))
    if ours == "rider_id":
        return (named + (profile.distinct > 1), profile.filled)
    return (named, profile.filled)


def _mend_ends(
    chosen: dict[str, str], candidates: dict[str, list[str]], profiles: dict[str, Profile]
) -> None:
    """Settle what two names say only together: a `stoptime` beside a `starttime`, an arrival at a single stop."""
    if "start" in chosen and "end" not in chosen:
        ends = [name for name in candidates.get("event_time", []) if "stop" in meanings(name)]
        if ends:
            chosen["end"] = ends[0]
            chosen.pop("event_time", None)
    for end, other in (ENDS, ENDS[::-1]):
        # Boardings name one end only: it is the stop.
        alone = not {other, f"{other}_lat"} & set(chosen)
        for part, ours in (("", "stop_id"), ("_lat", "lat"), ("_lon", "lon")):
            if alone and ours not in chosen and f"{end}{part}" in chosen:
                chosen[ours] = chosen.pop(f"{end}{part}")
    paired = "origin" in chosen or "origin_lat" in chosen
    if not paired and "stop_id" in chosen:
        for ours, of_end in (("event_time", "end"), ("event_time", "start"), ("service_date", "start_date")):
            if ours not in chosen and of_end in chosen:
                chosen[ours] = chosen.pop(of_end)
    if (
        not paired
        and "stop_id" not in chosen
        and "start" in chosen
        and "event_time" not in chosen
        and "end" not in chosen
    ):
        chosen["event_time"] = chosen.pop("start")
    # One date beside two clocks is the date of both.
    for ours in ("start", "end"):
        bare = ours in chosen and profiles[chosen[ours]].clocks > MOST and DATES[ours] not in chosen
        if bare and "service_date" in chosen:
            chosen[DATES[ours]] = chosen["service_date"]
    if (
        "event_time" in chosen
        and profiles[chosen["event_time"]].clocks > MOST
        and "service_date" not in chosen
    ):
        dates = [date for date in ("start_date", "end_date") if date in chosen]
        if dates and "start" not in chosen:
            chosen["service_date"] = chosen.pop(dates[0])


def _fill_unnamed(chosen: dict[str, str], profiles: dict[str, Profile], world: World | None) -> None:
    """Take columns whose names say nothing by their values, in the order in which they stand."""
    free = [p for name, p in profiles.items() if name not in chosen.values() and column_for(name) is None]
    if not any(each in chosen for each in (*PLACES, "lat", "origin_lat")):
        places = [p.name for p in free if p.place > 0.9 and p.distinct > 1]
        if len(places) >= 2:
            chosen["origin"], chosen["destination"] = places[:2]
        elif places:
            chosen["stop_id"] = places[0]
        else:
            _unnamed_coordinates(chosen, [p for p in free if p.degrees > 0.9], profiles)
    if not any(each in chosen for each in MOMENTS):
        times = [p.name for p in free if p.time > 0.95 and p.name not in chosen.values()]
        if len(times) >= 2 and "origin" in chosen:
            chosen["start"], chosen["end"] = times[:2]
        elif times:
            chosen["event_time"] = times[0]


def _unnamed_coordinates(chosen: dict[str, str], free: list[Profile], profiles: dict[str, Profile]) -> None:
    if len(free) == 2:
        chosen["lat"], chosen["lon"] = free[0].name, free[1].name


def _kind(
    chosen: dict[str, str], head: pl.DataFrame, profiles: dict[str, Profile]
) -> tuple[Kind | None, str]:
    """Return what a row seems to be, and why."""

    def named(*ours: str) -> str:
        return ", ".join(f"`{chosen[each]}`" for each in ours if each in chosen)

    ends = all(end in chosen or {f"{end}_lat", f"{end}_lon"} <= set(chosen) for end in ENDS)
    if ends and not {"trip_id", "stop_id", "event_time"} <= set(chosen):
        return (
            "pairs",
            f"every row has an origin and a destination ({named('origin', 'destination', 'origin_lat')})",
        )
    if "stop_id" in chosen and "trip_id" in chosen:
        return "calls", f"rows name a trip and a stop ({named('trip_id', 'stop_id')})"
    located = {"lat", "lon"} <= set(chosen)
    if located and "stop_id" not in chosen and {"event_time", "trip_id"} & set(chosen):
        if "trip_id" in chosen or _close_together(head, chosen):
            return "points", f"rows are positions ({named('lat', 'lon')}) that follow each other closely"
        return "taps", f"rows have coordinates and a time ({named('lat', 'lon', 'event_time')}), hours apart"
    if "event_time" in chosen and ("stop_id" in chosen or located):
        return "taps", f"rows have a stop and a time and name no trip ({named('stop_id', 'event_time')})"
    return None, "its columns say neither trips nor boardings nor positions"


def _close_together(head: pl.DataFrame, chosen: dict[str, str]) -> bool:
    """Tell whether the rows of one rider usually lie minutes apart, as positions do."""
    from wayveil.sources.moments import parse_moments

    text = head[chosen["event_time"]].cast(pl.String)
    seconds = text.cast(pl.Int64, strict=False)
    if "service_date" in chosen:
        seconds = parse_moments(text, clock_alone=True)["second"]
    if seconds.null_count() == len(seconds):
        moments = max(
            (parse_moments(text, order) for order in ORDERS), key=lambda m: -m["second"].null_count()
        )
        seconds = moments["day"].fill_null(0) * 86_400 + moments["second"]
    who = (
        head[chosen["rider_id"]].cast(pl.String)
        if "rider_id" in chosen
        else pl.Series(["-"]).new_from_index(0, len(head))
    )
    frame = pl.DataFrame({"who": who, "at": seconds}).drop_nulls().sort("who", "at")
    gap = frame.select(pl.col("at").diff().over("who")).to_series().drop_nulls()
    usual = gap.median()
    return usual is not None and float(usual) < POINTS_APART_SECONDS and "rider_id" in chosen  # type: ignore[arg-type]


def _only_used(kind: Kind, chosen: dict[str, str], profiles: dict[str, Profile]) -> dict[str, str]:
    """Keep the columns that a kind has a use for; coordinates only where places are not named."""
    used = {ours: chosen[ours] for ours in USED[kind] if ours in chosen}
    for end in ENDS:
        if end in used and f"{end}_lat" in used:
            known = profiles[used[end]].place
            drop = [end] if known < 0.5 and profiles[used[f"{end}_lat"]].degrees > 0.5 and known < 1 else []
            for each in drop or [f"{end}_lat", f"{end}_lon"]:
                used.pop(each, None)
    if kind == "taps" and "stop_id" in used:
        for each in ("lat", "lon"):
            used.pop(each, None)
    for time, date in DATES.items():
        alone = time not in used or profiles[used[time]].clocks < 0.5
        if date in used and alone:
            used.pop(date)
    if kind == "pairs" and "start" not in used:
        for each in ("end", "end_date"):
            used.pop(each, None)
    return used


def _lone_time(kind: Kind, chosen: dict[str, str]) -> list[str]:
    """Say what pairs with one time of two are read with."""
    if kind != "pairs" or ("start" in chosen) == ("end" in chosen):
        return []
    if "start" in chosen:
        return [
            f"`{chosen['start']}` is the start of rides, and no column is their end: hours are those in which rides "
            "begin, and both visits of a ride carry that time"
        ]
    return [
        f"NO TIMES: `{chosen['end']}` is the end of rides, and no column is their start, so nothing can be asked by "
        "hour; name the start with --map start=COLUMN"
    ]


def _missing(chosen: dict[str, str]) -> dict[str, list[str]]:
    """Return what each kind of rows still lacks."""
    needs: dict[str, tuple[str, ...]] = {
        "pairs": ("origin", "destination"),
        "calls": ("trip_id", "stop_id"),
        "taps": ("event_time", "stop_id"),
        "points": ("event_time", "lat", "lon", "rider_id"),
    }
    return {kind: [each for each in wanted if each not in chosen] for kind, wanted in needs.items()}


def _called(chosen: dict[str, str], profiles: dict[str, Profile]) -> str:
    named = [profiles[chosen[each]] for each in PLACES if each in chosen]
    if not named or all(profile.places.get("id", 0) >= 0.5 for profile in named):
        return "id"
    return max(("id", "code", "name"), key=lambda kind: sum(p.places.get(kind, 0) for p in named))


def _times(
    table: SourceTable, chosen: dict[str, str], profiles: dict[str, Profile], profiler: Profiler
) -> tuple[str, tuple[Doubt, ...]]:
    """Return how the times are written; where the order of dates cannot be told, what to ask."""
    apart = [chosen[date] for date in DATES.values() if date in chosen]
    names = list(dict.fromkeys([chosen[each] for each in MOMENTS if each in chosen] + apart))
    # Days after the 12th may come late in a file: all of it is looked at.
    dated = [name for name in names if profiles[name].date > MOST or profiles[name].time > 0.5]
    whole = [profiler.of(table.column(name)) for name in dated if not profiles[name].typed]
    if not whole:
        return "iso", ()
    numbers = {unit: min(p.numbers.get(unit, 0.0) for p in whole) for unit in whole[0].numbers}
    unit = max(numbers, key=lambda each: numbers[each], default=None)
    if unit is not None and numbers[unit] > 0.5 and numbers[unit] >= min(p.time for p in whole):
        return unit, ()
    if not apart and all(p.iso >= max(p.moments.values(), default=0.0) for p in whole):
        return "iso", ()
    share = {o: sum(max(p.moments.get(o, 0.0), p.dates.get(o, 0.0)) for p in whole) for o in ORDERS}
    best = max(share.values())
    fitting = [order for order in ORDERS if share[order] >= best - 1e-9]
    differ = [text for p in whole for text in p.differ]
    if not differ or "year-month-day" in fitting:
        return fitting[0], ()
    orders = tuple(order for order in fitting if order != "year-month-day")
    if len(orders) == 1 or all(p.dotted > 0.5 for p in whole):
        return ("day.month.year" if len(orders) > 1 else orders[0]), ()
    question = (
        f"{differ[0]!r} in `{whole[0].name}` may be day/month or month/day: no day after the 12th tells"
    )
    return orders[0], (Doubt(question, "times", orders),)


def _zone(
    times: str, chosen: dict[str, str], profiles: dict[str, Profile], world: World | None
) -> tuple[str | None, list[str]]:
    """Return the zone that times with a zone, and numbers since 1970, are put on: that of the feed."""
    named = [profiles[chosen[each]] for each in MOMENTS if each in chosen]
    counted = any(max([0.0, *p.numbers.values()]) > 0.5 for p in named) and times != "excel-days"
    if not named or not (counted or any(p.zoned > 0.5 for p in named)):
        return None, []
    zone = getattr(world, "zone", None)
    what = "count seconds from 1970 in UTC" if counted else "name a zone"
    if zone is not None:
        return zone, [f"times {what}: they are put on the clock of {zone}, the zone of the feed"]
    return None, [
        f"times {what} and are taken as they stand; for the city's clock add --with zone=Europe/Berlin"
    ]


def _boardings(head: pl.DataFrame, chosen: dict[str, str], profiles: dict[str, Profile]) -> tuple[str, ...]:
    """Return the values of `action` that are boardings, where others are not; names the column that has both."""
    free = [name for name in head.columns if name not in chosen.values() or chosen.get("action") == name]
    for name in free:
        # Rows without the word would be dropped as no boardings: nearly all must have it.
        if not 2 <= profiles[name].distinct <= FEW or profiles[name].filled < 0.95:
            continue
        values = head[name].cast(pl.String).drop_nulls().unique().sort().to_list()
        entering = [value for value in values if column_for(f"{value} stop") == "origin"]
        if entering and any(column_for(f"{value} stop") == "destination" for value in values):
            chosen["action"] = name
            return tuple(entering)
    return ()


def _reason(ours: str, profile: Profile, times: str, world: World | None) -> str:
    if ours in (*MOMENTS, *DATES.values()):
        if profile.typed:
            return "moments"
        order = "year-month-day" if times == "iso" else times
        share = max(profile.moments.get(order, 0.0), profile.dates.get(order, 0.0), profile.clocks)
        share = max(share, profile.numbers.get("seconds" if times == "iso" else times, 0.0))
        return f"{share:.1%} are {'clocks' if profile.clocks > 0.5 else times}".replace("100.0%", "all")
    if ours in PLACES and world is not None:
        kind = profile.called()
        word = {"id": "places of the world", "code": "codes of its places", "name": "names of its places"}[
            kind
        ]
        return f"{profile.place:.1%} are {word}".replace("100.0%", "all")
    return ""
