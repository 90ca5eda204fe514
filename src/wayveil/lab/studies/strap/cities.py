"""A dense city, where trips overlap, and a sparse one, where they hardly do."""

from collections.abc import Callable
from dataclasses import dataclass

from wayveil.lab.studies.lab import Lab, invented_city
from wayveil.simulate.habit import simulate_habit
from wayveil.trips.trips import Trips
from wayveil.world.gtfs import read_gtfs
from wayveil.world.network import Network

DENSE, SPARSE = "dense", "sparse"
SEED = 11


@dataclass(frozen=True)
class City:
    """A network, and riders on it: `many` for mechanisms with epsilon, `few` for those that compare all pairs."""

    network: Callable[[], Network]
    many: int
    few: int

    def riders(self, count: int, seed: int = SEED) -> Trips:
        """So many riders with habits; another seed, other riders."""
        return simulate_habit(self.network(), count, seed=seed)


def cities(lab: Lab) -> dict[str, City]:
    """Both, noted as sources."""
    many, few = lab.pick(tiny=(200, 60), quick=(2_000, 250), full=(10_000, 1_500))
    stops, lines = lab.pick(tiny=(60, 6), quick=(200, 14), full=(200, 14))
    dense = lab.city(stops=stops, lines=lines, seed=0)
    feed = lab.public_file("victoria/gtfs.zip", "the GTFS feed of Victoria") if lab.scale == "full" else None
    wide = lab.pick(tiny=120, quick=1_200, full=2_400)
    if feed is None:
        lab.note_simulated("sparse", f"an invented city of about {wide:,} stops")

    def sparse() -> Network:
        if feed is not None:
            return lab.once("victoria", lambda: read_gtfs(feed, name="Victoria"))
        return lab.once("sparse", lambda: invented_city(wide, max(4, wide // 30), 2))

    words = f"{many:,} simulated riders with habits in each ({few:,} for methods with k)"
    lab.note_simulated("riders", words)
    # Methods with k compare all pairs of trips; in a sparse city half as many are enough of them.
    return {DENSE: City(dense, many, few), SPARSE: City(sparse, many, max(few // 2, 40))}
