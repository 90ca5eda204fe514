"""Pictures with their numbers, and pages as files that are written whole or not at all."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Protocol

import polars as pl
from jinja2 import Environment
from markupsafe import Markup

from wayveil.errors import InputError
from wayveil.files import write_whole
from wayveil.released.datasheet_page import templates

GROUND = '<use href="#network"/>'


@dataclass(frozen=True, eq=False)
class Chart:
    """A picture, the numbers in it, and what it shows in words.

    `plain` pictures carry no colours of their own: in a page they follow its style sheet, in a file of their own they
    take the same sheet along, and the `ground` that a page draws only once for all of its maps.
    """

    name: str
    svg: str
    data: pl.DataFrame
    alt: str
    plain: bool = False
    ground: str = ""

    def save(self, folder: str | Path) -> tuple[Path, Path]:
        """Write `name.svg` and, beside it, `name.csv`."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        picture, numbers = folder / f"{self.name}.svg", folder / f"{self.name}.csv"
        picture.write_text(self._alone() if self.plain else self.svg, encoding="utf-8")
        self.data.write_csv(numbers)
        return picture, numbers

    def _repr_svg_(self) -> str:
        """The picture by itself, for notebooks."""
        return self._alone() if self.plain else self.svg

    def _repr_html_(self) -> str:
        return self._repr_svg_()

    def _alone(self) -> str:
        head, rest = self.svg.replace(GROUND, self.ground).split(">", 1)
        named = head if "xmlns=" in head else f'{head} xmlns="http://www.w3.org/2000/svg"'
        return f"{named}><style>{drawing_style()}</style>{rest}"


@cache
def drawing_style() -> str:
    """The part of the style sheet that pictures need."""
    sheets = {"wayveil.released": "colours.css", "wayveil.report": "drawing.css"}
    return "".join(
        files(room).joinpath("templates", name).read_text(encoding="utf-8") for room, name in sheets.items()
    )


@cache
def environment(*rooms: str) -> Environment:
    """Templates of these rooms, of the report, and of the datasheet that it shows."""
    made = templates(*rooms, "wayveil.report", "wayveil.released")
    made.filters["code"] = _code
    return made


def write_page(path: str | Path, html: str) -> Path:
    """Write a page; the file appears whole or not at all."""
    path = Path(path)
    try:
        write_whole(path, html)
    except OSError as error:
        raise InputError(f"the page cannot be written here ({error.strerror})", file=path) from error
    return path


def _code(text: str) -> Markup:
    """Words between backticks as code."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts)
    )


COMPARISON = "#comparison"  # where a report shows other mechanisms and budgets


class FurtherSection(Protocol):
    """A ready section: its word in the navigation, where that leads, its text, and the files beside the page."""

    @property
    def title(self) -> str: ...

    @property
    def target(self) -> str: ...

    def html(self, data: str | None) -> str:
        """The section; `data` is the folder beside the page that has its files, if there is one."""
        ...

    def save(self, folder: Path) -> list[Path]:
        """Write pictures and their numbers."""
        ...


@dataclass(frozen=True)
class LinkedPage:
    """A page beside the report, of which the report has only the link."""

    title: str
    target: str

    def html(self, data: str | None) -> str:
        """Nothing: the page stands by itself."""
        return ""

    def save(self, folder: Path) -> list[Path]:
        """Nothing: the page is written already."""
        return []
