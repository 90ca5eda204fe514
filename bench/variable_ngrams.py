"""Variable-length n-grams on the sequences that their authors' code was measured on.

    python -m bench.variable_ngrams

MSNBC sequences with repeats merged, then those of 9 to 100 pages: 31,790 of them. Figures: F1 of the 100 most frequent
patterns of 2 to 5 pages; mean relative error of the visits of the 17 pages within the first 20 moves, of the released
table and of generated trips; and the same of whole generated trips against whole raw ones.
"""

import argparse

import numpy as np

from bench.worlds import data
from wayveil.counting.local import LocalCounter
from wayveil.mechanisms.variable_ngrams import VariableNgrams
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.trips.sequences import read_sequences
from wayveil.trips.trips import Trips
from wayveil.world.world import World

# Of the authors' code: F1 and error by epsilon.
ORIGINAL = {"0.1": (0.58, 0.119), "0.5": (0.80, 0.024), "1": (0.89, 0.012)}
LENGTHS, TOP = range(2, 6), 100


def subset() -> Trips:
    world = World.of_symbols([str(page) for page in range(1, 18)])
    merged = read_sequences(data("msnbc", "msnbc990928.zip"), world).merged()
    return merged.take((merged.lengths >= 9) & (merged.lengths <= 100))


def top_patterns(trips: Trips) -> set[int]:
    """The most frequent runs of pages by occurrences, lengths together; ties go to the smaller key."""
    ends, place = np.repeat(trips.offsets[1:], trips.lengths), np.arange(trips.visits)
    symbol, base = trips.location.astype(np.int64) + 1, trips.world.size + 1
    keys, counts = [], []
    for length in LENGTHS:
        start = place[place + length <= ends]
        key = np.zeros(len(start), np.int64)
        for by in range(length):
            key = key * base + symbol[start + by]
        found, count = np.unique(key, return_counts=True)
        keys.append(found)
        counts.append(count)
    key, count = np.concatenate(keys), np.concatenate(counts)
    return set(key[np.lexsort((key, -count))[:TOP]].tolist())


def visits(trips: Trips) -> np.ndarray:
    return np.bincount(trips.location, minlength=trips.world.size)


def error(found: np.ndarray, true: np.ndarray) -> float:
    return float(np.mean(np.abs(found - true) / true))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--releases", type=int, default=30)
    options = parser.parse_args()
    raw, mechanism = subset(), VariableNgrams()
    counter, patterns = LocalCounter(raw), top_patterns(raw)
    whole, cut = visits(raw), visits(raw.cut(mechanism.moves))
    print(f"{len(raw):,} sequences")
    print("| epsilon | top-100 F1 | original | error: table | trips | original | trips, whole |")
    print("|---|---|---|---|---|---|---|")
    for epsilon, (f1, original) in ORIGINAL.items():
        rows = []
        for release in range(options.releases):
            model = mechanism.measure(counter, Gate(Trip(), Budget(epsilon)))
            trips = model.generate(release)
            table = model.tables[0].count[: raw.world.size]
            rows.append(
                (
                    len(patterns & top_patterns(trips)) / TOP,
                    error(table, cut),
                    error(visits(trips.cut(mechanism.moves)), cut),
                    error(visits(trips), whole),
                )
            )
        half = 1.96 * np.std(rows, axis=0, ddof=1) / np.sqrt(len(rows))
        cells = [f"{mean:.3f} ± {by:.3f}" for mean, by in zip(np.mean(rows, axis=0), half, strict=True)]
        print(
            f"| {epsilon} | {cells[0]} | {f1} | {cells[1]} | {cells[2]} | {original} | {cells[3]} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
