"""Display of objects of low rooms in a notebook: by whoever draws pages.

The rooms below must not know how pages are drawn. `wayveil` itself, above all rooms, says who draws (`shown_by`).
"""

from collections.abc import Callable
from math import isfinite
from typing import Any

_draw: Callable[[object], str] = repr


def shown_by(draw: Callable[[object], str]) -> None:
    """Say who makes the HTML of things."""
    global _draw
    _draw = draw


def show(thing: object) -> str:
    """Make the HTML of a thing, for `_repr_html_`."""
    return _draw(thing)


def without_nan(value: Any) -> Any:
    """Return plain data without numbers that JSON has no word for: null in their place."""
    if isinstance(value, dict):
        return {key: without_nan(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value
