"""What other tools call our columns, so that a file can be told from its header, and a map be suggested."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from wayveil.errors import InputError, ParameterError
from wayveil.trips.tables import TABLE_SUFFIXES, table_header, table_suffix

# Our name first; then what is seen in the wild, without capitals, spaces, dashes and underscores.
SAYINGS: dict[str, tuple[str, ...]] = {
    "trip_id": ("tripid", "journeyid", "trip", "journey", "tripno", "tid", "tripnumber", "rideid"),
    "stop_id": ("stopid", "stop", "stationid", "station", "locationid", "location", "placeid", "stopcode"),
    "seq": ("seq", "sequence", "stopsequence", "order", "position", "visitno"),
    "event_time": ("eventtime", "time", "timestamp", "datetime", "ts", "arrivaltime", "eventtimestamp"),
    "rider_id": ("riderid", "rider", "uid", "userid", "user", "cardid", "card", "personid", "customerid"),
    "origin": (
        *(
            "origin",
            "originid",
            "from",
            "fromstop",
            "fromstopid",
            "startstationid",
            "boardstop",
            "boardstopid",
        ),
        *("originstop", "originstopid", "entrystation", "boarding"),
    ),
    "destination": (
        *("destination", "destinationid", "to", "tostop", "tostopid", "endstationid", "alightstop"),
        *("alightstopid", "destinationstop", "destinationstopid", "exitstation", "alighting"),
    ),
    "start": ("start", "starttime", "startedat", "entrytime", "departure", "boardtime", "origintime"),
    "end": ("end", "endtime", "endedat", "exittime", "arrival", "alighttime", "destinationtime"),
}


def guess_columns(header: Sequence[str]) -> dict[str, str]:
    """Our name to theirs, for every column of a header that we can tell; the first of several counts."""
    known = {saying: ours for ours, sayings in SAYINGS.items() for saying in sayings}
    exact = {name: name for name in header if name in SAYINGS}
    guessed: dict[str, str] = {}
    for name in header:
        ours = known.get("".join(letter for letter in name.lower() if letter.isalnum()))
        if ours is not None and ours not in exact:
            guessed.setdefault(ours, name)
    return exact | guessed


def refuse_hidden_riders(path: Path) -> None:
    """Riders under a name that is not read would silently lose their protection as riders."""
    if table_suffix(path) not in TABLE_SUFFIXES:
        return
    header = table_header(path)
    theirs = guess_columns(header).get("rider_id", "rider_id")
    if theirs not in ("rider_id", "uid"):
        raise InputError(
            f"has a column {theirs!r} that looks like riders: say --map rider_id={theirs}, or --unit trip. "
            "Nothing was spent",
            file=path,
        )


def parse_map(given: Sequence[str]) -> Mapping[str, str]:
    """The words of --map (ours=theirs) as their names to ours."""
    found: dict[str, str] = {}
    for word in given:
        ours, equals, theirs = word.partition("=")
        if not equals or not theirs:
            raise ParameterError(f"--map takes ours=theirs, for example stop_id=STATION, not {word!r}")
        if ours not in SAYINGS:
            raise ParameterError(
                f"--map: there is no column {ours!r} of ours; there are {', '.join(SAYINGS)}"
            )
        if theirs in found:
            raise ParameterError(f"--map uses the column {theirs!r} twice")
        found[theirs] = ours
    return found
