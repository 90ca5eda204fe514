"""How od-hops is attacked."""

from fractions import Fraction

import numpy as np

from wayveil.counting.hops import HopCells
from wayveil.counting.local import LocalCounter
from wayveil.counting.protocol import Counter
from wayveil.lab.audits.mutants import EVERYWHERE, GAME, GREY, WITH_QUESTIONS, Mutation, with_counter
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.lab.audits.tiny_worlds import tiny_grid
from wayveil.mechanisms.od_hops import OdHops
from wayveil.privacy.questions import SparseCounts
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid


class _WholeHops(LocalCounter):
    """Every hop counts whole, so that a long trip counts many times."""

    def hop_weights(self, cells: HopCells, universe: int, whole: int) -> SparseCounts:
        return super().hop_weights(cells, universe, 4 * whole)


def visited_cells(trips: Trips) -> Counter:
    """Counts over a grid that is masked to the cells that occur in the data."""
    grid = trips.world
    assert isinstance(grid, Grid)
    layout = grid.layout
    mask = np.zeros(layout.rows * layout.columns, bool)
    flat = np.flatnonzero(grid.numbers >= 0)
    mask[flat[trips.location]] = True
    mask[flat[:2]] = True
    seen = Grid(layout, mask=mask)
    location = seen.numbers[flat[trips.location]]
    return LocalCounter(Trips(location, trips.offsets, seen, trips.time, trips.rider))


UNIVERSE_FROM_DATA = Mutation(
    "universe from the data",
    with_counter(visited_cells),
    (GREY,),
    "a stop nobody visits",
)

PLAN = AuditPlan(
    OdHops(weakest=0),
    also=(OdHops(weakest=0, hours_share=Fraction(1, 5), full_cells=0.1),),
    epsilon=Fraction(4),
    worlds=(tiny_grid,),
    currencies=("epsilon", "rho"),
    mutations=(
        *EVERYWHERE,
        *WITH_QUESTIONS,
        UNIVERSE_FROM_DATA,
        Mutation("hops not spread", with_counter(_WholeHops), (GREY, GAME), "the longest trip"),
    ),
    town=False,
)
