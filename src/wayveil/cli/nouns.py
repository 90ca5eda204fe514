"""Commands whose options are the fields of a noun, so that a command takes one argument and not thirty."""

from collections.abc import Callable
from dataclasses import MISSING, fields
from inspect import Parameter, Signature
from typing import Any, TypeVar, get_type_hints

Noun = TypeVar("Noun")


def takes(noun: type[Noun]) -> Callable[[Callable[[Noun], None]], Callable[..., None]]:
    """Turn a function of one noun into a command that has an option or argument for each of its fields."""
    hints = get_type_hints(noun, include_extras=True)
    parameters = [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=_default(field), annotation=hints[field.name])
        for field in fields(noun)  # type: ignore[arg-type]
    ]

    def wrap(function: Callable[[Noun], None]) -> Callable[..., None]:
        def command(**given: Any) -> None:
            function(noun(**given))

        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__annotations__ = dict(hints)
        command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return command

    return wrap


def _default(field: Any) -> Any:
    return Parameter.empty if field.default is MISSING else field.default
