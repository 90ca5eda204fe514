"""The public universe of locations that everything else refers to by index."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.arrays import Int32s
from wayveil.errors import InputError, ParameterError
from wayveil.world.successors import CompleteSuccessors, SparseSuccessors, Successors

FILE_FORMAT = 1
Stored = dict[str, NDArray[Any]]


class World:
    """A finite, public list of locations and the moves that are possible between them.

    `ids` are the names people use (a GTFS stop_id, an airport code, a page category) in ascending order; inside
    Wayveil a location is its index. `public` is false for a universe that was read off the sensitive trips: such a
    world is for experiments, and whatever is released from it is marked as not private.

    >>> wv.World(["a", "b", "c"]).size
    3
    """

    def __init__(
        self,
        ids: Sequence[str] | NDArray[np.str_],
        *,
        successors: Successors | None = None,
        public: bool = True,
    ):
        self.ids: NDArray[np.str_] = np.asarray(ids, dtype=np.str_)
        # What people call the locations; worlds that know better say so.
        self.names = self.ids
        if len(self.ids) == 0:
            raise ParameterError("a world needs at least one location")
        if np.any(self.ids[1:] <= self.ids[:-1]):
            raise ParameterError("location ids must be ascending and without repeats")
        self.successors = CompleteSuccessors(len(self.ids)) if successors is None else successors
        self.public = public
        self._lookup: pl.DataFrame | None = None
        # Other texts for places, by kind (`code`, `name`), and the id of each. Public, and no part of the fingerprint.
        self.other_names: dict[str, dict[str, str]] = {}
        # The time zone of the city, where its feed says it.
        self.zone: str | None = None

    @classmethod
    def of_symbols(cls, symbols: Sequence[str], *, public: bool = True) -> "World":
        """A plain universe: these symbols, each of which may follow each."""
        return cls(sorted({str(symbol) for symbol in symbols}), public=public)

    @classmethod
    def of_file(cls, path: Any) -> "World":
        """A plain universe from a text file with one symbol per line (blank lines are skipped), or from a frame."""
        if not isinstance(path, str | Path):
            return cls.of_table(path)
        path = Path(path)
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot be read as a list of symbols ({error})", file=path) from error
        symbols = [line.strip() for line in lines if line.strip()]
        if not symbols:
            raise InputError("has no symbol in it; give one location per line", file=path)
        return cls.of_symbols(symbols)

    @classmethod
    def of_table(cls, table: Any, column: str = "stop_id") -> "World":
        """A plain universe from one column of a polars or pandas frame or an Arrow table; repeats are one location.

        The table must be public: a list of stops, not the stops that somebody's trips name.
        """
        frame = table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)
        if column not in frame.columns:
            raise InputError(
                f"has no column {column!r}; its columns are {', '.join(map(repr, frame.columns))}",
                file="the frame",
            )
        symbols = frame[column].cast(pl.String)
        empty = np.flatnonzero((symbols.is_null() | (symbols == "").fill_null(False)).to_numpy())
        if len(empty):
            raise InputError(f"has no {column}", file="the frame", row=int(empty[0]) + 1)
        if len(symbols) == 0:
            raise InputError("has no rows; give one location per row", file="the frame")
        return cls.of_symbols(symbols.unique().to_list())

    @property
    def size(self) -> int:
        """Number of locations."""
        return len(self.ids)

    @property
    def labels(self) -> NDArray[np.str_]:
        """Return what pages call the locations: their names, with the id where several have the same name."""
        _, place, count = np.unique(self.names, return_inverse=True, return_counts=True)
        shared = count[place] > 1
        with_id = np.char.add(np.char.add(self.names, " ("), np.char.add(self.ids, ")"))
        return np.where(shared, with_id, self.names)

    @property
    def restricts_moves(self) -> bool:
        """Tell whether the world restricts which location may follow which."""
        return not isinstance(self.successors, CompleteSuccessors)

    def index_of(self, ids: Sequence[str] | NDArray[np.str_] | pl.Series) -> Int32s:
        """The index of each id, -1 for an id that this world does not have."""
        if self._lookup is None:
            self._lookup = pl.DataFrame(
                {"id": self.ids.tolist(), "index": np.arange(self.size, dtype=np.int32)}
            )
        asked = pl.DataFrame(
            {"id": ids if isinstance(ids, pl.Series) else pl.Series(list(ids), dtype=pl.String)}
        )
        found = asked.with_columns(pl.col("id").cast(pl.String)).join(
            self._lookup, on="id", how="left", maintain_order="left"
        )
        return found["index"].fill_null(-1).to_numpy().astype(np.int32)

    def fingerprint(self) -> str:
        """SHA-256 of everything public that a release may depend on."""
        digest = hashlib.sha256()
        for part in self._public_arrays():
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def _public_arrays(self) -> list[NDArray[np.generic]]:
        return [np.char.encode(self.ids, "utf-8")]

    def save(self, path: str | Path) -> None:
        """Write the world to one file (compressed numpy arrays), readable by `wayveil.world.places.load_world`."""
        with Path(path).open("wb") as file:
            about: Stored = {"format": np.asarray(FILE_FORMAT), "kind": np.asarray(type(self).__name__)}
            np.savez_compressed(file, **about, **self.stored())  # type: ignore[arg-type]

    def stored(self) -> Stored:
        """Arrays from which `restored` makes an equal world."""
        arrays: Stored = {"World.ids": self.ids, "World.public": np.asarray(self.public)}
        if self.restricts_moves:
            if not isinstance(self.successors, SparseSuccessors):
                raise ParameterError("moves of this kind cannot be saved; give a network or a list of moves")
            arrays |= {"World.indptr": self.successors.indptr, "World.indices": self.successors.indices}
        return arrays

    @classmethod
    def restored(cls, stored: Stored) -> Self:
        """The world behind what `stored` gave."""
        moves = None
        if "World.indptr" in stored:
            moves = SparseSuccessors(stored["World.indptr"], stored["World.indices"])
        return cls(stored["World.ids"], successors=moves, public=bool(stored["World.public"]))

    def __repr__(self) -> str:
        return f"<World of {self.size:,} locations>"

    def describe(self) -> dict[str, object]:
        """Facts for people."""
        return {"locations": self.size}
