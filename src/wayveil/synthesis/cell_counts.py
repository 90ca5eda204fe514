"""Numbers of taps straight from noisy histograms, and how far noise may have moved them.

Where earlier releases told the same numbers, those of this one follow them (see `following`).

Every cell is an exact count plus independent noise around zero, so sums of cells are right on average, and their noise
has a known law. Where several histograms tell the same number, they are averaged with the weights that leave the least
noise. The released taps are drawn from a table fitted to all histograms, without negative cells: close to these
numbers, but with errors that no law tells. The bars belong to the numbers here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from wayveil.arrays import Floats, Ints, Mask
from wayveil.synthesis.estimates import HOURS, WEEKDAYS, Estimate, Key, Visits
from wayveil.synthesis.following import Known, follow
from wayveil.synthesis.noise_sums import half_width
from wayveil.world.network import Network
from wayveil.world.timebins import DAY, HOUR, WEEK, TimeBins
from wayveil.world.world import World


@dataclass(frozen=True, eq=False)
class CellCounts:
    """One noisy histogram: what each cell belongs to (-1: nothing that is asked for), and the scale of the noise.

    told       which cells were counted at all; None: every one
    gaussian   whether the noise is Gaussian (the budget was in rho), and `scale` its variance
    """

    keys: Mapping[Key, Ints]
    counts: Ints
    scale: float
    told: Mask | None = None
    gaussian: bool = False

    @property
    def variance(self) -> float:
        """Of the noise of one cell."""
        return self.scale if self.gaussian else 2 * self.scale**2

    @property
    def fourth(self) -> float:
        """The fourth cumulant of the noise of one cell: its tails."""
        return 0.0 if self.gaussian else 12 * self.scale**4

    def known(self) -> Known:
        """Every cell by itself."""
        variance = np.full(len(self.counts), self.variance)
        if self.told is not None:
            variance[~self.told] = np.inf
        fourth = np.full(len(self.counts), self.fourth)
        return Known(self.counts.astype(np.float64), variance, fourth)


@dataclass(frozen=True, eq=False)
class EarlierCounts:
    """The noisy histograms of an earlier release, cell by cell as this release has them; public like all of it.

    told       which cells that release had: another version of the feed may have other stops and routes
    gaussian   whether its noise is Gaussian
    """

    counts: tuple[Ints, ...]
    scales: tuple[Fraction, ...]
    told: tuple[Mask, ...]
    gaussian: bool = False

    @classmethod
    def at(
        cls, counts: Sequence[Ints], scales: tuple[Fraction, ...], places: Sequence[Ints], *, gaussian: bool
    ) -> "EarlierCounts":
        """Of every histogram the cells at these places, in this order; -1: a cell that it does not have."""
        picked = (
            np.where(place >= 0, cells[np.maximum(place, 0)], 0)
            if len(cells)
            else np.zeros(len(place), np.int64)
            for cells, place in zip(counts, places, strict=True)
        )
        return cls(tuple(picked), scales, tuple(place >= 0 for place in places), gaussian)

    def cells(self, at: int, keys: Mapping[Key, Ints]) -> CellCounts:
        """One of the histograms."""
        return CellCounts(keys, self.counts[at], float(self.scales[at]), self.told[at], self.gaussian)

    @classmethod
    def whole(
        cls, counts: tuple[Ints, ...], scales: tuple[Fraction, ...], *, gaussian: bool
    ) -> "EarlierCounts":
        """Histograms that have all of their cells."""
        return cls(counts, scales, tuple(np.ones(len(cells), bool) for cells in counts), gaussian)


def believe_cells(weeks: Sequence[EarlierCounts]) -> list[tuple[Floats, float]]:
    """The cells of each histogram of the last of these weeks, as far as the others go along with it, and the mean
    variance; weeks that do not list the same cells are left out.
    """
    found, last = [], weeks[-1]
    for at, counts in enumerate(last.counts):
        alike = [week for week in weeks if len(week.counts[at]) == len(counts)]
        known = follow([week.cells(at, {}).known() for week in alike])
        found.append((known.value, float(known.variance.mean()) if len(counts) else 1.0))
    return found


def find_places(ids: Sequence[str | None], among: Sequence[str | None]) -> Ints:
    """Where each id stands among others; -1 where it does not."""
    at = {each: place for place, each in enumerate(among)}
    return np.array([at.get(each, -1) for each in ids], np.int64)


def estimate_visits(
    histograms: Sequence[CellCounts],
    question: Visits,
    world: World,
    earlier: Sequence[Sequence[CellCounts]] = (),
) -> Estimate | None:
    """Taps per stop, route or hour, or per several of them; None where no histogram tells.

    `earlier` are the histograms of earlier releases, the oldest first.
    """
    known = know_visits(histograms, question, world)
    if known is None or not known.told.all():
        return None
    before = [know_visits(week, question, world) for week in earlier]
    found = follow([*(week for week in before if week is not None), known])
    half = half_width(found.variance, found.fourth)
    return Estimate.within(found.value, half, found.variance, found.fourth)


def know_visits(histograms: Sequence[CellCounts], question: Visits, world: World) -> Known | None:
    """Return what the histograms of one release tell; None where the world has no such cells."""
    sizes: dict[Key, int] = {"stop": world.size, "hour": HOURS, "weekday": WEEKDAYS}
    if isinstance(world, Network):
        sizes["route"] = len(world.route_ids)
    if any(key not in sizes for key in question.keys - {"day"}):
        return None
    _, size = question.rows({key: np.zeros(0, np.int64) for key in question.keys}, sizes)
    value, weight, fourth = np.zeros(size), np.zeros(size), np.zeros(size)
    for histogram in histograms:
        if not question.keys <= set(histogram.keys):
            continue
        at = np.zeros(len(histogram.counts), np.int64)
        if question.keys:
            at, _ = question.rows({key: histogram.keys[key] for key in question.keys}, sizes)
        known = at >= 0
        many = np.bincount(at[known], minlength=size)
        if histogram.told is not None:  # of a sum of which a part is missing, nothing is known
            many[np.bincount(at[known & ~histogram.told], minlength=size) > 0] = 0
        precision = np.divide(1.0, many * histogram.variance, out=np.zeros(size), where=many > 0)
        value += precision * np.bincount(at[known], histogram.counts[known], size)
        fourth += precision**4 * many * histogram.fourth
        weight += precision
    told = weight > 0
    sure = np.where(told, weight, 1.0)
    return Known(value / sure, np.where(told, 1 / sure, np.inf), fourth / sure**4)


def weekday_of_bins(bins: TimeBins) -> Ints | None:
    """The weekday of each time bin, from Monday, 0; None where bins do not tell it."""
    if bins.period != WEEK or np.any((bins.end - 1) // DAY != bins.start // DAY):
        return None
    return np.asarray(bins.start // DAY, np.int64)


def hour_of_bins(bins: TimeBins) -> Ints | None:
    """The hour of the day of each time bin; None where a bin is longer than an hour."""
    if np.any((bins.end - 1) // HOUR != bins.start // HOUR):
        return None
    return np.asarray(bins.start % DAY // HOUR, np.int64)
