"""docs/accuracy.md, from the rows of the coverage bench."""

from collections.abc import Iterable
from itertools import product
from pathlib import Path

import numpy as np

from bench.coverage_cells import LOW, is_earlier, is_outside, mark_of
from bench.printed_page import printed_words
from bench.right_words import right_words
from wayveil.arrays import Floats
from wayveil.mechanisms.registry import mechanism
from wayveil.synthesis.model import OfTaps

PAGE = Path(__file__).parents[1] / "docs" / "accuracy.md"
ENOUGH = 20
EPSILONS = ("0.5", "1", "2")
HEAD = """# How far numbers can be trusted

Made by `python -m bench coverage`; do not edit.

What a mechanism counted cell by cell has the law of its noise: taps, and of Weave the number of trips, origins,
destinations and lengths; of trees the origins (rows marked "law"). All noisy counts together tell the law of the cells
behind them, and each cell has a posterior by both (empirical Bayes: Efron 2011, 2016; Yekutieli 2012), which picking
large numbers does not change: intervals hold at the top of a sorted list as they do over all cells. The law of the
cells is estimated, so this is a statement about cells on average, not about each.

Ranges of ranks are drawn from the
intervals (Laird and Louis 1989). Changes that a trend names have intervals at the level 1 - 0.05 R / m, R named of m
(Benjamini and Yekutieli 2005).

For other questions a release takes itself for the truth, is measured again with simulated noise of the same law, and is
drawn again. Where a number of a replica lies, compared with the release that it was made from, tells where the truth
may lie, compared with the release. This shows noise and thresholds. It does not show what a model cannot express, nor
what bounding left out. So every mechanism names the kinds of question whose intervals held on simulated towns; of all
others it says that nothing is known.

Weave has intervals for what follows from whole trips (visits, hours, runs of
three stops, and routes, districts, line-load, through, transfers, durations and distances) from one replica, with
what all its numbers have in common and what a replica does not show (3 % of a stop or stretch, 5 % of runs of three
stops and of trips between districts, 10 % beside that within one, and of changes of line; and what classes of minutes
and kilometres lose to the next one where trips are longer than they were).

They are withdrawn where
released trips miss the lengths that were paid for by more than noise explains (1.3 deviations of 18 classes, 1.4 of 8),
as people then take other ways than public routing does.

Where noise is so large that it made the release smooth (riders as the unit), replicas are as
smooth and show too little: noisy counts of stops tell by how much, the error that verdicts say is a mean of what both
say, and intervals are wider. Public knowledge is as far off as the release is from it, less what a replica says that
noise puts between them.

*Coverage* is the share of shown numbers whose 95 % interval holds the raw number, over all releases of a row; 92 to
99.5 % is asked for. A star says that it is outside, a dot that so few intervals (such as one total per release) would
also show it if 92 to 99.5 % were true.

*Width* is half the median interval, *error* the median distance to the raw
number. *Not shown* is the share of raw cells that the release does not show and whose number is below what it says they
hold at most. *Time* is that of the intervals over that of the release, of the processor; they are found once and kept
with the release. *Answer* is the time of an answer with its intervals from there, over that of the release.
"""


def write_page(rows: list[dict], worlds: Iterable[str], mechanisms: Iterable[str], page: Path = PAGE) -> None:
    """The whole page; `worlds` and `mechanisms` are all that are to be judged."""
    unmeasured = [refused_words(rows), missing_words(rows, worlds, mechanisms)]
    rows = [{**row, "claimed": is_claimed(row)} for row in rows if "kind" in row]
    whole, rows = rows, [{**row, **row.get("totals", {})} for row in rows]
    printed = [row for row in rows if row["claimed"] and row["coverage"] is not None]
    head, _, method = HEAD.partition("\n\nWhat a")
    parts = [head, "", printed_words(), "## How it is found, and every cell by itself\n", f"What a{method}"]
    parts += [measured_words(rows), *unmeasured, earlier_words(rows), summary_words(printed)]
    parts += ["\n## Intervals that are printed\n", table(printed)]
    parts += ["\n## Measured and not printed\n", table([row for row in rows if not row["claimed"]])]
    parts += ["\n## Verdicts\n", verdict_words(whole)]
    parts += ["\n## Numbers that once were wrong\n", right_words()]
    page.write_text("\n".join(parts), encoding="utf-8")


def is_claimed(row: dict) -> bool:
    """Whether the mechanism prints such intervals, as it is now."""
    return row["counted"] or row["kind"] in mechanism(row["mechanism"]).holds


def measured_words(rows: list[dict]) -> str:
    """What has been run, so that nobody reads more into the tables."""
    found = {name: sorted({str(row[name]) for row in rows}) for name in ("world", "mechanism", "epsilon")}
    counts: dict[str, list[int]] = {}
    for row in rows:
        counts.setdefault(f"{row['mechanism']} on {row['world']}", []).append(row["releases"])
    fewer = [f"{cell} ({min(many)})" for cell, many in sorted(counts.items()) if min(many) < ENOUGH]
    more = sorted(
        {f"{row['world']} ({row['mechanism']}, epsilon {row['epsilon']})" for row in rows if "totals" in row}
    )
    many = (
        f" Where twenty had shown less than 92 %, the number of trips was measured again, many times and without "
        f"drawing trips (`python -m bench.coverage_totals`): {', '.join(more)}."
        if more
        else ""
    )
    few = f" Fewer, where a release takes long: {', '.join(fewer)}." if fewer else ""
    return (
        f"Measured so far: worlds {', '.join(found['world'])}, every n-th trip of them, at most 10,000; mechanisms "
        f"{', '.join(found['mechanism'])}; epsilon {', '.join(found['epsilon'])}; {ENOUGH} releases each.{few}{many} "
        f"Which kinds are printed, which verdicts are given, and every constant was chosen on simulated towns and "
        f"lists that are not in these tables (`python -m bench.coverage_choice`); [the notes](accuracy-notes.md) say "
        f"what was looked at when."
    )


def refused_words(rows: list[dict]) -> str:
    """Which mechanisms do not take which worlds."""
    found: dict[str, set[str]] = {}
    for row in rows:
        if "refused" in row:
            found.setdefault(row["mechanism"], set()).add(row["world"])
    names = [f"{name} on {', '.join(sorted(places))}" for name, places in sorted(found.items())]
    return f"\nRefused, as the data does not fit: {'; '.join(names)}." if names else ""


def missing_words(rows: list[dict], worlds: Iterable[str], mechanisms: Iterable[str]) -> str:
    """What was to be judged and has not been."""
    done = {(row["world"], row["mechanism"], row["epsilon"]) for row in rows}
    missing = []
    for world, name in product(worlds, mechanisms):
        gaps = [epsilon for epsilon in EPSILONS if (world, name, epsilon) not in done]
        if gaps:
            missing.append(f"{name} on {world} ({', '.join(gaps)})")
    return f"\nNot measured yet (at epsilon): {'; '.join(missing)}." if missing else ""


def earlier_words(rows: list[dict]) -> str:
    """Which rows are not of today's code."""
    old = sum(is_earlier(row) and row["coverage"] is not None for row in rows)
    if not old:
        return ""
    return (
        f"\nA dagger after the number of releases: {old} rows were measured before intervals and verdicts were found "
        "as they are now, and were not measured again."
    )


def summary_words(rows: list[dict]) -> str:
    """The tables in four numbers."""
    low, high = (
        sum(is_outside(row) and (row["coverage"] < LOW) is below for row in rows) for below in (True, False)
    )
    wide = [row["half_width"] / row["error"] for row in rows if row["half_width"] and row["error"]]
    ratios = [row["time_ratio"] for row in rows]
    return (
        f"\nOf {len(rows)} cells with printed intervals, {low} lie below 92 % and {high} above 99.5 % by more than "
        f"luck. Half the median interval is {np.median(wide):.1f} times the median error in the median cell. Finding "
        f"intervals and verdict once takes {np.median(ratios):.1f} times as long as the release in memory (from "
        f"{min(ratios):.1f} to {max(ratios):.1f}: where a release takes less than a tenth of a second, drawing public "
        f"routes takes longer than that); an answer from there takes at most "
        f"{max(row['answer_ratio'] for row in rows):.2f} of it.\n"
    )


def said_share(row: dict, worst: float | None) -> float:
    """The share of releases of which it is said that they are better; None: nothing is said of this kind."""
    if worst is None:
        return 0.0
    return sum(margin > worst for margin in row["margins"]) / row["releases"]


def factor_of(row: dict) -> float | None:
    """How many times what replicas show the mechanism, as it is now, may be off."""
    chosen = mechanism(row["mechanism"])
    told = {**dict.fromkeys(chosen.holds, 1.0), **chosen.tells}
    return told.get(row["kind"], 1.0 if issubclass(chosen.makes, OfTaps) else None)


def sides(rows: Iterable[dict]) -> tuple[list[dict], list[dict]]:
    """Cells in which every release was better than public knowledge and silence, and those in which none was."""
    judged = [row for row in rows if row["margins"]]
    better = [row for row in judged if row["better"] == row["releases"]]
    return better, [row for row in judged if row["better"] == 0]


def verdict_words(rows: list[dict]) -> str:
    """How often verdicts are right, over all kinds of question: a verdict that is not given was not said."""
    lines = ["| Mechanism | Better in | said | Not better in | said |", "|---|--:|--:|--:|--:|"]
    found = [(row["mechanism"], right_and_wrong([row])) for row in rows]
    for name in (*sorted({name for name, _ in found}), None):
        cells, said = np.sum([each for owner, each in found if name in (None, owner)], axis=0).T
        shares = [f"{part / whole:.1%}" if whole else "–" for part, whole in zip(said, cells, strict=True)]
        lines.append(f"| {name or 'all'} | {cells[0]:.0f} | {shares[0]} | {cells[1]:.0f} | {shares[1]} |")
    return "\n".join(
        [
            "Cells (kind, world, epsilon) in which every release was closer to the raw trips than public knowledge "
            "alone and silence, and the share of their releases of which the verdict said so; cells in which none "
            "was, and the share of which it said so wrongly.\n",
            *lines,
            "",
        ]
    )


def right_and_wrong(rows: list[dict]) -> Floats:
    """Cells that are better and cells that are not, and in how many of each it is said that they are."""
    return np.array(
        [(len(side), sum(said_share(row, factor_of(row)) for row in side)) for side in sides(rows)], float
    )


def table(rows: list[dict]) -> str:
    """Rows by world, mechanism and kind."""
    lines = [
        "| World | Mechanism | epsilon | Question | By | Releases | Coverage | Width | Error | Not shown | Time "
        "| Answer |",
        "|---|---|--:|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    order = sorted(rows, key=lambda row: (row["world"], row["mechanism"], float(row["epsilon"]), row["kind"]))
    for row in order:
        if row["coverage"] is None:
            continue
        mark = mark_of(row)
        lines.append(
            f"| {row['world']} | {row['mechanism']} | {row['epsilon']} | {row['kind']} "
            f"| {'law' if row['counted'] or row['kind'] == 'total' else 'replicas'} "
            f"| {row['releases']}{' †' if is_earlier(row) else ''} "
            f"| {row['coverage']:.1%}{mark} | {number(row['half_width'])} | {number(row['error'])} "
            f"| {'–' if row['unlisted'] is None else format(row['unlisted'], '.1%')} | {row['time_ratio']:.2g} "
            f"| {number(row.get('answer_ratio'))} |"
        )
    return "\n".join([*lines, "", "A star: outside 92 to 99.5 %; a dot: too few to tell."])


def number(value: float | None) -> str:
    """Short."""
    return "–" if value is None else f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
