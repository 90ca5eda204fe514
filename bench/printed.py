"""Do intervals hold as they are printed: over all rows, in the top 20 and 50 by the number shown, and at the maximum?

    python -m bench.printed WORLD [RELEASES] [UNIT]

One release after another of one world, by the default mechanism at epsilon 1, asked through the same door as users ask.
Every release adds rows to docs/figures/printed.json, so that a run may be stopped.
No constant was set on these worlds; riders of these kinds in other towns were looked at when `EVEN_CAUTION` and
`LEAST_TOGETHER` were set.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from bench.coverage import town
from bench.printed_page import STORE
from bench.worlds import WORLDS, tube
from wayveil.accuracy.accuracy import Accuracy
from wayveil.errors import WayveilError
from wayveil.mechanisms.registry import mechanism
from wayveil.privacy.units import Rider, Trip
from wayveil.releases.release import Release
from wayveil.run import make_release
from wayveil.simulate.city import draw_departures, simulate_city
from wayveil.simulate.habit import simulate_habit
from wayveil.synthesis.model import Model
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.paths import along_paths, shortest_paths

TRIPS_OF_RIDER = 5
KEYS = {"answer", "low", "high", "best_rank", "worst_rank", "seats", "per_seat"}


@dataclass(frozen=True, eq=False)
class Raw(Model):
    """Raw trips in the place of a model: they are asked what the release is asked."""

    trips: Trips

    def generate(self, seed: int | None = None) -> Trips:
        return self.trips

    def table(self) -> pl.DataFrame:
        return pl.DataFrame()


def commuters(network: Network, count: int, seed: int) -> Trips:
    """People who live anywhere, work in one of a few centres, and go there and back, or out in the evening."""
    rng = np.random.default_rng(seed)
    size = network.size
    homes = rng.gamma(0.6, 1.0, size) + 0.02
    centres = rng.choice(size, max(3, size // 40), replace=False)
    away = np.hypot(network.lat[:, None] - network.lat[centres], network.lon[:, None] - network.lon[centres])
    draw = rng.exponential(1.0, len(centres)) * np.exp(-away / away.mean())
    home = rng.choice(size, 2 * count, p=homes / homes.sum())
    work = centres[
        (draw[home].cumsum(axis=1) / draw[home].sum(axis=1, keepdims=True) < rng.random((2 * count, 1))).sum(
            axis=1
        )
    ]
    other = rng.choice(size, 2 * count, p=homes[::-1] / homes.sum())
    kind = rng.random(2 * count)
    one = np.where(kind < 0.4, home, np.where(kind < 0.8, work, home))
    two = np.where(kind < 0.4, work, np.where(kind < 0.8, home, other))
    paths = shortest_paths(network, one, two, "seconds")
    trips = Trips(paths.location, paths.offsets, network).take(
        np.flatnonzero(paths.reachable & (one != two))[:count]
    )
    riding = along_paths(network, trips.location, trips.offsets, network.seconds)
    start = draw_departures(rng, len(trips))
    time = np.repeat(start, np.diff(trips.offsets)) + riding.astype(np.int64)
    return Trips(trips.location, trips.offsets, network, time)


JUDGED: dict[str, Callable[[], Trips]] = {
    "default-10k": lambda: simulate_city(town(500, 501), 10_000, seed=501).trips,
    "default-50k": lambda: simulate_city(town(500, 502), 50_000, seed=502).trips,
    "habit-10k": lambda: simulate_habit(town(500, 503), 10_000, seed=503),
    "habit-50k": lambda: simulate_habit(town(500, 504), 50_000, seed=504),
    "commuters-10k": lambda: commuters(town(500, 505), 10_000, 505),
    "commuters-50k": lambda: commuters(town(500, 506), 50_000, 506),
    "study-50k": lambda: simulate_city(town(500, 507), 50_000, seed=507, hotspots=8).trips,
    "tube": lambda: tube(20_000),
    "oyster": WORLDS["oyster"],
    "buenos-aires": WORLDS["buenos-aires"],
}


def asked_of(world: Network) -> dict[str, tuple[str, dict]]:
    """The sixteen kinds of question; districts and zones are squares of a map, nine and sixteen of them."""
    kinds: dict[str, tuple[str, dict]] = {
        name: (name, {})
        for name in (
            *("boardings", "alightings", "stops", "hours", "lengths", "total", "journeys"),
            *("through", "routes", "line-load", "transfers", "durations", "distances"),
        )
    }
    kinds |= {"triples": ("triples", {"top": 100_000}), "boardings by hour": ("boardings", {"by": "hour"})}
    if isinstance(world, Network):
        kinds["districts"] = ("districts", {"districts": squares(world, 3)})
        kinds["zones"] = ("districts", {"districts": squares(world, 4)})
    return kinds


def squares(world: Network, side: int) -> dict[str, list[str]]:
    """Which stop lies in which square of a map."""
    place = [
        np.searchsorted(np.quantile(axis, np.arange(1, side) / side), axis) for axis in (world.lat, world.lon)
    ]
    return {"stop_id": world.ids.tolist(), "district": [f"{a}-{b}" for a, b in zip(*place, strict=True)]}


def measure(made: Release, raw: Trips, question: str, options: dict) -> dict | None:
    """One question to a release as it is printed, beside the raw answer."""
    silent = replace(made, trips=raw, model=Raw(raw), known_accuracy=Accuracy({}, (), None))
    try:
        shown = made.ask(question, **{"top": 100_000, **options}).table
        truth = silent.ask(question, anyway=True, **{"top": 100_000, **options}).table
    except WayveilError as error:
        return {"refused": str(error)[:120]}
    keys = [
        name
        for name in shown.columns
        if name not in KEYS and not (question == "line-load" and name in ("from", "to"))
    ]
    both = shown.join(truth.select(*keys, true="answer"), on=keys, how="left", maintain_order="left")
    both = both.with_columns(pl.col("true").fill_null(0)).sort("answer", descending=True, maintain_order=True)
    if question == "triples":
        both = both.head(500)
    value, low, high, true = (
        both[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in ("answer", "low", "high", "true")
    )
    known = ~np.isnan(low)
    inside = (low <= true) & (true <= high)
    top = slice(0, 50)
    useful = known & (high - low < 0.3 * np.maximum(value, 1e-9))
    return {
        "rows": len(value),
        "known": int(known.sum()),
        **{
            name: [int(inside[part][known[part]].sum()), int(known[part].sum())]
            for name, part in (
                ("all", slice(None)),
                ("top20", slice(0, 20)),
                ("top50", top),
                ("max", slice(0, 1)),
            )
        },
        "useful": [int(useful[top].sum()), len(value[top])],
        "off": float(np.abs(value - true)[top].sum() / max(true[top].sum(), 1e-9)),
    }


def run(world: str, releases: int, unit: str) -> None:
    """Make releases of one world, and keep what was measured of each."""
    raw = JUDGED[world]()
    raw = Trips(raw.location, raw.offsets, raw.world, raw.time)
    if unit == "rider":
        raw = replace(raw, rider=np.arange(len(raw)) // TRIPS_OF_RIDER)
    whose = Rider(max_trips=TRIPS_OF_RIDER) if unit == "rider" else Trip()
    for _ in range(releases):
        made = make_release(raw, mechanism("weave")(), epsilon=1, unit=whose)
        rows = [
            {"world": world, "unit": unit, "question": name, **found}
            for name, (question, options) in asked_of(raw.world).items()
            if (found := measure(made, raw, question, options)) is not None
        ]
        before = json.loads(STORE.read_text()) if STORE.exists() else []
        STORE.write_text("[\n" + ",\n".join(json.dumps(row) for row in [*before, *rows]) + "\n]\n")
        print(
            world, unit, {row["question"]: row.get("top50", row.get("refused")) for row in rows}, flush=True
        )


if __name__ == "__main__":
    run(
        sys.argv[1],
        int(sys.argv[2]) if len(sys.argv) > 2 else 1,
        sys.argv[3] if len(sys.argv) > 3 else "trip",
    )
