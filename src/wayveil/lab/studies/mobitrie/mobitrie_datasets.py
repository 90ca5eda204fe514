"""Printed values of the MobiTrie study (Schulze 2025), and its three datasets or what stands in for them."""

from collections.abc import Callable

import numpy as np

from wayveil.lab.studies.lab import Datasets, Lab
from wayveil.lab.studies.study import Place
from wayveil.simulate.city import simulate_city
from wayveil.trips.history import MADE_UP
from wayveil.trips.sequences import read_sequences
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.world import World

SMALL, LARGE, PAGES = "10,000 riders", "1,000,000 riders", "MSNBC"
EPSILONS = ("0.1", "0.2", "0.5", "0.8", "1")
LENGTHS = ("4", "8", "12", "16", "20")
QUALITY = {PAGES: "0.65", SMALL: "0.65", LARGE: "0.7"}  # as published, one per dataset
# Its text takes 0.1 % of the trips for the sanity bound; public states of its code take 1 %, count how often a query
# occurs, and leave nodes above the third level without a count.
CODE_SANITY = 0.01
FITNESS, F1, PRECISION, RECALL = "fitness", "F1", "precision", "recall"
SHARES = (FITNESS, F1, PRECISION, RECALL, "accuracy", "Jaccard", "FNR")
CELLS = ("TP", "FN", "FP", "TN")
FIGURES = (*SHARES, *CELLS)
BETTER = {"FNR": "lower", "FN": "lower", "FP": "lower"}

# Table 3.1: nine trajectories over the locations 1 to 7.
EXAMPLE = (
    (1, 3, 4, 6),
    (2, 3, 4, 5, 7),
    (1, 3, 4),
    (3, 4, 5, 7),
    (2, 4, 6),
    (1, 3, 4, 5, 7),
    (1, 3, 4, 5, 7, 1),
    (2, 3, 4, 5),
    (5, 7, 1, 3),
)

# Table 7.1: trajectories, unique locations, longest and mean length.
DATA_FACTS = ("trajectories", "locations", "longest", "mean length")
TABLE_7_1 = {
    SMALL: (10_000, 2_951, 112, 43.37),
    LARGE: (1_000_000, 2_994, 135, 43.7246),
    PAGES: (989_818, 17, 14_795, 5.7),
}

# Tables 7.5, 7.6 and 7.7; the order of `FIGURES`.
METRICS = {
    SMALL: {
        "0.1": (0.319, 0.415, 0.89, 0.282, 0.321, 0.273, 0.697, 2550.56, 6286.10, 112.76, 633.46),
        "0.2": (0.378, 0.439, 0.91, 0.300, 0.337, 0.290, 0.689, 2706.34, 6220.49, 97.068, 636.46),
        "0.5": (0.508, 0.479, 0.88, 0.341, 0.370, 0.330, 0.608, 3078.91, 5487.24, 113.83, 591.68),
        "0.8": (0.607, 0.532, 0.88, 0.392, 0.413, 0.378, 0.557, 3535.47, 5030.68, 114.49, 567.28),
        "1": (0.663, 0.576, 0.88, 0.436, 0.452, 0.420, 0.513, 3937.15, 4629.00, 111.83, 545.57),
    },
    LARGE: {
        "0.1": (0.803, 0.605, 0.96, 0.451, 0.455, 0.449, 0.5184, 4978.04, 5714.27, 23.15, 122.81),
        "0.2": (0.892, 0.708, 0.97, 0.565, 0.566, 0.562, 0.4150, 6227.56, 4574.98, 21.51, 121.72),
        "0.5": (0.968, 0.822, 0.99, 0.705, 0.705, 0.702, 0.2947, 7774.16, 3248.84, 18.32, 127.86),
        "0.8": (0.984, 0.865, 0.99, 0.767, 0.766, 0.764, 0.2324, 8461.16, 2561.84, 20.03, 126.48),
        "1": (0.987, 0.876, 0.99, 0.784, 0.783, 0.781, 0.2152, 8650.39, 2372.61, 20.88, 128.83),
    },
    PAGES: {
        "0.1": (0.903, 0.516, 0.97, 0.360, 0.360, 0.360, 0.609, 1543.81, 2605.85, 0.0, 0.0),
        "0.2": (0.939, 0.579, 0.98, 0.419, 0.419, 0.419, 0.561, 1792.48, 2399.96, 0.0, 0.0),
        "0.5": (0.950, 0.668, 0.97, 0.515, 0.515, 0.515, 0.454, 2205.79, 1943.87, 0.0, 0.0),
        "0.8": (0.976, 0.723, 0.99, 0.576, 0.576, 0.576, 0.413, 2465.42, 1769.80, 0.0, 0.0),
        "1": (0.969, 0.749, 0.98, 0.612, 0.612, 0.612, 0.367, 2619.10, 1573.34, 0.0, 0.0),
    },
}

# Tables 7.9, 7.10 and 7.11: mean error and its standard deviation at the five lengths. 0.8 is drawn, not printed.
ERRORS = {
    SMALL: {
        "0.1": ((0.1347, 0.0680, 0.0458, 0.0337, 0.0267), (0.0398, 0.0204, 0.0137, 0.0102, 0.0082)),
        "0.2": ((0.1289, 0.0644, 0.0428, 0.0321, 0.0260), (0.0733, 0.0191, 0.0130, 0.0099, 0.0080)),
        "0.5": ((0.1072, 0.0537, 0.0358, 0.0269, 0.0215), (0.0332, 0.0173, 0.0116, 0.0089, 0.0070)),
        "1": ((0.0850, 0.0430, 0.0286, 0.0211, 0.0169), (0.0215, 0.0114, 0.0072, 0.0056, 0.0046)),
    },
    LARGE: {
        "0.1": ((0.0933, 0.0463, 0.0309, 0.0229, 0.0187), (0.0223, 0.00111, 0.0074, 0.0056, 0.0046)),
        "0.2": ((0.0849, 0.0429, 0.0284, 0.0214, 0.0170), (0.0187, 0.0097, 0.0067, 0.0050, 0.0040)),
        "0.5": ((0.0836, 0.0420, 0.0274, 0.0211, 0.0166), (0.0042, 0.0032, 0.0023, 0.0023, 0.0019)),
        "1": ((0.0828, 0.0411, 0.0269, 0.0208, 0.0163), (0.0033, 0.0032, 0.0024, 0.0020, 0.0028)),
    },
    PAGES: {
        "0.1": ((0.2642, 0.1434, 0.0990, 0.0752, 0.0594), (0.0417, 0.0228, 0.0159, 0.0120, 0.0097)),
        "0.2": ((0.2474, 0.1350, 0.0925, 0.0703, 0.0572), (0.0454, 0.0248, 0.0173, 0.0132, 0.0107)),
        "0.5": ((0.2407, 0.1321, 0.0906, 0.0690, 0.0560), (0.0253, 0.0143, 0.0100, 0.0080, 0.0067)),
        "1": ((0.2331, 0.1283, 0.0869, 0.0659, 0.0543), (0.0414, 0.0231, 0.0158, 0.0121, 0.0100)),
    },
}


def metrics(data: str, columns: tuple[str, ...] = FIGURES) -> dict[Place, float]:
    """(epsilon, figure) -> printed mean."""
    return {
        (epsilon, figure): row[FIGURES.index(figure)]
        for epsilon, row in METRICS[data].items()
        for figure in columns
    }


def errors(data: str, what: int = 0) -> dict[Place, float]:
    """(length, epsilon) -> printed mean error, or with `what` = 1 its standard deviation."""
    return {
        (length, epsilon): value
        for epsilon, rows in ERRORS[data].items()
        for length, value in zip(LENGTHS, rows[what], strict=True)
    }


def found_share(data: str, epsilon: str) -> float:
    """The share of the study's runs that ended with a trie.

    An inference: its means count the other runs as zeros, so that recall and false negative rate add up to this share
    and not to one.
    """
    row = METRICS[data][epsilon]
    return row[FIGURES.index(RECALL)] + row[FIGURES.index("FNR")]


def used_grams(data: str, epsilon: str) -> float:
    """Return how many 3-grams occur in the study's trips: TP and FN of the tries that were found."""
    true, missed = METRICS[data][epsilon][-4:-2]
    return (true + missed) / found_share(data, epsilon)


def used_share(data: str, epsilon: str) -> float:
    """The share of the study's universe that occurs in its trips: (TP + FN) / all."""
    true, missed, false, rest = METRICS[data][epsilon][-4:]
    return (true + missed) / (true + missed + false + rest)


BERLIN = "52.34,13.09,52.68,13.76"
PAGE_KINDS = 17
# Shares of MSNBC's own description: a third of its visitors see one page, the mean is 5.7.
ONE_PAGE, MEAN_PAGES, STAYS = 0.37, 5.7, 0.6
SEED = 1


def datasets(lab: Lab) -> Datasets:
    """Note the sources; nothing is read or simulated before a cell asks for it."""
    differs = []
    city, where = city_of(lab)
    riders = {
        SMALL: lab.pick(tiny=300, quick=10_000, full=10_000),
        LARGE: lab.pick(tiny=1_000, quick=100_000, full=1_000_000),
    }
    made: dict[str, Callable[[], Trips]] = {}
    for name, count in riders.items():
        words = f"{count:,} simulated riders on {where}, stood for as '{name}'"

        def simulate(count: int = count) -> Trips:
            return simulate_city(city(), count, seed=SEED, times=False).trips

        made[name] = lab.simulated(f"riders-{count}", words, city, simulate)
    if riders[LARGE] < 1_000_000:
        differs.append(f"'{LARGE}' are {riders[LARGE]:,} here.")
    if "berlin" not in lab.sources:
        differs.append("The study's riders travel in Berlin; these in another city.")
    else:
        differs.append("The study does not say which feed of Berlin it used, nor the box around it.")
    pages = lab.public_file(
        "msnbc/msnbc990928.zip", "MSNBC page visits (Heckerman, UCI), all 989,818 sequences"
    )
    world = World.of_symbols([str(page) for page in range(1, PAGE_KINDS + 1)])
    if pages is not None:
        file = pages
        made[PAGES] = lambda: lab.once("msnbc", lambda: read_sequences(file, world))
    else:
        count = lab.pick(tiny=1_000, quick=100_000, full=989_818)
        words = f"{count:,} simulated visitors of {PAGE_KINDS} pages, stood for as '{PAGES}'"
        made[PAGES] = lab.simulated(
            f"pages-{count}", words, lambda: world, lambda: simulate_pages(world, count)
        )
        differs.append(f"'{PAGES}' is simulated: name the folder of the public data with --data to use it.")
    return Datasets(made, " ".join(differs))


def city_of(lab: Lab) -> tuple[Callable[[], Network], str]:
    feed = None
    if lab.world is None and lab.scale == "full":
        feed = lab.public_file("berlin/gtfs.zip", "the GTFS feed of Berlin (VBB)")
    if feed is None:
        stops, lines = lab.pick(tiny=(60, 6), quick=(900, 40), full=(3_000, 120))
        return lab.city(stops=stops, lines=lines), "that city"
    from wayveil.world.gtfs import read_gtfs

    path = feed
    return lambda: lab.once("berlin", lambda: read_gtfs(path, bbox=BERLIN)), "the network of Berlin"


def simulate_pages(world: World, visitors: int, seed: int = SEED) -> Trips:
    """Visitors of a web site: many see one page; who stays mostly asks for the same kind of page again.

    Page kinds have uneven popularity, and each leads to some others more than to the rest.
    """
    rng = np.random.default_rng(seed)
    popular = 1.0 / np.arange(1, world.size + 1)
    follow = popular * rng.gamma(0.3, size=(world.size, world.size))
    follow = follow / follow.sum(axis=1, keepdims=True)
    more = 1 + rng.geometric(1 / ((MEAN_PAGES - ONE_PAGE) / (1 - ONE_PAGE) - 1), visitors)
    lengths = np.where(rng.random(visitors) < ONE_PAGE, 1, more)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    location = np.empty(offsets[-1], np.int32)
    now = rng.choice(world.size, visitors, p=popular / popular.sum())
    going, chances = np.arange(visitors), np.cumsum(follow, axis=1)
    for step in range(int(lengths.max())):
        location[offsets[going] + step] = now[going]
        going = going[lengths[going] > step + 1]
        moved = going[rng.random(len(going)) >= STAYS]
        drawn = rng.random(len(moved))
        now[moved] = (chances[now[moved]] < drawn[:, None]).sum(axis=1).clip(max=world.size - 1)
    return Trips(location, offsets.astype(np.int64), world, history=MADE_UP)
