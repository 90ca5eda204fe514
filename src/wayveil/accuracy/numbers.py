"""`judge_numbers`: the one way by which numbers leave a release, whoever shows them.

It knows the interval of each number, what to think of numbers of such a question and size, and of what they are.
Terminal, Python, pages, exports and trends call it and show its words, or show nothing.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from wayveil.accuracy.accuracy import NOT_JUDGED
from wayveil.accuracy.distances import find_verdict, judge_errors
from wayveil.accuracy.find_bands import find_even_bands
from wayveil.accuracy.judged import JudgedRelease
from wayveil.accuracy.misfits import MEAN_ERROR, MISFIT, TOGETHER, least_together
from wayveil.accuracy.posterior import believe_estimate, best_guess, mean_errors
from wayveil.accuracy.ranks import MOST, can_rank, rank_ranges
from wayveil.accuracy.verdicts import Verdict
from wayveil.arrays import Floats, Ints
from wayveil.errors import RefusedError
from wayveil.released.released_trips import say_of_what
from wayveil.synthesis.counted import AllCounted, CountsCells
from wayveil.synthesis.estimates import Estimate, Interval, Visits
from wayveil.synthesis.model import OfTaps
from wayveil.synthesis.noise_sums import NORMAL_95
from wayveil.synthesis.tallies import VISIT_KINDS, Tally, tally
from wayveil.synthesis.tap_table import TapTable
from wayveil.world.grid import Grid

HOLDS = "The true number lies between low and high in 95 of 100 cases (docs/accuracy.md)."
NO_RANKS = "Which of these numbers are the largest is not known: noise alone would sort them as far apart."
NOT_COUNTED = (
    "This release counted stops and hours, but not both together, as no need is about both: "
    '--need "boardings per stop and hour" has them counted.'
)
NO_INTERVAL = "The interval of a single number is not known."
# Classes of all trips (durations, distances) add up to the number of trips, which was bought: of what visits have in
# common, they have so much.
OF_ALL = {"visits": 0.5}
# Numbers that count no people are taken for counts of which the largest is this.
SHARES = 1_000.0
WANTED = "To see the numbers all the same: --anyway (anyway=True)."


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers of a release that are about to leave.

    what     of what each is a number, in words
    values   the numbers, as they will be shown
    kind     the kind of question (`synthesis.tallies`) whose cells they are, or of which they are made
    cells    which cells of it; None: they are made of it
    known    what a model that counted taps says of them
    pairs    these numbers and those of the release made again, row by row; None: they are cells
    exact    whether they are cells of the kind, and not made of them
    counted  the noisy counts of exactly these cells, where they have another name than the kind
    whole    whether they count people, and are not shares, minutes or people per seat
    blurred  deviation of each that the release made again does not show (see `misfits`); None: none
    """

    what: str
    values: Floats
    kind: str | None = None
    cells: Ints | None = None
    known: Estimate | None = None
    pairs: tuple[Floats, Floats] | None = None
    exact: bool = True
    counted: str | None = None
    whole: bool = True
    blurred: Floats | None = None


@dataclass(frozen=True, eq=False)
class Judged:
    """Knowledge of numbers: the best guess at each, which is what may be shown, both ends of their 95 % intervals
    (not a number: not known), and words for people.
    """

    values: Floats
    low: Floats
    high: Floats
    verdict: Verdict | None
    of_what: str
    grid: bool = False

    @cached_property
    def known(self) -> bool:
        """Tell whether any of the numbers has an interval."""
        return bool((~np.isnan(self.low)).any())

    @cached_property
    def ranks(self) -> tuple[Ints, Ints] | None:
        """The best and the worst rank that each may have among all of them; None where there is nothing to rank."""
        if not self.known or not 1 < len(self.values) <= MOST:
            return None
        return rank_ranges(np.maximum(self.values, 0), self.low, self.high)

    @property
    def can_rank(self) -> bool:
        """Tell whether it is known of any number that it belongs to the larger half, or nothing is known at all."""
        return self.ranks is None or can_rank(*self.ranks)

    @property
    def said(self) -> str:
        """Say what to think of the numbers; nothing where nobody knows."""
        words = "" if self.verdict is None else self.verdict.words
        return call_places(words) if self.grid else words

    @property
    def words(self) -> str:
        """Say what to think of the numbers, what their intervals hold, and of what they are."""
        unsorted = "" if self.can_rank else NO_RANKS
        said = self.said or NOT_JUDGED
        return " ".join(filter(None, [said, HOLDS if self.known else NO_INTERVAL, unsorted, self.of_what]))

    def rank_columns(self) -> dict[str, pl.Series]:
        """Columns with the ranks that each number may have; none where they are not known."""
        if self.ranks is None:
            return {}
        return {
            name: pl.Series(side) for name, side in zip(("best_rank", "worst_rank"), self.ranks, strict=True)
        }

    @property
    def shown(self) -> Ints:
        """The numbers in whole trips, none of them below nothing."""
        return np.rint(np.maximum(self.values, 0)).astype(np.int64)

    def whole_ends(self) -> tuple[pl.Series, pl.Series]:
        """Both ends in whole trips, none of them below nothing; empty where nothing is known."""
        low, high = np.floor(np.maximum(self.low, 0)), np.ceil(np.maximum(self.high, 0))
        return pl.Series(low).fill_nan(None).cast(pl.Int64), pl.Series(high).fill_nan(None).cast(pl.Int64)


def judge_numbers(release: JudgedRelease, numbers: Numbers, *, anyway: bool = False) -> Judged:
    """Find what is known of these numbers; refuse them where all are noise or public knowledge is as good.

    So are taps by stop and hour that were drawn as if the two had nothing to do with each other. With `anyway`, they
    leave all the same, and the words say what they are.
    """
    release = release.whole
    numbers = _best_guess(release, numbers)
    verdict = _verdict_on(release, numbers)
    low, high = _ends(release, numbers)
    grid = isinstance(release.world, Grid)
    judged = Judged(numbers.values, low, high, verdict, say_of_what(release.datasheet), grid)
    table = release.model if isinstance(release.model, TapTable) else None
    made_up = table is not None and len(table.keys) == 0 and numbers.kind == "stop-hours"
    if (made_up or (verdict is not None and not verdict.useful)) and not anyway:
        raise RefusedError(f"{judged.said or NOT_COUNTED} {WANTED}")
    return judged


def call_places(words: str) -> str:
    """Call the stops of a text places: a grid has no stops."""
    return re.sub(r"\bstop(s?)\b", r"place\1", words)


def judge_tally(release: JudgedRelease, kind: str, *, anyway: bool = False) -> tuple[Tally, Judged]:
    """Count all cells of one kind of question in a release, and judge them."""
    shown = tally(kind, release.whole.trips)
    values = shown.values * release.whole.each_stands_for
    return shown, judge_numbers(release, Numbers(kind, values, kind, shown.cells), anyway=anyway)


def useful_among(release: JudgedRelease, kinds: Iterable[str | None]) -> list[bool]:
    """Tell of which kinds of question some numbers may leave."""
    found = (None if kind is None else release.accuracy.of(kind) for kind in kinds)
    return [verdict is None or verdict.useful for verdict in found]


def _best_guess(release: JudgedRelease, numbers: Numbers) -> Numbers:
    """Take numbers as they were counted, where they were; trips only blur what a count tells."""
    kind, cells, known = numbers.kind, numbers.cells, numbers.known
    if known is not None:
        known = best_guess(known)
        return replace(numbers, values=known.values, known=known)
    if kind is None or cells is None:
        return numbers
    keys = next((keys for keys, name in VISIT_KINDS.items() if name == kind), None)
    if isinstance(release.model, OfTaps) and keys is not None and numbers.exact:
        found = release.estimate(Visits(keys))
        if found is None or found.low is None:
            return numbers
        # All cells together tell what to believe of some.
        known = best_guess(found).take(cells)
        return replace(numbers, values=known.values, known=known)
    if numbers.counted is not None:
        values = release.sharpen(numbers.counted, cells, numbers.values)
        ends = release.interval(numbers.counted, cells, values)
        known = None if ends is None else Estimate(values, *ends)
        return replace(numbers, values=values, known=known, exact=False)
    if kind in ("boardings", "alightings") and numbers.exact:
        return replace(numbers, values=release.sharpen(kind, cells, numbers.values))
    return numbers


def _verdict_on(release: JudgedRelease, numbers: Numbers) -> Verdict | None:
    base = None if numbers.kind is None else release.accuracy.of(numbers.kind)
    if base is None:
        return None
    if numbers.pairs is None:
        if numbers.exact or numbers.known is None:
            return base.about(numbers.values)
        if numbers.known.interval is None:
            # Made of cells of the kind in a way that may be wrong itself, and nothing shows how far.
            return replace(base, kind=numbers.what, sure=False, is_noise=not base.useful, sizes=())
        values = np.nan_to_num(np.maximum(numbers.values, 0))
        off = np.where(values > 0, np.nan_to_num(mean_errors(numbers.known)), 0.0)
        size = max(float(values.sum()), 1e-9)
        seen = judge_errors(numbers.what, values if numbers.whole else None, off, size, sure=base.sure)
        return seen.about(values)
    # Of what is made of numbers that have no interval, no more than noise is known.
    sure = base.sure and (not release.accuracy.bands or _is_held(release, numbers.kind))
    if not sure and not base.useful:
        return replace(base, kind=numbers.what, sizes=base.sizes[-1:])
    beside = MEAN_ERROR * TOGETHER * _not_shown(release, numbers)
    found = find_verdict(numbers.what, *numbers.pairs, beside, sure=sure, whole=numbers.whole)
    return found.about(numbers.values)


def _share_not_shown(release: JudgedRelease, kind: str) -> float:
    """Deviation of numbers made of cells of a kind that the release made again does not show, in shares of each."""
    return least_together(release.model, kind, made=True) * OF_ALL.get(kind, 1.0)


def _not_shown(release: JudgedRelease, numbers: Numbers) -> Floats:
    """That of each, with how far it is blurred."""
    assert numbers.pairs is not None
    found = _share_not_shown(release, numbers.kind or "") * np.abs(numbers.pairs[0])
    if numbers.blurred is not None:
        # Rows of the release come first.
        found[: len(numbers.blurred)] = np.hypot(found[: len(numbers.blurred)], numbers.blurred)
    return found


def _ends(release: JudgedRelease, numbers: Numbers) -> Interval:
    found = None if numbers.known is None else believe_estimate(numbers.known).interval
    if found is None and numbers.kind is not None and numbers.cells is not None:
        found = release.interval(numbers.kind, numbers.cells, numbers.values)
    if found is None and numbers.pairs is not None and _is_held(release, numbers.kind):
        found = _pair_ends(release, numbers)
    if found is None:
        nothing = np.full(len(numbers.values), np.nan)
        return nothing, nothing
    return np.asarray(found[0], np.float64), np.asarray(found[1], np.float64)


def _is_held(release: JudgedRelease, kind: str | None) -> bool:
    """Tell whether a kind has intervals, from replicas or by the law of the noise."""
    if kind is None or kind in release.accuracy.bands:
        return kind is not None
    return isinstance(release.model, CountsCells) and isinstance(release.model.counted(kind), AllCounted)


def _pair_ends(release: JudgedRelease, numbers: Numbers) -> Interval | None:
    """Intervals of numbers that are made of a kind which has some: from the same numbers of the release made again."""
    assert numbers.pairs is not None
    assert numbers.kind is not None
    scale = 1.0 if numbers.whole else max(float(np.nanmax(np.abs(numbers.pairs[0]))), 1e-9) / SHARES
    true, again = (np.nan_to_num(side) / scale for side in numbers.pairs)
    cells = np.arange(len(true))
    least = _share_not_shown(release, numbers.kind)
    sides = Tally(cells, true), Tally(cells, again)
    bands = find_even_bands(*sides, least, release.accuracy.smoothed)
    if bands is None:
        return None
    bands = bands.widen(MISFIT * (release.accuracy.bias(numbers.kind) or 0.0))
    values = numbers.values / scale
    low, high = bands.ends(values)
    if numbers.blurred is not None:
        more = NORMAL_95 * numbers.blurred / scale
        low, high = (
            np.maximum(values - np.hypot(values - low, more), 0.0),
            values + np.hypot(high - values, more),
        )
    return low * scale, high * scale
