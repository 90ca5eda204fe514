"""What other tools call our columns, so that a file can be told from its header, and a map be suggested."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from shlex import quote

from wayveil.errors import InputError, ParameterError
from wayveil.trips.frames import Source
from wayveil.trips.matching import find_stops
from wayveil.trips.tables import TABLE_SUFFIXES, first_rows, table_header, table_suffix
from wayveil.world.world import World

PLACES = ("stop_id", "origin", "destination")
# So many rows tell which of two columns has the ids of the world.
LOOKED_AT = 1_000

# Our name first; then what is seen in the wild, without capitals, spaces, dashes and underscores.
SAYINGS: dict[str, tuple[str, ...]] = {
    "trip_id": (
        *("tripid", "journeyid", "trip", "journey", "tripno", "tid", "tripnumber", "rideid", "rentalid"),
        *("journeyno", "journeynumber"),
    ),
    "stop_id": (
        *("stopid", "stop", "stationid", "station", "locationid", "location", "placeid", "stopcode"),
        *("stationcode", "stopno", "stopnumber", "stopname", "stationname"),
    ),
    "seq": ("seq", "sequence", "stopsequence", "order", "position", "visitno"),
    "event_time": (
        *("eventtime", "time", "timestamp", "datetime", "ts", "arrivaltime", "eventtimestamp", "taptime"),
        *("transactiontime", "transactiondatetime", "boardingtime", "validationtime"),
    ),
    "rider_id": (
        *("riderid", "rider", "uid", "userid", "user", "userhash", "personid", "person", "customerid"),
        *("customer", "passengerid", "passenger", "memberid", "accountid", "account", "subscriberid"),
        *("cardid", "card", "cardno", "cardnum", "cardnumber", "cardhash", "cardserial", "cardserialnumber"),
        *("cardtoken", "smartcard", "smartcardid", "farecard", "farecardid"),
        *("tokenid", "token", "idtarjeta", "tarjeta"),
    ),
    "origin": (
        *("origin", "originid", "from", "fromstop", "fromstopid", "fromstation", "fromstationid"),
        *("startstationid", "startstation", "startstationname", "startterminal", "startstop", "startstopid"),
        *("boardstop", "boardstopid", "boarding", "boardingstop", "boardingstopid", "boardingstation"),
        *("originstop", "originstopid", "originstation", "originstationid", "originname"),
        *("entrystation", "entrystationid", "entrystop", "pulocationid"),
    ),
    "destination": (
        *("destination", "destinationid", "to", "tostop", "tostopid", "tostation", "tostationid"),
        *("endstationid", "endstation", "endstationname", "endterminal", "endstop", "endstopid"),
        *("alightstop", "alightstopid", "alighting", "alightingstop", "alightingstopid", "alightingstation"),
        *("destinationstop", "destinationstopid", "destinationstation", "destinationstationid"),
        *("destinationname", "exitstation", "exitstationid", "exitstop", "dolocationid"),
    ),
    "start": (
        *("start", "starttime", "startedat", "startdate", "startdatetime", "entrytime", "departure"),
        *("boardtime", "boardingtime", "origintime", "pickupdatetime", "tpeppickupdatetime"),
    ),
    "end": (
        *("end", "endtime", "endedat", "enddate", "enddatetime", "exittime", "arrival"),
        *("alighttime", "alightingtime", "destinationtime", "dropoffdatetime", "tpepdropoffdatetime"),
    ),
}


def plain_name(name: str) -> str:
    """A column's name without capitals, spaces, dashes and underscores."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def candidates(header: Sequence[str], ours: str) -> list[str]:
    """Every column of a header that may be ours; ours alone where it is there by its own name."""
    if ours in header:
        return [ours]
    return [name for name in header if plain_name(name) in SAYINGS[ours]]


def guess_columns(header: Sequence[str]) -> dict[str, str]:
    """Our name to theirs, for every column of a header that we can tell; the first of several counts."""
    found = {ours: candidates(header, ours) for ours in SAYINGS}
    return {ours: names[0] for ours, names in found.items() if names}


def map_columns(source: Source, world: World | None = None) -> dict[str, str]:
    """Their names to ours, for columns of a table of trips that go by another name.

    Where several columns may name the same places, those count whose values the world knows best.
    """
    header = table_header(source)
    guessed = guess_columns(header)
    pairs = {"origin", "destination"} <= set(guessed) and "stop_id" not in header
    wanted = (
        ("origin", "destination", "start", "end", "trip_id", "rider_id")
        if pairs
        else ("trip_id", "stop_id", "seq", "event_time", "rider_id")
    )
    for ours in wanted:
        several = candidates(header, ours) if ours in PLACES else []
        if world is not None and len(several) > 1:
            guessed[ours] = _best_known(source, several, world)
    return {theirs: ours for ours, theirs in guessed.items() if ours in wanted and theirs != ours}


def _best_known(source: Source, names: list[str], world: World) -> str:
    """The column of whose first values the world knows most; the first of equals."""
    rows = first_rows(source, names, LOOKED_AT)
    known = [int((find_stops(rows[name].drop_nulls(), world) >= 0).sum()) for name in names]
    return names[known.index(max(known))]


def refuse_hidden_riders(path: Path, columns: Mapping[str, str]) -> None:
    """Riders under a name that is not read would silently lose their protection as riders.

    `columns` are their names to ours, as they were said: whoever has said which column is the rider is not asked.
    """
    if table_suffix(path) not in TABLE_SUFFIXES or "rider_id" in columns.values():
        return
    theirs = guess_columns(table_header(path)).get("rider_id", "rider_id")
    if theirs not in ("rider_id", "uid") and theirs not in columns:
        raise InputError(
            f"has a column {theirs!r} that looks like riders: say --map {quote(f'rider_id={theirs}')}, or --unit trip. "
            "Nothing was spent",
            file=path,
        )


def parse_map(
    given: Sequence[str], known: Collection[str] = tuple(SAYINGS), example: str = "stop_id=STATION"
) -> Mapping[str, str]:
    """The words of --map (ours=theirs) as their names to ours."""
    found: dict[str, str] = {}
    for word in given:
        ours, equals, theirs = word.partition("=")
        if not equals or not theirs:
            raise ParameterError(f"--map takes ours=theirs, for example {example}, not {word!r}")
        if ours not in known:
            raise ParameterError(f"--map: there is no column {ours!r} of ours; there are {', '.join(known)}")
        if theirs in found:
            raise ParameterError(f"--map uses the column {theirs!r} twice")
        found[theirs] = ours
    return found
