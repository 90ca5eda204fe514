"""Purchases of Weave: noisy counts of blocks, and the public facts that say what they count."""

from dataclasses import asdict, dataclass, replace
from math import sqrt
from typing import Self

import numpy as np
import polars as pl

from wayveil.arrays import Floats, Ints
from wayveil.errors import InputError
from wayveil.mechanisms.weave.estimates import CellEstimates
from wayveil.mechanisms.weave.settings import Generation
from wayveil.synthesis.counted import AllCounted
from wayveil.synthesis.estimates import HOURS
from wayveil.synthesis.following import Known, follow
from wayveil.synthesis.model import Model
from wayveil.world.walk_blocks import Resolution, WalkBlocks, length_edges
from wayveil.world.world import World
from wayveil.world.zones import Geography

# The blocks that count kinds of question cell by cell.
COUNTED_BY = {
    "boardings": "origin",
    "alightings": "destination",
    "lengths": "length",
    "departures": "hour",
    "districts": "district pair",
}
# A noisy number of trips below this counts as this.
FEWEST_TRIPS = 10
TOTAL, SCALE, LEAF, SETTING, DISTRICT = "trips", "scale", "leaf", "setting", "district"


@dataclass(frozen=True, eq=False)
class NoisyBlock:
    """Noisy counts of one block: `whole` is what one trip counts, `variance` that of the noise of a count."""

    counts: Ints
    whole: int
    variance: float

    def in_trips(self) -> CellEstimates:
        """The counts in trips."""
        return CellEstimates(self.counts / self.whole, sqrt(self.variance) / self.whole)

    def known(self) -> Known:
        """Return the known numbers for a filter over weeks."""
        variance = np.full(len(self.counts), self.variance / self.whole**2)
        return Known(self.counts / self.whole, variance, np.zeros(len(self.counts)))

    def same_as(self, other: "NoisyBlock") -> bool:
        """Tell whether both hold the same numbers."""
        facts = (self.whole, self.variance) == (other.whole, other.variance)
        return facts and np.array_equal(self.counts, other.counts)


@dataclass(frozen=True, eq=False)
class NoisyBlocks(Model):
    """Noisy counts of blocks and public facts, nothing else.

    total    noisy number of trips, and `variance` that of its noise
    scale    noise scale that the whole budget would give one count; total / scale is the strength of the signal
    leaves   first pair code of each leaf of the partition of origin-destination pairs
    noisy    noisy blocks by name
    settings how trips are made of them
    earlier  the blocks of earlier releases that have the same cells, the oldest first, which the numbers follow
    districts  the district of each place, where pairs of districts were counted
    """

    world: World
    resolution: Resolution
    total: int
    scale: float
    leaves: Ints
    noisy: dict[str, NoisyBlock]
    settings: Generation
    variance: float
    earlier: tuple[dict[str, NoisyBlock], ...] = ()
    districts: Ints | None = None

    def __eq__(self, other: object) -> bool:
        """Tell whether both would draw the same trips: equal numbers, equal settings, and the same public world."""
        return (
            isinstance(other, NoisyBlocks)
            and self.settings == other.settings
            and self.table().equals(other.table())
            and self.world.fingerprint() == other.world.fingerprint()
            and len(self.earlier) == len(other.earlier)
            and all(
                mine.keys() == theirs.keys() and all(mine[name].same_as(theirs[name]) for name in mine)
                for mine, theirs in zip(self.earlier, other.earlier, strict=True)
            )
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def trips(self) -> int:
        """The noisy number of trips, or so many as are needed to make a release at all."""
        return max(self.total, FEWEST_TRIPS)

    @property
    def signal(self) -> float:
        """Trips per unit of noise: n x epsilon, where the unit is one trip."""
        return self.trips / self.scale

    @property
    def gaussian(self) -> bool:
        """Tell whether the noise is Gaussian (the budget was in rho), not Laplace."""
        return bool(self.resolution.euclidean)

    def believe(self, name: str) -> CellEstimates:
        """The cells of a block in trips, as far as earlier releases go along with this one's noisy counts."""
        before = [week[name].known() for week in self.earlier if name in week]
        if not before:
            return self.noisy[name].in_trips()
        return CellEstimates.of_known(follow([*before, self.noisy[name].known()]))

    def blocks(self) -> WalkBlocks:
        return WalkBlocks(Geography(self.world), self.resolution, self.leaves, self.districts)

    def counted(self, kind: str) -> AllCounted | None:
        """Trips in all, by origin, destination, hour of the day, districts or number of visits, as far as asked.

        Edges and moves were asked of trips that spread a weight of one over them: how many trips pass there does not
        follow from it.
        """
        if kind == "total":
            return replace(self._with_noise(np.array([float(self.total)]), self.variance), of_rows=True)
        block = self.noisy.get(COUNTED_BY.get(kind, ""))
        if block is None:
            return None
        value = block.in_trips().value
        if kind == "departures":
            days = value.reshape(-1, HOURS)
            return self._with_noise(days.sum(axis=0), block.variance, len(days))
        if kind != "lengths":
            return self._with_noise(value, block.variance)
        # Lengths were asked by distance; bins of one length each come first, and wider ones tell no single length.
        by_distance = value.reshape(self.resolution.distances, -1)
        single = int(np.argmax(np.diff(length_edges(self.resolution.growth)) > 1))
        shown = np.concatenate([[np.nan], by_distance[:, :single].sum(axis=0)])
        return self._with_noise(shown, block.variance, len(by_distance))

    def _with_noise(self, value: Floats, variance: float, many: int = 1) -> AllCounted:
        """Sums of so many counts with noise of this variance each; Laplace noise has a fourth cumulant of 3 v^2."""
        return AllCounted(value, many * variance, 0.0 if self.gaussian else many * 3 * variance**2)

    def table(self) -> pl.DataFrame:
        """One row per cell: block, cell, noisy count, what a trip counts, variance of the noise.

        Rows of the block `setting` hold the resolution, rows of the block `leaf` the partition of pairs, rows of the
        block `district` the district of each place; the row
        `scale` has the noise scale of the whole budget in the place of a variance.
        """
        parts = [_rows(TOTAL, np.array([self.total]), 1, self.variance)]
        parts.append(_rows(SCALE, np.zeros(1, np.int64), 1, self.scale))
        look = asdict(self.resolution)
        parts += [_rows(f"{SETTING} {name}", np.array([value]), 1, 0.0) for name, value in look.items()]
        parts.append(_rows(LEAF, self.leaves, 1, 0.0))
        parts += [] if self.districts is None else [_rows(DISTRICT, self.districts, 1, 0.0)]
        parts += [_rows(name, part.counts, part.whole, part.variance) for name, part in self.noisy.items()]
        return pl.concat(parts)

    @classmethod
    def of_table(cls, table: pl.DataFrame, world: World, settings: Generation | None = None) -> Self:
        """Return what `table` wrote, over the world that it was measured in."""
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
            noisy = {
                name: NoisyBlock(
                    part["noisy_count"].to_numpy(), int(part["whole"][0]), float(part["variance"][0])
                )
                for name, part in parts.items()
                if name not in (TOTAL, SCALE, LEAF, DISTRICT) and not name.startswith(f"{SETTING} ")
            }
            total = parts[TOTAL]
            districts = parts[DISTRICT]["noisy_count"].to_numpy() if DISTRICT in parts else None
            return cls(
                world,
                Resolution(**look),
                int(total["noisy_count"][0]),
                float(parts[SCALE]["variance"][0]),
                parts[LEAF]["noisy_count"].to_numpy(),
                noisy,
                settings or Generation(),
                float(total["variance"][0]),
                districts=districts,
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
