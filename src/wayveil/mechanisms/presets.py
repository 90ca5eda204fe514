"""Presets: the parameters of a mechanism as its authors set them.

A mechanism has the preset `published` if its class has a method of that name. One that has none is
refused with a sentence that names those that do.
"""

from collections.abc import Mapping
from typing import Any

from wayveil.errors import ParameterError
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.registry import mechanisms

PUBLISHED = "published"


def made_by(kind: type[Mechanism], preset: str | None, parameters: Mapping[str, Any]) -> Mechanism:
    """The mechanism with the preset (None: its defaults) and, over it, the parameters that were said."""
    if preset is None:
        return kind(**parameters)
    require_preset(preset)
    if not has_preset(kind):
        raise ParameterError(
            f"{kind.name} has no preset {preset!r}; these have one: {', '.join(with_preset())}"
        )
    made: Mechanism = kind.published(**parameters)  # type: ignore[attr-defined]
    return made


def has_preset(kind: type[Mechanism]) -> bool:
    """Tell whether there is a `published` one."""
    return callable(getattr(kind, PUBLISHED, None))


def with_preset() -> list[str]:
    """The names of all mechanisms that have it."""
    return [name for name, kind in mechanisms().items() if has_preset(kind)]


def require_preset(preset: str | None) -> None:
    """Refuse a preset that does not exist."""
    if preset not in (None, PUBLISHED):
        raise ParameterError(f"there is no preset {preset!r}; there is {PUBLISHED!r}")


def refuse_nameless(preset: str | None) -> None:
    """Refuse a preset where nobody has said of which mechanism."""
    require_preset(preset)
    if preset is not None:
        raise ParameterError(
            f"--preset belongs to a mechanism: name it with --mechanism; these have one: {', '.join(with_preset())}"
        )
