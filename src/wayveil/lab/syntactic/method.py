"""The contract of a method without differential privacy, and what it makes."""

import json
from abc import abstractmethod
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, ValidationError

import wayveil
from wayveil.arrays import AnyInts, Floats, Ints
from wayveil.errors import InputError, ParameterError
from wayveil.privacy.bits import Bits, secure_bits
from wayveil.privacy.without_guarantee import SENTENCE
from wayveil.trips.trips import Trips
from wayveil.trips.visits import read_visits, write_visits
from wayveil.world.world import World

_HOMES = {"Glove": "glove", "LKAnonymity": "lk_anonymity", "PlausibleDeniability": "plausible_deniability"}
LIMITATIONS = (
    "Whoever knows more than the method assumes can learn more than it allows, and several outputs together can undo "
    "each of them.",
    "Thresholds, clusters and groups were computed from the raw trips and are not accounted for.",
    "The output is as sensitive as the raw trips: treat it as internal.",
)


@dataclass(frozen=True, eq=False)
class SyntacticRelease:
    """Trips that a syntactic method made, a table of what it generalised, and a datasheet that promises nothing."""

    trips: Trips
    table: pl.DataFrame
    datasheet: dict[str, Any]

    private: ClassVar[bool] = False
    model: ClassVar[None] = None

    def save(self, folder: str | Path) -> Path:
        """Write trips, table and datasheet; a folder that holds something is refused."""
        folder = Path(folder)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError("already exists; nothing is written over it", file=folder)
        folder.mkdir(parents=True, exist_ok=True)
        write_visits(self.trips, folder / "trips.parquet")
        self.table.write_parquet(folder / "model.parquet")
        (folder / "datasheet.json").write_text(json.dumps(self.datasheet, indent=2, ensure_ascii=False))
        (folder / "datasheet.txt").write_text(self.report(), encoding="utf-8")
        return folder

    def report(self) -> str:
        """Report what was done, for people. The first line says what it is not."""
        method = self.datasheet["mechanism"]
        lines = [SENTENCE, "", f"{method['name']}: {method['summary']}", ""]
        lines += [f"{key}: {value}" for key, value in method["parameters"].items()]
        lines += ["", *(f"{key}: {value}" for key, value in self.datasheet["facts"].items())]
        return "\n".join([*lines, "", *self.datasheet["limitations"], ""])

    def __repr__(self) -> str:
        return f"{SENTENCE}\n<{len(self.trips):,} trips by {self.datasheet['mechanism']['name']}>"


class SyntacticMethod(BaseModel):
    """Parameters of a method, frozen and checked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str]
    summary: ClassVar[str]

    def __init__(self, **parameters: Any) -> None:
        try:
            super().__init__(**parameters)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or "parameters"
            raise ParameterError(f"{self.name}: {place}: {first['msg']}") from None

    @abstractmethod
    def apply(self, trips: Trips, lots: "Lots") -> tuple[Trips, pl.DataFrame, dict[str, Any]]:
        """The trips that come out, a table of what was generalised, and facts about the run."""


class Lots:
    """Uniform numbers of [0, 1) from the bits of the room `privacy`."""

    def __init__(self, bits: Bits) -> None:
        self.bits = bits

    def draw(self, count: int) -> Floats:
        return (self.bits.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def below(self, limit: AnyInts | int, count: int) -> Ints:
        """Whole numbers from 0 to below the limit."""
        return np.minimum((self.draw(count) * limit).astype(np.int64), np.asarray(limit) - 1)


def anonymise(trips: Trips, method: SyntacticMethod, *, bits: Bits | None = None) -> SyntacticRelease:
    """Run a method without differential privacy. Its output is for internal comparison.

    >>> from wayveil.lab.syntactic.method import methods
    >>> sorted(methods())
    ['glove', 'lk-anonymity', 'plausible-deniability']
    """
    trips = trips.take(trips.lengths > 0)
    if len(trips) == 0:
        raise ParameterError("there are no trips with a visit")
    made, table, facts = method.apply(trips, Lots(secure_bits() if bits is None else bits))
    datasheet = {
        "statement": SENTENCE,
        "wayveil": {"format": 1, "version": wayveil.__version__},
        "private": False,
        "not_private_because": [f"{method.name} is no differential privacy"],
        "guarantee": {"sentence": SENTENCE},
        "mechanism": {
            "name": method.name,
            "summary": method.summary,
            "parameters": method.model_dump(mode="json"),
        },
        "facts": facts,
        "public_inputs": [{"sha256": trips.world.fingerprint(), **trips.world.describe()}],
        "limitations": list(LIMITATIONS),
    }
    return SyntacticRelease(made, table, datasheet)


def methods() -> dict[str, type[SyntacticMethod]]:
    """Every method by the name that the command line uses; never among `mechanisms()`."""
    kinds = (getattr(import_module(f"wayveil.lab.syntactic.{home}"), name) for name, home in _HOMES.items())
    return {kind.name: kind for kind in kinds}


def is_syntactic(folder: str | Path) -> bool:
    """Tell whether a folder holds what `SyntacticRelease.save` wrote."""
    try:
        sheet = json.loads((Path(folder) / "datasheet.json").read_text())
    except (OSError, ValueError):
        return False
    return isinstance(sheet, dict) and sheet.get("statement") == SENTENCE


def load_syntactic(folder: str | Path, world: World) -> SyntacticRelease:
    """Load what `SyntacticRelease.save` wrote, over the world it was made for."""
    folder = Path(folder)
    if not is_syntactic(folder):
        raise InputError("is not the output of a method without differential privacy", file=folder)
    sheet = json.loads((folder / "datasheet.json").read_text())
    if sheet["public_inputs"][0]["sha256"] != world.fingerprint():
        raise InputError("was made for another world; open the same feed, box and date", file=folder)
    trips = read_visits(folder / "trips.parquet", world)
    return SyntacticRelease(trips, pl.read_parquet(folder / "model.parquet"), sheet)


def check_crowd(k: int, records: int, what: str) -> None:
    """Refuse a crowd larger than everybody."""
    if k > records:
        raise ParameterError(f"nobody can hide among {k:,} {what}: there are {records:,}")


def need_times(trips: Trips, method: str) -> Ints:
    """The times of the visits, or a sentence."""
    if trips.time is None:
        raise ParameterError(f"{method} generalises places and times, and these trips carry no times")
    return trips.time
