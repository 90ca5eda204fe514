"""Doubts about a table, which only a person can settle, and what is odd about its columns."""

import re
from dataclasses import dataclass

import polars as pl

from wayveil.sources.assigning import FEW, Kind, by_values, is_count, score
from wayveil.sources.column_names import DATES
from wayveil.sources.header_words import column_for, meanings
from wayveil.sources.moments import parse_moments, parse_orders
from wayveil.sources.opening import FILE, NOTHING
from wayveil.sources.profiles import Profile
from wayveil.sources.reading import ENDS

Profiles = dict[str, Profile]
# Trips that several riders share are trips of vehicles where they are more than this share of all.
SHARED = 0.2
# Of so many rows one id may have too many.
_CROWD = 100
# Values that take turns in so large a share of at least so many rows after another of the same rider.
MOST_TURNS, FEW_TURNS = 0.9, 20
FEW_ROUNDED = 0.05
# Names of columns whose two values take turns because people go there and back.
_WAYS = re.compile(r"(?i)direction|richtung|direcc|sentido|sens|inbound|outbound")


@dataclass(frozen=True)
class Doubt:
    """Two readings that explain a file equally well: the key of the plan that settles it, and its values."""

    question: str
    key: str
    values: tuple[str, ...]


def ask(
    head: pl.DataFrame, chosen: dict[str, str], profiles: Profiles, kind: Kind, second: str | None
) -> tuple[Doubt, ...]:
    """Ask what a row is, and which rows are boardings. `second` is another column of places."""
    counts = _counts(chosen, profiles)
    if counts and not {"rider_id", "trip_id", "end"} & set(chosen):
        return (Doubt(counts[0], "rows", (kind,)),)
    if kind != "taps":
        return ()
    if not {"stop_id", "rider_id"} & set(chosen):
        question = (
            "rows have coordinates and a time, and no rider: they may be boardings, or positions of vehicles"
        )
        return (Doubt(question, "rows", ("points", "taps")),)
    if second is None or "stop_id" not in chosen:
        return _ask_turns(head, chosen, profiles)
    both = f"`{chosen['stop_id']}` and `{second}` both hold places"
    question = f"{both}: a row may be a ride from one to the other, or a boarding"
    return (Doubt(question, "rows", ("pairs", "taps")),)


def ask_times(chosen: dict[str, str], profiles: Profiles) -> tuple[Doubt, ...]:
    """Ask whether rows are meant to have no times, where some column seems to hold them."""
    moments = {*DATES, *DATES.values()}
    for name, profile in profiles.items() if not moments & set(chosen) else ():
        said = set(meanings(name))
        named = column_for(name) in moments or (said & set(ENDS) and said <= {*ENDS, "event", "trip"})
        if name not in chosen.values() and (named or max(profile.time, profile.date) > 0.5):
            question = f"`{name}` seems to say when, and {profile.example!r} is no date with a clock that is known here"
            return (Doubt(f"{question}: nothing could be asked by hour", "times", ("none",)),)
    return ()


def ask_step(chosen: dict[str, str], profiles: Profiles) -> tuple[Doubt, ...]:
    """Ask how many seconds lie between the positions of tracks in one cell each."""
    their = chosen.get("lat", "")
    if not their or profiles[their].tracks < 0.5:
        return ()
    question = f"`{their}` holds whole tracks, and nothing says how many seconds lie between their positions"
    return (Doubt(question, "step", ("15",)),)


def ask_day(undated: list[str], profiles: Profiles) -> tuple[Doubt, ...]:
    """Ask whether clocks are meant to have no dates, where some column seems to hold them."""
    for name, profile in profiles.items() if undated else ():
        if column_for(name) in DATES.values() and profile.filled:
            question = f"`{name}` seems to say the day, and {profile.example!r} is no date that is known here"
            return (Doubt(f"{question}: all rows would be those of one day", "clock", ("written",)),)
    return ()


def ask_which(
    head: pl.DataFrame, chosen: dict[str, str], profiles: Profiles, used: tuple[str, ...]
) -> tuple[Doubt, ...]:
    """Ask which of several columns is a time or place of a row, where their names and forms say the same."""
    for ours in ("event_time", *ENDS, "start", "end", "stop_id", *DATES.values()):
        known = chosen.get(ours, "")
        for name, profile in profiles.items() if known and ours in used else ():
            dated = ours in DATES.values()
            fits = profile.place > 0.5 and profile.distinct > FEW
            fits = profile.date > 0.5 if dated else profile.time > 0.5 if ours in DATES else fits
            if name in chosen.values() or by_values(column_for(name), profile) != ours or not fits:
                continue
            # A count beside a text is most often one moment in two ways, as a name beside an id is one place.
            same = _rank(ours, profile) == _rank(ours, profiles[known])
            differ = float((head[name] != head[known]).mean() or 0)  # type: ignore[arg-type]
            if same and differ > (0 if dated else FEW_ROUNDED):  # days differ for the few rides of the night
                what = {"event_time": "time", "stop_id": "stop"}.get(ours, ours.replace("_", " "))
                question = f"`{known}` and `{name}` may both be the {what} of a row"
                return (Doubt(question, ours, (known, name)),)
    return ()


def ask_half_days(chosen: dict[str, str], profiles: Profiles) -> tuple[Doubt, ...]:
    """Ask whether clocks that all lie between 1:00 and 12:59 are whole."""
    for name in (chosen[ours] for ours in DATES if ours in chosen):
        if profiles[name].half_day:
            question = f"`{name}` has no clock before 1:00 and none after 12:59: AM and PM may have been lost"
            return (Doubt(question, "clock", ("written",)),)
    return ()


def _rank(ours: str, profile: Profile) -> tuple[object, ...]:
    if ours in DATES.values():
        return (profile.typed,)
    if ours not in DATES:
        return (profile.called(), score(ours, profile))
    counted = max([0.0, *profile.numbers.values()]) > 0.5
    return (profile.typed, counted, score(ours, profile))


def _ask_turns(head: pl.DataFrame, chosen: dict[str, str], profiles: Profiles) -> tuple[Doubt, ...]:
    """Ask about a column of two values that take turns from row to row of a rider, as entries and exits do."""
    for name in head.columns if "rider_id" in chosen else ():
        if name in chosen.values() or profiles[name].distinct != 2 or _WAYS.search(name):
            continue
        word = head[name].cast(pl.String)
        rows = moments_of(head, chosen, word).drop_nulls().sort("who", "at", maintain_order=True)
        turns = rows.select((pl.col("word") != pl.col("word").shift()).over("who")).to_series().drop_nulls()
        if len(turns) >= FEW_TURNS and float(turns.mean() or 0) > MOST_TURNS:  # type: ignore[arg-type]
            one, other = sorted(set(rows["word"]))
            first = rows.group_by("who").agg(pl.col("word").first())["word"]
            usual = first.mode().sort()[0]
            question = (
                f"`{name}` is {one!r} and {other!r} by turns: riders may enter with one and leave with the other "
                f"({usual!r} is the first of {(first == usual).mean():.0%} of them)"
            )
            return (Doubt(question, "boardings", (f'["{one}"]', f'["{other}"]', "[]")),)
    return ()


def moments_of(head: pl.DataFrame, chosen: dict[str, str], word: pl.Series | None = None) -> pl.DataFrame:
    """Return who each row is of and when it was, as seconds, and a word of it."""
    text = head[chosen["event_time"]].cast(pl.String)
    seconds = text.cast(pl.Int64, strict=False)
    if "service_date" in chosen:
        seconds = parse_moments(text, clock_alone=True)["second"]
    if seconds.null_count() == len(seconds):
        moments = max(parse_orders(text).values(), key=lambda m: -m["second"].null_count())
        seconds = moments["day"].fill_null(0) * 86_400 + moments["second"]
    named = chosen.get("rider_id", FILE)
    who = pl.Series(["-"]).new_from_index(0, len(head)) if named == FILE else head[named].cast(pl.String)
    return pl.DataFrame({"who": who, "at": seconds, **({} if word is None else {"word": word})})


def lone_time(kind: Kind, chosen: dict[str, str]) -> list[str]:
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


def leave_out_runs(head: pl.DataFrame, chosen: dict[str, str]) -> list[str]:
    """Leave out a column of trips that riders share: it names those of vehicles, and a row is a ride of its own."""
    if not {"trip_id", "rider_id"} <= set(chosen):
        return []
    both = head.select(trip=chosen["trip_id"], rider=chosen["rider_id"]).drop_nulls().unique()
    riders = both.group_by("trip").len()["len"]
    if float((riders > 1).mean() or 0) < SHARED:  # type: ignore[arg-type]
        return []
    their = chosen.pop("trip_id")
    if their == "trip_id":
        chosen["trip_id"] = NOTHING
    return [f"`{their}` names trips of vehicles, which riders share: each row is a ride of its own"]


def odd_columns(head: pl.DataFrame, chosen: dict[str, str], profiles: Profiles) -> list[str]:
    """Say which columns count rides, which ones a spreadsheet has rounded, and which id may be of many people."""
    rounded = [
        each for name, each in profiles.items() if name in chosen.values() and each.rounded > FEW_ROUNDED
    ]
    return (
        _crowds(head, chosen)
        + _counts(chosen, profiles)
        + [
            f"`{each.name}` has numbers that a spreadsheet has rounded ({each.example}), so that several became one: "
            "export it again, as text"
            for each in rounded
        ]
    )


def _crowds(head: pl.DataFrame, chosen: dict[str, str]) -> list[str]:
    """Say which id has so many rows that it may stand for all of whom nobody knows who they are."""
    their = chosen.get("rider_id", FILE)
    if their not in head.columns:
        return []
    words = head[their].cast(pl.String).str.strip_chars().drop_nulls()
    words = words.filter(~words.str.contains(r"(?i)^\W*(?:na|nan|n/a|none|null)?\W*$"))
    if len(words) < _CROWD:
        return []
    usual = words.mode().sort()[0]
    share = float((words == usual).mean() or 0)
    if share < FEW_ROUNDED or share * words.n_unique() < FEW:
        return []
    return [
        f"`{their}` is {usual!r} in {share:.0%} of the rows, which are taken for one rider: leave the cell empty where "
        "it means that nobody knows who it was"
    ]


def _counts(chosen: dict[str, str], profiles: Profiles) -> list[str]:
    """Say which columns seem to tell for how many rides or people a row stands."""
    return [
        f"`{name}` seems to count rides or people, and every row is read as one: write a row for each of them"
        for name, each in profiles.items()
        if name not in chosen.values() and is_count(each) and max(each.distinct, each.size) > 1
    ]
