"""The lab: what researchers need and a release does not. Nothing outside imports it; the product works without.

Studies, audits with their broken variants, STRAP, comparison and recommendation, simulators, methods without a
guarantee. Its public names are loaded when they are first used.

>>> import wayveil as wv
>>> "simulate_city" in dir(wv.lab)
True
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "simulate_city": "wayveil.simulate.city",
    "simulate_week": "wayveil.simulate.week",
    "simulate_habit": "wayveil.simulate.habit",
    "Habits": "wayveil.simulate.habit",
    "write_city": "wayveil.simulate.feed",
    "compare": "wayveil.lab.comparison.compare",
    "recommend": "wayveil.lab.comparison.recommend",
    "risk_and_strap": "wayveil.lab.strap.strap_study",
    "StrapStudy": "wayveil.lab.strap.strap_study",
    "StrapSettings": "wayveil.lab.strap.strap_study",
    "anonymise": "wayveil.lab.syntactic.method",
    "Glove": "wayveil.lab.syntactic.glove",
    "LKAnonymity": "wayveil.lab.syntactic.lk_anonymity",
    "PlausibleDeniability": "wayveil.lab.syntactic.plausible_deniability",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name == "__all__":
        return __dir__()
    raise AttributeError(f"module 'wayveil.lab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_HOMES)
