"""The three datasets of the study, or what stands in for them: two cities of riders, and visits to web pages."""

from collections.abc import Callable

import numpy as np

from wayveil.lab.studies.lab import Datasets, Lab
from wayveil.lab.studies.mobitrie.mobitrie_printed import LARGE, PAGES, SMALL
from wayveil.simulate.city import simulate_city
from wayveil.trips.history import MADE_UP
from wayveil.trips.sequences import read_sequences
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.world import World

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
