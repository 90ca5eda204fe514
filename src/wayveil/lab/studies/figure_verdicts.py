"""Which published tables and figures were reached: counted, with the farthest value and its reason, never typed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from wayveil.lab.studies.study import Better, Exhibit, Study
from wayveil.lab.studies.study_results import Results, Value

FEWEST = 5  # runs whose interval counts
Status = Literal["reached", "not reached", "not reproducible"]


@dataclass(frozen=True)
class FigureVerdict:
    """One published table or figure: how many of its values and claims hold, and a sentence with numbers."""

    label: str
    title: str
    status: Status
    reached: int
    judged: int
    words: str


@dataclass(frozen=True)
class ComparedValue:
    """One printed value beside ours."""

    down: str
    across: str
    theirs: float
    ours: Value
    reached: bool

    @property
    def gap(self) -> float:
        """How far ours lies from theirs, relative to theirs (to one, where theirs is 0)."""
        return (self.ours.mean - self.theirs) / (abs(self.theirs) or 1.0)


def judge(study: Study, results: Results) -> list[FigureVerdict]:
    """Every published table and figure of the study, in its order."""
    return [_judge(study, exhibit, results) for exhibit in study.exhibits if exhibit.published]


def remark(study: Study, exhibit: Exhibit, results: Results) -> str:
    """What can be said of an exhibit: its verdict's words; for one that was not published, what its claims found."""
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
            reached = reaches(ours, theirs, exhibit.direction(across), exhibit.tolerance)
            held.append(ComparedValue(down, across, theirs, ours, reached))
    return held


def reaches(ours: Value, theirs: float, better: Better, tolerance: float) -> bool:
    """Whether ours is as good as theirs, up to the tolerance and to chance (its 95 % interval).

    The interval of fewer than `FEWEST` runs is so wide that it would reach anything: then the mean is held.
    """
    slack = tolerance * abs(theirs)
    low, high = (ours.low, ours.high) if ours.runs >= FEWEST else (ours.mean, ours.mean)
    not_above, not_below = low <= theirs + slack, high >= theirs - slack
    if better == "lower":
        return not_above
    if better == "higher":
        return not_below
    return not_above and not_below


def _judge(study: Study, exhibit: Exhibit, results: Results) -> FigureVerdict:
    unmeasured = "" if exhibit.missing else _unmeasured(study, exhibit, results)
    if exhibit.missing or unmeasured:
        words = exhibit.missing or unmeasured
        return FigureVerdict(exhibit.label, exhibit.title, "not reproducible", 0, 0, words)
    held = hold(exhibit, results)
    claims = [(claim.words, *claim.test(results)) for claim in exhibit.claims]
    judged = len(held) + len(claims)
    reached = sum(one.reached for one in held) + sum(holds for _, holds, _ in claims)
    sentences = [*_about_values(exhibit, held), *_about_claims(claims)]
    if judged == 0:
        words = "Not measured: this run has none of the printed places."
        return FigureVerdict(exhibit.label, exhibit.title, "not reproducible", 0, 0, words)
    if reached < judged and exhibit.why is not None:
        sentences.append(exhibit.why(results))
    status: Status = "reached" if reached == judged else "not reached"
    return FigureVerdict(exhibit.label, exhibit.title, status, reached, judged, " ".join(sentences))


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
    reached = sum(one.reached for one in held)
    words = [f"{reached} of {len(held)} printed values reached."]
    short = [one for one in held if not one.reached]
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


def _about_claims(claims: Sequence[tuple[str, bool, str]]) -> list[str]:
    return [f"{'Holds' if holds else 'Does not hold'}: {words} ({found})." for words, holds, found in claims]


def number(value: float) -> str:
    """Enough digits to tell two values of a table apart."""
    return (
        f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.2g}"
    )
