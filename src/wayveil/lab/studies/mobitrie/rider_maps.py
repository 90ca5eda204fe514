"""Maps of simulated riders: with hotspots and without, as figures 4.1, 5.1 and 5.3 draw them."""

from collections.abc import Callable

import numpy as np

from wayveil.lab.studies.mobitrie.mobitrie_datasets import SEED
from wayveil.lab.studies.study import CellOutcome, Setting, figures
from wayveil.report.chart import Chart
from wayveil.report.trip_map import trip_map, with_ground
from wayveil.simulate.city import simulate_city
from wayveil.utility.edges import edge_flows
from wayveil.world.network import Network

HOTSPOTS, NO_HOTSPOTS = "with hotspots", "without hotspots"
BUSIEST = 0.01


class MobiTrieMaps:
    """The cells that draw maps."""

    def __init__(self, city: Callable[[], Network], riders: int) -> None:
        self.city, self.riders = city, riders

    def draw(self, setting: Setting, repetition: int) -> CellOutcome:
        """The map, and how much of all travel is on the busiest hundredth of the moves."""
        kind = setting["kind"]
        made = simulate_city(
            self.city(),
            self.riders,
            seed=SEED,
            times=False,
            hotspots=None if kind == HOTSPOTS else 0,
        )
        flows = np.sort(edge_flows(made.trips).count)[::-1]
        top = max(1, int(BUSIEST * len(flows)))
        ends = np.bincount(made.trips.location[made.trips.offsets[1:] - 1], minlength=self.city().size)
        name = kind.replace(" ", "-")
        title = f"{self.riders:,} riders {kind}"
        if kind == HOTSPOTS:
            title += f" ({len(made.hotspots)} stars)"
        drawn = trip_map(made.trips, made.hotspots.tolist(), name=f"map-{name}", title=title)
        alone = Chart(drawn.name, with_ground(drawn), drawn.data, drawn.alt, plain=True)
        values = {
            "share of travel on the busiest 1 % of moves": float(flows[:top].sum() / flows.sum()),
            "share of trips that end at the 30 busiest ends": float(
                np.sort(ends)[::-1][:30].sum() / ends.sum()
            ),
            "hotspots": float(len(made.hotspots)),
        }
        return CellOutcome(figures(values), [alone])
