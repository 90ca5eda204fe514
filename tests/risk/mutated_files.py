"""Small files of every kind that Wayveil reads, and a seeded hand that damages them."""

import io
import json
import random
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from wayveil.mechanisms.weave import Weave
from wayveil.mechanisms.weave.measurements import Measurements
from wayveil.mechanisms.weave.settings import Generation
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.ledger import Policy, open_ledger
from wayveil.privacy.units import Trip
from wayveil.released.datasheet_page import datasheet_page
from wayveil.releases.release import Release, load_datasheet
from wayveil.run import make_release as release
from wayveil.synthesis.model import STATE
from wayveil.taps.read import read_taps
from wayveil.trips.read import read_trips
from wayveil.trips.sequences import read_sequences
from wayveil.trips.trips import Trips
from wayveil.world.opening import open_world
from wayveil.world.taxonomy import Taxonomy
from wayveil.world.world import World

WORLD = World.of_symbols("abcdef")
TOKENS = [
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b",", b"\n", b"\r", b"\t", b";", b"'", b"{", b"[", b"]"),
    *(
        b"-1",
        b"0",
        b"1e999",
        b"99999999999999999999",
        b"-9223372036854775808",
        b"NaN",
        b"inf",
        b"null",
        b"true",
    ),
    *(
        b"=cmd()",
        b"../../x",
        b"/etc/x",
        b"T25:61:00",
        b"2024-02-30",
        b"24:00:00",
        b"\xe9",
        "é😀".encode(),
        b" ",
    ),
    *(b"trip_id", b"stop_id", b"1970-01-01T00:00:00Z", b"9999-12-31T23:59:59+14:00", b"x" * 5000),
]


@dataclass(frozen=True)
class Kind:
    """A kind of file: sound examples by name, and what reads them."""

    name: str
    examples: dict[str, bytes]
    read: Callable[[Path], object]


def damaged_file(content: bytes, chance: random.Random) -> bytes:
    """A file with a few things wrong with it; in an archive, mostly inside its members, past the checksums."""
    return (damaged_archive if content.startswith(b"PK") else damaged)(content, chance)


def damaged(content: bytes, chance: random.Random) -> bytes:
    """The content with a few things wrong with it."""
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        data = _damage(data, chance)
    return bytes(data)


def _damage(data: bytearray, chance: random.Random) -> bytearray:
    at = chance.randint(0, len(data))
    end = min(len(data), at + chance.choice((1, 2, 5, 20, 200)))
    what = chance.randrange(9)
    if what == 0 and data:
        data[at % len(data)] = chance.randrange(256)
    elif what == 1:
        del data[at:end]
    elif what == 2:
        data[at:at] = data[at:end]
    elif what in (3, 4):
        data[at:at] = chance.choice(TOKENS)
    elif what == 5:
        del data[at:]
    elif what == 6:
        data[at:end] = chance.choice(TOKENS)
    else:
        _damage_lines(data, chance)
    return data


def _damage_lines(data: bytearray, chance: random.Random) -> None:
    """Rows and fields: dropped, repeated, exchanged, replaced."""
    lines = bytes(data).split(b"\n")
    row = chance.randrange(len(lines))
    fields = lines[row].split(b",")
    what = chance.randrange(6)
    if what == 0:
        del lines[row]
    elif what == 1:
        lines.insert(chance.randint(0, len(lines)), lines[row])
    elif what == 2:
        other = chance.randrange(len(lines))
        lines[row], lines[other] = lines[other], lines[row]
    elif what == 3:
        del fields[chance.randrange(len(fields))]
        lines[row] = b",".join(fields)
    else:
        fields[chance.randrange(len(fields))] = chance.choice(TOKENS) if what == 4 else b""
        lines[row] = b",".join(fields)
    data[:] = b"\n".join(lines)


def kind_named(name: str, place: Path) -> Kind:
    """A kind of file, with examples of the formats that people use; what it needs is made at `place`."""
    kinds: dict[str, tuple[Callable[[], dict[str, bytes]], Callable[[Path], object]]] = {
        "GTFS": (lambda: {"feed.zip": _packed(_tables())}, open_world),
        "visits": (_visits, lambda path: read_trips(path, WORLD)),
        "sequences": (_sequences, lambda path: read_sequences(path, WORLD)),
        "taps": (_taps, lambda path: read_taps(path, WORLD)),
        "taxonomy": (_taxonomy, lambda path: Taxonomy.of_file(path, WORLD)),
        "datasheet": (_datasheet, lambda path: datasheet_page(load_datasheet(path.parent))),
        "ledger": (lambda: _ledger(place), _read_ledger),
        "model": (lambda: _model(place), lambda path: Measurements.load(path.parent, WORLD).generate(1)),
    }
    examples, read = kinds[name]
    return Kind(name, examples(), read)


FEED = {
    "agency.txt": "agency_id,agency_name,agency_url,agency_timezone\n1,A,http://a.example,Europe/Berlin\n",
    "stops.txt": "stop_id,stop_name,stop_lat,stop_lon,parent_station,location_type\n"
    "a,A,52.1,13.1,,0\nb,B,52.2,13.2,s,0\nc,C,52.3,13.3,,0\ns,S,52.2,13.2,,1\n",
    "routes.txt": "route_id,route_short_name,route_type\nr,R,3\n",
    "trips.txt": "route_id,service_id,trip_id\nr,d,t1\nr,d,t2\n",
    "stop_times.txt": "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n"
    "t1,08:00:00,08:00:00,a,1\nt1,08:10:00,08:11:00,b,2\nt1,,,c,3\n"
    "t2,25:00:00,25:00:00,c,1\nt2,25:20:00,25:20:00,a,2\n",
    "calendar.txt": "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n"
    "d,1,1,1,1,1,0,0,20240101,20241231\n",
    "frequencies.txt": "trip_id,start_time,end_time,headway_secs\nt1,08:00:00,10:00:00,600\n",
    "transfers.txt": "from_stop_id,to_stop_id,transfer_type,min_transfer_time\na,b,2,120\n",
}


def damaged_archive(packed: bytes, chance: random.Random) -> bytes:
    """An archive with one or two damaged members, without one of them, or damaged as a whole."""
    if chance.random() < 0.15:
        return damaged(packed, chance)
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name in chance.sample(sorted(members), chance.choice((1, 1, 2))):
        members[name] = damaged(members[name], chance)
    if chance.random() < 0.05:
        del members[chance.choice(sorted(members))]
    return _packed(members)


def _tables() -> dict[str, bytes]:
    return {name: text.encode() for name, text in FEED.items()}


def _packed(tables: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in tables.items():
            archive.writestr(name, content)
    return packed.getvalue()


def _table() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "trip_id": [1, 1, 1, 2, 2, 3],
            "seq": [1, 2, 3, 1, 2, 1],
            "stop_id": list("abcdef"),
            "event_time": [f"2024-03-04T08:{minute:02d}:00" for minute in range(6)],
            "rider_id": ["x", "x", "x", "y", "y", None],
        }
    )


def _parquet(table: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    table.write_parquet(out)
    return out.getvalue()


def _visits() -> dict[str, bytes]:
    table = _table()
    clock = table.with_columns(event_time=pl.Series([f"25:{minute:02d}:00" for minute in range(6)]))
    stamped = table.with_columns(pl.col("event_time").str.to_datetime())
    return {
        "visits.csv": table.write_csv().encode(),
        "clock.csv": clock.write_csv().encode(),
        "few.csv": table.select("trip_id", "stop_id").write_csv().encode(),
        "visits.tsv": table.write_csv(separator="\t").encode(),
        "visits.parquet": _parquet(stamped),
    }


def _sequences() -> dict[str, bytes]:
    return {
        "comma.txt": b"a,b,c\nd\ne,f\n",
        "space.txt": b"a b c\nd\ne f\n",
        "spmf.txt": b"a -1 b -1 -2\nc -1 -2\n",
        "msnbc.seq": b"% Different categories\n\n% Sequences:\n\na b\nc\nd e f\n",
    }


def _taps() -> dict[str, bytes]:
    table = _table().select(pl.col("stop_id"), pl.col("event_time"), pl.col("rider_id").alias("card_id"))
    zoned = table.with_columns(pl.col("event_time") + "+01:00")
    return {
        "taps.csv": table.write_csv().encode(),
        "zoned.csv": zoned.write_csv().encode(),
        "taps.parquet": _parquet(table),
    }


def _taxonomy() -> dict[str, bytes]:
    return {
        "groups.csv": b"stop,region,town\n"
        + b"".join(b"%c,r%d,t%d\n" % (97 + i, i // 4, i // 2) for i in range(6))
    }


@cache
def _tiny_release() -> Release:
    trips = Trips.of_lists([[0, 1, 2], [3, 4], [5]] * 20, WORLD, rider=np.arange(60))
    small = Generation(least=50, most=60, rounds=1, iterations=3)
    return release(
        trips, Weave(weakest=0, generation=small), epsilon=8, unit=Trip(), bits=SeededBits(1), seed=1
    )


def _datasheet() -> dict[str, bytes]:
    return {"datasheet.json": json.dumps(_tiny_release().datasheet, indent=2).encode()}


def _model(place: Path) -> dict[str, bytes]:
    _tiny_release().model.save(place)
    return {STATE: (place / STATE).read_bytes()}


def _ledger(place: Path) -> dict[str, bytes]:
    ledger = open_ledger(place / "sound.ledger")
    ledger.set_policy("trips", Policy(10), actor="test")
    ledger.reserve("trips", 1, actor="test", mechanism="none").start()
    return {"trips.ledger": (place / "sound.ledger").read_bytes()}


def _read_ledger(path: Path) -> object:
    ledger = open_ledger(path, create=False)
    return ledger.verify(), list(ledger.entries()), ledger.spent("trips"), ledger.policy("trips")
