"""A simulated taxi city in the box of the study, on grids of 250 and 500 metres."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from wayveil.lab.studies.dp_loc.dp_loc_printed import COARSE, FINE
from wayveil.lab.studies.lab import Lab
from wayveil.simulate.taxis import STUDY_BOX, simulate_taxis
from wayveil.trips.points import read_points
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid

SEED = 7


def taxi_trips(lab: Lab) -> dict[str, Callable[[], Trips]]:
    """The same taxis on both grids; made when they are first asked for."""
    trips = lab.pick(tiny=300, quick=6_000, full=121_622)
    # The published networks have a weight for every cell: small runs have larger cells.
    cells = {
        FINE: lab.pick(tiny=4_000, quick=1_000, full=250),
        COARSE: lab.pick(tiny=8_000, quick=2_000, full=500),
    }

    def grid(name: str) -> Grid:
        return lab.once(f"grid {name}", lambda: Grid.of_metres(STUDY_BOX, cells[name]))

    def read(name: str) -> Trips:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "taxis.parquet"
            simulate_taxis(trips, seed=SEED).write(path)
            return read_points(path, grid(name))

    made = {}
    for name, metres in cells.items():
        words = (
            f"{trips:,} simulated taxi trips in the study's box, cells of {metres:,} m, stood for as '{name}'"
        )
        key = f"taxis-{metres}-{trips}"
        made[name] = lab.simulated(key, words, lambda name=name: grid(name), lambda name=name: read(name))  # type: ignore[misc]
    return made
