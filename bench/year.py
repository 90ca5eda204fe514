"""The simulated year of docs/year.md: what its releases say week by week, beside what happened.

    wayveil lab simulate year FEED --out year --new-route 14
    wayveil release year/wayveil.toml
    python -m bench.year year [docs/figures/year-weeks.svg]

Per week: boardings in all, and at the stops that the new route serves alone, released and true (of simulated people, so
that they may be shown). True ones are what the release could count: at most `max_trips` days of a rider.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Rider
from wayveil.releases.tap_orders import card_trips
from wayveil.series.series import Series
from wayveil.taps.read import read_taps
from wayveil.world.network import Network

NEW_ROUTE = "14"
MOST_TAPS = 4  # of a day, as tap counts take them


def served_alone(network: Network, route_id: str) -> np.ndarray:
    """The stops that no other route serves."""
    edge = np.repeat(np.arange(network.edges), np.diff(network.route_indptr))
    ends = np.concatenate([network.sources[edge], network.indices[edge]])
    routes = np.concatenate([network.route, network.route])
    mine = np.unique(ends[network.route_ids[routes] == route_id])
    return np.setdiff1d(mine, ends[network.route_ids[routes] != route_id])


def true_counts(path: Path, network: Network, most_days: int) -> np.ndarray:
    """What was there to be counted: bounded as the release bounds it."""
    trips = card_trips(read_taps(path, network).taps, "day")
    counted = Rider(max_trips=most_days).bound(trips, SeededBits(0))
    first = np.arange(counted.visits) - np.repeat(counted.offsets[:-1], counted.lengths) < MOST_TAPS
    return np.bincount(counted.location[first], minlength=network.size)


def main(folder: str, figure: str | None = None) -> None:
    """Print a row per week, and draw them."""
    place = Path(folder)
    series = Series(place / "wayveil.toml")
    rows = []
    for label, release in series.releases().items():
        network = release.world
        assert isinstance(network, Network)
        alone = served_alone(network, NEW_ROUTE)
        released = np.bincount(release.trips.location, minlength=network.size)
        true = true_counts(
            place / "taps" / f"taps_{label}.parquet", network, series.plan.protection.max_trips or 1
        )
        error = np.abs(released - true).sum() / true.sum()
        rows.append((label, released.sum(), true.sum(), released[alone].sum(), true[alone].sum(), error))
        print(
            f"{label}  all {rows[-1][1]:>8,} of {rows[-1][2]:>8,}  new stops {rows[-1][3]:>6,} of {rows[-1][4]:>6,}  "
            f"error over stops {error:.3f}"
        )
    errors = np.array([row[5] for row in rows])
    print(
        f"error over stops, as a share of taps: weeks 1 to 4 {errors[:4].mean():.3f}, "
        f"weeks 5 on {errors[4:].mean():.3f}"
    )
    if figure is not None:
        draw(rows, Path(figure))


def draw(rows: list[tuple], path: Path) -> None:
    """Two panels: all boardings, and those at the stops of the new route."""
    week = np.arange(1, len(rows) + 1)
    plt.rcParams["svg.hashsalt"] = "wayveil"
    figure, panels = plt.subplots(2, 1, figsize=(9, 4.6), sharex=True, layout="constrained")
    for panel, at, title in (
        (panels[0], 1, "boardings"),
        (panels[1], 3, "boardings at stops that only the new route has"),
    ):
        panel.plot(
            week, [row[at + 1] for row in rows], color="#9aa7b0", lw=3, label="counted in the simulated city"
        )
        panel.plot(week, [row[at] for row in rows], color="#2a6f97", lw=1.2, marker=".", label="released")
        panel.set_ylim(bottom=0)
        panel.set_title(title, loc="left", fontsize=10)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].legend(frameon=False, fontsize=9, loc="lower left")
    panels[1].set_xlabel("week of 2026")
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
