"""Recognition of a table: which column is which of ours, how times and places are written, and what a row is.

For `wayveil check` alone, which shows it and writes it into the plan. Names of columns speak first, values second, and
what two readings explain equally well is asked, never chosen.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from wayveil.sources.assigning import (
    FEW,
    MOMENTS,
    MOST,
    PLACES,
    USED,
    Kind,
    assign_columns,
    lacking_columns,
    only_used,
    second_place,
)
from wayveil.sources.cells import JOINT, guess_joints, is_half, joined
from wayveil.sources.column_names import DATES
from wayveil.sources.doubts import (
    Doubt,
    ask,
    ask_day,
    ask_half_days,
    ask_step,
    ask_times,
    ask_which,
    leave_out_runs,
    lone_time,
    moments_of,
    odd_columns,
)
from wayveil.sources.header_words import end_of
from wayveil.sources.moments import ORDERS
from wayveil.sources.opening import FILE, LOOKED_AT, NOTHING, SourceTable, with_joints
from wayveil.sources.profiles import Profile, Profiler
from wayveil.sources.reading import ENDS, Reading
from wayveil.world.world import World

# Rows of one rider that lie closer together are positions, not boardings.
POINTS_APART_SECONDS = 300


@dataclass(frozen=True)
class ColumnGuess:
    """One of our columns, the name that it has in the file, and the reason."""

    ours: str
    theirs: str
    why: str

    def __str__(self) -> str:
        return f"`{self.theirs}` is {self.ours}" + (f" ({self.why})" if self.why else "")


@dataclass(frozen=True)
class Recognised:
    """Guess at what a table is."""

    reading: Reading
    rows: Kind | None = None
    why: str = ""
    columns: tuple[ColumnGuess, ...] = ()
    notes: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    boardings: tuple[str, ...] = ()
    missing: dict[str, list[str]] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    undated: bool = False


def recognise(
    table: SourceTable,
    world: World | None,
    said: dict[str, str],
    rows: Kind | None = None,
    entering: Sequence[str] | None = None,
) -> Recognised:
    """Look at the first rows of a table, and at all of its times. `said` are columns that somebody named, `entering`
    the words of boardings if somebody said them.
    """
    # Columns that are not there are refused.
    _ = replace(table, reading=replace(table.reading, columns=said)).theirs
    profiler = Profiler(world)
    table, head, profiles = _with_joints(table, profiler, said)
    chosen = assign_columns(head, profiles, said, world, rows)
    if len(table.parts) > 1 and not table.reading.header and "lat" in chosen and "rider_id" not in chosen:
        chosen["rider_id"] = FILE
    profiles |= {FILE: Profile(FILE, 1.0, len(table.parts)), NOTHING: Profile(NOTHING)}
    boardings = _boardings(head, chosen, profiles, entering)
    kind, why = (rows, "you said so") if rows else _kind(chosen, head, profiles, entering=bool(boardings))
    if kind is None:
        near = _near(head, chosen, profiles, world)
        return Recognised(table.reading, None, why, notes=near, missing=lacking_columns(chosen))
    second = second_place(chosen, profiles, head)
    lone = lone_time(kind, chosen)
    chosen = only_used(kind, chosen, profiles)
    odd = leave_out_runs(head, chosen) if kind == "pairs" and "trip_id" not in said else []
    if table.reading.times == "none":
        chosen = {our: their for our, their in chosen.items() if our not in (*DATES, *DATES.values())}
    seen = len(head) < LOOKED_AT // len(table.parts)
    times, doubts = _times(table, chosen, profiles, None if seen else profiler)
    zone, notes = _zone(times, chosen, profiles, world)
    undated = _undated(chosen, profiles)
    notes += [
        f"`{name}` has no date: rows are taken as those of one day, whatever their days were"
        for name in undated
    ]
    times = "iso" if times == "seconds" and zone is None else times
    boardings = boardings if kind == "taps" else ()
    if kind == "taps" and "action" in chosen and not boardings:
        chosen.pop("action")
    reading = replace(table.reading, columns=chosen, times=times, places=_called(chosen, profiles), zone=zone)
    scale = next((profiles[chosen[our]].scale for our in ("lat", "origin_lat") if our in chosen), "")
    reading = replace(reading, decimal=scale or reading.decimal)
    forms = {profiles[their].clock for our, their in chosen.items() if our in MOMENTS} - {""}
    reading = replace(reading, clock=forms.pop()) if len(forms) == 1 else reading
    if not boardings:
        doubts += ask(head, chosen, profiles, kind, second)
    doubts += ask_which(head, chosen, profiles, USED[kind]) + ask_step(chosen, profiles)
    doubts += ask_half_days(chosen, profiles) + ask_day(undated if kind != "taps" else [], profiles)
    if kind != "taps" and table.reading.times != "none" and not lone:
        doubts += ask_times(chosen, profiles)
    columns = tuple(
        ColumnGuess(our, their, _reason(our, profiles[their], times, world)) for our, their in chosen.items()
    )
    unread = tuple(name for name in head.columns if name not in chosen.values() and name != "wayveil_marks")
    notes += [*odd, *odd_columns(head, chosen, profiles)]
    return Recognised(
        reading, kind, why, columns, (*lone, *notes), doubts, boardings, unread=unread, undated=bool(undated)
    )


def _with_joints(
    table: SourceTable, profiler: Profiler, said: dict[str, str]
) -> tuple[SourceTable, pl.DataFrame, dict[str, Profile]]:
    """Return the table, its first rows and their profiles, with columns that are one (see `cells`) as one."""
    head = table.head()
    profiles = {name: profiler.of(head[name]) for name in head.columns}
    names = [each for each in guess_joints(head.columns) if not {*each.split(JOINT)} & {*said.values()}]
    clocks: list[str] = []
    for name in head.columns:
        if profiles[name].clocks > MOST or profiles[name].time > MOST:
            clocks.append(name)
        elif clocks and profiles[name].distinct <= 4 and is_half(head[name]):
            names.append(JOINT.join((clocks[-1], name)))
    parts = {part for name in names for part in name.split(JOINT)}
    head = head.with_columns(joined(head, name) for name in names).drop(parts)
    table = replace(table, parts=tuple(with_joints(part, names) for part in table.parts))
    return table, head, {name: profiles.get(name) or profiler.of(head[name]) for name in head.columns}


def _near(
    head: pl.DataFrame, chosen: dict[str, str], profiles: dict[str, Profile], world: World | None
) -> tuple[str, ...]:
    """Say what comes nearest to places and times where rows are not known."""
    likely = max(head.columns, key=lambda name: profiles[name].place)
    place = (
        (f"`{likely}`: {_reason('stop_id', profiles[likely], 'iso', world)}",)
        if profiles[likely].place
        else ()
    )
    return (*place, *(doubt.question for doubt in ask_times(chosen, profiles)))


def _kind(
    chosen: dict[str, str], head: pl.DataFrame, profiles: dict[str, Profile], *, entering: bool
) -> tuple[Kind | None, str]:
    """Return what a row seems to be, and why; `entering`: words of a column say which rows begin and end rides."""

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
        whole = profiles[chosen["lat"]].tracks > 0.5
        if not entering and ("trip_id" in chosen or whole or _close_together(head, chosen)):
            return "points", f"rows are positions ({named('lat', 'lon')}) that follow each other closely"
        return "taps", f"rows have coordinates and a time ({named('lat', 'lon', 'event_time')})"
    if "event_time" in chosen and ("stop_id" in chosen or located):
        return "taps", f"rows have a stop and a time and name no trip ({named('stop_id', 'event_time')})"
    return None, "its columns say neither trips nor boardings nor positions"


def _close_together(head: pl.DataFrame, chosen: dict[str, str]) -> bool:
    """Tell whether the rows of one rider usually lie minutes apart, as positions do."""
    frame = moments_of(head, chosen).drop_nulls().sort("who", "at")
    gap = frame.select(pl.col("at").diff().over("who")).to_series().drop_nulls()
    usual = gap.median()
    return usual is not None and float(usual) < POINTS_APART_SECONDS and "rider_id" in chosen  # type: ignore[arg-type]


def _undated(chosen: dict[str, str], profiles: dict[str, Profile]) -> list[str]:
    """Return the first column of clocks that no column of dates stands beside."""
    clocks = [their for our, their in chosen.items() if our in MOMENTS and profiles[their].clocks > 0.5]
    return [] if set(DATES.values()) & set(chosen) else clocks[:1]


def _called(chosen: dict[str, str], profiles: dict[str, Profile]) -> str:
    named = [profiles[chosen[each]] for each in PLACES if each in chosen]
    if not named or all(profile.places.get("id", 0) >= 0.5 for profile in named):
        return "id"
    shares = [{**p.places, **p.two} for p in named]
    return max(("id", "code", "name"), key=lambda kind: sum(each.get(kind, 0) for each in shares))


def _times(
    table: SourceTable, chosen: dict[str, str], profiles: dict[str, Profile], profiler: Profiler | None
) -> tuple[str, tuple[Doubt, ...]]:
    """Return how the times are written; where the order of dates cannot be told, what to ask. With `profiler`, the
    profiles are of the first rows alone.
    """
    apart = [chosen[date] for date in DATES.values() if date in chosen]
    names = list(dict.fromkeys([chosen[each] for each in MOMENTS if each in chosen] + apart))
    # Days after the 12th may come late in a file: all of it is looked at.
    dated = [each for each in map(profiles.__getitem__, names) if each.date > MOST or each.time > 0.5]
    whole = [each for each in dated if not each.typed]
    whole = whole if profiler is None else [profiler.of(table.column(each.name)) for each in whole]
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
    if not differ or len(fitting) == 1:
        return fitting[0], ()
    if all(p.dotted > 0.5 for p in whole):
        return "day.month.year", ()
    ways = " or ".join(order.replace(".", "/").removesuffix("/year") for order in fitting)
    question = f"{differ[0]!r} in `{whole[0].name}` may be {ways}: no row tells"
    return fitting[0], (Doubt(question, "times", tuple(fitting)),)


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


def _boardings(
    head: pl.DataFrame,
    chosen: dict[str, str],
    profiles: dict[str, Profile],
    said: Sequence[str] | None,
) -> tuple[str, ...]:
    """Return the values of `action` that are boardings, where others are not; names the column that has both."""
    marks = (chosen.get("action"), chosen.get("flag"))
    free = [name for name in head.columns if name not in chosen.values() or name in marks]
    for name in free:
        # Rows without the word would be dropped as no boardings: nearly all must have it.
        if not 2 <= profiles[name].distinct <= FEW or profiles[name].filled < 0.95:
            continue
        values = head[name].cast(pl.String).drop_nulls()
        ends = {value: end_of(value) for value in sorted(set(values))}
        entering = [value for value, end in ends.items() if end == "origin"]
        if said and set(said) <= set(ends):
            chosen["action"] = name
        if said is not None:
            continue
        both = [value for value, end in ends.items() if end in ENDS]
        # A few rows of a track that say that it begins and ends are no boardings.
        if entering and len(both) > len(entering) and values.is_in(both).sum() > len(values) / 2:
            chosen["action"] = name
            return tuple(entering)
    return tuple(said or ())


def _reason(ours: str, profile: Profile, times: str, world: World | None) -> str:
    if ours in (*MOMENTS, *DATES.values()):
        if profile.typed:
            return "moments"
        order = "year-month-day" if times == "iso" else times
        share = max(profile.moments.get(order, 0.0), profile.dates.get(order, 0.0), profile.clocks)
        share = max(share, profile.numbers.get("seconds" if times == "iso" else times, 0.0))
        if profile.clock:
            return f"whole numbers: {profile.clock}" + " since midnight" * (
                profile.clock in ("seconds", "minutes")
            )
        return f"{share:.1%} are {'clocks' if profile.clocks > 0.5 else times}".replace("100.0%", "all")
    if ours in PLACES and world is not None:
        kind = profile.called()
        word = {"id": "places of the world", "code": "codes of its places", "name": "names of its places"}[
            kind
        ]
        return f"{profile.place:.1%} are {word}".replace("100.0%", "all")
    return ""
