"""docs/results.md and its pictures, from what `bench.results` measured."""

from pathlib import Path

import polars as pl

from bench.results import EPSILONS, LEFT_OUT, MOST_TRIPS, REPETITIONS, SETTINGS
from wayveil.comparison.cells import CEILING, EMPTY, FLOOR, PLAIN_LAPLACE, REFERENCES
from wayveil.comparison.recommend import recommend
from wayveil.comparison.results import Comparison
from wayveil.mechanisms.mechanism import mechanisms
from wayveil.report.charts import Chart, error_against_epsilon, privacy_utility
from wayveil.report.comparison_page import number

DOCS = Path(__file__).parents[1] / "docs"
SHOWN_EPSILON = 1.0
# The columns of the tables: a short head for each figure.
COLUMNS = {
    "count queries": "count_query_error/non-empty",
    "stops": "stop_error",
    "edges": "edge_error",
    "TV of 3-grams": "ngram_tv_3",
    "F1 of 3-grams": "ngram_3/f1",
    "top 100 runs, F1": "patterns/contiguous/100/f1",
    "top 100 gapped, F1": "patterns/gapped/100/f1",
    "lengths, JSD": "trip_length_jsd",
    "zone pairs, JSD": "od_zone_jsd",
    "OD, metres": "od_emd",
    "boardings per stop": "operations/stop",
    "boardings per hour": "operations/hour",
}
WORLDS = {
    "tube": "Journeys between Tube stations from real OD counts, routed by the fewest stations; no times.",
    "berlin-10k": "10,000 simulated riders on the Berlin network, with times; one trip each, unit `rider`.",
    "msnbc": "Page categories of a news site, 17 symbols without a network; no times.",
    "flights": "Airline itineraries over 175 airports without a network; no times.",
    "buenos-aires": "Smart-card taps of one day, a card's day as one trip over 1,200 public cells; with hours.",
}
HEAD = """# Results: every mechanism on public trips

What this page shows: releases of public or simulated trips with every mechanism at its default parameters,
measured with the figures of [metrics.md](metrics.md). None of the data are sensitive, so the figures may be shown;
of your own trips they are not for publication.

How to read it: *ceiling* is a resample of the raw trips, *floor* is trips from public knowledge alone (it is given the
true number of trips), *empty* is no trips at all, *plain-laplace* answers each question of operations on its own with
the whole epsilon. A mechanism that does not beat floor and empty has not earned its budget on that question. Errors
and divergences are better when low, F1 when high. A dash means that the release says nothing about it.

Made by `python -m bench.results`. At most {most:,} trips of each world, drawn without replacement, so that the run
ends within an hour: with ten times the trips the same epsilon gives about a tenth of the relative noise, so these
tables are pessimistic for the large worlds. {queries:,} count queries per workload; the earth mover's distance uses at
most {pairs} pairs a side; epsilon {epsilons}; planned: {repetitions} repetitions, made:
the number in brackets. The unit is the trip, or the rider where there are riders (at most one trip each). The earth
mover's distance of so small a sample is mostly sampling noise: compare it with the ceiling, not with 0.
"""


def write_page(found: dict[str, Comparison]) -> Path:
    """Write docs/results.md and docs/figures/results-*.svg with their csv."""
    parts = [
        HEAD.format(
            most=MOST_TRIPS,
            queries=SETTINGS.queries,
            pairs=SETTINGS.most_pairs,
            epsilons=", ".join(EPSILONS),
            repetitions=REPETITIONS,
        )
    ]
    for world, comparison in found.items():
        parts += section(world, comparison)
    missing = [world for world in WORLDS if world not in found]
    if missing:
        parts.append(f"## Not run\n\n{', '.join(missing)}.\n")
    page = DOCS / "results.md"
    page.write_text("\n".join(parts), encoding="utf-8")
    return page


def section(world: str, comparison: Comparison) -> list[str]:
    """The table, pictures, best choices and gaps of one world."""
    raw = comparison.table.filter(pl.col("mechanism") == CEILING)["private_trips"].max()
    lines = [f"## {world}", "", f"{WORLDS.get(world, '')} {raw:,} trips were used.", ""]
    lines += table(comparison, SHOWN_EPSILON)
    for chart in charts(world, comparison):
        chart.save(DOCS / "figures")
        lines += ["", f"![{chart.alt}](figures/{chart.name}.svg)"]
    lines += ["", "Best choices:", ""]
    lines += [f"- {one.sentence()}" for one in recommend(comparison) if one.epsilon == SHOWN_EPSILON]
    gaps = [f"- {name}: {reason}" for name, reason in comparison.gaps()]
    gaps += [f"- {name}: left out, {why}" for (where, name), why in LEFT_OUT.items() if where == world]
    seen = {*comparison.table["mechanism"].unique(), *(name for where, name in LEFT_OUT if where == world)}
    gaps += [f"- {name}: not run in the time that was given" for name in mechanisms() if name not in seen]
    if gaps:
        lines += ["", "Not measured:", "", *gaps]
    return [*lines, ""]


def table(comparison: Comparison, epsilon: float) -> list[str]:
    """Mechanisms by headline figures at one epsilon, and the references."""
    measured = {figure["key"] for figure in comparison.figures}
    columns = {head: key for head, key in COLUMNS.items() if key in measured}
    points = {(p.name, p.key): p for p in comparison.points if p.epsilon == epsilon}
    lines = [
        f"At epsilon {epsilon:g}, mean ± half of the 95 % interval (number of releases in brackets):",
        "",
    ]
    lines += ["| | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
    for name in [*comparison.mechanisms, PLAIN_LAPLACE]:
        own = {key: points.get((name, key)) for key in columns.values()}
        count = max((point.repetitions for point in own.values() if point), default=0)
        if not count:
            continue
        cells = []
        for point in own.values():
            half = "" if point is None or point.low is None else f" ± {number(point.value - point.low)}"
            cells.append("–" if point is None else number(point.value) + half)
        lines.append(f"| {name} ({count}) | " + " | ".join(cells) + " |")
    for line in (CEILING, FLOOR, EMPTY):
        values = [comparison.references(key).get(line) for key in columns.values()]
        cells = ["–" if value is None else number(value) for value in values]
        lines.append(f"| *{line}* | " + " | ".join(cells) + " |")
    return lines


def charts(world: str, comparison: Comparison) -> list[Chart]:
    """All headline figures together, and the primary one."""
    if all(name in REFERENCES for name in comparison.mechanisms):
        return []
    return [
        privacy_utility(
            comparison, name=f"results-{world}-skill", title=f"{world}: all headline figures together"
        ),
        error_against_epsilon(
            comparison,
            "count_query_error/non-empty",
            name=f"results-{world}-count-queries",
            title=f"{world}: count queries drawn from raw trips",
        ),
    ]
