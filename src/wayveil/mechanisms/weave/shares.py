"""Shares of Weave's budget: a weight per question."""

from collections.abc import Mapping
from fractions import Fraction

from pydantic import BaseModel, ConfigDict, Field, field_validator

NETWORK_ONLY = ("distance", "origin_zone", "destination_zone", "edge", "edge_zone")
GRID_ONLY = ("turn", "extent", "crossing")
LIST_ONLY = ("move", "visit", "memory")
TIMED_ONLY = ("hour", "hour_at_origin", "hour_at_destination", "band_of_pair")
# Fields that are no weights of a question.
RULES = ("origin_if_dense", "origin_per_trip", "on_list", "on_grid", "needed")
# The blocks that count a question (see `Mechanism.serving`), and the part of its share that each gets.
BLOCKS_OF = {
    "total": {"trips": Fraction(1)},
    "boardings": {"origin": Fraction(1)},
    "alightings": {"destination": Fraction(1)},
    "hours": {"hour": Fraction(1)},
    "stop-hours": {"hour at origin": Fraction(4, 5), "origin": Fraction(1, 5)},
    "districts": {"pair": Fraction(3, 4), "tree": Fraction(1, 4)},
    "journeys": {"pair": Fraction(3, 4), "tree": Fraction(1, 4)},
    "edges": {"edge": Fraction(4, 5), "edge zone": Fraction(1, 5)},
    "triples": {"two edges": Fraction(1)},
    "lengths": {"length": Fraction(1)},
}
# Where districts are named, pairs of them are a block of their own: asked only where it has a part of the budget.
DISTRICT_PAIR = "district pair"
# Part of the budget that needed questions may take together: the rest makes whole trips.
MOST_NEEDED = Fraction(95, 100)


def _weight(hundredths: int, description: str) -> Fraction:
    field: Fraction = Field(Fraction(hundredths, 100), gt=0, description=description)
    return field


class ListShares(BaseModel):
    """Changes of weights where there is no network. Set with benchmark worlds in view, not on cities alone."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    factors: dict[str, Fraction] = Field(
        default_factory=lambda: {
            "length": Fraction(9),
            "origin": Fraction(8),
            "hour": Fraction(2),
            "destination": Fraction(4, 5),
            "tree": Fraction(4, 7),
        },
        description="by how much a question weighs more than on a network",
    )
    double_visits: int = Field(200, ge=1, description="places that make visits weigh twice as much")
    clear_origins: int = Field(
        35,
        ge=0,
        description="trips per unit of noise and place at which origins need no more than their weight",
    )
    half_moves: Fraction = Field(
        Fraction(3, 100),
        gt=0,
        description="trips per unit of noise and possible move at which moves get half of their weight",
    )
    fewest_moves: Fraction = Field(
        Fraction(2, 100),
        ge=0,
        description="trips per unit of noise and possible move below which the weight of moves falls no further",
    )
    clear_moves: int = Field(
        30,
        ge=0,
        description="trips per unit of noise and possible move at which all moves are so clear that half of the "
        "weight is enough",
    )
    least_of_moves: Fraction = Field(
        Fraction(1, 3),
        ge=0,
        le=1,
        description="part of their weight that moves keep where all of them are clear",
    )

    def share_moves(self, full: Fraction) -> Fraction:
        """The part of their weight that moves get, by trips per unit of noise and possible move."""
        full = max(full, self.fewest_moves)
        clear = Fraction(self.clear_moves) / (self.clear_moves + full)
        return full / (full + self.half_moves) * max(self.least_of_moves, clear)


class GridShares(BaseModel):
    """Weights that differ on a grid, where drivers go anywhere: who goes where says more than single steps do."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    weights: dict[str, Fraction] = Field(
        default_factory=lambda: {
            "pair": Fraction(48, 100),
            "tree": Fraction(14, 100),
            "edge": Fraction(11, 100),
            "edge zone": Fraction(6, 100),
            "length": Fraction(10, 100),
            "distance": Fraction(4, 100),
            "origin zone": Fraction(0),
            "destination zone": Fraction(0),
        },
        description="weights of questions in place of those on other networks; 0: not asked, as pairs of zones say it",
    )
    edge_per_trip: Fraction = Field(
        Fraction(16, 1000),
        ge=0,
        description="edges weigh this much per trip per unit of noise and cell, if that is more: where there are many "
        "trips, busy streets can be told one by one",
    )
    many_trips: int = Field(
        25_000,
        ge=1,
        description="trips per unit of noise from which edges weigh more than that, in proportion: pairs of zones are "
        "then known well enough, and single edges need it",
    )
    edge_if_dense: Fraction = Field(Fraction(35, 100), ge=0, description="the most that edges then weigh")
    clear_crossings: int = Field(
        15_000,
        ge=1,
        description="trips per unit of noise at which crossings have all of their weight: with fewer most of them "
        "would be noise, with more they are clear enough, so that either way they weigh less, in proportion",
    )

    def share_crossings(self, signal: int) -> Fraction:
        """The part of their weight that crossings get, by trips per unit of noise."""
        return min(Fraction(signal, self.clear_crossings), Fraction(self.clear_crossings, max(signal, 1)))


class Shares(BaseModel):
    """Weights of the questions; those that are asked share the budget in proportion.

    Found on simulated cities; those of origins and two edges, and all without a network, also on the benchmark worlds.

    Zones are asked for beside single places and edges, because their noise does not add up over the places inside.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    trips: Fraction = _weight(4, "weight of the number of trips")
    distance: Fraction = _weight(2, "weight of the distance between the ends; on a network")
    origin: Fraction = _weight(5, "weight of origins, by place")
    origin_zone: Fraction = _weight(2, "weight of origins, by zone; on a network")
    destination: Fraction = _weight(5, "weight of destinations, by place")
    destination_zone: Fraction = _weight(2, "weight of destinations, by zone; on a network")
    tree: Fraction = _weight(7, "weight of the partition of origin-destination pairs")
    pair: Fraction = _weight(16, "weight of origin-destination pairs, by cell of that partition")
    hour: Fraction = _weight(6, "weight of the hours; with times")
    hour_at_origin: Fraction = _weight(3, "weight of the hours by zone of the origin; with times")
    hour_at_destination: Fraction = _weight(3, "weight of the hours by zone of the destination; with times")
    band_of_pair: Fraction = _weight(5, "weight of coarse hours by pair of zones; with times")
    edge: Fraction = _weight(22, "weight of flows on edges; on a network")
    edge_zone: Fraction = _weight(6, "weight of flows on zones of edges; on a network")
    length: Fraction = _weight(6, "weight of the number of visits by distance")
    two_edges: Fraction = _weight(
        25, "weight of flows on two edges in a row; on a network, with a strong signal"
    )
    turn: Fraction = _weight(4, "weight of turns by the number of visits; on a grid")
    extent: Fraction = _weight(4, "weight of how far aside trips go, by distance; on a grid")
    crossing: Fraction = _weight(60, "weight of crossings from tile to tile, two in a row; on a grid")
    move: Fraction = _weight(
        420, "weight of moves between places; without a network, where there are not too many for the trips"
    )
    visit: Fraction = _weight(10, "weight of visits of places; without a network")
    memory: Fraction = _weight(14, "weight of how visits repeat earlier ones; without a network")
    origin_if_dense: Fraction = _weight(
        60,
        "weight of origins where there are very many trips per place: how many trips begin at each place can then be "
        "told exactly, and people want to know it more than anything else",
    )
    origin_per_trip: Fraction = _weight(
        1, "on a network, origins weigh this much per trip per unit of noise and place, if that is more"
    )
    on_list: ListShares = Field(ListShares(), description="how weights change where there is no network")
    on_grid: GridShares = Field(GridShares(), description="weights that differ on a grid")
    needed: dict[str, Fraction] = Field(
        default_factory=dict,
        description="part of the budget that a question gets, by name (`origin`, `hour`, `pair`, ...); the others "
        "share what is left in proportion to their weights. A plan sets it from its needs",
    )

    @field_validator("needed")
    @classmethod
    def _possible(cls, needed: dict[str, Fraction]) -> dict[str, Fraction]:
        known = [*(name.replace("_", " ") for name in cls.model_fields if name not in RULES), DISTRICT_PAIR]
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
        needed: dict[str, Fraction] = {}
        blocks_of = BLOCKS_OF | ({"districts": {DISTRICT_PAIR: Fraction(1)}} if districts else {})
        for question, part in parts.items():
            for block, inner in blocks_of.get(question, {}).items():
                needed[block] = needed.get(block, Fraction(0)) + part * inner
        return Shares(**{**dict(self), "needed": needed})

    def weigh_questions(
        self,
        *,
        timed: bool,
        network: bool,
        grid: bool = False,
        triples: bool = False,
        moves: bool = True,
        places: int = 0,
        density: int = 0,
        signal: int = 0,
    ) -> dict[str, Fraction]:
        """The weights of the questions that are asked, by the name of the block; the number of trips is first.

        `signal` are the trips per unit of noise, `density` those per place.
        """
        left_out = {*RULES, *(LIST_ONLY if network else NETWORK_ONLY), *(() if timed else TIMED_ONLY)}
        if not grid:
            left_out.update(GRID_ONLY)
        if not (network and triples):
            left_out.add("two_edges")
        if not moves:
            left_out.add("move")
        fields = type(self).model_fields
        found = {name.replace("_", " "): getattr(self, name) for name in fields if name not in left_out}
        if grid:
            found |= {name: weight for name, weight in self.on_grid.weights.items() if name in found}
            found["crossing"] *= self.on_grid.share_crossings(signal)
            found = {name: weight for name, weight in found.items() if weight > 0}
        if grid:
            # Cells are arbitrary: how many trips begin in one is worth no more than how many go from here to there.
            wanted = Fraction(0)
            many = max(Fraction(1), Fraction(signal, self.on_grid.many_trips))
            dense = min(self.on_grid.edge_per_trip * density * many, self.on_grid.edge_if_dense)
            found["edge"] = max(found["edge"], dense)
        elif network:
            wanted = self.origin_per_trip * density
        else:
            on_list = self.on_list
            for name in on_list.factors.keys() & found.keys():
                found[name] *= on_list.factors[name]
            # The more places there are, the less can be read off their moves.
            found["visit"] *= 1 + Fraction(places, on_list.double_visits)
            if moves:
                found["move"] *= on_list.share_moves(Fraction(density, max(places, 1)))
            # Moves need the budget more than origins do, once those are seen well enough.
            wanted = Fraction(on_list.clear_origins, max(density, 1))
        found["origin"] = max(found["origin"], min(wanted, self.origin_if_dense))
        return self._reserve(found)

    def _reserve(self, weights: dict[str, Fraction]) -> dict[str, Fraction]:
        """Weights in which needed questions have their parts of the budget, and the others share the rest."""
        needed = {name: part for name, part in self.needed.items() if name in (*weights, DISTRICT_PAIR)}
        if not needed:
            return weights
        others = sum((weight for name, weight in weights.items() if name not in needed), Fraction(0))
        left = (1 - sum(needed.values(), Fraction(0))) / (others or Fraction(1))
        return {name: weight * left for name, weight in weights.items()} | needed
