"""`Measurements`: everything that Weave bought, as one table that may be published, and the trips woven from it.

Whoever has the table can draw as many trips as they like, as often as they like: the guarantee covers all of it.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.errors import InputError
from wayveil.synthesis.weave.demand import Noisy
from wayveil.synthesis.weave.settings import Generation
from wayveil.synthesis.weave.weaving import Woven, weave
from wayveil.trips.trips import Trips
from wayveil.world.walk_blocks import Resolution, WalkBlocks
from wayveil.world.world import World
from wayveil.world.zones import Geography

Ints = NDArray[np.int64]

TOTAL, SCALE, LEAF, SETTING = "trips", "scale", "leaf", "setting"


@dataclass(frozen=True, eq=False)
class Answer:
    """Noisy counts of one block: `whole` is what one trip counts, `variance` that of the noise of a count."""

    counts: Ints
    whole: int
    variance: float

    def in_trips(self) -> Noisy:
        return Noisy(self.counts / self.whole, sqrt(self.variance) / self.whole)


@dataclass(frozen=True, eq=False)
class Measurements:
    """Noisy counts and public facts, nothing else.

    total    noisy number of trips, and `variance` that of its noise
    scale    noise scale that the whole budget would give one count; total / scale is the strength of the signal
    leaves   first pair code of each leaf of the partition of origin-destination pairs
    answers  noisy blocks by name
    """

    world: World
    resolution: Resolution
    total: int
    scale: float
    leaves: Ints
    answers: dict[str, Answer]
    settings: Generation
    variance: float

    @property
    def signal(self) -> float:
        """Trips per unit of noise: n x epsilon, where the unit is one trip."""
        return max(self.total, 10) / self.scale

    @property
    def gaussian(self) -> bool:
        """Whether the noise is Gaussian (the budget was in rho), not Laplace."""
        return bool(self.resolution.euclidean)

    def blocks(self) -> WalkBlocks:
        return WalkBlocks(Geography(self.world), self.resolution, self.leaves)

    def weave(self, seed: int | None = None) -> Woven:
        """Draw a support and fit it; the result can be sampled again and again, and knows how well it fits."""
        return weave(self, np.random.default_rng(seed))

    def generate(self, seed: int | None = None, *, trips: int | None = None) -> Trips:
        """Private trips: as many as the noisy total says, or as many as asked for."""
        rng = np.random.default_rng(seed)
        return weave(self, rng).sample(max(self.total, 10) if trips is None else trips, rng)

    def pieces(self, seed: int | None = None, *, trips: int, at_once: int) -> Iterator[Trips]:
        """The same, so many at a time: for numbers that do not fit in memory. Weaves once."""
        rng = np.random.default_rng(seed)
        woven = weave(self, rng)
        for first in range(0, trips, at_once):
            yield woven.sample(min(at_once, trips - first), rng)

    def table(self) -> pl.DataFrame:
        """One row per cell: block, cell, noisy count, what a trip counts, variance of the noise.

        Rows of the block `setting` hold the resolution, rows of the block `leaf` the partition of pairs; the row
        `scale` has the noise scale of the whole budget in the place of a variance.
        """
        parts = [_rows(TOTAL, np.array([self.total]), 1, self.variance)]
        parts.append(_rows(SCALE, np.zeros(1, np.int64), 1, self.scale))
        look = asdict(self.resolution)
        parts += [_rows(f"{SETTING} {name}", np.array([value]), 1, 0.0) for name, value in look.items()]
        parts.append(_rows(LEAF, self.leaves, 1, 0.0))
        parts += [_rows(name, part.counts, part.whole, part.variance) for name, part in self.answers.items()]
        return pl.concat(parts)

    @classmethod
    def load(cls, folder: str | Path, world: World, settings: Generation | None = None) -> "Measurements":
        """The measurements of a saved release: draw as many more trips from them as you like, they are paid for."""
        path = Path(folder) / "model.parquet"
        try:
            table = pl.read_parquet(path)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"is not a readable model ({error})", file=path) from error
        return cls.of_table(table, world, settings)

    @classmethod
    def of_table(
        cls, table: pl.DataFrame, world: World, settings: Generation | None = None
    ) -> "Measurements":
        """What `table` wrote, over the world that it was measured in."""
        try:
            parts = {
                str(key[0]): part.sort("cell")
                for key, part in table.partition_by("block", as_dict=True).items()
            }
            look = {
                name.removeprefix(f"{SETTING} "): int(part["noisy_count"][0])
                for name, part in parts.items()
                if name.startswith(f"{SETTING} ")
            }
            answers = {
                name: Answer(
                    part["noisy_count"].to_numpy(), int(part["whole"][0]), float(part["variance"][0])
                )
                for name, part in parts.items()
                if name not in (TOTAL, SCALE, LEAF) and not name.startswith(f"{SETTING} ")
            }
            total = parts[TOTAL]
            return cls(
                world,
                Resolution(**look),
                int(total["noisy_count"][0]),
                float(parts[SCALE]["variance"][0]),
                parts[LEAF]["noisy_count"].to_numpy(),
                answers,
                settings or Generation(),
                float(total["variance"][0]),
            )
        except (KeyError, TypeError, pl.exceptions.PolarsError) as error:
            raise InputError(
                f"this table does not hold the measurements of a Weave release ({error})"
            ) from error


def _rows(block: str, counts: Ints, whole: int, variance: float) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "block": [block] * len(counts),
            "cell": np.arange(len(counts)),
            "noisy_count": np.asarray(counts, np.int64),
            "whole": np.full(len(counts), whole, np.int64),
            "variance": np.full(len(counts), variance),
        },
        schema_overrides={"block": pl.String, "cell": pl.Int64},
    )
