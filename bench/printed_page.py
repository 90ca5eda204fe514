"""The first tables of docs/accuracy.md: what holds, what is useful, which verdicts are right, as it is printed.

python -m bench.printed_page    writes the page anew from all that `python -m bench.printed` has measured
"""

import json
from collections.abc import Iterable
from pathlib import Path

from bench.coverage_cells import mark_of
from wayveil.accuracy.verdicts import SINGLE
from wayveil.lab.studies.sources import changed

STORE = Path(__file__).parent.parent / "docs" / "figures" / "printed.json"
COLUMNS = {"all": "All rows", "top20": "Top 20", "top50": "Top 50", "max": "Largest"}
LARGE = "60k"
LEAST, MOST = 0.6, 1.7
# Of the 50 largest rows of a kind, so many have to have a narrow interval.
USEFUL = 40 / 50
HEAD = """## What is useful, and what holds as it is printed

Asked through `ask` of releases at epsilon 1, beside the raw trips: the share of rows whose interval holds the raw
number, over all rows, in the 20 and 50 rows that show the largest numbers, and in the largest; 92 to 99.5 % is asked
for. Made by `python -m bench.printed`; [the notes](accuracy-notes.md) say what was chosen where.

*Releases* are those behind the row; where some refused the question, their number stands behind it. *Useful*: of
the 50 largest rows in cities of 60,000 trips, how many have an interval narrower than 30 % of their number (of lists
that have fewer rows, the same share of 50). A dash: no interval is printed, or nothing was measured. Unit rider: five
trips each, or one to five. A star: outside 92 to 99.5 % by more than luck shows once in twenty (binomial test; of the
largest, one a release); a dot: outside, as luck would show as well. A dagger: measured by earlier code, or some of it.

Worlds: five kinds of simulated riders in invented cities of 500 stops (`errands` were written for this table alone),
journeys on the Tube, Oyster cards, taps of Buenos Aires.
"""
VERDICTS = """### Verdicts

Of each kind of question: cells (world, mechanism, unit) in which every release was closer to the raw trips than public
knowledge and nothing at all, and the share of their releases of which the verdict said so (90 % is asked for); cells in
which none was, and the share of which it said so wrongly (2 %); and of the cells whose verdicts say that they know the
error, the share in which it is 0.6 to 1.7 times the true one, both over all releases (90 %).

Of a single number (trips, visits) a release shows one draw of its error, and a world one bias: even where the expected
error is told exactly, 45 % of single draws of a normal law lie so near to it, and 37 % of a Laplace law. So worlds of
one size stand together there, as a cell each for every mechanism and unit: said and true errors are means over all of
their releases.
"""


def printed_words() -> str:
    """The section; nothing where nothing was measured."""
    if not STORE.exists():
        return ""
    store = json.loads(STORE.read_text(encoding="utf-8"))
    parts = [HEAD]
    for name, unit in dict.fromkeys(
        (row["mechanism"], row["unit"]) for row in _weave_first(store["numbers"])
    ):
        here = [row for row in store["numbers"] if (row["mechanism"], row["unit"]) == (name, unit)]
        counts = {row["world"]: row["releases"] for row in here}
        worlds = ", ".join(f"{world} {many}" for world, many in counts.items())
        parts += [f"`{name}`, unit {unit} (releases: {worlds}):\n", _table(here), "", *_useful_words(here)]
    return "\n".join([*parts, VERDICTS, _verdict_table(store["verdicts"]), ""])


def _weave_first(rows: Iterable[dict]) -> list[dict]:
    return sorted(
        rows, key=lambda row: (row["mechanism"] != "weave", row["mechanism"], row["unit"] != "trip")
    )


def _useful_words(found: list[dict]) -> list[str]:
    """Say how many kinds of question have intervals in large cities, and how many of these are useful."""
    told, useful = useful_kinds(found)
    kinds = {row["question"] for row in found if row["world"].endswith(LARGE)}
    if not kinds:
        return []
    return [
        f"In cities of 60,000 trips, {len(told)} of {len(kinds)} kinds of question have intervals, and {len(useful)} "
        f"are useful for 40 of the 50 largest rows: {', '.join(useful)}.\n"
    ]


def useful_kinds(found: list[dict]) -> tuple[list[str], list[str]]:
    """Kinds of question that have intervals in large cities, and those whose intervals are narrow enough."""
    large = [row for row in found if row["world"].endswith(LARGE)]
    told, useful = [], []
    for kind in dict.fromkeys(row["question"] for row in large):
        here = [row for row in large if row["question"] == kind and "useful" in row]
        made = sum(row["releases"] - row.get("refused", 0) for row in here)
        narrow, asked = (sum(row["useful"][side] for row in here) for side in (0, 1))
        told += [kind] if made and 2 * sum(row["told"] for row in here) >= made else []
        useful += [kind] if asked and narrow >= USEFUL * asked else []
    return told, useful


def _table(found: list[dict]) -> str:
    heads = ["Question", "Releases", *COLUMNS.values(), "Useful of 50"]
    lines = [f"| {' | '.join(heads)} |", "|---|--:" + "|--:" * (len(heads) - 2) + "|"]
    for question in dict.fromkeys(row["question"] for row in found):
        here = [row for row in found if row["question"] == question]
        cells = [_marked(row[name] for row in here if name in row) for name in COLUMNS]
        large = [row["useful"] for row in here if row["world"].endswith(LARGE) and "useful" in row]
        held, asked = (sum(pair[side] for pair in large) for side in (0, 1))
        useful = f"{50 * held / asked:.0f}" if asked else "–"
        refused = sum(row.get("refused", 0) for row in here)
        made = f"{sum(row['releases'] for row in here)}" + (f" ({refused} refused)" if refused else "")
        made += " †" if any(row.get("older", True) for row in here) else ""
        lines.append(f"| {question} | {made} | {' | '.join(cells)} | {useful} |")
    return "\n".join(lines)


def _verdict_table(found: list[dict]) -> str:
    lines = [
        "| Question | Better in | said | Not better in | said | Cells | Error 0.6 to 1.7 of the true one |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for kind in (*dict.fromkeys(row["kind"] for row in found), None):
        here = [row for row in found if kind in (None, row["kind"])]
        better = [row for row in here if row["better"] == row["releases"]]
        worse = [row for row in here if row["better"] == 0]
        ratios = error_ratios(here)
        near = [sum(LEAST <= ratio <= MOST for ratio in ratios), len(ratios)]
        said = [_share((row["said"], row["releases"]) for row in side) for side in (better, worse)]
        cells = f"{len(better)} | {said[0]} | {len(worse)} | {said[1]}"
        lines.append(f"| {kind or 'all'} | {cells} | {len(ratios)} | {_share([near])} |")
    return "\n".join(lines)


def error_ratios(rows: Iterable[dict]) -> list[float]:
    """Said error over true error of each cell; of single numbers, worlds of one size are one cell."""
    sums: dict[tuple[str, ...], list[float]] = {}
    for row in rows:
        world = row["world"] if row["kind"] not in SINGLE else row["world"].endswith(LARGE)
        both = sums.setdefault((row["kind"], row["mechanism"], row["unit"], world), [0.0, 0.0])
        both[0] += row["errors"][0]
        both[1] += row["errors"][1]
    return [said / max(true, 1e-9) for said, true in sums.values() if said or true]


def _marked(pairs: Iterable[Iterable[int]]) -> str:
    held, known = (sum(side) for side in zip((0, 0), *pairs, strict=True))
    mark = mark_of({"coverage": held / known, "intervals": known}) if known else ""
    return f"{_share([(held, known)])}{mark}"


def _share(pairs: Iterable[Iterable[int]]) -> str:
    held, known = (sum(side) for side in zip((0, 0), *pairs, strict=True))
    return "–" if known == 0 else f"{100 * held / known:.1f}%"


def write_store(store: dict) -> None:
    """Write the file, a line a row."""
    made = ",\n".join(f'"{key}": {json.dumps(each)}' for key, each in sorted(store["made"].items()))
    lines = [
        f'"{each}": [\n' + ",\n".join(map(json.dumps, store[each])) + "\n]"
        for each in ("numbers", "verdicts")
    ]
    STORE.write_text(f'{{\n"made": {{\n{made}\n}},\n' + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def is_changed(store: dict, row: dict) -> bool:
    """Tell whether code that a row was measured with has changed since, or nobody knows which it was."""
    return bool(changed(store["made"].get(row.get("made"))))


def mark_older() -> None:
    """Mark the rows that were measured by earlier code than today's."""
    store = json.loads(STORE.read_text(encoding="utf-8"))
    for row in (*store["numbers"], *store["verdicts"]):
        row["older"] = is_changed(store, row)
    write_store(store)


if __name__ == "__main__":
    from bench.coverage import JUDGING, MECHANISMS
    from bench.coverage_cells import JUDGED, read_cells
    from bench.coverage_page import write_page

    mark_older()
    write_page(read_cells(JUDGED), JUDGING, MECHANISMS)
