"""How commands take a mechanism: a name and `--set name=value`."""

from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin

from wayveil.errors import ParameterError

if TYPE_CHECKING:
    from wayveil.mechanisms.mechanism import Mechanism


def make_mechanism(name: str, settings: list[str], preset: str | None = None) -> "Mechanism":
    """The mechanism of this name with parameters given as name=value; a dot leads into a part, as in `shares.trips`.

    What is said here goes before what the preset sets.
    """
    from wayveil.mechanisms.presets import made_by
    from wayveil.mechanisms.registry import mechanism

    kind = mechanism(name)
    parameters: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ParameterError(f"--set takes name=value, not {setting!r}")
        *parts, last = key.strip().replace("-", "_").split(".")
        within = parameters
        for part in parts:
            within = within.setdefault(part, {})
            if not isinstance(within, dict):
                raise ParameterError(f"--set names {part!r} both as a whole and in parts")
        within[last] = value.strip() if parts else _parsed(kind, last, value.strip())
    return made_by(kind, preset, parameters)


def _parsed(kind: "type[Mechanism]", name: str, text: str) -> str | list[str] | None:
    """What pydantic cannot read off a text: nothing at all, and several values with commas between."""
    field = kind.model_fields.get(name)
    annotation = None if field is None else field.annotation
    if text == "none" and NoneType in get_args(annotation):
        return None
    several = get_origin(annotation) is tuple
    return [each.strip() for each in text.split(",")] if several else text
