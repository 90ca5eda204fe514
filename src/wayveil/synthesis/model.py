"""`Model`: what a mechanism measured, and what can be done with it.

Every model draws trips, shows itself as a table, and survives on disk. What else a model can do, it does by having the
method for it: an ability is a protocol with one method, found with `isinstance`. Nobody above asks which mechanism
made a model.
"""

import json
from abc import ABC, abstractmethod
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import date
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    Protocol,
    Self,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from wayveil.arrays import Floats, Ints
from wayveil.errors import InputError
from wayveil.synthesis.estimates import Estimate, Question
from wayveil.taps.boardings import Boardings
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World

TABLE, STATE = "model.parquet", "model.npz"
KIND = "kind"
M = TypeVar("M", bound="Model")


class Model(ABC):
    """Measurements of a mechanism: noisy numbers and public facts, nothing else. Free to publish and to use again.

    A model is a frozen dataclass. `save` writes its fields exactly, so `load` gives back an equal model. `world` is the
    public world of the trips that it draws.
    """

    world: World

    @abstractmethod
    def generate(self, seed: int | None = None) -> Trips:
        """Draw private trips. Has no way to the raw ones, so a seed here protects or endangers nobody."""

    @abstractmethod
    def table(self) -> pl.DataFrame:
        """The model as a table, for people and for other programs."""

    def save(self, folder: Path) -> None:
        """Write `model.npz`, which `load` reads, and `model.parquet`, which everybody else reads."""
        self.table().write_parquet(folder / TABLE)
        with (folder / STATE).open("wb") as file:
            arrays: dict[str, Any] = {KIND: np.array(type(self).__name__), **pack(self)}
            np.savez_compressed(file, **arrays)

    def fingerprint(self) -> str:
        """SHA-256 of everything that the model holds, equal in memory and in a folder."""
        digest = sha256(type(self).__name__.encode())
        for name, array in sorted(pack(self).items()):
            digest.update(f"{name}:{array.dtype}:{array.shape};".encode())
            digest.update(array.tobytes())
        return digest.hexdigest()

    @classmethod
    def load(cls, folder: Path, world: World) -> Self:
        """The model that `save` wrote, over the world that it was made for."""
        return load_model(folder, world, (cls,))


def load_model(folder: Path, world: World, kinds: tuple[type[M], ...]) -> M:
    """A saved model of one of these kinds."""
    path = folder / STATE
    try:
        arrays = _read_arrays(path)
        made = {kind.__name__: kind for kind in kinds}.get(str(arrays.pop(KIND)))
        if made is None:
            raise ValueError(f"it is not one of {', '.join(kind.__name__ for kind in kinds)}")
        model: M = unpack(made, arrays, world)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
        raise InputError(f"is not a readable model ({error})", file=path) from error
    return model


def _read_arrays(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Exception as error:
        # Damaged archives and headers end in errors of zipfile, zlib, struct, tokenize and ast, too many to name.
        raise ValueError(f"{type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class ExpectedError:
    """Expected error of one kind of question.

    cells        how many of its cells have released trips; the means are over those
    mean         trips in a cell (riders, for edges and moves)
    off          mean of abs(released - true), in the same
    relative     mean of abs(released - true) / max(true, 0.1 % of the trips)
    unexplained  what `off` would be without noise: the drawn trips cannot express it, and more epsilon does not mend it
    seen         whether that was seen in the answers; if not, noise hides it, and it is a guess
    kind         the kind of question (see `synthesis.tallies`) whose cells these are, if there is one
    misfit       how far the released trips are from the noisy answers, in deviations of their noise
    asked        whether noisy answers about such cells were bought at all
    """

    question: str
    cells: int
    mean: float
    off: float
    relative: float
    unexplained: float
    seen: bool
    kind: str | None = None
    misfit: float = 0.0
    asked: bool = True


@dataclass(frozen=True, eq=False)
class Replica:
    """Release that would have been made if the released trips were the truth: the model, and trips drawn from it."""

    model: Model
    trips: Trips


@runtime_checkable
class Estimates(Protocol):
    """Says a number and how surely."""

    def estimate(self, question: Question, trips: Trips) -> Estimate | None:
        """The answer with its bars; `trips` are those released with the model. None: the model cannot tell."""


@runtime_checkable
class ExpectsErrors(Protocol):
    """Knows how far off its trips are expected to be."""

    def expected_errors(self, trips: Trips, again: Replica) -> list[ExpectedError]:
        """By kind of question, from the released trips and what measuring them again would have released."""


@runtime_checkable
class Replicates(Protocol):
    """Knows a quicker way to be measured again than through its mechanism."""

    def replicate(self, trips: Trips, seed: int) -> Replica:
        """Return what would have been released if these trips were the truth, with simulated noise of the same law."""


@runtime_checkable
class KnowsLoss(Protocol):
    """Knows how much of the trips its thresholds took away, from a number of trips that was bought by itself."""

    def lost(self) -> float:
        """Share of trips whose beginning is missing (or, where noise added more than was lost, too many); or of their
        weight that noise has put elsewhere.
        """


@dataclass(frozen=True, eq=False)
class Margins:
    """Noisy visits per stop and, with times, per time bin; and the share that go to a stop where their trip has been.

    All of them of the first visits of a trip.
    """

    stops: Ints
    times: Ints | None = None
    again: float = 0.0


@dataclass(frozen=True)
class PaidSize:
    """Numbers of trips and visits, each bought by itself: noisy, and right on average; and `margins`, if bought."""

    trips: float
    visits: float
    margins: Margins | None = None


@runtime_checkable
class KnowsSize(Protocol):
    """May know how many trips and visits it was made from, and so how much of them it lost."""

    @property
    def size(self) -> PaidSize | None:
        """None: that was not bought."""

    @property
    def thinned(self) -> float:
        """The share of trips that is left of those that were found, as there were too many of them."""


@runtime_checkable
class KnowsNoise(Protocol):
    """Knows by the law of its noise how much of what it shows nobody made."""

    def made_up(self, kind: str, trips: float, again: float) -> float | None:
        """Return how far off that alone puts this kind of question, in shares of the truth; None: not known.

        trips, again  how many trips the release has and how many its replica has
        """


@runtime_checkable
class DrawsMore(Protocol):
    """Draws any number of trips."""

    def draw(self, trips: int | None = None, seed: int | None = None) -> Trips:
        """So many private trips; None for as many as the model says there are."""


@runtime_checkable
class Nests(Protocol):
    """Can be shown as nodes within nodes."""

    def nested(self, widest: int | None = None) -> dict[str, Any]:
        """`count` and `children`; each child has `stop`, `count` and `children`, at most `widest` of them."""


@runtime_checkable
class HoldsNgrams(Protocol):
    """Holds n-grams of places, which can be judged without drawing a trip."""

    def ngrams(self, n: int) -> tuple[Ints, Floats] | None:
        """Those of n places in a row (no marks), one row each, and their counts; None: it has none of that length."""


@runtime_checkable
class Follows(Protocol):
    """Its numbers follow those of earlier releases."""

    def alone(self) -> "Model":
        """Return the same without them: what it measured itself, with noise that no other release shares."""


@runtime_checkable
class OfTaps(Protocol):
    """Its visits are taps: each one boards."""

    def taps(self) -> float:
        """Return how many taps there are, from noisy counts."""


@runtime_checkable
class OfDays(Protocol):
    """Counted on days that are public."""

    def days(self) -> Ints:
        """The days since 1970, ascending."""


FACTS = "facts"
Arrays = dict[str, NDArray[Any]]


def pack(thing: Any) -> Arrays:
    """Every array of a dataclass under the path of its field, and all else as JSON under `facts`.

    A model is a frozen dataclass of arrays, numbers, exact fractions and smaller dataclasses. The public world is left
    out: whoever loads a model brings the world that it was made for. Nothing is executed on the way back (no pickle),
    and whatever does not fit the declared types is refused.
    """
    arrays: Arrays = {}
    facts = _pack(thing, type(thing).__name__, arrays)
    return {FACTS: np.array(json.dumps(facts)), **arrays}


def unpack(kind: type, arrays: Arrays, world: World) -> Any:
    """Put together what `pack` took apart. ValueError, KeyError or TypeError if it does not fit `kind`."""
    return _unpack(json.loads(str(arrays[FACTS])), kind, arrays, world)


def _pack(value: Any, path: str, arrays: Arrays) -> Any:
    if isinstance(value, np.ndarray):
        arrays[path] = value
        return path
    if isinstance(value, World):
        return "boardings" if isinstance(value, Boardings) else "world"
    if isinstance(value, TimeBins):
        return {"edges": value.edges.tolist(), "period": value.period}
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value):
        return {
            each.name: _pack(getattr(value, each.name), f"{path}.{each.name}", arrays)
            for each in fields(value)
        }
    if isinstance(value, dict):
        return {key: _pack(part, f"{path}.{key}", arrays) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [_pack(part, f"{path}.{at}", arrays) for at, part in enumerate(value)]
    if isinstance(value, Fraction | date):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value


def _unpack(value: Any, hint: Any, arrays: Arrays, world: World) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if hasattr(origin, "__value__"):  # NDArray is an alias of its own from NumPy 2.5 on
        return _unpack(value, origin.__value__[inner], arrays, world)
    if origin in (Union, UnionType):
        if value is None and NoneType in inner:
            return None
        (only,) = (each for each in inner if each is not NoneType)
        return _unpack(value, only, arrays, world)
    if origin is Literal:
        return _checked(value, value in inner, hint)
    if origin is np.ndarray:
        return _array(arrays[value], hint)
    if origin is tuple:
        kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
        return tuple(_unpack(part, kind, arrays, world) for part, kind in zip(value, kinds, strict=True))
    if origin is dict:
        return {key: _unpack(part, inner[1], arrays, world) for key, part in value.items()}
    return _unpack_plain(value, hint, arrays, world)


def _unpack_plain(value: Any, hint: Any, arrays: Arrays, world: World) -> Any:
    if issubclass(hint, World):
        if value == "boardings" and not isinstance(world, Network):
            raise ValueError("a model of stops and routes needs the network that it was made for")
        return Boardings(world) if value == "boardings" and isinstance(world, Network) else world
    if issubclass(hint, TimeBins):
        return TimeBins(value["edges"], period=value["period"])
    if issubclass(hint, BaseModel):
        try:
            read = getattr(hint, "of_record", hint.model_validate)  # where earlier versions wrote otherwise
            return read(value)
        except ValidationError:
            # Its own words quote the value, and fail where they cut a character in two.
            raise ValueError(f"what stands for {hint.__name__} does not fit it") from None
    if is_dataclass(hint):
        hints, made = get_type_hints(hint), cast(type, hint)
        # A field that has a default may be younger than the model.
        said = [each for each in fields(hint) if each.default is MISSING or each.name in value]
        return made(
            **{each.name: _unpack(value[each.name], hints[each.name], arrays, world) for each in said}
        )
    if hint is Fraction:
        return Fraction(value)
    if hint is date:
        return date.fromisoformat(value)
    if hint is float:
        return _checked(value, isinstance(value, int | float), hint)
    return _checked(value, type(value) is hint, hint)


def _array(array: NDArray[Any], hint: Any) -> NDArray[Any]:
    """Arrays come back with the element type that their field declares."""
    (wanted,) = get_args(get_args(hint)[1])
    return _checked(array, bool(np.issubdtype(array.dtype, wanted)), hint)


def _checked(value: Any, fits: bool, hint: Any) -> Any:
    if not fits:
        raise ValueError(f"{str(value)[:60]} is no {hint}")
    return value
