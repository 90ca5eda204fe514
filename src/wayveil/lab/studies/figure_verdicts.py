"""Which published tables and figures were reached, and what can be said of curves.

What can be said of curves: whether they fall or grow, and how far two of them are apart.

A curve is a mean by place, ascending (`Results.curve`). What tests a claim gives whether it holds, and words with a
number.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from wayveil.lab.studies.study import Better, Exhibit, Study
from wayveil.lab.studies.study_results import Results, Value

Curve = Mapping[float, float]
Said = tuple[bool | None, str]  # None: these results cannot tell
NOT_MEASURED: Said = (None, "not measured")


LEAST = 0.01  # of the first point: a curve that moves less is flat


def falls(curve: Curve) -> Said:
    """Test whether the last point is below the first, by more than a hundredth: less is no fall.

    >>> falls({1.0: 0.5, 2.0: 0.25})
    (True, '0.5 at 1, 0.25 at 2')
    """
    if len(curve) < 2:
        return NOT_MEASURED
    (low, first), *_, (high, last) = curve.items()
    return last < first - LEAST * abs(first), f"{first:.3g} at {low:g}, {last:.3g} at {high:g}"


def grows(curve: Curve) -> Said:
    """Test whether the last point is above the first, by more than a hundredth."""
    if len(curve) < 2:
        return NOT_MEASURED
    first, *_, last = curve.values()
    return last > first + LEAST * abs(first), falls(curve)[1]


def pairs(one: Curve, other: Curve) -> list[tuple[float, float]]:
    """Both values wherever both curves have one."""
    return [(one[place], other[place]) for place in one if place in other]


def always_less(one: Curve, other: Curve) -> Said:
    """Test whether the first is below the second wherever both were measured.

    >>> always_less({0.5: 4.0, 2.0: 3.0}, {0.5: 5.0, 2.0: 2.0})
    (False, '4 against 5 at 0.5; 3 against 2 at 2')
    """
    both = [(place, one[place], other[place]) for place in one if place in other]
    if not both:
        return NOT_MEASURED
    words = "; ".join(f"{mine:.3g} against {theirs:.3g} at {place:g}" for place, mine, theirs in both)
    return all(mine < theirs for _, mine, theirs in both), words


def span(values: Collection[float]) -> str:
    """From the least to the largest.

    >>> span([0.25, 0.5, 0.3])
    '0.25 to 0.5'
    """
    return f"{min(values):.3g} to {max(values):.3g}"


MARGIN = 0.10  # of the study's value: what is nearer to it counts as the same
Judgement = Literal["better", "same", "worse", "cannot tell"]
Status = Literal["reached", "not reached", "cannot tell", "not reproducible"]
STATUSES: tuple[Status, ...] = ("reached", "not reached", "cannot tell", "not reproducible")


@dataclass(frozen=True)
class FigureVerdict:
    """One published table or figure: how many of its values and claims hold, and a sentence with numbers.

    reached   values that are the study's or better, and claims that hold
    judged    all of them
    unsure    those that this run cannot tell: too few repetitions for how far they are apart
    privacy, own  what privacy costs, and what was our own fault, where a figure was split by that
    mended    whether that fault is gone, by the rule of the split, or the figure reached; None: not split
    """

    label: str
    title: str
    status: Status
    reached: int
    judged: int
    unsure: int
    words: str
    privacy: str = ""
    own: str = ""
    mended: bool | None = None


@dataclass(frozen=True)
class ComparedValue:
    """One printed value beside ours."""

    down: str
    across: str
    theirs: float
    ours: Value
    judgement: Judgement

    @property
    def gap(self) -> float:
        """Return how far ours lies from theirs, relative to theirs (to one, where theirs is 0)."""
        return (self.ours.mean - self.theirs) / (abs(self.theirs) or 1.0)


def judge(study: Study, results: Results) -> list[FigureVerdict]:
    """Every published table and figure of the study, in its order."""
    return [_judge(study, exhibit, results) for exhibit in study.exhibits if exhibit.published]


def remark(study: Study, exhibit: Exhibit, results: Results) -> str:
    """Comment on an exhibit: its verdict's words; for one that was not published, what its claims found."""
    return _judge(study, exhibit, results).words if exhibit.published or exhibit.claims else ""


def hold(exhibit: Exhibit, results: Results) -> list[ComparedValue]:
    """Every printed value that ours has too."""
    if exhibit.ours is None:
        return []
    places = results.places(exhibit)
    held = []
    for (down, across), theirs in exhibit.printed.items():
        ours = places.get((down, across, exhibit.ours))
        if ours is not None:
            told = compare(ours, theirs, exhibit.direction(across), exact=exhibit.exact)
            held.append(ComparedValue(down, across, theirs, ours, told))
    return held


def compare(ours: Value, theirs: float, better: Better, *, exact: bool = False) -> Judgement:
    """Judge ours beside theirs: the whole 95 % interval of our mean must lie on one side of the margin.

    Spread makes the interval wider, so it can only take a verdict away, never give one. One run has no interval and
    tells nothing, unless there is no chance in it (`exact`).
    """
    if ours.runs < 2 and not exact:
        return "cannot tell"
    margin = MARGIN * abs(theirs)
    sign = -1 if better == "higher" else 1
    low, high = sorted((sign * (ours.low - theirs), sign * (ours.high - theirs)))
    if low > margin:
        return "worse"
    if high < -margin:
        return "worse" if better == "same" else "better"
    # The side that does not matter may be left open.
    inside = high <= margin and (better != "same" or low >= -margin)
    return "same" if inside else "cannot tell"


def _judge(study: Study, exhibit: Exhibit, results: Results) -> FigureVerdict:
    unmeasured = "" if exhibit.missing else _unmeasured(study, exhibit, results)
    if exhibit.missing or unmeasured:
        words = exhibit.missing or unmeasured
        return FigureVerdict(exhibit.label, exhibit.title, "not reproducible", 0, 0, 0, words)
    held = hold(exhibit, results)
    claims = [(claim.words, *claim.test(results)) for claim in exhibit.claims]
    told = [_said(one.judgement) for one in held] + [holds for _, holds, _ in claims]
    if not told:
        words = "Not measured: this run has none of the printed places."
        return FigureVerdict(exhibit.label, exhibit.title, "not reproducible", 0, 0, 0, words)
    reached, unsure = told.count(True), told.count(None)
    sentences = [*_about_values(exhibit, held), *_about_claims(claims)]
    if reached < len(told) and exhibit.why is not None:
        sentences.append(exhibit.why(results))
    status: Status = "reached" if reached == len(told) else "not reached" if False in told else "cannot tell"
    words = " ".join(sentences)
    verdict = FigureVerdict(exhibit.label, exhibit.title, status, reached, len(told), unsure, words)
    if exhibit.split is None:
        return verdict
    split = exhibit.split(results)
    return replace(verdict, privacy=split.privacy, own=split.own, mended=split.mended or status == "reached")


def _said(judgement: Judgement) -> bool | None:
    return None if judgement == "cannot tell" else judgement != "worse"


def _unmeasured(study: Study, exhibit: Exhibit, results: Results) -> str:
    """Why an exhibit is not judged: some of what it shows has no figures. Empty where all of it has."""
    gone = results.unmeasured(study, exhibit)
    if not gone:
        return ""
    reasons = {
        cell["message"]
        for cell in results.cells
        if cell["part"] in exhibit.parts and cell["status"] != "measured" and cell["setting"] in gone
    }
    why = "; ".join(sorted(reasons)) or "this run did not come to it"
    return f"Not measured, {len(gone)} of its settings: {why}."


def _about_values(exhibit: Exhibit, held: Sequence[ComparedValue]) -> list[str]:
    if not held:
        return []
    count: Counter[str] = Counter(one.judgement for one in held)
    reached = count["same"] + count["better"]
    others = {"better": "of them better", "worse": "worse", "cannot tell": "cannot be told"}
    parts = [f"{count[what]} {words}" for what, words in others.items() if count[what]]
    words = [f"{reached} of {len(held)} printed values reached{''.join(f', {part}' for part in parts)}."]
    short = [one for one in held if one.judgement == "worse"]
    if short:
        worst = max(short, key=lambda one: abs(one.gap))
        words.append(
            f"Farthest: {exhibit.column_name(worst.across)} at {exhibit.down} {worst.down} is "
            f"{number(worst.ours.mean)} here, {number(worst.theirs)} in the study ({_apart(worst)})."
        )
    return words


def _apart(one: ComparedValue) -> str:
    """Percent, or how many times as much where that would be a long number."""
    if one.theirs and one.gap > 9:
        return f"{number(one.ours.mean / one.theirs)} times as much"
    return f"{100 * one.gap:+.0f} %" if one.theirs else f"{number(one.ours.mean)} more"


def _about_claims(claims: Sequence[tuple[str, bool | None, str]]) -> list[str]:
    said = {True: "Holds", False: "Does not hold", None: "Cannot be told"}
    return [f"{said[holds]}: {words} ({found})." for words, holds, found in claims]


def number(value: float) -> str:
    """Enough digits to tell two values of a table apart.

    >>> number(1234.5), number(0.12345), number(2.5e12)
    ('1,234', '0.123', '2.5e+12')
    """
    if 1000 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.2g}"
