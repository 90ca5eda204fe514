"""Fineness with which trips are looked at, and whether earlier releases looked alike."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from wayveil.arrays import Ints
from wayveil.errors import ParameterError
from wayveil.mechanisms.weave.measurements import Measurements
from wayveil.mechanisms.weave.noisy_blocks import NoisyBlock
from wayveil.synthesis.model import Model
from wayveil.world.grid import Grid
from wayveil.world.grid_moves import Tiles
from wayveil.world.repeats import CLASS_BITS, MOST_MEMORY, VISIT_KINDS, count_contexts
from wayveil.world.walk_blocks import Resolution, length_edges
from wayveil.world.world import World
from wayveil.world.zones import Geography

# Coarser times of a period, for pairs of zones; rows and columns of tiles, as the field counts patterns over six by six
# parts of a city.
BANDS, TILES = 6, 6


def choose_resolution(
    geography: Geography, cells: dict[str, float], *, times: int, triples: bool
) -> Resolution:
    """Return the finest look at which a block has at most `cells` cells: enough trips in each to be seen through noise.

    `cells` follows from the noisy number of trips and the prices, so choosing costs nothing.
    """

    def count_bits(block: str, per_zone: int, most: int, power: int = 1) -> int:
        found = 0
        while found < most and per_zone << power * (found + 1) <= cells.get(block, 0):
            found += 1
        return found

    depth, bands = geography.places.depth, BANDS if times else 0
    # Hours by zone take their price from the hours of all zones, so that they have to be clear.
    by_zone = [count_bits(f"hour at {end}", 3 * times, depth) for end in ("origin", "destination")]
    distances, growth = _choose_lengths(cells, on_list=geography.network is None)
    memory, memories = _choose_memory(cells.get("memory", 0))
    return Resolution(
        ends=min(count_bits(block, 1, depth) for block in ("origin zone", "destination zone")),
        hours=min(by_zone) if times else 0,
        pairs=count_bits("band of pair", bands, depth // 2, power=2) if times else 0,
        edges=count_bits("edge zone", 1, geography.edge_digits),
        distances=distances,
        growth=growth,
        times=times,
        bands=bands,
        triples=int(triples),
        tiles=TILES if cells.get("crossing", 0) > 0 else 0,
        visits=count_bits("visit", geography.world.size, CLASS_BITS),
        memory=memory,
        memories=memories,
    )


def _choose_lengths(cells: dict[str, float], *, on_list: bool) -> tuple[int, int]:
    """Return bins of distance, and the growth of bins of length in percent: from one bin and doubling to one more bin
    and bins a fifth of a decade finer at each step. On a list, distance only tells trips that return from others.
    """
    found = (1, 100)
    for number in range(1, 5 if on_list else 11):
        distances, growth = min(number + 1, 2) if on_list else number + 1, round(100 / 10 ** (number / 5))
        if distances * len(length_edges(growth)) > cells["length"]:
            break
        if distances > cells.get("distance", distances):
            break
        found = distances, growth
    return found


# Which question gets the share of one that is not worth asking: the one that looks at the same thing otherwise.
HEIRS = {
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
    "length in all": "length",
}
# On a grid, pairs of zones say who begins and ends where as well as zones do.
HEIRS_ON_GRID = HEIRS | {
    "origin": "pair",
    "origin zone": "pair",
    "destination": "pair",
    "destination zone": "pair",
}


def drop_useless(
    weights: dict[str, Fraction],
    geography: Geography,
    look: Resolution,
    strength: dict[str, float],
    *,
    faint: float,
    few: int,
) -> dict[str, Fraction]:
    """Return the weights without the questions that are not worth asking, whose weights go to their likes.

    Not worth asking are coarse questions with a single cell; fine ones with fewer than `faint` trips per noise scale
    and place, edge or crossing, so that not even a busy one would show; and zones of fewer than `few` places or edges,
    as those say it better by themselves. `strength` are the trips per noise scale of each question, by the noisy number
    of trips.
    """
    network = geography.network
    heirs = HEIRS_ON_GRID if isinstance(network, Grid) else HEIRS
    single = {
        "origin zone": look.ends,
        "destination zone": look.ends,
        "hour at origin": look.hours,
        "hour at destination": look.hours,
        "band of pair": look.pairs,
        "edge zone": look.edges,
        "distance": look.distances - 1,
        "length in all": look.distances - 1,
    }
    fine = {}
    if network is not None:
        fine = {"origin": network.size, "destination": network.size, "edge": network.edges}
    if isinstance(network, Grid) and look.tiles:
        fine["crossing"] = Tiles(network, look.tiles).cells
    gone = {name for name, bits in single.items() if bits == 0}
    gone |= {name for name, cells in fine.items() if strength[name] < faint * cells}
    gone |= {
        f"{name} zone"
        for name, cells in fine.items()
        if name not in gone and few << (look.edges if name == "edge" else look.ends) > cells
    }
    kept = {name: weight for name, weight in weights.items() if name not in gone}
    for name in gone & weights.keys():
        if heirs.get(name) in kept:
            kept[heirs[name]] += weights[name]
    return kept


def _choose_memory(cells: float) -> tuple[int, int]:
    """Return visits to remember, and binary digits of classes of lengths: first the former, then the latter."""
    memory = bits = 0
    while memory < MOST_MEMORY and count_contexts(memory + 1) * VISIT_KINDS <= cells:
        memory += 1
    while (
        memory == MOST_MEMORY
        and bits < CLASS_BITS
        and count_contexts(memory) * VISIT_KINDS << (bits + 1) <= cells
    ):
        bits += 1
    return memory, bits


def require_same_looks(
    earlier: Sequence[Model], world: World, *, times: int, gaussian: bool, districts: Ints | None
) -> list[Measurements]:
    """Return the earlier measurements; refuses those whose cells cannot be those of this release."""
    found = [each for each in earlier if isinstance(each, Measurements)]
    for each in found:
        if each.world.fingerprint() != world.fingerprint():
            raise ParameterError(
                "a prior was woven over another world; its zones and edges are not those of this release. Only counts "
                "of taps can follow releases over another version of a feed. Nothing was spent"
            )
        if each.resolution.times != times:
            raise ParameterError(
                f"a prior has {each.resolution.times} time bins, and this release {times}: they cannot be compared. "
                f"Nothing was spent"
            )
        if each.gaussian != gaussian:
            raise ParameterError(
                "a prior was paid for in another currency (epsilon, rho), in which trips are spread over edges "
                "otherwise. Nothing was spent"
            )
        if not np.array_equal(each.districts, districts):  # type: ignore[arg-type]
            raise ParameterError(
                "a prior counted trips between other districts than this release, or between none: name the same file "
                "of districts. Nothing was spent"
            )
    return found


def weigh_as_before(last: Measurements) -> dict[str, Fraction]:
    """Return weights in the proportion of the prices that the last release paid for its blocks."""
    shown = {name: block.whole / np.sqrt(block.variance) for name, block in last.noisy.items()}
    if last.gaussian:
        shown = {name: value**2 for name, value in shown.items()}
    most = max(shown.values())
    # Exact and short fractions, none of which is nothing.
    return {name: Fraction(max(round(1_000 * value / most), 1)) for name, value in shown.items()}


def blocks_alike(
    earlier: Sequence[Measurements], look: Resolution, leaves: Ints
) -> tuple[dict[str, NoisyBlock], ...]:
    """Return the noisy blocks of each release whose cells are those of a release with this look and this partition."""
    found = []
    for each in earlier:
        alike = set(ALWAYS_ALIKE)
        if np.array_equal(each.leaves, leaves):
            alike.add("pair")
        for name, fields in DEPENDS_ON.items():
            if all(getattr(each.resolution, field) == getattr(look, field) for field in fields):
                alike.add(name)
        found.append({name: block for name, block in each.noisy.items() if name in alike})
    return tuple(found)


# Blocks whose cells do not depend on how finely a release looks.
ALWAYS_ALIKE = frozenset(
    {"origin", "destination", "hour", "edge", "two edges", "move", "turn", "district pair"}
)
# What the cells of the others depend on.
DEPENDS_ON = {
    "length": ("distances", "growth"),
    "distance": ("distances",),
    "length in all": ("growth",),
    "extent": ("distances",),
    "origin zone": ("ends",),
    "destination zone": ("ends",),
    "hour at origin": ("hours",),
    "hour at destination": ("hours",),
    "band of pair": ("pairs", "bands"),
    "edge zone": ("edges",),
    "visit": ("visits",),
    "memory": ("memory", "memories"),
}
