"""Real cards of one day on a grid of cells, from the file to answers, with the rider as unit."""

import os
from pathlib import Path

import numpy as np

from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.ppdp import PPDP
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.releases.tap_ways import release_taps
from wayveil.synthesis.estimates import Visits, count_visits
from wayveil.taps.chains import sequences
from wayveil.taps.read import read_taps
from wayveil.utility.count_queries import relative_errors, sanity_bound
from wayveil.utility.raw_answers import RawAnswers
from wayveil.utility.stops import hit_rate
from wayveil.world.grid import Grid

DATA = Path(os.environ.get("WAYVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
BOX = "-35.00,-59.00,-34.30,-58.10"
CASES = {
    "NPT": NoisyPrefixTree(height=3),
    "PPDP": PPDP(height=3, time="180"),
    "counts": TapCounts(max_visits=4),
}


def buenos_aires(epsilons: tuple[float, ...], repetitions: int) -> list[dict]:
    """Errors of the total and per cell, beside plain Laplace, and how many of the busiest cells are found."""
    path = DATA / "buenos-aires" / "taps.csv"
    if not path.exists():
        return [{"skipped": f"no {path}"}]
    clean = read_taps(path, Grid.of_degrees(BOX, 0.02), reach_metres=1700)
    raw, rows = sequences(clean.taps, clean.taps.card, "day"), []
    for name, mechanism in CASES.items():
        for epsilon in epsilons:
            figures = []
            for seed in range(repetitions):
                made = release_taps(
                    clean.taps, "cards", epsilon=str(epsilon), mechanism=mechanism, max_trips=1, seed=seed
                )
                asked, one = made, {}
                for question in ("total", "stops"):
                    table, bound = RawAnswers(raw)(asked, question).table, sanity_bound(raw)
                    true = table["raw"].to_numpy()
                    for column, title in (("answer", ""), ("plain_laplace", ", Laplace")):
                        errors = relative_errors(true, table[column].to_numpy(), bound)
                        one[f"{question}{title} %"] = 100 * float(errors.mean())
                found = count_visits(Visits(("stop",)), made.trips)
                one["top 20 cells %"] = 100 * hit_rate(count_visits(Visits(("stop",)), raw), found, 20)
                figures.append(one)
            key = {"mechanism": name, "epsilon": epsilon, "taps": len(clean.taps), "cards": len(raw)}
            rows.append(key | {name: float(np.mean([one[name] for one in figures])) for name in figures[0]})
    return rows
