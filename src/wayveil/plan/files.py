"""A plan as a file: read with errors that name file and line, and written with a comment on every key."""

import json
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from wayveil.errors import InputError, plain
from wayveil.plan.parts import Part
from wayveil.plan.plan import FOLLOWED, SECTIONS, Plan, first_problem
from wayveil.privacy.ledger.data_time import Days

# Where the keys of [source], [publish] and [budget] went.
_SOURCE = {"files", "columns", "zone", "opt_out", "outside"}
_PROTECTION = {"unit", "max_trips", "no_rider"}
_METHOD = {"way", "mechanism", "parameters", "prior"}
_OUTPUT = {"exports", "report"}
_ALLOWANCE = {"unit", "carried_over", "trips_per_day", "visits_per_day"}


def is_earlier(record: Mapping[str, Any]) -> bool:
    """Tell whether a file is a plan of that format."""
    return isinstance(record.get("budget"), Mapping) and "protection" not in record


def of_earlier(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record of the plan; keys that have no place stay where they are, and are refused there."""
    source, publish, budget = (dict(record.get(key) or {}) for key in ("source", "publish", "budget"))
    way = publish.get("way", "cards")
    made: dict[str, Any] = {key: record[key] for key in ("name", "curator", "worlds") if key in record}
    made |= {key: value for key, value in record.items() if key not in _KNOWN}
    made["purpose"] = publish.pop("purpose", "")
    made["source"] = {"rows": "taps", **_taken(source, _SOURCE)}
    if "map" in source:
        made["source"]["columns"] = source.pop("map")
    made["method"] = {"way": way, "prior": FOLLOWED, **_taken(publish, _METHOD)}
    made["output"] = {"folder": record.get("folder", "series"), "report": True, **_taken(publish, _OUTPUT)}
    bounds = {} if way != "cards" else {"max_trips": 2}
    made["protection"] = {
        "epsilon": budget.pop("epsilon", None),
        "currency": budget.pop("accounting", "epsilon"),
        "delta": budget.pop("delta", None),
        **({"ledger": record["ledger"]} if "ledger" in record else {}),
        **bounds,
        **_taken(publish, _PROTECTION),
        "allowance": {
            "epsilon": budget.pop("period_epsilon", None),
            "span": budget.pop("period", "year"),
            **_taken(budget, _ALLOWANCE),
            **_taken(source, {"days_per_rider", "daily_taps"}),
        },
    }
    made["series"] = {key: record[key] for key in ("every", "first") if key in record}
    for section, left in (("source", source), ("method", publish), ("protection", budget)):
        made[section] |= left  # unknown keys
    return made


_KNOWN = {
    *("name", "curator", "worlds", "folder", "ledger", "every", "first"),
    *("source", "publish", "budget"),
}


def _taken(section: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    return {key: section.pop(key) for key in sorted(keys) if key in section}


NAME = "wayveil.toml"
HEAD = "# A plan: all of it is public, and `wayveil release` follows it. `wayveil plan --keys` explains every key."
WIDTH = 110
ASKED = ("curator", "purpose", "region", "contact")


def read_plan(path: str | Path) -> Plan:
    """Read a plan; what is wrong with it is said with its key and line. A plan of the format before is read too.

    >>> wv.read_plan(folder / "wayveil.toml").protection.epsilon
    Fraction(1, 1)
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        record = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error})", file=path) from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not a TOML file ({error})", file=path) from error
    try:
        return Plan(**(of_earlier(record) if is_earlier(record) else record), path=path)
    except ValidationError as error:
        place, said = first_problem(error)
        at = _line_of(text, place)
        named = ".".join(place) or "the plan"
        raise InputError(f"{'' if at is None else f'line {at}: '}{named}: {said}", file=path) from None


def write_plan(plan: Plan, path: str | Path) -> Path:
    """Write a plan to a new file, each key that was said with its meaning."""
    path = Path(path)
    if path.exists():
        raise InputError("already exists; a plan is never written over another file", file=path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(plan_text(plan.at(path)), encoding="utf-8")
    return path


def plan_text(plan: Plan) -> str:
    """The plan as TOML with comments; keys that nobody set are left out."""
    said = {key: value for key, value in plan.said().items() if key != "path"}
    lines = [HEAD, ""]
    lines += _keys(Plan, {key: value for key, value in said.items() if not _is_table(key)})
    # What the datasheet asks the data holder, and nobody said yet.
    lines += [f"# {line}" for line in _keys(Plan, {key: "" for key in ASKED if key not in said})]
    for world in said.get("worlds", ()):
        lines += ["", "[[worlds]]", *_keys(type(plan.worlds[0]), world)]
    for need in said.get("needs", ()):
        lines += ["", "[[needs]]", *_keys(type(plan.needs[0]), need)]
    for name, section in SECTIONS.items():
        if said.get(name):
            lines += ["", f"[{name}]", *_section(name, section, said[name])]
    return "\n".join(lines) + "\n"


def explain_keys() -> Iterator[tuple[str, str]]:
    """Every key of a plan with its meaning."""
    for key, field in Plan.model_fields.items():
        if field.description:
            yield key, field.description
    for name, section in SECTIONS.items():
        for key, field in section.model_fields.items():
            yield f"{name}.{key}", field.description or ""


def _is_table(key: str) -> bool:
    return key in SECTIONS or key in ("worlds", "needs")


def _section(name: str, section: type[Part], said: Mapping[str, Any]) -> list[str]:
    """The keys of a section, then its tables."""
    tables = {key: value for key, value in said.items() if key == "allowance" and value}
    lines = _keys(section, {key: value for key, value in said.items() if key not in tables})
    for key, value in tables.items():
        kind = section.model_fields[key].annotation
        inner = next(each for each in getattr(kind, "__args__", (kind,)) if isinstance(each, type))
        lines += ["", f"[{name}.{key}]", *_keys(inner, value)]
    return lines


def _keys(section: type[Part], said: Mapping[str, Any]) -> list[str]:
    lines = []
    for key, value in said.items():
        if value is None:
            continue
        words = section.model_fields[key].description or ""
        line = f"{key} = {toml_value(value)}"
        if words and len(line) + len(words) + 4 <= WIDTH:
            lines.append(f"{line}  # {words}")
        else:
            lines += [f"# {row}" for row in textwrap.wrap(words, WIDTH - 2)] + [line]
    return lines


def toml_value(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Fraction):
        return str(value) if value.denominator == 1 else json.dumps(plain(value))
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value(each) for each in value)}]"
    if isinstance(value, Mapping):
        return (
            "{ "
            + ", ".join(f"{json.dumps(str(key))} = {toml_value(each)}" for key, each in value.items())
            + " }"
        )
    return json.dumps(str(value) if isinstance(value, Days | Path) else value, ensure_ascii=False)


def _line_of(text: str, place: list[str]) -> int | None:
    """The line on which a key stands, as far as a plain look at the file finds it."""
    keys = [part for part in place if not part.isdigit()]
    if not keys:
        return None
    table, wanted = ".".join(keys[:-1]), keys[-1]
    number = next((int(part) for part in place if part.isdigit()), 0)
    current, seen, header = "", -1, None
    for at, line in enumerate(text.splitlines(), start=1):
        words = line.split("#")[0].strip()
        if words.startswith("["):
            current = words.strip("[] ")
            seen += current == (table or wanted)
            if current == ".".join(keys) or (current == table and seen == number):
                header = at if header is None else header
            continue
        key = words.partition("=")[0].strip()
        if key == wanted and current == table and (not table or seen in (-1, number)):
            return at
    return header
