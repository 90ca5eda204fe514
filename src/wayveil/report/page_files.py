"""Pages as files: their templates, and writing that leaves a whole page or none."""

from functools import cache
from pathlib import Path

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
