"""The parameter tables of the docs pages: `python -m wayveil.mechanisms.pages docs/mechanisms` writes them anew.

A page has one table, between two marks, made of the fields of its mechanism. The rest of the page is written by hand.
"""

import inspect
import re
import sys
from dataclasses import asdict, dataclass
from enum import Enum
from fractions import Fraction
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from wayveil.errors import InputError
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.registry import homes

_WORDS = {int: "whole number", float: "number", Fraction: "fraction", bool: "true or false", str: "text"}
_OR_NONE = " or none"
_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


@dataclass(frozen=True)
class Parameter:
    """One public parameter: its name, which values it takes, its default (None: it must be given), what it means."""

    name: str
    values: str
    default: str | None
    description: str


@dataclass(frozen=True)
class Manual:
    """Everything about a mechanism in words. `published` is what its preset of that name sets; None: it has none."""

    name: str
    class_name: str
    summary: str
    about: str
    guarantee: str
    parameters: tuple[Parameter, ...]
    published: dict[str, str] | None
    page: str

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


def manual(kind: type[Mechanism]) -> Manual:
    """The manual of a mechanism."""
    return Manual(
        kind.name,
        kind.__name__,
        kind.summary,
        inspect.getdoc(kind) or "",
        _guarantee(kind),
        parameters(kind),
        _published(kind),
        f"docs/mechanisms/{kind.name}.md",
    )


def parameters(kind: type[BaseModel], within: str = "") -> tuple[Parameter, ...]:
    """All parameters in their order; those of a part that is itself a model follow with a dot in their name."""
    found: list[Parameter] = []
    for name, field in kind.model_fields.items():
        part = field.annotation
        if isinstance(part, type) and issubclass(part, BaseModel) and not issubclass(part, Mechanism):
            found += parameters(part, f"{within}{name}.")
            continue
        default = None if field.is_required() else in_words(field.get_default(call_default_factory=True))
        found.append(Parameter(within + name, _values(field), default, field.description or ""))
    return tuple(found)


def in_words(value: object) -> str:
    """A value as the command line takes it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return ", ".join(in_words(each) for each in value)
    if isinstance(value, Enum):
        return str(value.value)
    return f"{value:g}" if isinstance(value, float) and value < 1e6 else str(value)


def _values(field: FieldInfo) -> str:
    """Type and range in words."""
    limits = {
        bound: in_words(limit)
        for constraint in field.metadata
        for bound in _BOUNDS
        if (limit := getattr(constraint, bound, None)) is not None
    }
    span = " and ".join(f"{_BOUNDS[bound]} {limit}" for bound, limit in limits.items())
    if limits.keys() == {"ge", "le"}:
        span = f"{limits['ge']} to {limits['le']}"
    kind, *none = _type(field.annotation).split(_OR_NONE)
    if span:
        kind += f", {span}" + ("," if none else "")
    return kind + (_OR_NONE if none else "")


def _type(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        *first, last = (f"`{choice}`" for choice in get_args(annotation))
        return f"{', '.join(first)} or {last}" if first else last
    if get_origin(annotation) in (Union, UnionType):
        inner = " or ".join(_type(part) for part in get_args(annotation) if part is not NoneType)
        return inner + _OR_NONE if NoneType in get_args(annotation) else inner
    if get_origin(annotation) is tuple:
        parts = get_args(annotation)
        return f"list of {_type(parts[0])}s" if parts[-1] is Ellipsis else f"{len(parts)} {_type(parts[0])}s"
    if get_origin(annotation) is dict:
        return f"{_type(get_args(annotation)[1])}s by name"
    if hasattr(annotation, "__metadata__"):
        return _type(get_args(annotation)[0])
    return _WORDS.get(annotation) or _spaced(annotation.__name__)


def _spaced(name: str) -> str:
    """`RiderRules` as `rider rules`."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()


def _guarantee(kind: type[Mechanism]) -> str:
    """The section `Guarantee` of the module's docstring, as one paragraph."""
    text = inspect.cleandoc(inspect.getmodule(kind).__doc__ or "")
    _, found, after = text.partition("\nGuarantee\n")
    section = after.split("\n\n")[0] if found else ""
    return " ".join(line.strip() for line in section.splitlines())


def _published(kind: type[Mechanism]) -> dict[str, str] | None:
    """Return what the preset `published` sets differently from the defaults."""
    preset = getattr(kind, "published", None)
    if preset is None:
        return None
    made, plain = preset(), kind()
    return {
        name: in_words(getattr(made, name))
        for name in kind.model_fields
        if getattr(made, name) != getattr(plain, name)
    }


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
