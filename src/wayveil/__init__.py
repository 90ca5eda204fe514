"""Wayveil: publish trips without publishing anybody's life.

The public API, and nothing else; `wayveil.lab` has what researchers need and a release does not. Names are loaded when
they are first used, so that `import wayveil` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wayveil import showing

if TYPE_CHECKING:
    from wayveil.mechanisms.registry import Home

__version__ = "0.1.0"

_HOMES = {
    "World": "wayveil.world.world",
    "Network": "wayveil.world.network",
    "Grid": "wayveil.world.grid",
    "TimeBins": "wayveil.world.timebins",
    "read_gtfs": "wayveil.world.gtfs",
    "open_world": "wayveil.world.opening",
    "Trips": "wayveil.trips.trips",
    "TripFiles": "wayveil.trips.trip_files",
    "read_trips": "wayveil.trips.read",
    "write_visits": "wayveil.trips.visits",
    "Taps": "wayveil.taps.taps",
    "read_taps": "wayveil.taps.read",
    "read_points": "wayveil.trips.points",
    "LegalityRule": "wayveil.trips.legality",
    "Trip": "wayveil.privacy.units",
    "Rider": "wayveil.privacy.units",
    "RiderDay": "wayveil.privacy.units",
    "Event": "wayveil.privacy.units",
    "Points": "wayveil.privacy.units",
    "Window": "wayveil.privacy.units",
    "Budget": "wayveil.privacy.budget",
    "open_ledger": "wayveil.privacy.ledger",
    "Policy": "wayveil.privacy.ledger",
    "Mechanism": "wayveil.mechanisms.mechanism",
    "mechanisms": "wayveil.mechanisms",
    "register": "wayveil.mechanisms.registry",
    "StreamEngine": "wayveil.counting.stream",
    "SparkEngine": "wayveil.counting.spark",
    "Plan": "wayveil.plan.plan",
    "read_plan": "wayveil.plan.files",
    "guess_plan": "wayveil.plan.guess",
    "release": "wayveil.run",
    "Release": "wayveil.releases.release",
    "ask": "wayveil.releases.verbs",
    "export": "wayveil.releases.verbs",
    "sample": "wayveil.releases.verbs",
    "trend": "wayveil.releases.verbs",
    "resume_release": "wayveil.releases.paid",
    "verify_release": "wayveil.released.verification",
    "score": "wayveil.utility.scorecard",
    "risk": "wayveil.attacks.assess",
    "RiskSettings": "wayveil.attacks.assess",
    "write_report": "wayveil.report.report_page",
    "display": "wayveil.report.display",
    "draw_map": "wayveil.report.display",
    "write_pictures": "wayveil.report.contents",
    "Series": "wayveil.series.series",
    "WayveilError": "wayveil.errors",
    "lab": "wayveil.lab",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        home = import_module(_HOMES[name])
        # `mechanisms` is a room that can be called: importing a room binds its name here, in place of a verb.
        return home if home.__name__ == f"{__name__}.{name}" else getattr(home, name)
    if name == "__all__":
        return __dir__()
    # Every mechanism is public by the name of its class, also one that was registered or installed.
    if not name.startswith("_") and (found := _mechanisms().get(name)):
        return found.load()
    raise AttributeError(f"module 'wayveil' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({"__version__", *_HOMES, *_mechanisms()})


def _mechanisms() -> "dict[str, Home]":
    from wayveil.mechanisms.registry import homes

    return {home.class_name: home for home in homes().values()}


def _display(thing: object) -> str:
    """Have pages draw what a notebook shows."""
    return str(__getattr__("display")(thing))


showing.shown_by(_display)
