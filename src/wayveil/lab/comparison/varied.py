"""Parameters of which a comparison tried several values: any of them can be the x axis of a chart."""

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from wayveil.lab.comparison.comparison_cells import REFERENCES, display_name
from wayveil.lab.comparison.comparison_results import Comparison, Point
from wayveil.mechanisms.registry import homes
from wayveil.mechanisms.registry import mechanism as find_mechanism


@dataclass(frozen=True)
class CurvePoint:
    """A point of a curve: the value of the varied parameter, and the figure there."""

    x: float
    point: Point


def varied_parameters(comparison: Comparison) -> list[str]:
    """The parameters with at least two numbers among the settings of one mechanism, in the order of their names."""
    values: dict[tuple[str, str], set[float]] = {}
    for mechanism, parameters in _settings(comparison):
        for name, value in parameters.items():
            number = _number(value)
            if number is not None:
                values.setdefault((mechanism, name), set()).add(number)
    for mechanism, parameters in _settings(comparison):  # a value that is the default is not written down
        for (owner, name), found in values.items():
            number = _value(mechanism, parameters, name) if owner == mechanism else None
            found |= set() if number is None else {number}
    return sorted({name for (_, name), found in values.items() if len(found) > 1})


def curves_over(comparison: Comparison, key: str, parameter: str) -> dict[str, list[CurvePoint]]:
    """One figure against a parameter: a line per mechanism, its other settings, and epsilon; ascending."""
    lines: dict[str, list[CurvePoint]] = {}
    for point in comparison.points:
        if point.key != key or point.epsilon is None or point.mechanism in REFERENCES:
            continue
        chosen = json.loads(point.parameters)
        x = _value(point.mechanism, chosen, parameter)
        if x is None:
            continue
        others = json.dumps({name: value for name, value in chosen.items() if name != parameter})
        name = f"{display_name(point.mechanism, others)}, ε = {point.epsilon:g}"
        lines.setdefault(name, []).append(CurvePoint(x, point))
    ordered = {name: sorted(line, key=lambda place: place.x) for name, line in lines.items()}
    return {name: line for name, line in ordered.items() if len(line) > 1}


def _settings(comparison: Comparison) -> list[tuple[str, dict[str, Any]]]:
    pairs = comparison.table.select("mechanism", "parameters").unique(maintain_order=True)
    return [(name, json.loads(chosen)) for name, chosen in pairs.iter_rows() if name not in REFERENCES]


def _value(mechanism: str, chosen: dict[str, Any], parameter: str) -> float | None:
    """The parameter's number in this setting: what was set, or the default."""
    if parameter in chosen:
        return _number(chosen[parameter])
    if mechanism not in homes():
        return None
    field = find_mechanism(mechanism).model_fields.get(parameter)
    return None if field is None else _number(field.get_default(call_default_factory=True))


def _number(value: object) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(Fraction(str(value)))
    except (ValueError, ZeroDivisionError):
        return None
