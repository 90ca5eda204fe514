"""`recommend`: which mechanism with which parameters, for which question, at which epsilon.

Tuned on trips that are nobody's: simulated riders, or public trips, of the same world. That costs no privacy. A
comparison made from the sensitive trips can be read in the same way, but then the choice looked at the data and
the release must say so (`tuned_on_data`), or pay for it (`wayveil.mechanisms.private_choice`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from wayveil.errors import ParameterError
from wayveil.lab.comparison.comparison_cells import REFERENCES
from wayveil.lab.comparison.comparison_results import Comparison, Point, apart
from wayveil.simulate.riders import simulate_riders
from wayveil.trips.trips import Trips
from wayveil.utility.figures import CEILING, EMPTY, FLOOR
from wayveil.world.network import Network
from wayveil.world.world import World

# One figure speaks for each question; a reader who cares about another one asks for it by its key.
HEADLINES = {
    "how many trips visit these stops in this order": "count_query_error/non-empty",
    "how many trips visit these stops in these hours": "timed_count_query_error/non-empty",
    "how busy are the stops": "stop_error",
    "how busy are the moves between stops": "edge_error",
    "which moves follow which, in shares": "ngram_tv_3",
    "which runs of stops are the most frequent": "patterns/contiguous/100/f1",
    "which stops in order are the most frequent": "patterns/gapped/100/f1",
    "how long are trips": "trip_length_jsd",
    "from which zone to which": "od_zone_jsd",
    "how far off are both ends": "od_emd",
    "how many board where": "operations/stop",
    "how many board when": "operations/hour",
    "how many visits in a box of place and time": "range_error",
    "how many trips pass through a circle": "gps/query",
    "which ways over a coarse grid are the most frequent": "gps/pattern_f1",
}


@dataclass(frozen=True)
class Recommendation:
    """The best choice for one question at one epsilon.

    `clear` says that its interval lies apart from that of the next best; `useful`, that it beats both what public
    knowledge gives and what silence gives. Where it is not useful, releasing for this question buys nothing.
    """

    question: str
    key: str
    epsilon: float
    mechanism: str
    parameters: str
    name: str
    value: float
    low: float | None
    high: float | None
    runner_up: str | None
    clear: bool
    useful: bool
    ceiling: float | None
    floor: float | None
    empty: float | None

    def sentence(self) -> str:
        """For people."""
        if not self.useful:
            return (
                f"{self.question}, epsilon {self.epsilon:g}: nothing beats public knowledge or silence "
                f"(best: {self.name}, {self.value:.3g})"
            )
        if self.low is None:
            rival = f", before {self.runner_up} (too few releases for an interval)"
        else:
            rival = f", {'clearly before' if self.clear else 'about as good as'} {self.runner_up}"
        return f"{self.question}, epsilon {self.epsilon:g}: {self.name} ({self.value:.3g})" + (
            rival if self.runner_up else ""
        )


def recommend(comparison: Comparison, keys: Sequence[str] | None = None) -> list[Recommendation]:
    """The best mechanism for every question and epsilon of a comparison; `keys` for other figures."""
    known = {figure["key"]: figure for figure in comparison.figures}
    if keys is None:
        wanted = {question: key for question, key in HEADLINES.items() if key in known}
    else:
        for key in keys:
            if key not in known:
                raise ParameterError(f"there is no figure {key!r} in this comparison")
        wanted = {known[key]["label"]: key for key in keys}
    points = [point for point in comparison.points if point.mechanism not in REFERENCES]
    found = []
    for question, key in wanted.items():
        sign = 1 if known[key]["better"] == "lower" else -1
        for epsilon in comparison.epsilons:
            rivals = [p for p in points if p.key == key and p.epsilon == epsilon and isfinite(p.value)]
            if rivals:
                rivals.sort(key=lambda p: (sign * p.value, p.name))
                found.append(_chosen(question, epsilon, rivals, sign, comparison.references(key)))
    return found


def _chosen(
    question: str, epsilon: float, rivals: list[Point], sign: int, lines: dict[str, float]
) -> Recommendation:
    best, second = rivals[0], rivals[1] if len(rivals) > 1 else None
    beats = [sign * best.value < sign * lines[line] for line in (FLOOR, EMPTY) if line in lines]
    return Recommendation(
        question=question,
        key=best.key,
        epsilon=epsilon,
        mechanism=best.mechanism,
        parameters=best.parameters,
        name=best.name,
        value=best.value,
        low=best.low,
        high=best.high,
        runner_up=None if second is None else second.name,
        clear=second is not None and apart(best, second),
        useful=all(beats),
        ceiling=lines.get(CEILING),
        floor=lines.get(FLOOR),
        empty=lines.get(EMPTY),
    )


def stand_in_trips(world: World, riders: int, *, seed: int = 0) -> Trips:
    """Simulated trips to tune on: as many riders as the data holder expects (a public guess)."""
    if not isinstance(world, Network):
        raise ParameterError(
            "trips can only be simulated on a network; for a plain list of places bring public trips of the same world"
        )
    return simulate_riders(world, riders, seed=seed).trips
