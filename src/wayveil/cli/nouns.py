"""Options of commands as nouns: a parameter that is a dataclass stands for one option per field."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

from wayveil.cli.options import AsJson, Quiet


@dataclass(frozen=True)
class Spoken:
    """How a command speaks: to a person, or to a machine."""

    quiet: Quiet = False
    as_json: AsJson = False

    @property
    def silent(self) -> bool:
        """Tell that neither progress nor remarks are wanted."""
        return self.quiet or self.as_json


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command one option for every field of each dataclass among its parameters."""
    hints = get_type_hints(command, include_extras=True)
    flat: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in inspect.signature(command).parameters.values():
        kind = hints[parameter.name]
        if is_dataclass(kind):
            groups[parameter.name] = kind
            options = get_type_hints(kind, include_extras=True)
            flat += [_option(each, options[each.name]) for each in fields(kind)]
        else:
            flat.append(parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(command)
    def run(**given: Any) -> None:
        made = {
            name: kind(**{each.name: given.pop(each.name) for each in fields(kind)})
            for name, kind in groups.items()
        }
        command(**given, **made)

    run.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in flat}
    return run


def _option(field: "Field[Any]", hint: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if field.default is MISSING else field.default
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
