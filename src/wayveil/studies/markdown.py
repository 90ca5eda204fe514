"""A finished study as a page of the docs: what was reached, and every table and figure, from the study's folder alone.

    python -m wayveil.studies.markdown page/ docs/tree-studies.md

writes between the two marks of the page, which must be there; everything else of it is left as it is. A mark that says
`study tables` gets the tables with figures of ours alone. Charts are copied into the folder `figures` beside the page.
"""

import json
import re
import shutil
import sys
from pathlib import Path

from wayveil.errors import InputError
from wayveil.studies.lab import Lab
from wayveil.studies.page import SCALES, table_heads, table_rows
from wayveil.studies.registry import find_study
from wayveil.studies.results import Results
from wayveil.studies.run import plan
from wayveil.studies.study import Exhibit, Study
from wayveil.studies.verdicts import judge, remark

BEGIN, END = "<!-- study: made by `python -m wayveil.studies.markdown` -->", "<!-- end of study -->"
BEGIN_TABLES = BEGIN.replace("study:", "study tables:", 1)
_BETWEEN = re.compile(f"({re.escape(BEGIN)}|{re.escape(BEGIN_TABLES)}).*?{re.escape(END)}", re.DOTALL)


def load_study(folder: Path) -> tuple[Study, Results]:
    """A study and what its folder holds of it; cells that were never run are missing."""
    try:
        note = json.loads((folder / "study.json").read_text(encoding="utf-8"))
        study = find_study(note["study"], Lab(scale=note["scale"]))
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"is not the folder of a study ({error})", file=folder) from error
    kept = [folder / "cells" / f"{cell.key}.json" for cell in plan(study)]
    return study, Results.of([json.loads(path.read_text(encoding="utf-8")) for path in kept if path.exists()])


def study_markdown(folder: Path, figures: Path, *, tables_only: bool = False) -> str:
    """The text, with pictures that lie in `figures`."""
    study, results = load_study(folder)
    record = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
    shown = [
        exhibit
        for exhibit in study.exhibits
        if not tables_only or (exhibit.shape == "table" and results.places(exhibit))
    ]
    labels = {exhibit.label for exhibit in shown}
    lines = [
        f"`wayveil study {study.name}`, {SCALES[record['scale']]}. {record['extent']} Source: {study.source}.",
        f"Data: {'; '.join(record['data'])}. {record['stand_in']}",
        "",
        "| table or figure | what | here | in numbers |",
        "|---|---|---|---|",
        *(
            f"| {one.label} | {one.title} | {one.status} ({one.reached} of {one.judged}) | {one.words} |"
            for one in judge(study, results)
            if one.label in labels
        ),
    ]
    for exhibit in shown:
        lines += _exhibit(study, exhibit, results, folder, figures)
    for place, reason in results.gaps():
        lines.append(f"- {place}: {reason}")
    return "\n".join(lines)


def _exhibit(study: Study, exhibit: Exhibit, results: Results, folder: Path, figures: Path) -> list[str]:
    lines = ["", f"### {exhibit.label}: {exhibit.title}", ""]
    said = "" if exhibit.published else remark(study, exhibit, results)
    words = " ".join(filter(None, [said, exhibit.note]))
    lines += [words, ""] if words else []
    if exhibit.missing:
        return [*lines, exhibit.missing]
    if exhibit.shape == "table":
        heads = table_heads(exhibit, results)
        lines += [f"| {exhibit.down} | | {' | '.join(heads)} |", "|---" * (len(heads) + 2) + "|"]
        return [
            *lines,
            *(
                f"| {row.head} | {row.series} | {' | '.join(row.cells)} |"
                for row in table_rows(exhibit, results)
            ),
        ]
    prefix = re.sub(r"[^\w]+", "-", exhibit.label.lower()).strip("-")
    for chart in sorted((folder / "figures").glob(f"{prefix}-*.svg")):
        name = f"study-{study.name}-{chart.name}"
        shutil.copy(chart, figures / name)
        lines.append(f"![{exhibit.title}](figures/{name})")
    return lines


def write_markdown(folder: Path, page: Path) -> None:
    """Put the study between the marks of a page."""
    text = page.read_text(encoding="utf-8")
    marks = _BETWEEN.findall(text)
    if len(marks) != 1:
        raise InputError(f"must hold the marks {BEGIN} and {END} once", file=page)
    figures, tables_only = page.parent / "figures", marks[0] == BEGIN_TABLES
    if not tables_only:
        figures.mkdir(exist_ok=True)
    made = study_markdown(folder, figures, tables_only=tables_only)
    page.write_text(_BETWEEN.sub(lambda _: f"{marks[0]}\n{made}\n{END}", text), encoding="utf-8")


if __name__ == "__main__":
    write_markdown(Path(sys.argv[1]), Path(sys.argv[2]))
