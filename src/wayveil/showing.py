"""How an object of any room reaches its picture, which `wayveil.report.display` draws.

The rooms below must not know how pages are drawn, so the way up is taken only when a notebook asks for it.
"""

from importlib import import_module
from typing import Any


def show(thing: object) -> str:
    """The HTML of a thing, for `_repr_html_`."""
    return str(import_module("wayveil.report.display").display(thing))


def draw_map(release: object) -> Any:
    """The map of a release."""
    return import_module("wayveil.report.display").draw_map(release)
