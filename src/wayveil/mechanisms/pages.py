"""The parameter tables of the docs pages: `python -m wayveil.mechanisms.pages docs/mechanisms` writes them anew.

A page has one table, between two marks, made of the fields of its mechanism. The rest of the page is written by hand.
"""

import re
import sys
from pathlib import Path

from wayveil.errors import InputError
from wayveil.mechanisms.manual import Manual, manual
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.registry import homes

BEGIN, END = "<!-- parameters: made by `python -m wayveil.mechanisms.pages` -->", "<!-- end of parameters -->"
_BETWEEN = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)


def table(about: Manual) -> str:
    """The parameters as a table, and what the preset `published` sets."""
    rows = ["| parameter | values | default | meaning |", "|---|---|---|---|"]
    for each in about.parameters:
        default = "must be given" if each.default is None else f"`{each.default}`"
        rows.append(f"| `{each.name}` | {each.values} | {default} | {each.description} |")
    if about.published is not None:
        preset = ", ".join(f"`{name}={value}`" for name, value in about.published.items())
        rows += ["", f"`{about.class_name}.published()` (`--preset published`) is as published: {preset}."]
    return "\n".join(rows)


def rewritten(page: Path, kind: type[Mechanism]) -> str:
    """The page with the table that its mechanism now has."""
    text = page.read_text(encoding="utf-8")
    if len(_BETWEEN.findall(text)) != 1:
        raise InputError(f"must hold the marks {BEGIN} and {END} once", file=page)
    return _BETWEEN.sub(lambda _: f"{BEGIN}\n{table(manual(kind))}\n{END}", text)


def write_pages(folder: Path) -> list[Path]:
    """Rewrite the tables of all mechanisms of this package. Returns the pages that were not up to date."""
    changed = []
    for home in homes().values():
        page = folder / f"{home.name}.md"
        if home.ours and (text := rewritten(page, home.load())) != page.read_text(encoding="utf-8"):
            page.write_text(text, encoding="utf-8")
            changed.append(page)
    return changed


if __name__ == "__main__":
    for page in write_pages(Path(*sys.argv[1:])):
        print(f"{page}: new table")
