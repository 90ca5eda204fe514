"""Plans of series as they were written before there was one plan for everything: read as the plan of today."""

from collections.abc import Mapping
from typing import Any

from wayveil.plan.plan import FOLLOWED

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
