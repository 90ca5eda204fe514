"""Pages as files: their templates, and writing that leaves a whole page or none."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from jinja2 import Environment
from markupsafe import Markup

from wayveil.errors import InputError
from wayveil.files import write_whole
from wayveil.released.datasheet_page import templates


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
