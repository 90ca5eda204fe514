"""docs/results.md and its pictures, from what `pages.results` measured."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl

from pages.results import CASES, EPSILONS, GRID, HELD_OUT, LEFT_OUT, NO_TRIPS, REPETITIONS, Case
from pages.results_standings import Standing, at_best, best_settings, standings
from pages.results_summary import summarise
from pages.results_words import HEAD, MARKOV_LINE, REASONS, RIDER_LEVEL, WORLDS
from wayveil.lab.comparison.comparison_cells import PLAIN_LAPLACE, REFERENCES, display_name
from wayveil.lab.comparison.comparison_charts import error_against_epsilon, privacy_utility
from wayveil.lab.comparison.comparison_page import number
from wayveil.lab.comparison.comparison_results import Comparison, Point, apart
from wayveil.mechanisms.registry import ready_mechanisms
from wayveil.report.chart import Chart
from wayveil.utility.figures import CEILING, EMPTY, FLOOR

DOCS = Path(__file__).parents[1] / "docs"
OURS = "weave"
SHOWN_EPSILON = 1.0
# The columns of the tables: a short head for each figure.
COLUMNS = {
    "count queries": "count_query_error/non-empty",
    "uniform queries": "count_query_error/uniform",
    "stops": "stop_error",
    "edges": "edge_error",
    "TV of 3-grams": "ngram_tv_3",
    "F1 of 3-grams": "ngram_3/f1",
    "top 100 runs F1": "patterns/contiguous/100/f1",
    "top 100 gapped F1": "patterns/gapped/100/f1",
    "lengths JSD": "trip_length_jsd",
    "zone pairs JSD": "od_zone_jsd",
    "OD metres": "od_emd",
    "OD by hour metres": "od_emd_by_hour",
    "boardings per stop": "operations/stop",
    "boardings per hour": "operations/hour",
    "boxes": "range_error",
}
HEADS = {key: head for head, key in COLUMNS.items()}
WITHOUT_NETWORK = ("montreal-week", "buenos-aires", "flights", "msnbc", *HELD_OUT)
# The figures of the table over all epsilons.
GROWTH = (
    "count queries",
    "TV of 3-grams",
    "top 100 runs F1",
    "lengths JSD",
    "zone pairs JSD",
    "OD metres",
)
RIDER_CASES = [case for case in CASES if case.startswith("berlin-riders")]


def write_page(found: Mapping[str, Comparison]) -> Path:
    """Write docs/results.md and docs/figures/results-*.svg with their csv."""
    whole = {case: comparison for case, comparison in found.items() if case not in RIDER_CASES}
    parts = [
        HEAD.format(
            repetitions=REPETITIONS, epsilons=", ".join(f"{_price(e):g}" for e in EPSILONS), grid=grid_words()
        ),
        *summary({case: at_best(comparison) for case, comparison in whole.items()}),
        *markov_line({case: whole[case] for case in WITHOUT_NETWORK if case in whole}),
    ]
    for case, comparison in whole.items():
        parts += section(case, comparison)
    riders = {case: at_best(found[case]) for case in RIDER_CASES if case in found}
    if riders:
        parts += rider_level(riders)
    missing = [case for case in CASES if case not in found]
    if missing:
        parts.append(f"## Not run\n\n{', '.join(missing)}.\n")
    page = DOCS / "results.md"
    page.write_text(summarise("\n".join(parts)), encoding="utf-8")
    return page


def grid_words() -> str:
    """The settings of every rival, in a line each."""
    return "\n".join(
        f"- {name}: default, "
        + "; ".join(", ".join(f"{key}={value}" for key, value in setting.items()) for setting in settings)
        for name, settings in GRID.items()
    )


def summary(tuned: Mapping[str, Comparison]) -> list[str]:
    """How many figures our own mechanism leads, per world and epsilon."""
    heads = [f"epsilon {_price(epsilon):g}" for epsilon in EPSILONS]
    lines = ["| | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    for case, comparison in tuned.items():
        cells = []
        for epsilon in EPSILONS:
            own = shown_standings(comparison, _price(epsilon))
            clear = [
                sum(one.clear and one.verdict == verdict for one in own) for verdict in ("ahead", "behind")
            ]
            leads = sum(one.verdict != "behind" for one in own)
            idle = sum(no_better_than_no_data(comparison, one) for one in own)
            cells.append(f"{leads} of {len(own)} (+{clear[0]}, -{clear[1]}; {idle})" if own else "–")
        lines.append(f"| [{case}](#{case}) | " + " | ".join(cells) + " |")
    return [
        "## Where Weave leads",
        "",
        "Figures of the tables below on which Weave is at least as good as the best setting of the best rival; in",
        "brackets how many leads (+) and how many deficits (-) are beyond the 95 % intervals of both (never with one",
        "release), and on how many figures Weave is no better than public knowledge alone or an empty release. To lead",
        "there means little.",
        "",
        *lines,
        "",
    ]


def section(case: str, comparison: Comparison) -> list[str]:
    """The tables, pictures, words and gaps of one world."""
    raw = comparison.table.filter(pl.col("mechanism") == CEILING)["private_trips"].max()
    tuned = at_best(comparison)
    lines = [f"## {case}", "", f"{WORLDS[case]} {raw:,} trips.", ""]
    lines += [
        f"At epsilon {SHOWN_EPSILON:g}, mean ± half of the 95 % interval (number of releases in brackets);"
    ]
    lines += ["bold: the best of its column; †: beyond the intervals of all others.", ""]
    lines += table(tuned, SHOWN_EPSILON)
    lines += [
        "",
        "From public knowledge to the ceiling as epsilon grows (in brackets: how much of that way):",
        "",
    ]
    lines += growth(tuned, CASES[case])
    for chart in charts(case, tuned):
        chart.save(DOCS / "figures")
        lines += ["", f"![{chart.alt}](figures/{chart.name}.svg)"]
    lines += ["", *words(case, comparison, tuned)]
    missing = gaps(case, comparison)
    if missing:
        lines += ["", "Not measured:", "", *missing]
    return [*lines, ""]


def table(tuned: Comparison, epsilon: float) -> list[str]:
    """Mechanisms, each at its best, by figures at one epsilon; and the references."""
    columns = shown(tuned)
    better = {figure["key"]: figure["better"] for figure in tuned.figures}
    points = {(p.mechanism, p.key): p for p in tuned.points if p.epsilon == epsilon}
    rows = ours_first(tuned.mechanisms)
    lines = ["| | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
    leaders = {}
    for key in columns.values():
        ranked = sorted(
            (points[name, key] for name in rows if (name, key) in points),
            key=lambda point: point.value if better[key] == "lower" else -point.value,
        )
        if ranked:
            clear = len(ranked) > 1 and all(apart(ranked[0], other) for other in ranked[1:])
            leaders[key] = (ranked[0], " †" if clear else "")
    for name in [*rows, PLAIN_LAPLACE]:
        own = {key: points.get((name, key)) for key in columns.values()}
        count = max((point.repetitions for point in own.values() if point), default=0)
        if not count:
            continue
        cells = []
        for key, point in own.items():
            leader, mark = leaders.get(key, (None, ""))
            text = "–" if point is None else with_interval(point)
            best = point is not None and leader is not None and point.value == leader.value
            cells.append(f"**{text}**{mark}" if best and name != PLAIN_LAPLACE else text)
        lines.append(f"| {name} ({count}) | " + " | ".join(cells) + " |")
    for line in (CEILING, FLOOR, EMPTY):
        values = [tuned.references(key).get(line) for key in columns.values()]
        lines.append(f"| *{line}* | " + " | ".join("–" if v is None else number(v) for v in values) + " |")
    return lines


def growth(tuned: Comparison, about: Case) -> list[str]:
    """Main figures against epsilon: floor, ours with the share of the way to the ceiling, the best rival, ceiling."""
    epsilons = [_price(epsilon) for epsilon in about.epsilons]
    heads = ["floor", *(f"epsilon {epsilon:g}" for epsilon in epsilons), "ceiling"]
    lines = ["| | | " + " | ".join(heads) + " |", "|---|---|" + "---:|" * len(heads)]
    measured = shown(tuned)
    own = {(one.own.key, one.own.epsilon): one for one in standings(tuned, OURS)}
    for head in GROWTH:
        key = measured.get(head)
        if key is None:
            continue
        ends = tuned.references(key)
        low, high = ends.get(FLOOR), ends.get(CEILING)
        ours, rivals = [], []
        for epsilon in epsilons:
            one = own.get((key, epsilon))
            if one is None:
                ours.append("–")
                rivals.append("–")
                continue
            part = way(one.own.value, low, high)
            ours.append(number(one.own.value) + ("" if part is None else f" ({part:.0%})"))
            rivals.append("–" if one.rival is None else f"{number(one.rival.value)} {one.rival.mechanism}")
        first, last = ("–" if end is None else number(end) for end in (low, high))
        lines.append(f"| {head} | {OURS} | {first} | " + " | ".join(ours) + f" | {last} |")
        lines.append("| | best rival | | " + " | ".join(rivals) + " | |")
    return lines


def way(value: float, low: float | None, high: float | None) -> float | None:
    """How much of the way from floor to ceiling a value has gone; None where the two do not differ."""
    if low is None or high is None or abs(high - low) <= 1e-3 * abs(low):
        return None
    return (value - low) / (high - low)


def words(case: str, comparison: Comparison, tuned: Comparison) -> list[str]:
    """What our mechanism leads at the shown epsilon; what it does not lead, and why; and what needed no data."""
    own = shown_standings(tuned, SHOWN_EPSILON)
    if not own:
        return ["Weave was not measured here."]
    settings = {(m, k): p for m, e, k, p in best_settings(comparison).iter_rows() if e == SHOWN_EPSILON}
    behind = [one for one in own if one.verdict == "behind"]
    clear = sum(one.clear and one.verdict == "ahead" for one in own)
    lines = [
        f"Weave leads {len(own) - len(behind)} of {len(own)} figures at epsilon {SHOWN_EPSILON:g}, "
        f"{clear} of them beyond the intervals." + (" It does not lead:" if behind else "")
    ]
    lines += [""] if behind else []
    for one in behind:
        rival, head = one.rival, HEADS[one.own.key]
        if rival is not None:
            name = display_name(rival.mechanism, settings[rival.mechanism, rival.key])
            reason = REASONS.get((case, head), REASONS.get(("", head), ""))
            lines.append(
                f"- {head}: {number(one.own.value)} against {number(rival.value)} of {name}"
                + (f" ({certainty(one.own, rival)})")
                + (f". {reason}" if reason else "")
            )
    return [*lines, "", *elsewhere(tuned), *without_data(tuned, own), *below_markov(case, tuned)]


def elsewhere(tuned: Comparison) -> list[str]:
    """What our mechanism does not lead at the other epsilons, and what the empty release has there."""
    found = []
    for epsilon in tuned.epsilons:
        if epsilon == SHOWN_EPSILON:
            continue
        behind = [one for one in shown_standings(tuned, epsilon) if one.verdict == "behind" and one.rival]
        names = [
            f"{HEADS[one.own.key]} ({number(one.own.value)}, {one.rival.mechanism} {number(one.rival.value)}"
            + ("; beyond the intervals" if one.clear else "")
            + (f"; silence {number(silence)}" if (silence := _silence(tuned, one)) is not None else "")
            + ")"
            for one in behind
            if one.rival
        ]
        found += [f"at {epsilon:g} {', '.join(names)}"] if names else []
    return [f"At the other epsilons it does not lead: {'; '.join(found) or 'nothing'}.", ""]


def _silence(tuned: Comparison, one: Standing) -> float | None:
    """The figure of the empty release, if that is better than ours."""
    value = tuned.references(one.own.key).get(EMPTY)
    return None if value is None or better_than(tuned, one.own, value) else value


def no_better_than_no_data(tuned: Comparison, one: Standing) -> bool:
    """Whether the floor or the empty release is at least as good."""
    lines = tuned.references(one.own.key)
    return any(not better_than(tuned, one.own, lines[line]) for line in (FLOOR, EMPTY) if line in lines)


def without_data(tuned: Comparison, own: Sequence[Standing]) -> list[str]:
    """Figures on which no data at all is at least as good as our mechanism."""
    found: dict[str, list[str]] = {FLOOR: [], EMPTY: []}
    for one in own:
        for line, value in tuned.references(one.own.key).items():
            if line in found and not better_than(tuned, one.own, value):
                found[line].append(f"{HEADS[one.own.key]} ({number(value)})")
    named = {FLOOR: "Public knowledge alone", EMPTY: "Silence"}
    return [
        f"{named[line]} is at least as good on: {', '.join(some)}." for line, some in found.items() if some
    ]


def markov_line(found: Mapping[str, Comparison]) -> list[str]:
    """Worlds without a network: on how many figures ours is at least as good as Markov by default, and the others."""
    heads = [f"epsilon {_price(epsilon):g}" for epsilon in EPSILONS]
    lines = ["| | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    deficits = []
    for case, comparison in found.items():
        default = (pl.col("mechanism") != "markov") | (pl.col("parameters") == "{}")
        chosen = Comparison(comparison.table.filter(default))
        cells = []
        for epsilon in map(_price, EPSILONS):
            pairs = beside_markov(chosen, epsilon)
            behind = [pair for pair in pairs if better_than(chosen, pair[1], pair[0].value)]
            clear = sum(apart(own, line) for own, line in behind)
            cells.append(f"{len(pairs) - len(behind)} of {len(pairs)} (-{clear})" if pairs else "refused")
            deficits += [
                f"- {case} at {epsilon:g}, {HEADS[own.key]}: {with_interval(own)} against {with_interval(line)}"
                f" ({certainty(own, line)})"
                for own, line in behind
            ]
        lines.append(f"| [{case}](#{case}) | " + " | ".join(cells) + " |")
    return ["## The Markov line", "", MARKOV_LINE, "", *lines, "", *deficits, ""]


def beside_markov(comparison: Comparison, epsilon: float) -> list[tuple[Point, Point]]:
    """Ours and the Markov line, figure by figure."""
    points = {(p.mechanism, p.key): p for p in comparison.points if p.key in HEADS and p.epsilon == epsilon}
    return [
        (own, points["markov", key])
        for (name, key), own in points.items()
        if name == OURS and ("markov", key) in points
    ]


def below_markov(case: str, tuned: Comparison) -> list[str]:
    """Where there is no network: the figures on which the Markov line is ahead at its best, at any epsilon."""
    if case not in WITHOUT_NETWORK:
        return []
    found = []
    for epsilon in filter(None, tuned.epsilons):
        heads = [
            HEADS[own.key] + (" (beyond the intervals)" if apart(own, line) else "")
            for own, line in beside_markov(tuned, epsilon)
            if better_than(tuned, line, own.value)
        ]
        found += [f"at {epsilon:g}: {', '.join(heads)}"] if heads else []
    return [
        "",
        f"Below the Markov line at its best setting, figure by figure: {'; '.join(found) or 'nowhere'}.",
    ]


def certainty(own: Point, rival: Point) -> str:
    """What the spread says about a difference."""
    if min(own.repetitions, rival.repetitions) == 1:
        return "too few releases for an interval"
    return "beyond the intervals" if apart(own, rival) else "within the intervals"


def better_than(comparison: Comparison, own: Point, value: float) -> bool:
    """Whether a point is better than a value of the same figure, whichever way is better."""
    lower = next(one["better"] for one in comparison.figures if one["key"] == own.key) == "lower"
    return own.value < value if lower else own.value > value


def gaps(case: str, comparison: Comparison) -> list[str]:
    """What is not in the tables, and why."""
    reasons: dict[str, dict[str, None]] = {}
    measured = set(comparison.table.drop_nulls("value")["mechanism"])
    for name, reason in comparison.gaps():
        mechanism = name.partition(" ")[0]
        reasons.setdefault(reason, {})[name if mechanism in measured else mechanism] = None
    lines = [f"- {', '.join(names)}: {reason}" for reason, names in reasons.items()]
    lines += [f"- {name}: left out, {why}" for (where, name), why in LEFT_OUT.items() if where == case]
    seen = {*comparison.table["mechanism"].unique(), *(name for where, name in LEFT_OUT if where == case)}
    rest = [name for name in ready_mechanisms() if name not in seen and name not in NO_TRIPS]
    return [*lines, *([f"- {', '.join(rest)}: not run here"] if rest else [])]


def rider_level(tuned: Mapping[str, Comparison]) -> list[str]:
    """One table for the riders with several trips: a row per bound and mechanism."""
    first = next(iter(tuned.values()))
    columns = {head: key for head, key in shown(first).items() if head in GROWTH or head == "edges"}
    lines = ["| m | | " + " | ".join(columns) + " |", "|---|---|" + "---:|" * len(columns)]
    for case, comparison in tuned.items():
        points = {(p.mechanism, p.key): p for p in comparison.points if p.epsilon == SHOWN_EPSILON}
        for name in ours_first(comparison.mechanisms):
            own = [points.get((name, key)) for key in columns.values()]
            count = max((point.repetitions for point in own if point), default=0)
            if count:
                cells = ["–" if point is None else with_interval(point) for point in own]
                lines.append(f"| {case.rpartition('-')[2]} | {name} ({count}) | " + " | ".join(cells) + " |")
    for line in (CEILING, FLOOR, EMPTY):
        values = [first.references(key).get(line) for key in columns.values()]
        lines.append(f"| | *{line}* | " + " | ".join("–" if v is None else number(v) for v in values) + " |")
    return ["## Rider level", "", RIDER_LEVEL, "", *lines, ""]


def charts(case: str, tuned: Comparison) -> list[Chart]:
    """All headline figures together, and the primary one; every rival at its best."""
    if all(name in REFERENCES for name in tuned.mechanisms):
        return []
    return [
        privacy_utility(tuned, name=f"results-{case}-skill", title=f"{case}: all headline figures together"),
        error_against_epsilon(
            tuned,
            "count_query_error/non-empty",
            name=f"results-{case}-count-queries",
            title=f"{case}: count queries drawn from raw trips",
        ),
    ]


def shown(comparison: Comparison) -> dict[str, str]:
    """The columns that were measured here."""
    measured = {
        figure["key"] for figure in comparison.table.drop_nulls("value").select("key").unique().to_dicts()
    }
    return {head: key for head, key in COLUMNS.items() if key in measured}


def shown_standings(tuned: Comparison, epsilon: float) -> list[Standing]:
    """Our mechanism on the figures of the table."""
    keys = list(COLUMNS.values())
    own = [one for one in standings(tuned, OURS) if one.own.key in keys and one.own.epsilon == epsilon]
    return sorted(own, key=lambda one: keys.index(one.own.key))


def ours_first(names: Iterable[str]) -> Sequence[str]:
    """Our mechanism at the top, the others by name."""
    return sorted(names, key=lambda name: (name != OURS, name))


def with_interval(point: Point) -> str:
    """A mean and half of its interval."""
    half = 0.0 if point.low is None else float(f"{round(point.value - point.low, 12):.2g}")
    return number(point.value) + ("" if point.low is None else f" ± {number(half)}")


def _price(epsilon: str) -> float:
    above, _, below = epsilon.partition("/")
    return int(above) / int(below or 1)
