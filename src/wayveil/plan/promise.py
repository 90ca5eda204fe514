"""`Promise`: the least epsilon that meets the needs of a plan, what it gives, costs and gives up. Nothing is spent."""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, floor, log10
from pathlib import Path
from typing import Any

import numpy as np

from wayveil.errors import ParameterError
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.mechanisms.tap_margins import TapMargins
from wayveil.plan.needs import ASKED, Need, named_districts, parts_of, refuse_unanswerable
from wayveil.plan.ordering import refuse_unknown_routes, size_of_world
from wayveil.plan.outlook import Forecast, Outlook
from wayveil.plan.plan import Plan
from wayveil.plan.reading import open_plan_world
from wayveil.privacy.budget import release_epsilon
from wayveil.privacy.units import Event, Rider, Trip, Unit
from wayveil.privacy.weights import MOST_ROWS
from wayveil.releases.accounts import default_place, ledger_in_reach
from wayveil.releases.order import default_mechanism
from wayveil.simulate.crowd import Crowd
from wayveil.trips.legs import counted_world
from wayveil.world.districts import read_districts
from wayveil.world.world import World

VERSION = 4
LEAST, DEFAULT_MOST = 0.05, 10.0
SHOWN = (0.5, 1.0, 2.0)
# Riders make so many rides each where only the rides are said.
USUAL_RIDES = 5.0
NO_SIZE = (
    "say about how many rides there are, as far as that is public: --with rides=30000, and --with people=5000 if you "
    "know it. The file is not opened for it"
)
# The next needs whose price is told.
NEXT = (
    Need(question="hours", within=0.05),
    Need(question="boardings", top=50, within=0.1),
    Need(question="alightings", top=50, within=0.1),
    Need(question="stop-hours", top=50, within=0.2),
)


@dataclass(frozen=True)
class Promise:
    """Epsilon that the needs of a plan take.

    rows       outlooks by epsilon, those at `epsilon` among them
    epsilon    the least that meets all needs; None: none up to `most` does
    given_up   questions that nobody needs, which will be noise
    cheaper    other needs or sizes, and the epsilon that meets them
    dearer     one more need, and the epsilon that meets it as well
    """

    plan: Plan
    rows: dict[float, list[Outlook]]
    epsilon: float | None
    most: float
    given_up: list[str]
    cheaper: list[tuple[str, float | None]]
    dearer: list[tuple[str, float | None]]

    @property
    def broader(self) -> list[str]:
        """Say which needs are planned as something broader than they ask."""
        part = (need for need in self.plan.needs if need.question == "edges" and (need.route or need.hours))
        return [
            f"{need}: planned as the load of all lines at all hours; a part of it is less exact."
            for need in part
        ]

    def promised(self, epsilon: float) -> list[Need]:
        """The needs, each with the typical error that is promised at this epsilon."""
        rows = min(self.rows.items(), key=lambda row: abs(row[0] - epsilon))[1]
        return [each.need.model_copy(update={"promised": round(each.median, 4)}) for each in rows]

    def lines(self) -> list[str]:
        """Say it to people."""
        said = ["epsilon | need | typical error | worst cell | tries that meet it | of the busiest found"]
        for epsilon, outlooks in sorted(self.rows.items()):
            mark = "  <- suffices" if epsilon == self.epsilon else ""
            said += [f"{epsilon:7.3g} | {_row(each)}{mark}" for each in outlooks]
        if self.epsilon is None:
            said.append(f"No epsilon up to {self.most:g} meets all needs.")
        else:
            said += [
                f"Epsilon {self.epsilon:.3g} meets all needs in nine of ten tries.",
                say_meaning(self.epsilon),
            ]
            said.append(
                f"The policy allows {int(self.most / self.epsilon):,} such releases of the same people."
            )
        said += [
            f"Cheaper: {words} needs epsilon {_amount(each, self.most)}." for words, each in self.cheaper
        ]
        said += [
            f"With {words} as well: epsilon {_amount(each, self.most)} in all." for words, each in self.dearer
        ]
        said += self.broader
        if self.given_up:
            said.append(f"Not needed, so these get little of epsilon: {'; '.join(self.given_up)}.")
        return said

    def facts(self) -> dict[str, Any]:
        """Give it to machines."""
        rows = [
            {**vars(each), "need": str(each.need), "suffices": each.suffices}
            for _, outlooks in sorted(self.rows.items())
            for each in outlooks
        ]
        meaning = None if self.epsilon is None else say_meaning(self.epsilon)
        return {
            "epsilon": self.epsilon,
            "most": self.most,
            "outlooks": rows,
            "meaning": meaning,
            "releases": None if self.epsilon is None else int(self.most / self.epsilon),
            "given_up": self.given_up,
            "broader": self.broader,
            "cheaper": [{"way": words, "epsilon": each} for words, each in self.cheaper],
            "dearer": [{"need": words, "epsilon": each} for words, each in self.dearer],
        }


def say_meaning(epsilon: float) -> str:
    """Say what an epsilon means for one rider, with an example."""
    half, tenth = (say_percent(prior, epsilon) for prior in (0.5, 0.1))
    return (
        "For one rider: an observer who is 50 % sure that somebody is in the data, or took a certain ride, can become "
        f"at most {half} sure. One who is 10 % sure can become at most {tenth} sure."
    )


def say_percent(prior: float, epsilon: float) -> str:
    """Return how sure somebody with this prior can be after a release, in percent, never rounded up to certainty."""
    left = 100 / (1 + prior / (1 - prior) * exp(min(epsilon, 700)))
    if left < 1e-6:
        return "more than 99.9999 %"
    digits = max(ceil(-log10(left)), 0)
    return f"{floor((100 - left) * 10**digits) / 10**digits:.{digits}f} %"


def _row(each: Outlook) -> str:
    met = "simulated once" if each.met is None else f"{each.met:.0%}"
    found = "-" if each.found is None else f"{each.found:.0f} of {each.need.top}"
    noise = " (will be noise)" if each.is_noise else ""
    return f"{each.need} | {each.median:.1%}{noise} | {each.worst:.0%} | {met} | {found}"


def _amount(epsilon: float | None, most: float) -> str:
    return f"more than {most:g}" if epsilon is None else f"{epsilon:.3g}"


def promise(plan: Plan) -> Promise:
    """Find the least epsilon that meets the needs of a plan; the same question is answered from a cache."""
    if plan.expected.rides is None:
        raise ParameterError(NO_SIZE)
    most = most_epsilon(plan)
    kept = default_place().parent / "plans" / f"{_fingerprint(plan, most)}.json"
    if kept.is_file():
        return _of_record(plan, json.loads(kept.read_text(encoding="utf-8")))
    found = _find(plan, most)
    kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    kept.write_text(json.dumps(_record(found)), encoding="utf-8")
    return found


def most_epsilon(plan: Plan) -> float:
    """Return what the needs may cost at most: what the ledger in reach has left, the policy that is said, or 10."""
    said = plan.protection
    ledger = ledger_in_reach(None if said.ledger is None else plan.beside(said.ledger))
    left = None if ledger is None or ledger.policy(plan.dataset) is None else ledger.remaining(plan.dataset)
    if left is not None:
        return float(left)
    return DEFAULT_MOST if said.policy_epsilon is None else float(said.policy_epsilon)


def refuse_above(found: Promise, epsilon: str) -> None:
    """Refuse an epsilon above what may be spent, with what is asked for and what is left."""
    if release_epsilon(epsilon) > found.most:
        raise ParameterError(
            f"the needs are planned with epsilon {epsilon}, and {found.most:g} may be spent on {found.plan.dataset}: "
            f"requested {epsilon}, remaining {found.most:g}. Nothing was spent"
        )


def forecast(plan: Plan, world: World) -> Forecast:
    """Simulate the riders of a plan and how it would count them."""
    rides, said = plan.expected.rides or 1, plan.protection
    riders = plan.expected.people or max(round(rides / USUAL_RIDES), 1)
    taps = plan.source.rows == "taps"
    unit: Unit = Event() if taps else Trip()
    if _by_rider(plan):
        several = said.max_trips is None and said.max_taps is None and rides > riders
        unit = Rider(
            max_trips=(said.max_taps if taps else said.max_trips) or (2 if several else 1),
            bounding=said.bounding or ("weights" if several else "draw"),
            most_rows=said.most_rows or MOST_ROWS,
        )
    parts = parts_of(plan.needs, size_of_world(world))
    refuse_unknown_routes(plan.needs, world)
    network = world
    mechanism: Mechanism = _tap_mechanism(plan).serving(parts)
    if not taps:
        world = counted_world(world, plan.source.rows or "calls", plan.source.ways)
        file = named_districts(plan.needs)
        mechanism = default_mechanism(world, parts, None if file is None else plan.beside(file))
    files = {need.districts for need in plan.needs if need.districts is not None}
    districts = {file: read_districts(plan.beside(file), world).of_place for file in files}
    crowd = Crowd.simulate(network, rides, riders)
    return Forecast(world, crowd, mechanism, unit, districts=districts)


def _by_rider(plan: Plan) -> bool:
    """Tell whether the plan protects riders: it says so, or nobody says otherwise of trips or chained cards."""
    chained = plan.source.rows != "taps" or plan.method.way == "cards"
    return plan.protection.unit not in ("trip", "event") and (plan.protection.unit is not None or chained)


def _is_free(told: Forecast, plan: Plan) -> bool:
    """Tell whether what a rider counts as is ours to choose."""
    said = plan.protection
    return told.unit.weighs and said.max_trips is None and said.max_taps is None


def _tap_mechanism(plan: Plan) -> TapCounts | TapMargins:
    if plan.method.way != "counts-first":
        return TapCounts(max_visits=1)
    days = plan.source.days
    return TapMargins(max_visits=1, days=7 if days is None else len(days))


def _find(plan: Plan, most: float) -> Promise:
    taps = plan.source.rows == "taps"
    world = open_plan_world(plan)
    told = forecast(plan, world)
    size = size_of_world(world)

    def least(needs: Sequence[Need], whom: Forecast) -> float | None:
        served = whom.serving(parts_of(needs, size))
        grid = [each for each in np.geomspace(LEAST, 20, 40) if each <= most]
        low, high = 0, len(grid)
        while low < high:
            middle = (low + high) // 2
            if all(each.suffices for each in served.at(needs, grid[middle])):
                high = middle
            else:
                low = middle + 1
        return float(np.ceil(100 * grid[low]) / 100) if low < len(grid) else None

    needs = list(plan.needs)
    if _is_free(told, plan):
        told = told.with_best_bound(needs, float(plan.protection.epsilon))
    enough = least(needs, told)
    if enough is not None and _is_free(told, plan):
        told = told.with_best_bound(needs, enough)
        enough = least(needs, told)
    shown = sorted({*SHOWN, float(plan.protection.epsilon), *([] if enough is None else [enough])})
    cheaper = [
        (f"{str(looser)!r}", least([looser if each is need else each for each in needs], told))
        for need in needs[:2]
        for looser in _loosened(need)
    ]
    doubled = told.with_rides(2 * told.crowd.rides)
    cheaper.append(("twice as many riders (a longer period, more lines)", least(needs, doubled)))
    dearer = [
        (f"{str(each)!r}", _no_less(least([*needs, each], told), enough))
        for each in _addable(needs, taps=taps)
    ]
    given_up = [
        asked.words
        for name, asked in ASKED.items()
        if name not in parts_of(needs, size) and _fits(name, taps=taps)
    ]
    if isinstance(told.unit, Rider):
        bound = {"max_taps" if taps and plan.method.way != "cards" else "max_trips": told.unit.max_trips}
        plan = plan.changed(**bound, bounding=told.unit.bounding)
    return Promise(
        plan, {each: told.at(needs, each) for each in shown}, enough, most, given_up, cheaper, dearer
    )


def _no_less(epsilon: float | None, than: float | None) -> float | None:
    return None if epsilon is None or than is None else max(epsilon, than)


def _loosened(need: Need) -> list[Need]:
    found = [need.model_copy(update={"within": min(2 * need.within, 0.9)})]
    if need.top is not None and need.top > 1:
        found.append(need.model_copy(update={"top": max(need.top // 2, 1)}))
    return found


def _addable(needs: Sequence[Need], *, taps: bool) -> list[Need]:
    asked = {need.question for need in needs}
    return [each for each in NEXT if each.question not in asked and _fits(each.question, taps=taps)][:2]


def _fits(question: str, *, taps: bool) -> bool:
    try:
        refuse_unanswerable([Need(question=question)], "taps" if taps else "trips")
    except ParameterError:
        return False
    return True


def _fingerprint(plan: Plan, most: float) -> str:
    """All that the promise follows from: the public world and what the plan says of needs, size and protection."""
    world, unit = plan.world_of(), plan.protection
    place = Path(plan.beside(world.place))
    digest = hashlib.sha256()
    files = sorted(place.rglob("*")) if place.is_dir() else [place] if place.is_file() else []
    named = [Path(plan.beside(need.districts)) for need in plan.needs if need.districts is not None]
    for file in (*files, *named):
        if file.is_file():
            digest.update(os.fsencode(file.name) + file.read_bytes())
    said = {
        "version": VERSION,
        "world": str(world),
        "needs": [str(need) for need in plan.needs],
        "expected": str(plan.expected),
        "protection": str([unit.unit, unit.max_trips, unit.max_taps, unit.bounding, unit.most_rows]),
        "epsilon": str(plan.protection.epsilon),
        "rows": [plan.source.rows, plan.source.ways, str(plan.source.days), plan.method.way],
        "most": most,
    }
    digest.update(json.dumps(said, sort_keys=True).encode())
    return digest.hexdigest()[:32]


def _record(found: Promise) -> dict[str, Any]:
    rows = {
        repr(epsilon): [[each.median, each.worst, each.met, each.found] for each in outlooks]
        for epsilon, outlooks in found.rows.items()
    }
    rest = ("epsilon", "most", "given_up", "cheaper", "dearer")
    kept = ("max_trips", "max_taps", "bounding")
    bounds = {name: getattr(found.plan.protection, name) for name in kept}
    return {"rows": rows, "bounds": bounds, **{name: getattr(found, name) for name in rest}}


def _of_record(plan: Plan, record: dict[str, Any]) -> Promise:
    rows = {
        float(epsilon): [
            Outlook(need, float(epsilon), *values) for need, values in zip(plan.needs, outlooks, strict=True)
        ]
        for epsilon, outlooks in record["rows"].items()
    }
    plan = plan.changed(**{name: each for name, each in record["bounds"].items() if each is not None})
    pairs = {name: [(words, each) for words, each in record[name]] for name in ("cheaper", "dearer")}
    return Promise(plan, rows, record["epsilon"], record["most"], record["given_up"], **pairs)
