"""Writes the pages about studies from the records that their runs leave (`figures.json`).

A finished study inside a page of the docs: what was reached, and every table and figure, from its record alone.

A page says where with two marks, which name the record in the folder `figures` beside it (or above it):

    <!-- study safepath-full: made by `python -m wayveil.lab.studies.docs` -->
    <!-- end of study -->

Everything else of the page is left as it is. A mark that says `study tables` gets the tables with figures of ours
alone.

python -m wayveil.lab.studies.docs docs/ page/ ...     takes in the records and charts of finished pages first
python -m wayveil.lab.studies.docs docs/               writes all pages from the records that the docs keep
python -m wayveil.lab.studies.docs docs/ --remake quick [--data FOLDER]    runs every study first

A record knows the code that it was made with. Where that has changed since, every page that shows the record says so;
of parts apart, which are whole releases, it says that they are of that day.
"""

import json
import re
import shutil
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from wayveil.errors import InputError
from wayveil.lab.studies.exhibits import SCALES
from wayveil.lab.studies.figure_verdicts import MARGIN, STATUSES
from wayveil.lab.studies.lab import Lab, Scale
from wayveil.lab.studies.run_study import studies
from wayveil.lab.studies.sources import changed
from wayveil.lab.studies.study_page import study_page

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
    held = {
        figure["label"] for figure in record["figures"]
    }  # what is beside them may not be part of this run
    shown = [
        exhibit
        for exhibit in record["exhibits"]
        if (exhibit["measured"] and exhibit["shape"] == "table")
        or (not tables_only and (exhibit["measured"] or exhibit["label"] in held))
    ]
    labels = {exhibit["label"] for exhibit in shown}
    extent = f" {record['extent']}" if record["extent"] else ""
    lines = [
        *([f"**{OLDER}.**", ""] if is_older(record) else []),
        f"`wayveil lab study {record['study']}`, {SCALES[record['scale']]}.{extent} Source: {record['source']}.",
        "",
        f"Data: {'; '.join(record['data'])}.",
        "",
        record["stand_in"],
        "",
        "| table or figure | in numbers |",
        "|---|---|",
        *(
            f"| **{one['label']}**: {one['title']}: *{one['status']}*{_held(one)} | {one['words']} |"
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
    words = " ".join(filter(None, [exhibit["said"], exhibit["note"], APART if exhibit.get("apart") else ""]))
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
OLDER = "Made with older code"
# Whatever changes a release would mark them: they are held against nothing that a study says.
APART = (
    "These are whole releases of the program of that day; what has changed in it since does not mark them."
)
HEAD = f"""# Studies, repeated

Every published table and figure of the studies whose mechanisms are here: reached, not reached with a number and the
reason, not to be told from this run, or not reproducible. Made by `python -m wayveil.lab.studies.docs docs/ page/` from
what `wayveil lab study NAME --out page/` leaves in `page/figures.json` (kept in `figures/study-*.json`); every sentence
is computed from the figures of the run that its section names. `make records` runs every study anew and writes all
pages.

```text
wayveil lab study list
wayveil lab study mobitrie --quick --out page/                       # minutes, on data of our own
wayveil lab study mobitrie --full --data public-data/ --out page/    # as often as the study did: hours
wayveil lab study mobitrie --full --data public-data/ --minutes 10 --out page/    # a piece; run it again to go on
wayveil lab study mobitrie --world city.zip --out page/              # on your own city
```

`--data` is a folder with `msnbc/msnbc990928.zip` (UCI), `berlin/gtfs.zip` (VBB), `victoria/gtfs.zip` and the like; a
file that is missing is replaced by simulated data, and the page says so. Every section says on which data it was run,
and which parts were run less often than the study did.

A value is *reached* if the whole 95 % interval of our mean lies within {MARGIN:.0%} of the printed one or on its better
side, *not reached* if all of it lies beyond; otherwise the run *cannot tell*, so that spread never helps. A figure
without values is judged by what the study says in words. A run whose code has changed since is marked *older code*: its
figures are not those of today. A row shows the largest run with the code of today that measured the figure, and
beside it what a larger, older run said. `dp-loc` needs `wayveil[accounting,metrics]`, the others no extra.
"""


def is_older(record: dict[str, Any]) -> bool:
    """Tell whether code that the record was made with has changed since."""
    return bool(changed(record.get("code")))


def studies_page(records: Iterable[dict[str, Any]]) -> str:
    """The page as Markdown. A study may have a record of several scales; each figure is that of the largest with it."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for record in sorted(records, key=lambda one: (one["study"], PAGE_SCALES.index(one["scale"]))):
        runs.setdefault(record["study"], []).append(record)
    head = f"| study | runs | {' | '.join(STATUSES)} |\n|---|---|{'---|' * len(STATUSES)}"
    rows = []
    for study, own in runs.items():
        states = [figure["status"] for _, figure in best_figures(own)]
        counts = [states.count(state) for state in STATUSES]
        rows.append(f"| [{study}](#{study}) | {', '.join(map(_run, own))} | {' | '.join(map(str, counts))} |")
    parts = [
        HEAD,
        "\n".join([head, *rows]) + "\n",
        faults_table(runs.values()),
        *map(_section, runs.values()),
    ]
    return "\n".join(filter(None, parts))


def _run(record: dict[str, Any]) -> str:
    """The name of a run in a table."""
    return record["scale"] + (" (older code)" if is_older(record) else "")


def best_figures(runs: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """(run, figure): of the largest run with the code of today that has measured it, else of the largest older one.

    A run from before records kept their code comes last: nobody knows how old it is.
    """
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for record in sorted(runs, key=lambda one: (is_older(one), not one.get("code"))):
        for figure in record["figures"]:
            known = found.get(figure["label"])
            if known is None or (not known[1]["judged"] and figure["judged"]):
                found[figure["label"]] = _run(record), figure
    return list(found.values())


def _section(runs: list[dict[str, Any]]) -> str:
    about = runs[0]
    lines = [f"## {about['study']}", "", f"{about['title']}. After {about['source']}."]
    for record in runs:
        data = "; ".join(record["data"])
        took = f"Its cells took {record['seconds']:,} processor seconds."
        older = f"**{OLDER}.**" if is_older(record) else ""
        words = [
            f"The run `{record['scale']}` is on {data}.",
            record["extent"],
            took,
            older,
        ]
        lines += ["", " ".join(filter(None, words)), "", record["stand_in"]]
    larger = [record for record in runs[:1] if len(runs) > 1 and is_older(record)]
    beside = {
        one["label"]: f"; {_run(record)}: {one['status']}" for record in larger for one in record["figures"]
    }
    lines += ["", "| published, and what came out | in numbers, and why ours differ |", "|---|---|"]
    for run, one in best_figures(runs):
        label, words = one["label"], one["words"].replace("|", "\\|")
        told = f"*{one['status']}*{_held(one)}" + (f", {run}" if one["judged"] else "")
        lines.append(f"| **{label}**: {one['title']}: {told}{beside.get(label, '')} | {words} |")
    return "\n".join(lines) + "\n"


def _held(figure: dict[str, Any]) -> str:
    """Say how many of its values and claims hold."""
    return f", {figure['reached']} of {figure['judged']}" if figure["judged"] else ""


# Figures that a first reading found worse for reasons of ours, by study: what each is called, and its exhibits.
WORSE: dict[str, dict[str, tuple[str, ...]]] = {
    "bc-transit": {name: (f"Figure {name}",) for name in ("6.2", "6.4", "6.6", "6.7", "6.9")},
    "safepath": {
        "3": ("Figure 3, Bus", "Figure 3, Metro"),
        "5": ("Figure 5, Bus", "Figure 5, Metro"),
        "7": ("Figure 7",),
    },
    "dp-loc": {
        "2a": ("Table 2a",),
        "2b": ("Table 2b",),
        "3b": ("Figure 3b", "Table 3b"),
        "4": ("Table 4a", "Table 4b"),
        "5a": ("Table 5a",),
        "5b": ("Table 5b",),
    },
    "strap": {"8b": ("Figure 8b",), "10a": ("Figure 10a",), "11": ("Figure 11a", "Figure 11b")},
}
FAULTS = """## What was our own fault, and what privacy costs

Of figures that were worse for reasons of ours: what they were before and are now, and what is left to the noise. That
fault is *mended* where the figure is reached, or by the rule of its study: half of the error (of what was missing) is
gone at the largest epsilon (bc-transit); the means of our preset, at the same epsilon, reach what is printed (dp-loc;
of table 4, the network beats three histograms); trips are as long as the riders' weeks, and nearer to them than an
empty release (safepath); every method releases something at most of its settings (strap). A figure with several parts
is mended where all of them are.
"""


def faults_table(runs: Iterable[list[dict[str, Any]]]) -> str:
    """Return the figures that were split into what privacy costs and what was our own fault, of all studies."""
    rows: list[str] = []
    told: list[tuple[str, bool]] = []
    beside = 0
    for own in runs:
        study, found = own[0]["study"], best_figures(own)
        named = {label for labels in WORSE.get(study, {}).values() for label in labels}
        states = {one["label"]: _mended(one) for _, one in found}
        for run, one in found:
            if one.get("own") or one["label"] in named:
                mended = "mended" if states[one["label"]] else "**not mended**"
                ours = one.get("own") or one["words"].replace("|", "\\|")
                about = f"{study}, {one['label']}: *{one['status']}*, {run}; {mended}"
                rows.append(f"| {about} | {ours} | {one.get('privacy', '')} |")
                beside += states[one["label"]]
        told += [
            (f"{study} {name}", all(states[label] for label in labels))
            for name, labels in WORSE.get(study, {}).items()
            if all(label in states for label in labels)
        ]
    if not rows:
        return ""
    left = ", ".join(name for name, mended in told if not mended)
    count = f"{sum(mended for _, mended in told)} of the {len(told)} figures that a first reading found so are mended"
    count += f"; the row of each other one says with a number why not: {left}." if left else "."
    count += (
        f" The table has {len(rows)} rows, one for each part of these figures and of others that the same changes "
        f"moved; {beside} of them are mended."
    )
    head = "| figure | our own fault, before and now | what privacy costs |"
    return "\n".join([FAULTS, count, "", head, "|---|---|---|", *rows, ""])


def _mended(figure: dict[str, Any]) -> bool:
    """Tell whether a figure is reached, or mended by the rule of its study."""
    return figure["status"] == "reached" or bool(figure.get("mended"))


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


def remake(docs: Path, scale: Scale, data: Path | None = None) -> Iterator[str]:
    """Run every study anew and take in its record; gives the names of the records."""
    for name in studies():
        with TemporaryDirectory() as folder:
            study_page(name, Lab(scale=scale, data=data, out=Path(folder)))
            yield take_in(Path(folder), docs)


def main(arguments: list[str]) -> None:
    """Take in finished pages or run every study, write the pages of the docs, and say which."""
    parser = ArgumentParser(prog="python -m wayveil.lab.studies.docs")
    parser.add_argument("docs", type=Path)
    parser.add_argument("pages", type=Path, nargs="*")
    parser.add_argument("--remake", choices=("quick", "full"))
    parser.add_argument("--data", type=Path)
    said = parser.parse_args(arguments)
    taken = [take_in(page, said.docs) for page in said.pages]
    for name in [*taken, *(remake(said.docs, said.remake, said.data) if said.remake else ())]:
        print(name)
    for path, text in written(said.docs).items():
        path.write_text(text, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
