"""What a release left out before it counted, in words that cost nothing: the public bounds, never how much they cut."""

from typing import Any

from wayveil.released.datasheet import TUNING, Datasheet

_WITHOUT_ID = {
    "drop": "Trips without a rider id are left out.",
    "own": "A trip without a rider id counts as a rider of its own.",
}


def say_of_what(datasheet: Datasheet) -> str:
    """Say of what the numbers of a release are: of all rows, or of those that a bound lets count."""
    guarantee: dict[str, Any] = datasheet.get("guarantee") or {}
    if not guarantee:
        return ""
    bounds = guarantee.get("bounds") or {}
    most = (
        bounds.get("max_trips")
        if guarantee.get("unit") in ("rider", "rider-day")
        else bounds.get("max_visits")
    )
    if most is None and bounds.get("without_id") != "drop":
        return "These are numbers of all rows that could be read."
    counted = [] if most is None else [f"at most {int(most):,} of each {guarantee['unit']}, chosen at random"]
    counted += ["no row without a rider id"] if bounds.get("without_id") == "drop" else []
    return f"These are numbers of what was counted, not of all rows: {', and '.join(counted)}."


def say_left_out(datasheet: Datasheet) -> list[str]:
    """One sentence for each bound and rule that the datasheet names."""
    guarantee: dict[str, Any] = datasheet.get("guarantee") or {}
    bounds = guarantee.get("bounds") or {}
    parameters = (datasheet.get("mechanism") or {}).get("parameters") or {}
    said = []
    visits = parameters.get("height") or parameters.get("max_visits")
    single = visits == 1 and datasheet.get("visits") == "taps"
    thing = "tap" if single else "trip"
    if guarantee.get("unit") in ("rider", "rider-day") and "max_trips" in bounds:
        whose = "rider" if guarantee["unit"] == "rider" else "rider and day"
        count = int(bounds["max_trips"])
        said.append(f"At most {count:,} {thing}{'s' * (count != 1)} of a {whose} count, chosen at random.")
    if bounds.get("without_id") in _WITHOUT_ID:
        said.append(
            _WITHOUT_ID[bounds["without_id"]].replace("trip", thing).replace("Trip", thing.capitalize())
        )
    if single:
        said.append("Every tap is counted by itself.")
    elif isinstance(visits, int):
        said.append(f"Of each trip, the first {visits:,} stops count.")
    rule = datasheet.get("deployment", {}).get("implementation", {}).get(TUNING, "")
    if rule:
        said.append(rule.partition(". ")[0].rstrip(".") + ".")
    rows = (datasheet.get("rows") or {}).get("sentence")
    return [*said, rows] if rows else said
