"""What Weave spends epsilon on: a weight per question, and how finely each can then look."""

from fractions import Fraction

from pydantic import BaseModel, ConfigDict, Field

from wayveil.world.recall import CLASS_BITS, KINDS, MOST_MEMORY, contexts
from wayveil.world.walk_blocks import Resolution, length_edges
from wayveil.world.zones import Geography

Weight = Fraction
TREE = "tree"

# Bins of distance and growth of bins of length in percent, from coarse to fine.
LENGTH_OPTIONS = ((1, 100), (2, 60), (3, 40), (4, 25), (5, 18), (6, 12), (8, 8), (10, 5), (12, 3), (16, 1))
# Without a network only the same place is near, and it is lengths that matter.
PLAIN_LENGTH_OPTIONS = ((1, 100), (2, 60), (2, 40), (2, 25), (2, 17))
MOST_BITS = 12
NETWORK_ONLY = ("distance", "origin_zone", "destination_zone", "edge", "edge_zone")
PLAIN_ONLY = ("move", "visit", "memory")
# These, and the shares of moves, visits and memory, were set with benchmark worlds in view, not on cities alone.
DOUBLE_VISITS = 200
# Trips per unit of noise and place at which origins without a network need no more than their weight.
PLAIN_ENOUGH = 35
# Trips per unit of noise and possible move: moves get half of their weight at the first number (and never less than at
# the second), nearly all of it when they can be told from noise, and less again from the third on, when all are clear.
HALF_MOVES, FEWEST_MOVES, CLEAR_MOVES = Fraction(3, 100), Fraction(2, 100), 30
LEAST_OF_MOVES = Fraction(1, 3)
# By how much a question weighs more than on a network where there is none.
PLAIN_FACTORS = {
    "length": 9,
    "origin": 8,
    "hour": 2,
    "destination": Fraction(4, 5),
    "tree": Fraction(4, 7),
}


class Shares(BaseModel):
    """Weights of the questions; those that are asked share epsilon in proportion.

    Found on simulated cities; those of origins and two edges, and all without a network, also on the benchmark worlds.

    Zones are asked for beside single places and edges, because their noise does not add up over the places inside.
    `two_edges` is asked only where the signal is strong; moves, visits and memory only where there is no network, and
    moves only where there are not too many of them for the trips.
    The more trips per place, the nearer `origin` comes to `origin_if_dense`: how many trips begin at each place can
    then be told exactly, and people want to know it more than anything else.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    trips: Fraction = Field(Fraction(4, 100), gt=0)
    distance: Fraction = Field(Fraction(2, 100), gt=0)
    origin: Fraction = Field(Fraction(5, 100), gt=0)
    origin_zone: Fraction = Field(Fraction(2, 100), gt=0)
    destination: Fraction = Field(Fraction(5, 100), gt=0)
    destination_zone: Fraction = Field(Fraction(2, 100), gt=0)
    tree: Fraction = Field(Fraction(7, 100), gt=0)
    pair: Fraction = Field(Fraction(16, 100), gt=0)
    hour: Fraction = Field(Fraction(6, 100), gt=0)
    hour_at_origin: Fraction = Field(Fraction(3, 100), gt=0)
    hour_at_destination: Fraction = Field(Fraction(3, 100), gt=0)
    band_of_pair: Fraction = Field(Fraction(5, 100), gt=0)
    edge: Fraction = Field(Fraction(22, 100), gt=0)
    edge_zone: Fraction = Field(Fraction(6, 100), gt=0)
    length: Fraction = Field(Fraction(6, 100), gt=0)
    two_edges: Fraction = Field(Fraction(25, 100), gt=0)
    move: Fraction = Field(Fraction(420, 100), gt=0)
    visit: Fraction = Field(Fraction(10, 100), gt=0)
    memory: Fraction = Field(Fraction(14, 100), gt=0)
    origin_if_dense: Fraction = Field(Fraction(60, 100), gt=0)

    def weights(
        self,
        *,
        timed: bool,
        network: bool,
        triples: bool = False,
        moves: bool = True,
        places: int = 0,
        density: int = 0,
    ) -> dict[str, Fraction]:
        """The weights of the questions that are asked, by the name of the block; the number of trips is first.

        `density` are the trips per unit of noise and place. On a network each is worth a hundredth for origins.
        """
        left_out = {"origin_if_dense"}
        if not timed:
            left_out |= {"hour", "hour_at_origin", "hour_at_destination", "band_of_pair"}
        left_out |= set(PLAIN_ONLY if network else NETWORK_ONLY)
        if not (network and triples):
            left_out.add("two_edges")
        if not moves:
            left_out.add("move")
        fields = type(self).model_fields
        found = {name.replace("_", " "): getattr(self, name) for name in fields if name not in left_out}
        if not network:
            for name in PLAIN_FACTORS.keys() & found.keys():
                found[name] *= PLAIN_FACTORS[name]
            # The more places there are, the less can be read off their moves.
            found["visit"] *= 1 + Fraction(places, DOUBLE_VISITS)
            if moves:
                found["move"] *= _of_moves(Fraction(density, max(places, 1)))
        # Without a network moves need epsilon more than origins do, once those are seen well enough.
        wanted = Fraction(density, 100) if network else Fraction(PLAIN_ENOUGH, max(density, 1))
        found["origin"] = max(found["origin"], min(wanted, self.origin_if_dense))
        return found


def _of_moves(full: Fraction) -> Fraction:
    """The part of their weight that moves get, by trips per unit of noise and possible move."""
    full = max(full, FEWEST_MOVES)
    return full / (full + HALF_MOVES) * max(LEAST_OF_MOVES, CLEAR_MOVES / (CLEAR_MOVES + full))


def resolution(
    geography: Geography, cells: dict[str, float], *, times: int, bands: int, triples: bool
) -> Resolution:
    """The finest look at which a block has at most `cells` cells: enough trips in each to be seen through the noise.

    `cells` follows from the noisy number of trips and the prices, so choosing costs nothing.
    """

    def bits(block: str, per_zone: int, most: int, power: int = 1) -> int:
        found = 0
        while found < most and per_zone << power * (found + 1) <= cells.get(block, 0):
            found += 1
        return found

    depth = min(geography.places.depth, MOST_BITS)
    options = LENGTH_OPTIONS if geography.network is not None else PLAIN_LENGTH_OPTIONS
    fits = [
        option
        for option in options
        if option[0] * len(length_edges(option[1])) <= cells["length"]
        and option[0] <= cells.get("distance", option[0])
    ]
    distances, growth = fits[-1] if fits else options[0]
    classes = min(CLASS_BITS, bits("visit", geography.world.size, CLASS_BITS))
    memory, memories = _memory(cells.get("memory", 0))
    return Resolution(
        ends=min(bits("origin zone", 1, depth), bits("destination zone", 1, depth)),
        hours=min(bits("hour at origin", times, depth), bits("hour at destination", times, depth))
        if times
        else 0,
        pairs=bits("band of pair", bands, depth // 2, power=2) if times else 0,
        edges=bits("edge zone", 1, min(geography.edges.depth, MOST_BITS)),
        distances=distances,
        growth=growth,
        times=times,
        bands=bands if times else 0,
        triples=int(triples),
        visits=classes,
        memory=memory,
        memories=memories,
    )


# Who gets the share of a question that is not worth asking: the one that looks at the same thing otherwise.
INSTEAD = {
    "hour at origin": "hour",
    "hour at destination": "hour",
    "band of pair": "hour",
    "origin": "origin zone",
    "origin zone": "origin",
    "destination": "destination zone",
    "destination zone": "destination",
    "edge": "edge zone",
    "edge zone": "edge",
    "distance": "length",
}


def worth_asking(
    weights: dict[str, Fraction],
    geography: Geography,
    look: Resolution,
    strength: dict[str, float],
    *,
    faint: float,
    few: int,
) -> dict[str, Fraction]:
    """The weights without the questions that are not worth asking, which leave theirs to their likes.

    Those are coarse ones with a single cell; fine ones with fewer than `faint` trips per noise scale and cell, so that
    not even a busy place would show; and zones of fewer than `few` places or edges, which say nothing that those do not
    say better. `strength`, the trips per noise scale of each question, is known from the noisy number of trips.
    """
    network = geography.network
    single = {
        "origin zone": look.ends,
        "destination zone": look.ends,
        "hour at origin": look.hours,
        "hour at destination": look.hours,
        "band of pair": look.pairs,
        "edge zone": look.edges,
        "distance": look.distances - 1,
    }
    fine = {}
    if network is not None:
        fine = {"origin": network.size, "destination": network.size, "edge": network.edges}
    gone = {name for name, bits in single.items() if bits == 0}
    gone |= {name for name, cells in fine.items() if strength[name] < faint * cells}
    gone |= {
        f"{name} zone"
        for name, cells in fine.items()
        if name not in gone and few << (look.edges if name == "edge" else look.ends) > cells
    }
    kept = {name: weight for name, weight in weights.items() if name not in gone}
    for name in gone & weights.keys():
        if INSTEAD[name] in kept:
            kept[INSTEAD[name]] += weights[name]
    return kept


def _memory(cells: float) -> tuple[int, int]:
    """Visits to remember, and binary digits of classes of lengths: first the former, then the latter."""
    memory = bits = 0
    while memory < MOST_MEMORY and contexts(memory + 1) * KINDS <= cells:
        memory += 1
    while memory == MOST_MEMORY and bits < CLASS_BITS and contexts(memory) * KINDS << (bits + 1) <= cells:
        bits += 1
    return memory, bits
