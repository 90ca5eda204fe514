"""`Release`: what may leave the building, with everything that can be done with it; saved and read back whole.

trips.parquet    the private trips (trip_id, seq, stop_id)
model.npz        the private model behind them, exactly; model.parquet the same as a table
world.npz        the public world that they are over: places, moves, routes, names, coordinates
accuracy.json    how far its numbers can be trusted: intervals and a verdict by kind of question
again.parquet    the trips of the release made again with simulated noise: what noise does to any question
wayveil.toml     the plan that it followed, where there was one
datasheet.json   the guarantee, for machines; datasheet.html the same for people
manifest.json    the hash of every file and the public key; manifest.sig its ed25519 signature
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from wayveil.accuracy.accuracy import Accuracy
from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.answers import Answer
from wayveil.answers.asked import Asked
from wayveil.answers.asking import ask_release
from wayveil.errors import InputError, ParameterError, WayveilError
from wayveil.files import hash_file, whole_folder
from wayveil.mechanisms.registry import mechanism
from wayveil.privacy.keys import public_text, signing_key
from wayveil.privacy.ledger.conversion import Terms
from wayveil.released.datasheet_page import datasheet_page
from wayveil.released.released_trips import Datasheet
from wayveil.released.verification import (
    FORMAT,
    MANIFEST,
    SIGNATURE,
    WITHOUT_WORLD,
    verify_release,
)
from wayveil.showing import show
from wayveil.synthesis.model import Model, load_model
from wayveil.taps.boardings import Boardings
from wayveil.trips.history import History
from wayveil.trips.tables import read_marked_table
from wayveil.trips.trips import Trips
from wayveil.trips.visits import read_visits, write_joined, write_visits
from wayveil.world.network import Network
from wayveil.world.places import KINDS, PlaceList, load_world
from wayveil.world.world import World

TRIPS, WORLD, PLAN = "trips.parquet", "world.npz", "wayveil.toml"
DATASHEET, ACCURACY, AGAIN = "datasheet.json", "accuracy.json", "again.parquet"
WORLDS = (*KINDS, Boardings)


def load_parts(
    folder: Path, world: World | None = None, trust: str | None = None
) -> tuple[Trips, Model, Datasheet, Accuracy]:
    """Read everything that a folder holds, after its signature and its world were checked."""
    found = verify_release(folder, trust=trust)
    if found.format not in (FORMAT, WITHOUT_WORLD):
        raise InputError(
            f"was saved in format {found.format}; this version reads format {FORMAT}, which also holds the model and "
            f"how accurate it is. Open it with the version that made it, or use its trips.parquet as it is",
            file=folder,
        )
    datasheet = load_datasheet(folder)
    if world is None:
        if not holds_world(folder):
            raise InputError(
                f"was saved in format {found.format}, which does not hold its public world: say which one it is over "
                f"with --world (in Python Release.load(folder, world))",
                file=folder,
            )
        world = load_world(folder / WORLD, WORLDS)
    world = world_of_release(datasheet, world, folder)
    trips = _load_trips(folder / TRIPS, world)
    return trips, load_saved_model(folder, world, datasheet), datasheet, _load_accuracy(folder, world)


def holds_world(folder: Path) -> bool:
    """Tell whether a release needs no other word on its world."""
    return (folder / WORLD).is_file()


def load_datasheet(folder: str | Path) -> Datasheet:
    """The datasheet of a saved release."""
    path = Path(folder) / DATASHEET
    try:
        record = json.loads(path.read_text())
        if not isinstance(record, dict):
            raise ValueError("it is no record")
    except (OSError, ValueError) as error:
        raise InputError(f"is not a readable datasheet ({error})", file=path) from error
    return Datasheet(record)


def world_of_release(datasheet: Datasheet, world: World, folder: Path) -> World:
    """The world given, or its places alone where the release is over those; any other is refused.

    Locations are indices into the world, so another world would give every number another meaning.
    """
    try:
        made_for = next(each for each in datasheet["public_inputs"] if each["name"] == "world")
        print_, size = str(made_for["sha256"]), made_for.get("locations", made_for.get("stations", "other"))
    except (KeyError, TypeError, StopIteration, AttributeError) as error:
        raise InputError("does not name the world of the release", file=folder / DATASHEET) from error
    if isinstance(world, Network) and (places := PlaceList.of_network(world)).fingerprint() == print_:
        return places
    if print_ != world.fingerprint():
        raise InputError(
            f"was made for another world ({size} locations, fingerprint {print_[:12]}) than the one given "
            f"({world.size:,} locations, {world.fingerprint()[:12]}); "
            + (
                "omit it: the release holds its own"
                if holds_world(folder)
                else "open it with the one it was made for"
            ),
            file=folder,
        )
    return world


def load_saved_model(folder: Path, world: World, datasheet: Datasheet) -> Model:
    """The model in a folder, of a kind that the mechanism on the datasheet makes."""
    try:
        described = datasheet["mechanism"]
        kinds = mechanism(described["name"]).model_kinds(described)
    except (KeyError, TypeError, ParameterError) as error:
        raise InputError(
            f"names a mechanism that is not known here ({error})", file=folder / DATASHEET
        ) from error
    return load_model(folder, world, kinds)


def _load_trips(path: Path, world: World) -> Trips:
    """Read the released trips; noise may have left none of them, and that is a release too."""
    kinds = pl.read_parquet_schema(path)
    if not pl.scan_parquet(path).select(pl.len()).collect().item():
        time = np.empty(0, np.int64) if "event_time" in kinds else None
        return Trips(np.empty(0, np.int32), np.zeros(1, np.int64), world, time)
    return _load_in_order(path, kinds, world) or read_visits(path, world)


def _load_in_order(path: Path, kinds: Mapping[str, pl.DataType], world: World) -> Trips | None:
    """Trips that lie in a file as releases are written, trip after trip and visit after visit; None: they do not."""
    timed = kinds.get("event_time")
    if not all(kinds.get(name, pl.String()).is_integer() for name in ("trip_id", "seq")):
        return None
    if timed is not None and timed != pl.Datetime("us"):
        return None
    table, marks = read_marked_table(path, None, ("trip_id", "seq", "stop_id"), ("event_time",))
    trip, seq, location = table["trip_id"], table["seq"], world.index_of(table["stop_id"])
    first = (trip != trip.shift(1)).fill_null(True)
    steps = seq - pl.select(pl.when(first).then(0).otherwise(seq.shift(1))).to_series()
    if (
        sum(table.null_count().row(0))
        or not (steps == 1).all()
        or not trip.is_sorted()
        or (location < 0).any()
    ):
        return None
    offsets = np.append(np.flatnonzero(first.to_numpy()), len(trip))
    time = None if timed is None else table["event_time"].dt.epoch("s").to_numpy().astype(np.int64)
    return Trips(location, offsets, world, time, history=History(marks=marks))


def _load_accuracy(folder: Path, world: World) -> Accuracy:
    path = folder / ACCURACY
    again = _load_trips(folder / AGAIN, world) if (folder / AGAIN).is_file() else None
    try:
        return Accuracy.of_record(json.loads(path.read_text()), again)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"does not say how accurate the release is ({error})", file=path) from error


def save_release(release: JudgedRelease, folder: Path, key: str | Path | None = None) -> Path:
    """Write, sign and publish the release; commit it to the ledger it was paid from."""
    if not folder.name:
        raise InputError("is no name for the folder of a release", file=folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("already exists; a release is never written over another one", file=folder)
    if (held := release.reservation) is not None:
        terms = Terms.of_datasheet(release.datasheet)
        held.require(terms)
    signer = signing_key(key)
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with whole_folder(folder) as draft:
            if release.drawing is None:
                write_visits(release.trips, draft / TRIPS)
            else:
                write_joined(release.drawing.pieces(), draft / TRIPS, release.drawing.count)
            release.model.save(draft)
            release.world.save(draft / WORLD)
            if release.plan is not None:
                (draft / PLAN).write_text(release.plan, encoding="utf-8")
            if release.accuracy.again is not None:
                write_visits(release.accuracy.again, draft / AGAIN)
            (draft / ACCURACY).write_text(json.dumps(release.accuracy.record(), indent=2))
            (draft / DATASHEET).write_text(json.dumps(release.datasheet, indent=2, ensure_ascii=False))
            (draft / "datasheet.html").write_text(
                datasheet_page(release.datasheet, release.usefulness), encoding="utf-8"
            )
            hashes = {path.name: hash_file(path) for path in sorted(draft.iterdir())}
            manifest = json.dumps(
                {"format": FORMAT, "files": hashes, "public_key": public_text(signer)}, indent=2
            ).encode()
            (draft / MANIFEST).write_bytes(manifest)
            (draft / SIGNATURE).write_bytes(signer.sign(manifest))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise WayveilError(f"the release could not be written to {folder}: {error}") from error
    if held is not None:
        held.commit(hashlib.sha256(manifest).hexdigest(), {"folder": folder.name}, terms)
    return folder


@dataclass(frozen=True, eq=False)
class Release(JudgedRelease):
    """Private trips, the private model behind them, and the datasheet. All of it may be published.

    >>> made.trips.world is city
    True
    >>> made.ask("most-used", top=3).table.columns
    ['stop_id', 'stop', 'answer', 'low', 'high']
    """

    def ask(self, question: str, *, anyway: bool = False, **additions: Any) -> Answer:
        """Answer a question about trips (`wayveil.answers.trip_questions`) or taps (`.answers`); costs nothing.

        Numbers of which nothing is worth having are refused (`RefusedError`), unless they are wanted `anyway`.

        What may be added is what `wayveil.answers.asked.Asked.of` takes: `top`; `by` (hour, day, weekday, or a
        list such as "day,hour"); `between=("07:00", "09:00")`, `weekdays`, `on`, `route`, `stops`, `district` with
        `districts` (csv or frame: stop_id, district; or a GeoJSON of areas); `over` (minutes or kilometres);
        `timetable` and `seats` for load; `delays`. What a question has no use for is refused.
        """
        return ask_release(self, Asked.of(question, **additions), anyway=anyway)

    def save(self, folder: str | Path, *, key: str | Path | None = None) -> Path:
        """Write and sign the release as one folder that appears whole or not at all; then commit to the ledger."""
        return save_release(self, Path(folder), key)

    @classmethod
    def load(cls, folder: str | Path, world: World | None = None, *, trust: str | None = None) -> "Release":
        """Open a saved release over the world that its folder holds, after its signature and its files were checked.

        The signer must be known: oneself, a key pinned before, or the one whose fingerprint `trust` is. Releases of the
        format before hold no world and are opened with the one that they were made for; another one is refused.
        """
        trips, model, datasheet, accuracy = load_parts(Path(folder), world, trust)
        manifest = hash_file(Path(folder) / MANIFEST)
        return cls(trips, model, datasheet, known_accuracy=accuracy, manifest=manifest)

    def map(self) -> Any:
        """Draw the flows of the release on its network: a picture that notebooks show and `save` writes."""
        from wayveil.report.display import draw_map  # drawing takes long to load

        return draw_map(self.whole)

    def plot(self) -> Any:
        """Return the picture of `map`, by the name that people look for first."""
        return self.map()

    def to_pandas(self) -> Any:
        """Return the released trips, a row per visit, for pandas, which has to be installed."""
        return self.trips.to_pandas()

    def __repr__(self) -> str:
        return f"<Release of {self.released_trips:,} trips: {self.datasheet['guarantee']['sentence']}>"

    def _repr_html_(self) -> str:
        return show(self)
