"""Writes the pages about studies from the records that their runs leave (`figures.json`).

A finished study inside a page of the docs: what was reached, and every table and figure, from its record alone.

A page says where with two marks, which name the record in the folder `figures` beside it (or above it):

    <!-- study safepath-full: made by `python -m wayveil.lab.studies.docs` -->
    <!-- end of study -->

Everything else of the page is left as it is. A mark that says `study tables` gets the tables with figures of ours
alone.

python -m wayveil.lab.studies.docs docs/ page/ ...     takes in the records and charts of finished pages first
python -m wayveil.lab.studies.docs docs/               writes all pages from the records that the docs keep
"""

import json
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from wayveil.errors import InputError
from wayveil.lab.studies.exhibits import SCALES

END = "<!-- end of study -->"
_BETWEEN = re.compile(
    r"(<!-- study (tables )?([a-z-]+): made by `python -m wayveil\.lab\.studies\.docs` -->).*?"
    + re.escape(END),
    re.DOTALL,
)


def record_path(docs: Path, name: str) -> Path:
    """Where the docs keep the record of a study and scale: `safepath-full`."""
    return docs / "figures" / f"study-{name}.json"


def chart_name(study: str, chart: str) -> str:
    """Return what a chart of a study is called in the docs."""
    return f"study-{study}-{chart}.svg"


def marks(text: str) -> list[tuple[str, bool]]:
    """The records that a page shows, and whether it shows all of them or tables alone."""
    return [(found[2], bool(found[1])) for found in _BETWEEN.findall(text)]


def filled(text: str, docs: Path) -> str:
    """A page with its studies as their records have them now."""

    def fill(found: re.Match[str]) -> str:
        path = record_path(docs, found[3])
        if not path.exists():
            raise InputError("is named by a page and is not there", file=path)
        record = json.loads(path.read_text(encoding="utf-8"))
        return f"{found[1]}\n{study_markdown(record, tables_only=bool(found[2]))}\n{END}"

    return _BETWEEN.sub(fill, text)


def study_markdown(record: dict[str, Any], *, tables_only: bool = False) -> str:
    """The text, with pictures that lie in `figures`."""
    shown = [
        exhibit
        for exhibit in record["exhibits"]
        if not tables_only or (exhibit["shape"] == "table" and exhibit["measured"])
    ]
    labels = {exhibit["label"] for exhibit in shown}
    extent = f" {record['extent']}" if record["extent"] else ""
    lines = [
        f"`wayveil lab study {record['study']}`, {SCALES[record['scale']]}.{extent} Source: {record['source']}.",
        f"Data: {'; '.join(record['data'])}. {record['stand_in']}",
        "",
        "| table or figure | what | here | in numbers |",
        "|---|---|---|---|",
        *(
            f"| {one['label']} | {one['title']} | {one['status']} ({one['reached']} of {one['judged']}) | "
            f"{one['words']} |"
            for one in record["figures"]
            if one["label"] in labels
        ),
    ]
    for exhibit in shown:
        lines += _exhibit(record["study"], exhibit)
    lines += [f"- {place}: {reason}" for place, reason in record["gaps"]]
    return "\n".join(lines)


def _exhibit(study: str, exhibit: dict[str, Any]) -> list[str]:
    lines = ["", f"### {exhibit['label']}: {exhibit['title']}", ""]
    words = " ".join(filter(None, [exhibit["said"], exhibit["note"]]))
    lines += [words, ""] if words else []
    if exhibit["missing"]:
        return [*lines, exhibit["missing"]]
    if exhibit["shape"] == "table":
        heads = exhibit["heads"]
        lines += [f"| {exhibit['down']} | | {' | '.join(heads)} |", "|---" * (len(heads) + 2) + "|"]
        return [*lines, *(f"| {' | '.join(row)} |" for row in exhibit["rows"])]
    return [
        *lines,
        *(f"![{exhibit['title']}](figures/{chart_name(study, chart)})" for chart in exhibit["charts"]),
    ]


PAGE_SCALES = ("full", "quick", "tiny")  # the largest first
HEAD = """# Studies, repeated

Every published table and figure of the studies whose mechanisms are here: reached, not reached with a number and the
reason, or not reproducible. Made by `python -m wayveil.lab.studies.docs docs/ page/` from what `wayveil lab study NAME
--out page/` leaves in `page/figures.json` (kept in `figures/study-*.json`); every sentence is computed from the figures
of the run that its section names.

```text
wayveil lab study list
wayveil lab study mobitrie --quick --out page/                       # minutes, on data of our own
wayveil lab study mobitrie --full --data public-data/ --out page/    # as often as the study did: hours
wayveil lab study mobitrie --full --data public-data/ --minutes 10 --out page/    # a piece; run it again to go on
wayveil lab study mobitrie --world city.zip --out page/              # on your own city
```

`--data` is a folder with `msnbc/msnbc990928.zip` (UCI), `berlin/gtfs.zip` (VBB), `victoria/gtfs.zip` and the like; a
file that is missing is replaced by simulated data, and the page says so. Every section says on which data it was run,
and which parts were run less often than the study did. A value counts as reached if it is as good as the printed one,
up to chance (95 %, where there are five runs or more) and to the tolerance of its table (5 %, facts about data 10 to
25 %); a figure without values is judged by what the study says in words. `dp-loc` needs `wayveil[accounting,metrics]`,
the others no extra.
"""


def studies_page(records: Iterable[dict[str, Any]]) -> str:
    """The page as Markdown. A study may have a record of several scales; each figure is that of the largest with it."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for record in sorted(records, key=lambda one: (one["study"], PAGE_SCALES.index(one["scale"]))):
        runs.setdefault(record["study"], []).append(record)
    head = "| study | scale of the runs | reached | not reached | not reproducible |\n|---|---|---|---|---|"
    rows = []
    for study, own in runs.items():
        states = [figure["status"] for _, figure in best_figures(own)]
        counts = [states.count(state) for state in ("reached", "not reached", "not reproducible")]
        scales = ", ".join(record["scale"] for record in own)
        rows.append(f"| [{study}](#{study}) | {scales} | {' | '.join(map(str, counts))} |")
    return "\n".join([HEAD, "\n".join([head, *rows]) + "\n", *map(_section, runs.values())])


def best_figures(runs: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """(scale, figure): of the largest run that has measured it, in the order of the study."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for record in runs:
        for figure in record["figures"]:
            known = found.get(figure["label"])
            if known is None or (not known[1]["judged"] and figure["judged"]):
                found[figure["label"]] = record["scale"], figure
    return list(found.values())


def _section(runs: list[dict[str, Any]]) -> str:
    about = runs[0]
    lines = [f"## {about['study']}", "", f"{about['title']}. After {about['source']}."]
    for record in runs:
        data = "; ".join(record["data"])
        took = f"Its cells took {record['seconds']:,} processor seconds."
        words = [f"The run `{record['scale']}` is on {data}.", record["extent"], took, record["stand_in"]]
        lines.append(" ".join(filter(None, words)))
    lines += ["", "| published | run | status | held | where ours differ, and why |", "|---|---|---|---|---|"]
    for scale, one in best_figures(runs):
        held = f"{one['reached']} of {one['judged']}" if one["judged"] else ""
        words, run = one["words"].replace("|", "\\|"), scale if one["judged"] else ""
        lines.append(f"| {one['label']}: {one['title']} | {run} | {one['status']} | {held} | {words} |")
    return "\n".join(lines) + "\n"


def take_in(page: Path, docs: Path) -> str:
    """Keep the record of a finished page, and its charts where the docs show them; gives the record's name."""
    record = json.loads((page / "figures.json").read_text(encoding="utf-8"))
    name = f"{record['study']}-{record['scale']}"
    shutil.copy(page / "figures.json", record_path(docs, name))
    if (name, False) in [mark for text in _pages(docs).values() for mark in marks(text)]:
        for old in (docs / "figures").glob(chart_name(record["study"], "*")):
            old.unlink()
        for chart in (chart for exhibit in record["exhibits"] for chart in exhibit["charts"]):
            kept = docs / "figures" / chart_name(record["study"], chart)
            shutil.copy(page / "figures" / f"{chart}.svg", kept)
    return name


def records(docs: Path) -> list[dict[str, Any]]:
    """All that the docs keep."""
    kept = sorted(docs.glob("figures/study-*.json"))
    return [json.loads(file.read_text(encoding="utf-8")) for file in kept]


def written(docs: Path) -> dict[Path, str]:
    """Every page about studies, as the records have it."""
    filled_in = {path: filled(text, docs) for path, text in _pages(docs).items()}
    return {docs / "studies.md": studies_page(records(docs)), **filled_in}


def _pages(docs: Path) -> dict[Path, str]:
    """The pages that hold marks."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(docs.rglob("*.md"))}
    return {path: text for path, text in texts.items() if marks(text)}


def main(arguments: list[str]) -> None:
    """Take in finished pages, write the pages of the docs, and say which."""
    docs, *pages = map(Path, arguments)
    for page in pages:
        print(f"{take_in(page, docs)} from {page}")
    for path, text in written(docs).items():
        path.write_text(text, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
