"""The lab that a study is run in: how much is run, on which data, and where what it simulated is kept."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeVar

import numpy as np

from wayveil.errors import InputError, ParameterError
from wayveil.files import whole_file
from wayveil.trips.history import MADE_UP
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.world import World

Scale = Literal["tiny", "quick", "full"]
Kind = Literal["public", "simulated", "own"]
T = TypeVar("T")


@dataclass(frozen=True)
class StudySource:
    """Where trips of a study came from. `facts` tells two versions of the same source apart."""

    name: str
    kind: Kind
    words: str
    facts: str


@dataclass(frozen=True)
class Datasets:
    """Trips by the study's name for them, and what differs from the study's own."""

    trips: dict[str, Callable[[], Trips]]
    stand_in: str


@dataclass
class Lab:
    """Setting in which a study is run.

    scale   `tiny` (seconds, for tests), `quick` (minutes, on data of our own), `full` (as often as the study did)
    data    folder with the public data sets; None: simulated data only
    world   the user's own city (a GTFS file or a saved network), in place of a simulated one
    trips   the user's own trips on that world: the page is then internal
    repetitions  of each setting at most, where the scale wants more; None: as the scale wants
    only    runs the settings alone that have these values: {"data": "MSNBC"}
    out     folder of the page; what is simulated is kept in it, so that every process works on the same trips
    """

    scale: Scale = "quick"
    data: Path | None = None
    world: Path | None = None
    trips: Path | None = None
    bbox: str | None = None
    out: Path | None = None
    repetitions: int | None = None
    only: dict[str, str] = field(default_factory=dict)
    sources: dict[str, StudySource] = field(default_factory=dict)
    _made: dict[str, Any] = field(default_factory=dict, repr=False)

    def pick(self, *, tiny: T, quick: T, full: T) -> T:
        """The value for this scale."""
        return {"tiny": tiny, "quick": quick, "full": full}[self.scale]

    def public_file(self, path: str, words: str) -> Path | None:
        """A file of the public data, noted as a source; None where the folder (or the file) is not there."""
        if self.data is None or not (self.data / path).exists():
            return None
        name = path.split("/")[0]
        self.sources[name] = StudySource(name, "public", words, _digest(self.data / path))
        return self.data / path

    def own_world(self) -> World | None:
        """The user's city, noted as a source; None where none was named."""
        if self.world is None:
            return None
        from wayveil.world.opening import open_world

        path = self.world
        world = self.once("own world", lambda: open_world(path, bbox=self.bbox))
        self.sources["world"] = StudySource(
            "world", "simulated", f"the places of {path.name}", world.fingerprint()
        )
        return world

    def city(self, *, stops: int, lines: int, seed: int = 1) -> Callable[[], Network]:
        """The user's city, or an invented one of so many stops and lines; read when it is first asked for."""
        own = self.own_world()
        if own is not None:
            if not isinstance(own, Network):
                raise ParameterError(
                    "this study simulates riders on a network: --world must be one, with lines"
                )
            return lambda: own
        self.note_simulated(
            "city", f"an invented city of about {stops:,} stops and {lines} lines (seed {seed})"
        )
        return lambda: self.once("city", lambda: invented_city(stops, lines, seed, walk_radius_metres=250))

    def own_trips(self) -> Callable[[], Trips] | None:
        """The user's trips, noted as a source; None where none were named. They make the page internal."""
        if self.trips is None:
            return None
        from wayveil.trips.read import read_trips

        path, world = self.trips, self.own_world()
        if world is None:
            raise ParameterError("trips of your own need the public places that they are about: add --world")
        self.sources["trips"] = StudySource("trips", "own", f"the trips of {path.name}", _digest(path))
        return lambda: self.once("own trips", lambda: read_trips(path, world))

    def simulated(
        self, name: str, words: str, world: Callable[[], World], make: Callable[[], Trips]
    ) -> Callable[[], Trips]:
        """Trips that the study simulates from a seed of its own; noted now, made when they are first asked for.

        They are made once for all processes and reruns. `name` must tell apart what differs.
        """
        self.note_simulated(name, words)
        return lambda: self.once(f"trips {name}", lambda: self._kept(name, world, make))

    def _kept(self, name: str, world: Callable[[], World], make: Callable[[], Trips]) -> Trips:
        if self.out is None:
            return make()
        path = self.out / "simulated" / f"{name}.npz"
        if not path.exists():
            trips = make()
            optional = {"time": trips.time, "rider": trips.rider}
            columns: dict[str, Any] = {"location": trips.location, "offsets": trips.offsets}
            columns |= {column: values for column, values in optional.items() if values is not None}
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as draft, draft.open("wb") as file:
                np.savez(file, **columns)
        try:
            with np.load(path) as kept:
                return Trips(world=world(), history=MADE_UP, **dict(kept))
        except (OSError, ValueError, TypeError) as error:
            raise InputError(f"cannot be read; remove it to simulate again ({error})", file=path) from error

    def note_simulated(self, name: str, words: str) -> None:
        """Note a source that has nobody behind it."""
        self.sources[name] = StudySource(name, "simulated", words, words)

    def once(self, key: str, make: Callable[[], T]) -> T:
        """Something that takes long, made when it is first asked for in this process."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    @property
    def internal(self) -> bool:
        """Tell whether the page shows figures of people's trips that are not public."""
        return any(source.kind == "own" for source in self.sources.values())

    def describe(self) -> dict[str, object]:
        """Return what must be the same for cells to lie in one folder."""
        facts = {name: source.facts for name, source in sorted(self.sources.items())}
        return {"scale": self.scale, "bbox": self.bbox, "sources": facts}


def invented_city(stops: int, lines: int, seed: int, *, walk_radius_metres: float | None = None) -> Network:
    """A network of nobody's city; the same arguments give the same one."""
    from wayveil.simulate.feed import write_city
    from wayveil.world.gtfs import read_gtfs

    with TemporaryDirectory() as folder:
        feed = write_city(Path(folder) / "city.zip", seed, stops=stops, lines=lines)
        return read_gtfs(feed, walk_radius_metres=walk_radius_metres, name="Veilhaven")


def _digest(path: Path) -> str:
    if path.is_dir():
        listed = sorted((str(file.relative_to(path)), file.stat().st_size) for file in path.rglob("*"))
        return hashlib.sha256(repr(listed).encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
