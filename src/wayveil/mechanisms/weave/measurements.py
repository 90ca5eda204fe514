"""The model of a Weave release: what was measured, the trips that are woven from it, and how wrong they will be.

Two things make the trips of a release wrong. *Noise*: if the released trips were the truth, measuring them with the
same noise and weaving again would be off by so much. That is done once, and every cell of a block is one try. *What
the trips cannot express*: the released trips miss the noisy answers by more than those of the second weaving miss
theirs. Where noise is so strong that this cannot be seen, a cell is thought to be off by two fifths. All of it follows
from noisy numbers and the law of the noise, so that it is free to publish.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

from wayveil.arrays import Floats
from wayveil.errors import InputError
from wayveil.mechanisms.weave.estimates import CellEstimates
from wayveil.mechanisms.weave.lengths import LengthLaw, read_lengths
from wayveil.mechanisms.weave.noisy_blocks import NoisyBlock, NoisyBlocks
from wayveil.mechanisms.weave.weaving import Woven, make_time_bins, weave
from wayveil.mechanisms.weave.weight_fit import Features, find_norms
from wayveil.progress import step
from wayveil.synthesis.model import ExpectedError, Replica
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid
from wayveil.world.walk_blocks import Block, Walks, join_lengths


@dataclass(frozen=True, eq=False)
class Measurements(NoisyBlocks):
    """Noisy counts that can be woven into trips, as often as one likes."""

    __hash__ = None

    def weave(self, seed: int = 0) -> Woven:
        """Draw a support and fit it; the result can be sampled again and again, and knows how well it fits.

        Releases draw it from one seed, replicas from others.
        """
        with _whole_model():
            return weave(self, np.random.default_rng(seed))

    def generate(self, seed: int | None = None, *, trips: int | None = None) -> Trips:
        """Private trips: as many as the noisy total says, or as many as asked for.

        The former are the same for every seed, up to their order and the minutes at which they begin, so that only
        noise moves what is read off them. So many as asked for are drawn by the seed.
        """
        rng = np.random.default_rng(seed)
        if trips is None:
            return self.weave().sample(self.trips, np.random.default_rng((0, 1)), rng)
        return self.weave().sample(trips, rng)

    def draw(self, trips: int | None = None, seed: int | None = None) -> Trips:
        """So many private trips, or as many as the noisy total says."""
        return self.generate(seed, trips=trips)

    def replicate(self, trips: Trips, seed: int) -> Replica:
        """Measured and woven once more, as if the released trips were the truth."""
        return weave_again(self, trips, seed)

    def expected_errors(self, trips: Trips, again: Replica) -> list[ExpectedError]:
        """Say how far off the released trips are expected to be, from those that were woven once more."""
        return compare_weavings(self, trips, again, seed=0)

    def pieces(self, seed: int | None = None, *, trips: int, at_once: int) -> Iterator[Trips]:
        """Return them, so many at a time: for numbers that do not fit in memory. Weaves once."""
        rng, woven = np.random.default_rng(seed), self.weave()
        for first in range(0, trips, at_once):
            yield woven.sample(min(at_once, trips - first), rng)


@contextmanager
def _whole_model() -> Iterator[None]:
    """Say of a table that others may have changed what is wrong with it."""
    try:
        yield
    except (KeyError, IndexError, ZeroDivisionError) as error:
        raise InputError(f"the model was changed, or is not whole: {error} is missing or wrong") from error


# Blocks that people ask about, and in which words.
ASKED_ABOUT = {
    "origin": "trips that begin at a stop",
    "destination": "trips that end at a stop",
    "edge": "riders on an edge",
    "move": "riders on a move",
    "pair": "trips between two zones",
    "district pair": "trips between two districts",
    "hour": "trips that begin in an hour",
    "length": "trips with so many stops",
}
# The kinds of question of `synthesis.tallies` whose cells they are.
KINDS = {
    "origin": "boardings",
    "destination": "alightings",
    "edge": "edges",
    "move": "edges",
    "length": "lengths",
}


@dataclass(frozen=True, eq=False)
class CellSums:
    """Sums that trips add to the cells of a block: as the block counts them, and as riders, whole on every move."""

    value: Floats
    riders: Floats


def expected_errors(measured: NoisyBlocks, released: Trips, seed: int | None = None) -> list[ExpectedError]:
    """Return how far the released trips are expected to be off, by kind of question. Takes about as long as weaving."""
    return compare_weavings(measured, released, weave_again(measured, released, seed), seed)


def weave_again(measured: NoisyBlocks, released: Trips, seed: int | None = None) -> Replica:
    """Return what would have been released if the released trips were the truth."""
    rng = np.random.default_rng(seed)
    with step("weaving again, to see how far off that is"):
        model = _measure_again(measured, len(released), count_trips(measured, released), rng)
        again = np.random.default_rng(int(rng.integers(1 << 62)))
        return Replica(model, weave(model, again).sample(model.trips, again))


def compare_weavings(
    measured: NoisyBlocks, released: Trips, replica: Replica, seed: int | None = None
) -> list[ExpectedError]:
    """Return how far off the released trips are expected to be, by kind of question, from a second weaving."""
    rng = np.random.default_rng(seed)
    assert isinstance(replica.model, NoisyBlocks)  # Weave makes no other
    truth, again = count_trips(measured, released), count_trips(measured, replica.trips)
    # The number of trips is the noisy one itself: off by what Laplace or Gaussian noise is on average.
    number = sqrt(measured.variance * (2 / pi if measured.gaussian else 1 / 2))
    trips = float(max(measured.total, 1))
    found = [ExpectedError("number of trips", 1, trips, number, number / trips, 0.0, seen=True, kind="total")]
    for name, question in ASKED_ABOUT.items():
        if name not in truth:
            continue
        fold = measured.resolution.distances if name == "length" else 1
        seen = _fold(truth[name], measured.noisy[name], fold)
        seen_again = _fold(again[name], replica.model.noisy[name], fold)
        if not (seen.riders > 0).any():
            continue  # trips of one stop have no edges
        error = _compare(question, seen, seen_again, measured.settings.hidden[0], len(released), rng)
        found.append(replace(error, kind=KINDS.get(name)))
    if isinstance(measured.world, Grid):
        found += _guess_on_grids(measured, released, replica.trips, rng)
    return found


def _guess_on_grids(
    measured: NoisyBlocks, released: Trips, again: Trips, rng: np.random.Generator
) -> list[ExpectedError]:
    """Say how far off visits are, whose number follows from the noisy table of lengths; and, where edges were not
    asked for, edges and visits of cells, which are thought to be off by a share of their own beside their noise.
    """
    guessed = dict(zip(("edges", "stops"), measured.settings.hidden[1:], strict=True))
    edges, found = measured.blocks().all()["edge"], [_expect_visits(measured, released, rng)]
    if "edge" in measured.noisy:
        return found
    size, both = measured.world.size, (released, again)
    tallies: dict[str, tuple[str, list[Floats]]] = {
        "edges": (ASKED_ABOUT["edge"], [_count_cells(edges, trips) for trips in both]),
        "stops": (
            "visits of a cell",
            [np.bincount(trips.location, None, size).astype(np.float64) for trips in both],
        ),
    }
    for kind, (question, cells) in tallies.items():
        # Next to noise of all visits a misfit of nothing tells nothing.
        noise = float(released.visits) ** 2
        seen, seen_again = (_Seen(each, each, np.zeros(1), noise) for each in cells)
        if seen.value.any():
            error = _compare(question, seen, seen_again, guessed[kind], len(released), rng)
            found.append(replace(error, kind=kind, asked=False))
    return found


def _expect_visits(measured: NoisyBlocks, released: Trips, rng: np.random.Generator) -> ExpectedError:
    """Read the lengths of the released trips again, off 24 tables with noise."""
    edges, known = measured.blocks().length_edges, measured.believe("length")
    bin_, joined = np.searchsorted(edges, released.lengths, side="right") - 1, join_lengths(edges)
    exact = {"length": np.bincount(bin_, minlength=len(edges))}
    deviation = {"length": known.deviation * sqrt(len(known.value) / len(edges))}
    if "length in all" in measured.noisy:
        exact["length in all"] = np.bincount(joined[bin_], minlength=joined[-1] + 1)
        deviation["length in all"] = measured.believe("length in all").deviation
    many, off = float(released.visits), []
    for _ in range(24):
        noisy = {
            name: CellEstimates(
                count + rng.laplace(0.0, deviation[name] / sqrt(2), len(count)), deviation[name]
            )
            for name, count in exact.items()
        }
        law = read_lengths(noisy, edges, float(len(released)), measured.settings)["length"]
        off.append(LengthLaw(edges, law.value).visits - many)
    mean = float(np.mean(np.abs(off)))
    return ExpectedError("visits in all", 1, many, mean, mean / many, 0.0, seen=True, kind="visits")


def _count_cells(block: Block, trips: Trips) -> Floats:
    """Count what trips have in every cell of a block."""
    cells = block.of(Walks(trips.location, trips.offsets))
    return np.bincount(cells[cells >= 0], minlength=block.cells).astype(np.float64)


def count_trips(measured: NoisyBlocks, trips: Trips) -> dict[str, CellSums]:
    """Trips in the cells of every block that was asked for."""
    times = measured.resolution.times
    bins = (
        make_time_bins(times).bin_of(trips.time[trips.offsets[:-1]])
        if times and trips.time is not None
        else None
    )
    walks = Walks(trips.location, trips.offsets, bins)
    found = {}
    asked = {name: block for name, block in measured.blocks().all().items() if name in measured.noisy}
    for name, block in asked.items():
        features = Features({name: block}, walks)
        with ThreadPoolExecutor(len(features.shares)) as pool:
            value = features.add_up(np.ones(features.size), pool)
            riders = value
            if block.spread:
                riders = features.add_up(find_norms(block, walks)[features.trip], pool)
        found[name] = CellSums(value, riders)
    return found


def _measure_again(
    measured: NoisyBlocks, trips: int, truth: dict[str, CellSums], rng: np.random.Generator
) -> NoisyBlocks:
    """Return what would have been measured if the truth were this."""

    def add_noise(exact: Floats, variance: float) -> NDArray[np.int64]:
        draw = rng.normal if measured.gaussian else rng.laplace
        scale = sqrt(variance if measured.gaussian else variance / 2)
        return np.rint(exact + draw(0.0, scale, len(exact))).astype(np.int64)

    blocks = {
        name: replace(block, counts=add_noise(truth[name].value * block.whole, block.variance))
        for name, block in measured.noisy.items()
    }

    def add_drift(name: str, week: NoisyBlock) -> NoisyBlock:
        """An earlier week was as far from the truth as it is from what is believed now, beyond its noise."""
        known, now, level = week.known(), measured.believe(name), truth[name].value
        beyond = max(float(np.mean((known.value - now.value) ** 2 - known.variance - now.variance)), 0.0)
        drift = np.sqrt(beyond * level / max(float(level.mean()), 1e-12)) * rng.standard_normal(len(level))
        return replace(week, counts=add_noise((level + drift) * week.whole, week.variance))

    total = int(add_noise(np.array([float(trips)]), measured.variance)[0])
    earlier = tuple({name: add_drift(name, week[name]) for name in week} for week in measured.earlier)
    return replace(measured, total=total, noisy=blocks, earlier=earlier)


@dataclass(frozen=True, eq=False)
class _Seen:
    """Trips in cells, riders in cells, and how far noisy answers are from the trips; `variance` is their noise's."""

    value: Floats
    riders: Floats
    misfit: Floats
    variance: float


def _fold(tally: CellSums, block: NoisyBlock, fold: int) -> _Seen:
    """With every `fold` parts of a block added up, cell by cell."""
    noisy = block.in_trips()
    value, riders, misfit = (
        cells.reshape(fold, -1).sum(axis=0)
        for cells in (tally.value, tally.riders, tally.value - noisy.value)
    )
    return _Seen(value, riders, misfit, fold * noisy.deviation**2)


def _compare(
    question: str,
    seen: _Seen,
    again: _Seen,
    unseen: float,
    trips: int,
    rng: np.random.Generator,
) -> ExpectedError:
    """Noise as the second weaving shows it, and beside it a bias of random sign."""
    excess = float(np.mean(seen.misfit**2) - np.mean(again.misfit**2))
    beyond, sure = _estimate_bias(excess, seen.variance, seen.value, unseen)
    # A rider spreads one over a whole trip: so many riders are one in this block.
    bias = np.sqrt(beyond) * (seen.riders.sum() / max(seen.value.sum(), 1.0))
    off = np.abs(again.riders - seen.riders + bias * rng.standard_normal(len(bias)))
    kept = seen.riders > 0
    return ExpectedError(
        question,
        int(kept.sum()),
        float(seen.riders[kept].mean()),
        float(off[kept].mean()),
        float(np.mean(off[kept] / np.maximum(seen.riders[kept], trips / 1_000))),
        float(bias[kept].mean() * sqrt(2 / pi)),
        sure,
        misfit=sqrt(float(np.mean(seen.misfit**2)) / max(seen.variance, 1e-12)),
    )


def _estimate_bias(excess: float, variance: float, value: Floats, unseen: float) -> tuple[Floats, bool]:
    """The squared bias of every cell, from the mean excess of squared misfits, and whether that is more than a guess.

    The excess is a difference of two means of squared noise, each of variance 5 v^2 / cells for Laplace noise of
    variance v. It is weighed against the guess, which is as uncertain as it is large.
    """
    cells = len(value)
    guess = max(float(np.mean((unseen * value) ** 2)), 1e-12)
    unsure = 10 * variance**2 / cells
    # In few cells much of an excess is luck: in twenty it is half believed.
    believed = max(0.0, excess) * cells / (cells + 20)
    mean = (believed * guess**2 + guess * unsure) / (guess**2 + unsure)
    # Busy cells are off by more, in proportion to the square root of what is in them.
    return mean * value / max(float(value.mean()), 1e-12), guess**2 > unsure
