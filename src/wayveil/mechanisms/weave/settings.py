"""Every constant of Weave: what its budget is spent on, and how trips are made from noisy blocks.

What defines the cells of the blocks themselves (kinds of visits, classes of lengths) stands in `world/`, because
counting and fitting must mean the same by it. Which experiment set a constant: docs/mechanisms/weave-notebook.md.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

# What each question is made of, and the part of its weight that each block gets.
BLOCKS_OF_WEIGHT = {
    "origins": {"origin": Fraction(3, 4), "origin zone": Fraction(1, 4)},
    "destinations": {"destination": Fraction(3, 4), "destination zone": Fraction(1, 4)},
    "pairs": {"pair": Fraction(3, 4), "tree": Fraction(1, 4)},
    "hours": {
        "hour": Fraction(1, 3),
        "hour at origin": Fraction(1, 6),
        "hour at destination": Fraction(1, 6),
        "band of pair": Fraction(1, 3),
    },
    "edges": {"edge": Fraction(4, 5), "edge zone": Fraction(1, 5)},
    "lengths": {"length": Fraction(3, 4), "distance": Fraction(1, 4)},
    "turns": {"turn": Fraction(1, 2), "extent": Fraction(1, 2)},
}
# The blocks that count a question of a plan (see `Mechanism.serving`), and the part of its share that each gets.
BLOCKS_OF = {
    "total": {"trips": Fraction(1)},
    "boardings": {"origin": Fraction(1)},
    "alightings": {"destination": Fraction(1)},
    "hours": {"hour": Fraction(1)},
    "stop-hours": {"hour at origin": Fraction(4, 5), "origin": Fraction(1, 5)},
    "districts": BLOCKS_OF_WEIGHT["pairs"],
    "journeys": BLOCKS_OF_WEIGHT["pairs"],
    "edges": BLOCKS_OF_WEIGHT["edges"],
    "triples": {"two edges": Fraction(1)},
    "lengths": {"length": Fraction(1)},
}
# Where districts are named, pairs of them are a block of their own: asked only where it has a part of the budget.
DISTRICT_PAIR = "district pair"
# Part of the budget that needed questions may take together: the rest makes whole trips.
MOST_NEEDED = Fraction(95, 100)
# Constants of models that earlier versions saved.
RETIRED = frozenset(
    {
        "fewest_trips", "early", "sweeps", "strong_from", "feedback_weak", "flow_floor", "cost_range", "detours",
        "least_share", "rare", "least_kinds", "trees", "lines", "edges", "waits", "trust", "ends_off", "exchanges",
        "solver", "freedom", "shrinkage", "ends", "routes", "drives", "lengths", "streets", "on_list", "errors",
        "freedoms", "unseen",
    }
)  # fmt: skip
Weights = dict[str, Fraction]


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def _weights(description: str, **weights: int) -> Weights:
    named = {name.replace("_", " "): Fraction(weight) for name, weight in weights.items()}
    field: Weights = Field(default_factory=lambda: dict(named), description=description)
    return field


class Shares(_Settings):
    """Weights of the questions; those that are asked share the budget in proportion.

    Zones are asked for beside single places and edges, because their noise does not add up over the places inside.
    """

    on_network: Weights = _weights(
        "weights of questions on a network",
        trips=4, origins=7, destinations=7, pairs=23, hours=17, edges=28, lengths=8, two_edges=25,
    )  # fmt: skip
    on_grid: Weights = _weights(
        "the same on a grid, where drivers go anywhere: who goes where says more than single steps do",
        trips=4, origin=5, destination=5, pairs=62, hours=17, edges=17, lengths=8, length_in_all=20, turns=8,
        crossing=60,
    )  # fmt: skip
    on_list: Weights = _weights(
        "the same without a network, where only moves tell who goes where",
        trips=4, origin=60, destination=4, pairs=20, hours=23, length=54, move=420, visit=10, memory=14,
    )  # fmt: skip
    dense: Fraction = Field(
        Fraction(70),
        gt=0,
        description="most weight of what is wanted exactly where there are many trips per place (origins on a network, "
        "edges on a grid), one for each trip per unit of noise and place; half of it on a grid",
    )
    many_trips: int = Field(
        15_000,
        ge=1,
        description="trips per unit of noise on a grid at which crossings have all of their weight (with fewer most "
        "would be noise, with more they are clear), and from which edges weigh more, in proportion",
    )
    needed: Weights = Field(
        default_factory=dict,
        description="part of the budget that a block gets, by name (`origin`, `hour`, `pair`, ...); the others "
        "share what is left in proportion to their weights. A plan sets it from its needs",
    )

    @field_validator("on_network", "on_grid", "on_list")
    @classmethod
    def _complete(cls, weights: Weights, info: ValidationInfo) -> Weights:
        usual: Weights = cls.model_fields[str(info.field_name)].get_default(call_default_factory=True)
        for name, weight in weights.items():
            if name not in usual:
                raise ValueError(f"unknown question {name!r}; choose one of {', '.join(usual)}")
            if weight <= 0:
                raise ValueError(f"{name}: a weight is greater than 0, not {weight}")
        return usual | weights

    @field_validator("needed")
    @classmethod
    def _possible(cls, needed: Weights) -> Weights:
        fields = (cls.model_fields[name] for name in ("on_network", "on_grid", "on_list"))
        known = dict.fromkeys(
            block
            for field in fields
            for name in field.get_default(call_default_factory=True)
            for block in BLOCKS_OF_WEIGHT.get(name, (name,))
        )
        known[DISTRICT_PAIR] = None
        for name, part in needed.items():
            if name not in known:
                raise ValueError(f"unknown question {name!r}; choose one of {', '.join(known)}")
            if part <= 0:
                raise ValueError(f"{name}: a part of the budget is above 0, not {part}")
        if sum(needed.values()) > MOST_NEEDED:
            raise ValueError(
                f"parts add up to more than {float(MOST_NEEDED)}: nothing is left for whole trips"
            )
        return needed

    def serving(self, parts: Mapping[str, Fraction], *, districts: bool = False) -> "Shares":
        """Return the same weights, with these parts of the budget for the blocks that count these questions.

        Where `districts` are named, their pairs are counted by themselves.
        """
        needed: Weights = {}
        blocks_of = BLOCKS_OF | ({"districts": {DISTRICT_PAIR: Fraction(1)}} if districts else {})
        for question, part in parts.items():
            for block, inner in blocks_of.get(question, {}).items():
                needed[block] = needed.get(block, Fraction(0)) + part * inner
        return Shares(**{**dict(self), "needed": needed})

    def weigh_blocks(
        self, kind: str, *, timed: bool, triples: bool = False, signal: int = 0, places: int = 1
    ) -> Weights:
        """Return the weights of all blocks of a `network`, a `grid` or a `list`; the number of trips is first.

        `signal` are the trips per unit of noise; `triples` tells whether two edges in a row are asked for.
        """
        found: Weights = {}
        for name, weight in getattr(self, f"on_{kind}").items():
            if (timed or name != "hours") and (triples or name != "two edges"):
                parts = BLOCKS_OF_WEIGHT.get(name, {name: Fraction(1)})
                found |= {block: weight * part for block, part in parts.items()}
        density, many = signal // places, Fraction(max(signal, 1), self.many_trips)
        if kind == "network":
            found["origin"] = max(found["origin"], min(Fraction(density), self.dense))
        elif kind == "grid":
            found["edge"] = max(found["edge"], min(density * max(many, Fraction(3, 2)), self.dense / 2))
            found["crossing"] *= min(many, 1 / many)
        else:
            # The more places there are, the less can be read off their moves, which weigh most where they can just
            # be told from noise: at one trip per unit of noise and possible move; where all are clear, a third as much.
            found["visit"] *= 1 + Fraction(places, 200)
            full = max(Fraction(density, places), Fraction(1, 50))
            found["move"] *= full / (full + Fraction(1, 30)) * max(30 / (full + 30), Fraction(1, 3))
        return self._reserve(found)

    def _reserve(self, weights: Weights) -> Weights:
        """Weights in which needed questions have their parts of the budget, and the others share the rest."""
        needed = {name: part for name, part in self.needed.items() if name in (*weights, DISTRICT_PAIR)}
        if not needed:
            return weights
        others = sum((weight for name, weight in weights.items() if name not in needed), Fraction(0))
        left = (1 - sum(needed.values(), Fraction(0))) / (others or Fraction(1))
        return {name: weight * left for name, weight in weights.items()} | needed


class Generation(_Settings):
    """Constants of making trips from noisy blocks: post-processing, which may change for trips that are drawn again.

    Models of earlier versions can still be drawn from (`of_record`).
    """

    least: int = Field(
        60_000, ge=1, description="trips in the support, at least, and in early rounds at most"
    )
    support: float = Field(3.0, gt=0, description="trips in the support per trip wanted")
    most: int = Field(400_000, ge=1, description="trips in the support, at most")
    rounds: int = Field(
        3,
        ge=1,
        le=10,
        description="rounds of drawing, fitting and learning costs; two on a grid whose edges are not asked for",
    )
    iterations: int = Field(300, ge=1, description="steps of the solver, at most")
    graphs: int = Field(
        96,
        ge=1,
        description="perturbed graphs per way of counting costs: with few, releases show which ones were drawn",
    )
    spread: float = Field(0.2, ge=0, description="log-normal spread of the costs of lines, edges and waits")
    wait: float = Field(300.0, gt=0, description="seconds of waiting for the median line, and of boarding")
    feedback: float = Field(0.6, ge=0, le=2, description="exponent with which fitted flows change costs")
    learning: tuple[float, int] = Field(
        (8.0, 4),
        description="how many times cheaper it is to change the shares of ways to travel than the trips of each, and "
        "how often an early round on a network, which is there to learn them, starts over from those that it found",
    )
    anywhere: float = Field(
        0.1,
        ge=0,
        lt=1,
        description="share of the support whose two ends are drawn independently of each other",
    )
    off: float = Field(1.0, ge=0, description="share by which a support may be off in a cell")
    model_error: float = Field(
        0.2, ge=0, description="variance allowed per trip, beside the noise: what no support can express"
    )
    least_trust: float = Field(0.01, gt=0, description="variance allowed per noise variance, at least")
    alike: int = Field(120, ge=1, description="cells in a group of like cells, at least")
    doubtful: float = Field(
        0.35,
        gt=0,
        le=1,
        description="a count is taken for nothing if nothing is there with at least this probability; below a half, "
        "because to send people where nobody goes is worse than to send one more to a busy place",
    )
    steepness: float = Field(
        3.0, ge=0, description="power of length by which long trips become rarer where noise hides them"
    )
    bend_up: float = Field(
        0.6,
        gt=0,
        description="how much the law of lengths may bend up, in logarithms, per power of e in length",
    )
    sure: float = Field(0.1, gt=0, description="share by which the fit may leave a bin of the law of lengths")
    wavering: tuple[float, float, float] = Field(
        (0.12, 0.4, 1.0),
        description="deviations of the heading from move to move, in radians, of drivers of three kinds; on a grid",
    )
    foretold: float = Field(
        0.3, gt=0, description="share by which the flow of an edge that others foretell is off; on a grid"
    )
    visits_off: float = Field(
        0.7,
        gt=0,
        description="share by which ends are off when read off the visits of a place, and the reverse; on a list",
    )
    unsure_moves: float = Field(
        3.0,
        ge=0,
        description="at every place of a list so many standard deviations of a count are added to its moves, which "
        "then go anywhere and end as they do on average",
    )
    seconds_per_move: int = Field(
        120, ge=0, description="seconds between visits where no timetable says more"
    )
    hidden: tuple[float, float, float] = Field(
        (0.4, 0.5, 0.32),
        description="share by which a cell is off where noise hides it, an edge of a grid where edges were not asked "
        "for, and the visits of a cell there, for which part of that cancels out",
    )

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> "Generation":
        """Read what an earlier version may have written: constants that are no more are passed over."""
        return cls(**{name: value for name, value in record.items() if name not in RETIRED})
