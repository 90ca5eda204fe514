"""A finished study inside a page of the docs: what was reached, and every table and figure, from its record alone.

A page says where with two marks, which name the record in the folder `figures` beside it (or above it):

    <!-- study safepath-full: made by `python -m wayveil.lab.studies.docs` -->
    <!-- end of study -->

Everything else of the page is left as it is. A mark that says `study tables` gets the tables with figures of ours
alone.
"""

import json
import re
from pathlib import Path
from typing import Any

from wayveil.errors import InputError
from wayveil.lab.studies.record import SCALES

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
    """What a chart of a study is called in the docs."""
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
