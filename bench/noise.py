"""Exact secure noise, against OpenDP's exact sampler and numpy's fast one, which protects nobody."""

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import opendp.prelude as dp

from wayveil.privacy.noise import discrete_gaussian, discrete_laplace
from wayveil.privacy.survivors import survivors

DRAWS = 10_000_000
OPENDP_DRAWS = 50_000
CELLS, THRESHOLD = 100_000_000, 200


def best(work: Callable[[], object], rounds: int = 5) -> float:
    """Seconds of the fastest of several runs; the first compiles and fills tables, and does not count."""
    work()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def opendp_rate(make: Callable, metric: object, scale: float) -> float:
    """OpenDP's samples per second."""
    dp.enable_features("contrib")
    measurement = make(dp.vector_domain(dp.atom_domain(T=int)), metric, scale=scale)
    zeros = [0] * OPENDP_DRAWS
    return OPENDP_DRAWS / best(lambda: measurement(zeros), 3)


def numpy_laplace(scale: float) -> Callable[[], object]:
    """The difference of two geometric arrays, from a generator that is not secure."""
    rng, p = np.random.default_rng(1), -np.expm1(-1 / scale)
    return lambda: rng.geometric(p, DRAWS) - rng.geometric(p, DRAWS)


def noise_every_cell() -> int:
    """What `survivors` avoids: noise for each of the empty cells."""
    kept = 0
    for _ in range(0, CELLS, DRAWS):
        kept += np.count_nonzero(discrete_laplace(DRAWS, 20) >= THRESHOLD)
    return kept


def row(figure: str, unit: str, value: float, baseline: str, base: float, faster: float) -> dict:
    return {
        "figure": figure,
        "unit": unit,
        "value": value,
        "baseline": baseline,
        "baseline value": base,
        "ratio": faster,
    }


def run() -> list[dict]:
    """One row per figure and baseline; `ratio` is how many times faster we are."""
    rows = []

    def rates(figure: str, ours: float, baselines: dict[str, float]) -> None:
        rows.extend(row(figure, "draws/s", ours, name, base, ours / base) for name, base in baselines.items())

    rates(
        "discrete Laplace, scale 20",
        DRAWS / best(lambda: discrete_laplace(DRAWS, Fraction(20))),
        {
            "OpenDP": opendp_rate(dp.m.make_laplace, dp.l1_distance(T=int), 20.0),
            "numpy, two geometrics": DRAWS / best(numpy_laplace(20)),
        },
    )
    rates(
        "discrete Laplace, scale 1,000,000",
        DRAWS / best(lambda: discrete_laplace(DRAWS, 10**6)),
        {"numpy, two geometrics": DRAWS / best(numpy_laplace(10**6))},
    )
    rng = np.random.default_rng(1)
    rates(
        "discrete Gaussian, variance 400",
        DRAWS / best(lambda: discrete_gaussian(DRAWS, 400)),
        {
            "OpenDP": opendp_rate(dp.m.make_gaussian, dp.l2_distance(T=float), 20.0),
            "numpy, rounded normals": DRAWS / best(lambda: np.rint(rng.normal(0, 20, DRAWS))),
        },
    )
    ours, dense = best(lambda: survivors(CELLS, 20, THRESHOLD)), best(noise_every_cell, 1)
    rows.append(
        row(
            f"survivors of {CELLS:,} empty cells",
            "seconds",
            ours,
            "our noise on every cell",
            dense,
            dense / ours,
        )
    )
    return rows


if __name__ == "__main__":
    from bench.__main__ import show

    show("noise", run())
