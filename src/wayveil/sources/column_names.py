"""The one vocabulary of columns: our words, what other tools call them, and maps from our words to a file's names.

Maps are written ours=theirs everywhere: {"stop_id": "STATION"} in Python, `stop_id = "STATION"` in a TOML file,
`--map stop_id=STATION` on the command line.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from wayveil.errors import ParameterError

Value = TypeVar("Value")

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
    "route_id": ("routeid", "route", "routename", "line", "lineid", "routeno", "routenumber"),
    "lat": ("lat", "latitude", "stoplat"),
    "lon": ("lon", "lng", "long", "longitude", "stoplon"),
}
# The column of the date of each time, where date and clock stand apart.
DATES = {"event_time": "service_date", "start": "start_date", "end": "end_date"}
# Ours that may be in a column with another of ours.
SHARED = (*DATES.values(), "lon", "origin_lon", "destination_lon", "destination")
COORDINATES = ("origin_lat", "origin_lon", "destination_lat", "destination_lon")
OF_TRIPS = ("trip_id", "stop_id", "seq", "event_time", "rider_id", "origin", "destination", "start", "end")
WORDS = (
    *OF_TRIPS,
    *(
        "lat",
        "lon",
        "service_date",
        "route_id",
        "vehicle_id",
        "bus_number",
        "seats",
        "tap_id",
        "device_id",
        "action",
    ),
    *("filled", "opt_out", "flag", "h3", "start_date", "end_date", *COORDINATES),
)
# Files of scikit-mobility are read without a map.
SCIKIT_MOBILITY = {"uid": "rider_id", "tid": "trip_id", "datetime": "event_time", "lng": "lon"}
# Words of earlier versions, which maps may still use.
EARLIER = {
    **SCIKIT_MOBILITY,
    "time": "event_time",
    "date": "service_date",
    "stop": "stop_id",
    "device": "device_id",
    "route": "route_id",
    "vehicle": "vehicle_id",
    "bus": "bus_number",
    "card": "rider_id",
    "transaction": "tap_id",
}


def plain_name(name: str) -> str:
    """Strip capitals, spaces, dashes and underscores from a column's name."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def candidates(header: Sequence[str], ours: str) -> list[str]:
    """List every column of a header that may be ours; ours alone where it is there by its own name."""
    if ours in header:
        return [ours]
    return [name for name in header if plain_name(name) in SAYINGS[ours]]


def guess_columns(header: Sequence[str], wanted: Sequence[str] = OF_TRIPS) -> dict[str, str]:
    """Map ours to theirs for every column of a header that can be told; the first of several counts."""
    found = {ours: candidates(header, ours) for ours in wanted}
    return {ours: names[0] for ours, names in found.items() if names}


def our_word(word: str) -> str:
    """Give a word of an earlier version its present form."""
    return EARLIER.get(word, word)


def in_our_words(given: Mapping[str, Value]) -> dict[str, Value]:
    """Give the keys of a map their present form."""
    found: dict[str, Value] = {}
    for word, value in given.items():
        if our_word(word) in found:
            raise ParameterError(f"the column map names {our_word(word)!r} twice")
        found[our_word(word)] = value
    return found


def our_columns(columns: Mapping[str, str] | None, known: Collection[str]) -> dict[str, str]:
    """Check a map of ours to theirs; one of theirs to ours is turned around where no word of it can be ours."""
    given = dict(columns or {})
    of_ours = {our_word(word) in known for word in given}
    if of_ours == {False} and all(our_word(name) in known for name in given.values()):
        if len(set(map(our_word, given.values()))) < len(given):
            raise ParameterError("the column map gives one of our columns two of theirs")
        given = {ours: theirs for theirs, ours in given.items()}
    for word, theirs in given.items():
        if our_word(word) not in known:
            raise ParameterError(
                f"unknown column {word!r} to read {theirs!r} as; choose one of {', '.join(known)}"
            )
    # One column of dates may be that of a start and of an end, and one hold two coordinates or places.
    single = [their for word, their in given.items() if our_word(word) not in SHARED]
    if len(set(single)) < len(single):
        raise ParameterError("the column map gives one of their columns to two of ours")
    return in_our_words(given)


def parse_map(
    given: Sequence[str], known: Collection[str] = WORDS, example: str = "stop_id=STATION"
) -> dict[str, str]:
    """Read the words of --map (ours=theirs)."""
    found: dict[str, str] = {}
    for word in given:
        ours, equals, theirs = (part.strip() for part in word.partition("="))
        if not equals or not theirs:
            raise ParameterError(f"--map takes ours=theirs, for example {example}, not {word!r}")
        if our_word(ours) not in known:
            raise ParameterError(f"--map: unknown column {ours!r}; choose one of {', '.join(known)}")
        if theirs in found.values() and ours not in SHARED:
            raise ParameterError(f"--map uses the column {theirs!r} twice")
        if our_word(ours) in found:
            raise ParameterError(f"--map names {our_word(ours)!r} twice")
        found[our_word(ours)] = theirs
    return found
