"""The first table of docs/accuracy.md: what holds and what is useful, as it is printed (`python -m bench.printed`)."""

import json
from pathlib import Path

STORE = Path(__file__).parent.parent / "docs" / "figures" / "printed.json"
COLUMNS = {"all": "All rows", "top20": "Top 20", "top50": "Top 50", "max": "Largest"}
LARGE = "50k"
HEAD = """## What is useful, and what holds as it is printed

Asked through `ask` of releases of the default mechanism at epsilon 1, beside the raw trips: the share of rows whose
interval holds the raw number, over all rows, in the 20 and 50 rows that show the largest numbers, and in the largest.
*Useful*: of the 50 largest rows in cities of 50,000 trips, how many have an interval narrower than 30 % of their number
(of lists that have fewer rows, the same share of 50). A dash: no interval is printed. Worlds are invented
cities drawn after all constants were set (riders of these kinds had been looked at in other cities): {worlds}.
Made by `python -m bench.printed`; {few}
"""


def printed_words() -> str:
    """The section; nothing where nothing was measured."""
    if not STORE.exists():
        return ""
    found = json.loads(STORE.read_text(encoding="utf-8"))
    made = [(row["world"], row["unit"]) for row in found if row["question"] == "boardings"]
    counts = {each: made.count(each) for each in sorted(set(made))}
    worlds = ", ".join(f"{world} ({unit}: {many})" for (world, unit), many in counts.items())
    few = "the number of releases of each stands in brackets."
    parts = [HEAD.format(worlds=worlds, few=few)]
    for unit in dict.fromkeys(row["unit"] for row in found):
        parts += [f"Unit {unit}:\n", _table([row for row in found if row["unit"] == unit]), ""]
    return "\n".join(parts)


def _table(found: list[dict]) -> str:
    heads = ["Question", "Releases", *COLUMNS.values(), "Useful of 50"]
    lines = [f"| {' | '.join(heads)} |", "|---|--:" + "|--:" * (len(heads) - 2) + "|"]
    for question in dict.fromkeys(row["question"] for row in found):
        here = [row for row in found if row["question"] == question]
        told = [row for row in here if "all" in row]
        cells = [_share([row[name] for row in told]) for name in COLUMNS]
        large = [row["useful"][0] / max(row["useful"][1], 1) for row in told if row["world"].endswith(LARGE)]
        useful = f"{50 * sum(large) / len(large):.0f}" if large else "–"
        refused = f" ({len(here) - len(told)} refused)" if len(told) < len(here) else ""
        lines.append(f"| {question}{refused} | {len(here)} | {' | '.join(cells)} | {useful} |")
    return "\n".join(lines)


def _share(pairs: list[list[int]]) -> str:
    held, known = (sum(pair[side] for pair in pairs) for side in (0, 1))
    return "–" if known == 0 else f"{100 * held / known:.1f}%"
