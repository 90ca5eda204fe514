"""Preview that `check` gives of a plan before it is followed: noise and typical errors, by question and by bound."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

from wayveil.plan.needs import ASKED, Need
from wayveil.plan.outlook import BOUNDS, Forecast
from wayveil.privacy.units import Rider
from wayveil.releases.order import DEFAULT_TRIPS_PER_RIDER
from wayveil.simulate.crowd import Crowd

# The questions of the default set that are counted cell by cell.
TOLD = (
    Need(question="total"),
    Need(question="hours"),
    Need(question="boardings", top=50),
    Need(question="stop-hours", top=50),
)


@dataclass(frozen=True)
class Told:
    """Errors of one question under a plan: 95 % of the noise on a number, and the error of the typical one."""

    question: str
    noise: float
    typical: float

    @property
    def words(self) -> str:
        """One row of a table."""
        noise = "   will be noise" if self.typical >= NOISE_FROM else ""
        return f"{self.question:>40} | {f'+-{self.noise:,.0f}':>26} | {self.typical:>7.1%}{noise}"


HEADER = f"{'what the command would give':>40} | noise of one number (95 %) | typical error"
# A typical number that is off by more than this says nothing.
NOISE_FROM = 0.5
NOT_SO = "do not release this as it is"
# Busy stops, which most files are released for.
BUSY = Need(question="boardings", top=50)


def tell_answers(told: Forecast, epsilon: float) -> list[Told]:
    """Return what a release of these rides would give, question by question, by the law of the noise at its shares."""
    scales = told.scales(epsilon)
    found = []
    for need in TOLD:
        if need.question in scales and (told.timed or "hours" not in need.question):
            (each,) = told.at([need], epsilon)
            shown = each.median if need.top is None else max(each.median, told.typical_shown(need, epsilon))
            found.append(Told(say_question(need), scales[need.question] * log(20), shown))
    return found


def say_question(need: Need) -> str:
    """Name a question and its cells, however exact."""
    return ASKED[need.question].words + ("" if need.top is None else f", top {need.top}")


def say_remedies(told: Forecast, epsilon: float) -> list[str]:
    """Return what would work where the boardings of a plan would be noise; nothing where they would not."""
    answers = tell_answers(told, epsilon)
    lost = [each for each in answers if each.typical >= NOISE_FROM]
    if not lost:
        return []
    said = f"with epsilon {epsilon:g} these will be noise: {', '.join(each.question for each in lost)}"
    if len(lost) == len(answers):
        said = f"{NOT_SO}: with epsilon {epsilon:g} every number will be noise"
    return [f"{said}. {say_help(told, epsilon, lost[0].question)}"]


def say_help(told: Forecast, epsilon: float, question: str) -> str:
    """Say what would make a question more than noise: another file, or so much epsilon."""

    def is_clear(enough: float) -> bool:
        rows = [row for row in tell_answers(told, enough) if row.question == question]
        return bool(rows) and rows[0].typical <= NOISE_FROM

    enough = next(filter(is_clear, (epsilon * factor for factor in (1.5, 2, 3, 5, 7, 10))), None)
    works = ["a longer period", "larger places (stations, districts) in the list of places"]
    works += [] if enough is None else [f"--epsilon {enough:g}"]
    return f"This would help: {', or '.join(works)}"


@dataclass(frozen=True)
class Bound:
    """Errors to expect where all rides of a rider count as at most `most` together.

    weight   what a ride counts on average
    noise    95 % of the noise on the boardings of a stop, as the plan shares epsilon
    typical  how far off boardings of the 50 busiest stops are
    """

    most: int
    weight: float
    noise: float
    typical: float

    def words(self, *, chosen: bool) -> str:
        """One row of a table."""
        off = f"{self.typical:.0%}" if self.typical < 1 else "noise"
        row = f"{self.most:>34} | {self.weight:>10.2f} | {f'+-{self.noise:,.0f}':>22} | {off}"
        return row + ("   <- recommended" if chosen else "")


def say_bounds(rows: Sequence[Bound], chosen: int | None) -> list[str]:
    """Return the table of bounds; where busy stops would be noise with all of them, say so: none is recommended."""
    least = min((row.typical for row in rows), default=0.0)
    if least >= NOISE_FROM:
        said = "whatever the rides of a rider count as, the 50 busiest stops would be noise"
        return [f"{said}: typical error {least:.0%} at best"]
    return [BOUNDS_HEADER, *(row.words(chosen=row.most == chosen) for row in rows)] if rows else []


BOUNDS_HEADER = (
    "all rides of a rider count as most | each as    | noise on a stop (95 %) | typical error, top 50"
)
# A bound that is not the default must be this much better than it.
WORTH_SAYING = 0.9


def plan_riders(told: Forecast, crowd: Crowd, epsilon: float) -> tuple[Forecast, list[Bound], int | None]:
    """Choose what the rides of a rider count as: the forecast, what each bound would give, and the one to be said.

    Where every rider has one ride it counts as it is, and there is nothing to choose from. Elsewhere rides are weighed,
    with the default bound unless boardings of busy stops are less off with another one, or, in small files, with all
    rides of everybody as they are.
    """
    told = replace(told, crowd=crowd, unit=Rider(max_trips=1))
    if told.stands_for == 1:
        return told, [], 1
    told = replace(told, unit=Rider(max_trips=DEFAULT_TRIPS_PER_RIDER, bounding="weights"))
    rows = [_tell_bound(told.bounded(bound), bound, epsilon) for bound in BOUNDS]
    best = min(rows, key=lambda row: row.typical)
    usual = next(row for row in rows if row.most == DEFAULT_TRIPS_PER_RIDER)
    whole = replace(told, unit=Rider(max_trips=crowd.most))
    if _tell_bound(whole, crowd.most, epsilon).typical < WORTH_SAYING * best.typical:
        return whole, [], crowd.most
    if best.typical > WORTH_SAYING * usual.typical:
        return told, rows, None
    return told.bounded(best.most), rows, best.most


def _tell_bound(told: Forecast, bound: int, epsilon: float) -> Bound:
    scale = told.scales(epsilon).get("boardings")
    if scale is None:
        return Bound(bound, 1 / told.stands_for, log(20) * bound / epsilon, 1.0)
    (busiest,) = told.at([BUSY], epsilon)
    return Bound(bound, 1 / told.stands_for, log(20) * scale, busiest.median)
