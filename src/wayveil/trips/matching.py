"""Matching the stops that trips name with the locations of the world."""

from difflib import get_close_matches
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.disclosures import UNKNOWN_STOP
from wayveil.errors import InputError, ParameterError, UnknownStopError
from wayveil.trips.findings import EXAMPLES, Findings
from wayveil.trips.history import MERGED, PER_TRIP, History
from wayveil.trips.trips import Trips
from wayveil.world.locating import find_places
from wayveil.world.world import World

OnUnknown = Literal["error", "drop-trip"]
Repeats = Literal["keep", "merge"]
# How much alike a name and one that the world lacks are, from 0 to 1, that it may be meant.
LIKE = 0.8


def check_options(world: World | None, universe_from_data: bool, on_unknown: str, repeats: str) -> None:
    """Refuse options that make no sense before anything is read."""
    if world is None and not universe_from_data:
        raise ParameterError(
            "trips need a public world of locations; universe_from_data=True takes it from the file instead, and "
            "whatever is made from it is not private"
        )
    if world is not None and universe_from_data:
        raise ParameterError("give either a world or universe_from_data=True, not both")
    if on_unknown not in get_args(OnUnknown):
        raise ParameterError(f"on_unknown is 'error' or 'drop-trip', not {on_unknown!r}")
    if repeats not in get_args(Repeats):
        raise ParameterError(f"repeats is 'keep' or 'merge', not {repeats!r}")


def universe_of(distinct: pl.Series) -> World:
    """The locations that the sensitive trips name, as a world that says it is not public."""
    return World.of_symbols(distinct.to_list() or ["none"], public=False)


def match_stops(
    distinct: pl.Series,
    code: NDArray[np.int32],
    world: World,
    findings: Findings,
    *,
    report_unknown: bool,
    row: NDArray[np.int64] | None = None,
) -> NDArray[np.int32]:
    """The location of every visit, -1 where the world has none.

    Visit i names `distinct[code[i]]`, or nothing where its code is negative, and stands in row `row[i]` (default
    i, from 0). A visit without a stop is always a problem; an unknown stop is one if `report_unknown`.
    """
    row = np.arange(len(code)) if row is None else row
    findings.rows("visits without a stop", row[code < 0], lambda row: "has no stop_id")
    index = np.append(find_places(distinct, world), np.int32(-1))
    location = index[code]
    unknown = int((index[:-1] < 0).sum())
    if unknown and report_unknown:
        visit = np.flatnonzero((location < 0) & (code >= 0))
        name = [str(distinct[int(code[i])]) for i in visit[:EXAMPLES]]
        examples = dict(zip(row[visit[:EXAMPLES]].tolist(), name, strict=True))
        hint = say_names(distinct.filter(pl.Series(index[:-1] < 0)), world)
        findings.rows(
            f"visits to one of {unknown:,} stops that {_called(world)} does not have",
            row[visit],
            lambda row: f"stop {examples[row]!r}",
            lambda: unknown_stop(
                name[0],
                findings.row_number(int(row[visit[0]])),
                unknown,
                len(distinct),
                world,
                findings.file,
                hint,
            ),
        )
        findings.notes += [hint] * bool(hint)
    return location


def say_names(unknown: pl.Series, world: World) -> str:
    """A hint where most ids that the world lacks are the names of its places, or what they are near to."""
    plain = unknown.cast(pl.String).str.strip_chars()
    named = int(plain.is_in(world.names.tolist()).sum())
    if 2 * named <= len(unknown):
        known = dict.fromkeys([*world.names.tolist(), *world.ids.tolist()])
        near = {text: get_close_matches(text, known, 1, LIKE) for text in plain.drop_nulls()[:EXAMPLES]}
        return ", ".join(f"{text!r} is near {found[0]!r}" for text, found in near.items() if found)
    example = int(np.flatnonzero(np.isin(world.names, plain.to_numpy()))[0])
    return (
        f"{named:,} of them are names of places: give their ids ({str(world.ids[example])!r} is "
        f"{str(world.names[example])!r}), or a list of places that has the names as stop_id"
    )


def unknown_stop(
    stop: str, row: int, unknown: int, distinct: int, world: World, file: Path | str, hint: str = ""
) -> InputError:
    """The sentence for the first unknown stop, or for a world that belongs to another city."""
    if unknown * 2 > distinct and distinct > 1:
        text = (
            f"{unknown:,} of the {distinct:,} stops in {file} are not in {_called(world)} "
            f"(the first is {stop!r} in row {row}): this world does not fit these trips"
        )
    else:
        more = f" ({unknown - 1:,} more unknown)" if unknown > 1 else ""
        text = f"stop {stop!r} in row {row} of {file} is not in {_called(world)}{more}"
    error = UnknownStopError(f"{text}. {hint}" if hint else text, tells=UNKNOWN_STOP)
    error.file, error.row = str(file), row
    return error


def _called(world: World) -> str:
    return "the network" if world.restricts_moves else "the list of locations"


def reading_history(on_unknown: OnUnknown, repeats: Repeats, marks: frozenset[str] = frozenset()) -> History:
    """Return what these options do to trips, and the marks that came with the file."""
    history = History(marks=marks)
    history = history.then(PER_TRIP) if on_unknown == "drop-trip" else history
    return history.then(MERGED) if repeats == "merge" else history


def assemble(
    location: NDArray[np.int32],
    offsets: NDArray[np.int64],
    world: World,
    history: History,
    time: NDArray[np.int64] | None = None,
    rider: NDArray[np.int64] | None = None,
    name: NDArray[np.uint64] | None = None,
) -> Trips:
    """Trips from ordered columns, without those that visit an unknown location (-1)."""
    unknown = location < 0
    trips = Trips(np.maximum(location, 0), offsets, world, time, rider, history, name=name)
    if not unknown.any():
        return trips
    lost = np.diff(np.concatenate([[0], np.cumsum(unknown)])[offsets]) > 0
    return trips.take(~lost)
