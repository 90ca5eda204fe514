"""Wayveil: publish trips without publishing anybody's life.

The public API, and nothing else. Names are loaded when they are first used, so that `import wayveil` is quick.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "World": "wayveil.world.world",
    "Network": "wayveil.world.network",
    "TimeBins": "wayveil.world.timebins",
    "read_gtfs": "wayveil.world.gtfs",
    "Trips": "wayveil.trips.trips",
    "TripFiles": "wayveil.trips.files",
    "read_trips": "wayveil.trips.read",
    "write_visits": "wayveil.trips.visits",
    "LegalityRule": "wayveil.trips.legality",
    "simulate_city": "wayveil.simulate.city",
    "simulate_week": "wayveil.simulate.week",
    "write_city": "wayveil.simulate.feed",
    "Trip": "wayveil.privacy.units",
    "Rider": "wayveil.privacy.units",
    "RiderDay": "wayveil.privacy.units",
    "Event": "wayveil.privacy.units",
    "Points": "wayveil.privacy.units",
    "Window": "wayveil.privacy.units",
    "Budget": "wayveil.privacy.budget",
    "open_ledger": "wayveil.privacy.ledger",
    "Policy": "wayveil.privacy.ledger",
    "NoisyPrefixTree": "wayveil.mechanisms.noisy_prefix_tree",
    "ExhaustiveTimeTree": "wayveil.mechanisms.exhaustive_time_tree",
    "SafePath": "wayveil.mechanisms.safepath",
    "PPDP": "wayveil.mechanisms.ppdp",
    "TapCounts": "wayveil.mechanisms.tap_counts",
    "TapMargins": "wayveil.mechanisms.tap_margins",
    "Markov": "wayveil.mechanisms.markov",
    "MobiTrie": "wayveil.mechanisms.mobitrie",
    "VariableNgrams": "wayveil.mechanisms.variable_ngrams",
    "Weave": "wayveil.mechanisms.weave",
    "StreamEngine": "wayveil.counting.stream",
    "SparkEngine": "wayveil.counting.spark",
    "release": "wayveil.releases.release",
    "Release": "wayveil.releases.release",
    "verify_release": "wayveil.releases.store",
    "score": "wayveil.utility.scorecard",
    "write_report": "wayveil.report.page",
    "write_pictures": "wayveil.report.contents",
    "compare": "wayveil.comparison.compare",
    "recommend": "wayveil.comparison.recommend",
    "WayveilError": "wayveil.errors",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'wayveil' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
