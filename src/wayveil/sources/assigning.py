"""Which column of a table is which of ours: names speak first, values second; columns without names by values alone."""

import re
from dataclasses import replace
from typing import Literal

import polars as pl

from wayveil.sources.column_names import DATES
from wayveil.sources.header_words import MEANING, column_for, end_of, meanings
from wayveil.sources.profiles import Profile
from wayveil.sources.reading import ENDS
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
MOST = 0.8
# How readers of text and of sheets call a second column of one name, behind that name.
TWICE = ("_duplicated_0", "_1")
# So few different values are kinds of something.
FEW = 12
_COUNT = re.compile(
    r"(?:^|[\W_])(?:n|counts?|quantity|qty|volume|flow|pax|ridership|fahrten|entries|anzahl|cantidad|aantal)(?:$|[\W_])"
)


def assign_columns(
    head: pl.DataFrame,
    profiles: dict[str, Profile],
    said: dict[str, str],
    world: World | None,
    rows: Kind | None = None,
) -> dict[str, str]:
    """Map ours to theirs: the best column of those that may be each of ours; `rows` if somebody said what they are."""
    candidates: dict[str, list[str]] = {}
    for name, profile in profiles.items():
        if name in said.values() or profile.filled == 0:
            continue
        ours = by_values(name if name in _ALL else column_for(name), profile)
        if ours is not None:
            candidates.setdefault(ours, []).append(name)
    named = [said[ours] for ours in MOMENTS if ours in said]
    for name in (*named, *(name for ours in MOMENTS for name in candidates.get(ours, ()))):
        if name in profiles and profiles[name].clock:  # those with colons are better where there are both
            profiles[name] = replace(profiles[name], clocks=0.9)
    chosen = {
        ours: max(names, key=lambda name: score(ours, profiles[name])) for ours, names in candidates.items()
    }
    stops = profiles[chosen["stop_id"]] if {"stop_id", "lat", "lon"} <= set(chosen) else None
    if stops is not None and stops.places and stops.place < 0.05:
        chosen.pop("stop_id")  # `location_ping_id`: coordinates say where
    for place, ours in (("origin", "origin_"), ("destination", "destination_"), ("stop_id", "")):
        if place in chosen and profiles[chosen[place]].pairs > MOST:
            their = chosen.pop(place)
            chosen.update({f"{ours}lat": their, f"{ours}lon": their})
    _take_whole(chosen, profiles)
    chosen = {**chosen, **said}
    _pair_up(chosen, candidates, profiles, second_place(chosen, profiles, head), rows)
    _mend_ends(chosen, candidates, profiles)
    _fill_unnamed(chosen, profiles, world)
    return chosen


def _take_whole(chosen: dict[str, str], profiles: dict[str, Profile]) -> None:
    """Take cells that hold a whole track, or two places where no column holds one."""
    for name, profile in profiles.items():
        ours: tuple[str, ...] = ("lat", "lon") if profile.tracks > MOST else ()
        if max(profile.two.values(), default=0.0) > MOST and not {*PLACES, "origin_lat"} & set(chosen):
            ours = ENDS
        for other in [other for other, their in chosen.items() if ours and their == name]:
            chosen.pop(other)
        chosen.update(dict.fromkeys(ours, name))


_ALL = {name for used in USED.values() for name in used}


def by_values(ours: str | None, profile: Profile) -> str | None:
    """Correct what a name says by what the values are: times under the name of a place, dates that have clocks."""
    if is_count(profile):
        return None
    if ours in PLACES and max(profile.time, profile.clocks) > MOST and profile.place < MOST:
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
        return ours if profile.time > 0.5 or profile.clocks > 0.5 or profile.clock else None
    if ours in DATES.values():
        if profile.time > MOST:
            return next(time for time, date in DATES.items() if date == ours)
        return ours if profile.date > 0.5 else None
    if ours in ("lat", "lon") or (ours or "").endswith(("_lat", "_lon")):
        return ours if profile.degrees > 0.5 else None
    return ours


def is_count(profile: Profile) -> bool:
    """Tell whether a column counts people or rides: small numbers under their plural, or a name that says so."""
    name = profile.name.strip().lower()
    last = re.split(r"[\W_]+", name)[-1]
    plural = last not in MEANING and MEANING.get(last.removesuffix("s")) in ("rider", "trip", *ENDS)
    return 0 < profile.size < 1_000 and (plural or _COUNT.search(name) is not None)


def score(ours: str, profile: Profile) -> tuple[float, float]:
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


def second_place(chosen: dict[str, str], profiles: dict[str, Profile], head: pl.DataFrame) -> str | None:
    """Return a column of other places than those of the one that is known for a place, where only one end is."""
    known = [chosen[each] for each in PLACES if each in chosen]
    if "stop_id" in chosen and len(known) == 2 and profiles[known[1]].place > 0.9:
        return known[1]
    for name, profile in profiles.items() if len(known) == 1 else ():
        if profile.place > 0.9 and profile.distinct > FEW and name not in chosen.values():
            both = head.select(known[0], name).drop_nulls()
            if both.n_unique() > max(both[known[0]].n_unique(), both[name].n_unique()):
                return name  # where one tells the other, they are two names of one place
    return None


def _pair_up(
    chosen: dict[str, str],
    candidates: dict[str, list[str]],
    profiles: dict[str, Profile],
    second: str | None,
    rows: Kind | None,
) -> None:
    """Take two columns of one name, or of rows that are said to be rides, for their two ends, as they stand; and two
    times of rides for their start and end.
    """
    known = next((chosen[each] for each in PLACES if each in chosen), "")
    if second is not None and (rows == "pairs" or second in [f"{known}{mark}" for mark in TWICE]):
        first, last = (name for name in profiles if name in (known, second))
        turned = chosen.get("origin") == last or chosen.get("destination") == first
        for each in PLACES:
            chosen.pop(each, None)
        chosen.update(zip(ENDS, (last, first) if turned else (first, last), strict=True))
        times = [p.name for p in profiles.values() if max(p.time, p.clocks) > 0.95 and not p.place]
    else:
        times = candidates.get("event_time", [])
    if set(ENDS) <= set(chosen) and len(times) == 2 and not {"start", "end"} <= set(chosen):
        chosen.pop("event_time", None)
        chosen.update(zip(("start", "end"), times, strict=True))


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
    one_time = {*ENDS, "event_time"} <= set(chosen) and not {"start", "end", "stop_id"} & set(chosen)
    if one_time and "unknown" not in meanings(chosen["event_time"]):  # not `export_time`
        chosen["start"] = chosen.pop("event_time")
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
        degrees = [p for p in free if p.degrees > 0.9]
        both = [p.name for p in free if p.pairs > 0.9]
        if len(both) == 1:
            chosen["lat"] = chosen["lon"] = both[0]
        elif len(places) >= 2:
            chosen["origin"], chosen["destination"] = _two_ends(places)
        elif places:
            chosen["stop_id"] = places[0]
        elif len(degrees) == 2:
            chosen["lat"], chosen["lon"] = (p.name for p in _north_first(degrees, world))
    if not any(each in chosen for each in MOMENTS):
        taken = set(chosen.values())
        times = [p.name for p in free if p.time > 0.95 and p.name not in taken]
        clocks = [p.name for p in free if p.clocks > 0.95 and ":" in p.example and "lat" in chosen]
        if len(times) >= 2 and "origin" in chosen:
            chosen["start"], chosen["end"] = _two_ends(times)
        elif times or clocks:
            chosen["event_time"] = (times or clocks)[0]
    if {"lat", "event_time"} <= set(chosen) and "column_1" in profiles and "column_1" not in chosen.values():
        chosen.setdefault("rider_id", "column_1")  # as positions of many are written, without a header


def _two_ends(names: list[str]) -> list[str]:
    """Return the first columns that name an origin and a destination; the first two where none do."""
    ends = [[name for name in names if end_of(name) == end] for end in ENDS]
    return [found[0] for found in ends] if all(ends) else names[:2]


def _north_first(pair: list[Profile], world: World | None) -> list[Profile]:
    """Order two columns of degrees as latitude and longitude: by the box of the world, or the larger one last."""
    lat, lon = (getattr(world, axis, None) for axis in ("lat", "lon"))
    if lat is None or lon is None:
        return pair[::-1] if pair[0].size > 90 else pair
    north, east = float(abs(lat).mean()), float(abs(lon).mean())
    off = [abs(a.size - north) + abs(b.size - east) for a, b in (pair, pair[::-1])]
    return pair if off[0] <= off[1] else pair[::-1]


def only_used(kind: Kind, chosen: dict[str, str], profiles: dict[str, Profile]) -> dict[str, str]:
    """Keep the columns that a kind has a use for; coordinates only where places are not named."""
    if kind == "points" and "vehicle_id" in chosen and not {"rider_id", "trip_id"} & set(chosen):
        chosen["rider_id"] = chosen["vehicle_id"]
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


def lacking_columns(chosen: dict[str, str]) -> dict[str, list[str]]:
    """Return what each kind of rows still lacks."""
    needs: dict[str, tuple[str, ...]] = {
        "pairs": ("origin", "destination"),
        "calls": ("trip_id", "stop_id"),
        "taps": ("event_time", "stop_id"),
        "points": ("event_time", "lat", "lon", "rider_id"),
    }
    return {kind: [each for each in wanted if each not in chosen] for kind, wanted in needs.items()}
