"""What the default preset of dp-loc gets out of its shares and of its training, on a city that nothing is judged on.

python -m tuning.dp_loc_tuning                                       the defaults
python -m tuning.dp_loc_tuning flows_share=3/20 clip=1 rate=0.01     other values of some parameters

The simulated city has the box of the study and another seed than every judged one. Printed for one release: found
patterns of the top 10, 20, 50 and 100; loss, accuracy and metres of the next hop; and the field's GPS set. Clip, rate,
hidden units and zones were chosen by the loss of the network alone, shares by patterns.
"""

import sys
import tempfile
from pathlib import Path

from wayveil.mechanisms.dp_loc import DpLoc
from wayveil.releases.release import release
from wayveil.simulate.taxis import STUDY_BOX, simulate_taxis
from wayveil.trips.points import read_tracks
from wayveil.utility.city_figures import CityFigures
from wayveil.world.grid import Grid

SEED = 3


def main() -> None:
    """One release of the city with the parameters of the command line."""
    chosen = DpLoc(**dict(word.split("=", 1) for word in sys.argv[1:]))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "points.parquet"
        simulate_taxis(120_000, seed=SEED).write(file)
        raw, tracks = read_tracks(file, Grid.of_metres(STUDY_BOX, 250))
    made = release(raw, chosen, epsilon=1, seed=1)
    for name, value in CityFigures(raw, tracks).measure(made.trips, made.model).items():
        print(f"{name:20}{value:.4g}")


if __name__ == "__main__":
    main()
