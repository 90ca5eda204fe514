"""docs/accuracy.md, from the rows of the coverage bench."""

from pathlib import Path

from scipy.stats import binom

from wayveil.mechanisms.registry import mechanism
from wayveil.synthesis.model import OfTaps

PAGE = Path(__file__).parents[1] / "docs" / "accuracy.md"
LOW, HIGH = 0.92, 0.995
UNSURE = 0.05
HEAD = """# How far numbers can be trusted

Made by `python -m bench coverage`; do not edit.

A release takes itself for the truth, is measured again with simulated noise of the same law, and is drawn again. Where
a number of a replica lies, compared with the release that it was made from, tells where the truth may lie, compared
with the release. This shows noise and thresholds. It does not show what a model cannot express, nor what bounding
left out. So every mechanism names the kinds of question whose intervals held wherever they were measured; of all
others it says that nothing is known.

*Coverage* is the share of shown numbers whose 95 % interval holds the raw number, over all releases of a row; 92 to
99.5 % is asked for. A star says that it is outside, a dot that so few intervals (such as one total per release) would
also show it if 92 to 99.5 % were true. *Width* is half the median interval, *error* the median distance to the raw
number. *Not shown* is the share of raw cells that the release does not show and whose number is below what it says they
hold at most. *Time* is that of the intervals over that of the release, of the processor; they are found once and kept
with the release. *Answer* is the time of an answer with its intervals from there, over that of the release.
"""


def write_page(rows: list[dict], setting: set[str], page: Path = PAGE) -> None:
    """The whole page, without the worlds on which constants were set."""
    rows = [{**row, "claimed": is_claimed(row)} for row in rows if row["world"] not in setting]
    parts = [HEAD, measured_words(rows)]
    parts += ["\n## Intervals that are printed\n", table([row for row in rows if row["claimed"]])]
    parts += ["\n## Measured and not printed\n", table([row for row in rows if not row["claimed"]])]
    parts += ["\n## Verdicts\n", verdict_words(rows)]
    page.write_text("\n".join(parts), encoding="utf-8")


def is_claimed(row: dict) -> bool:
    """Whether the mechanism prints such intervals, as it is now."""
    chosen = mechanism(row["mechanism"])
    return row["kind"] in chosen.holds or issubclass(getattr(chosen, "makes", object), OfTaps)


def measured_words(rows: list[dict]) -> str:
    """What has been run, so that nobody reads more into the tables."""
    found = {name: sorted({str(row[name]) for row in rows}) for name in ("world", "mechanism", "epsilon")}
    fewest = min((row["releases"] for row in rows), default=0)
    return (
        f"Measured so far: worlds {', '.join(found['world'])}; mechanisms {', '.join(found['mechanism'])}; epsilon "
        f"{', '.join(found['epsilon'])}; at least {fewest} releases each. The widening of all intervals was set on "
        f"two simulated towns that are not in the tables. Which kinds are printed, and that none are printed where "
        f"public knowledge is as good, was decided with these tables in view, so they flatter what is left. "
        f"Rows at epsilon 1 were measured before the last of these rules, and then left out by it where it applies."
    )


def is_told(row: dict) -> bool:
    """Whether the mechanism says of such a kind that the release is better than public knowledge, as it is now."""
    chosen = mechanism(row["mechanism"])
    return is_claimed(row) or row["kind"] in chosen.tells


def verdict_words(rows: list[dict]) -> str:
    """How often verdicts are right, over all kinds of question: a verdict that is not given was not said."""
    judged = [row for row in rows if row["agreed"] is not None]
    better = [row for row in judged if row["is_better"] == 1]
    worse = [row for row in judged if row["is_better"] == 0]
    said = sum(row["said_better"] * is_told(row) for row in better) / max(len(better), 1)
    wrong = sum(row["said_better"] * is_told(row) for row in worse) / max(len(worse), 1)
    return (
        f"In {len(better)} cells every release was closer to the raw trips than public knowledge alone and silence; "
        f"the verdict said so in {said:.0%} of their releases. In {len(worse)} cells none was; there the verdict said "
        f"that it was in {wrong:.0%}.\n"
    )


def table(rows: list[dict]) -> str:
    """Rows by world, mechanism and kind."""
    lines = [
        "| World | Mechanism | epsilon | Question | Releases | Coverage | Width | Error | Not shown | Time | Answer |",
        "|---|---|--:|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    order = sorted(rows, key=lambda row: (row["world"], row["mechanism"], float(row["epsilon"]), row["kind"]))
    for row in order:
        if row["coverage"] is None:
            continue
        mark = mark_of(row)
        lines.append(
            f"| {row['world']} | {row['mechanism']} | {row['epsilon']} | {row['kind']} | {row['releases']} "
            f"| {row['coverage']:.1%}{mark} | {number(row['half_width'])} | {number(row['error'])} "
            f"| {'–' if row['unlisted'] is None else format(row['unlisted'], '.1%')} | {row['time_ratio']:.2g} "
            f"| {number(row.get('answer_ratio'))} |"
        )
    return "\n".join([*lines, "", "A star: outside 92 to 99.5 %; a dot: too few to tell."])


def mark_of(row: dict) -> str:
    """Whether coverage is outside what is asked for, and whether so few intervals can tell."""
    if LOW <= row["coverage"] <= HIGH:
        return ""
    tries = row["intervals"]
    inside = round(row["coverage"] * tries)
    missed = row["coverage"] < LOW
    chance = binom.cdf(inside, tries, LOW) if missed else binom.sf(inside - 1, tries, HIGH)
    return " ·" if chance > UNSURE else " *"


def number(value: float | None) -> str:
    """Short."""
    return "–" if value is None else f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
