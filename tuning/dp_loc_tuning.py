"""What the default preset of dp-loc gets out of its shares and of its training, on a city that nothing is judged on.

python -m tuning.dp_loc_tuning                                                   the defaults, 20,000 trips
python -m tuning.dp_loc_tuning --trips 120000 flows_share=3/20 clip=1,rate=0.01  others too, one release each

The simulated city has the box of the study and another seed than every judged one. Printed for one release of the
defaults and of every other choice: found patterns of the top 10, 20, 50 and 100; loss, accuracy and metres of the next
hop; and the field's GPS set.
"""

import argparse
import tempfile
from pathlib import Path

from bench.city_figures import CityFigures

from wayveil.mechanisms.dp_loc import DpLoc
from wayveil.run import make_release as release
from wayveil.simulate.taxis import STUDY_BOX, simulate_taxis
from wayveil.trips.points import read_tracks
from wayveil.world.grid import Grid

SEED = 3


def main() -> None:
    """One release of the city with the defaults, and one with each choice of parameters."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("choices", nargs="*", help="parameters and values, separated by commas")
    parser.add_argument("--trips", type=int, default=20_000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "points.parquet"
        simulate_taxis(chosen.trips, seed=SEED).write(file)
        raw, tracks = read_tracks(file, Grid.of_metres(STUDY_BOX, 250))
    figures = CityFigures(raw, tracks)
    for choice in ["", *chosen.choices]:
        kind = DpLoc(**dict(word.split("=", 1) for word in choice.split(",") if word))
        made = release(raw, kind, epsilon=1, seed=1)
        row = figures.measure(made.trips, made.model)
        short = "  ".join(f"{name} {value:.3g}" for name, value in row.items() if not name.endswith("nats"))
        print(f"{choice or 'defaults'}: {short}", flush=True)


if __name__ == "__main__":
    main()
