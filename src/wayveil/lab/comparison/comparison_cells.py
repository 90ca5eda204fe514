"""The cells of a comparison: one mechanism with its parameters, one epsilon, one repetition."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from wayveil.errors import ParameterError, plain
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.presets import made_by
from wayveil.mechanisms.registry import mechanism as find_mechanism
from wayveil.privacy.budget import Rational, exact
from wayveil.utility.figures import CEILING, EMPTY, FLOOR, LINES

PLAIN_LAPLACE = "plain-laplace"
REFERENCES = (*LINES, PLAIN_LAPLACE)


@dataclass(frozen=True)
class ComparisonCell:
    """One release to make and measure, or one reference line (then without a mechanism).

    `repetition` counts from 0; ceiling, floor and the empty release have no epsilon.
    """

    name: str
    mechanism: Mechanism | None
    epsilon: Fraction | None
    repetition: int

    @property
    def parameters(self) -> str:
        """Return what differs from the mechanism's defaults, as JSON with sorted names."""
        return "{}" if self.mechanism is None else chosen_parameters(self.mechanism)

    @property
    def key(self) -> str:
        """A name for the cell's file and the seed of its noise; the same in every run."""
        parts = [self.name, self.parameters, str(self.epsilon), self.repetition]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]

    def describe(self) -> dict[str, object]:
        """The columns that say which cell a row belongs to."""
        return {
            "mechanism": self.name,
            "parameters": self.parameters,
            "epsilon": None if self.epsilon is None else float(self.epsilon),
            "repetition": self.repetition,
        }


def chosen_parameters(mechanism: Mechanism) -> str:
    """The parameters that are not at their defaults."""
    return json.dumps(mechanism.model_dump(mode="json", exclude_defaults=True), sort_keys=True)


def display_name(mechanism: str, parameters: str) -> str:
    """A mechanism as people write it: its name, and what was set."""
    chosen = json.loads(parameters)
    return " ".join([mechanism, *(f"{name}={value}" for name, value in chosen.items())])


def plan(
    candidates: Sequence[Mechanism], epsilons: Iterable[Rational], repetitions: int
) -> list[ComparisonCell]:
    """All cells: the references first, then one repetition of everything after the other, so that a run that is
    stopped has something on everything.
    """
    prices = sorted({exact(epsilon) for epsilon in epsilons})
    if not candidates or not prices or repetitions < 1:
        raise ParameterError(
            "a comparison needs at least one mechanism, one epsilon and one repetition of each"
        )
    if any(price <= 0 for price in prices):
        raise ParameterError(f"epsilon must be above 0, not {plain(prices[0])}")
    cells = [ComparisonCell(EMPTY, None, None, 0)]
    for repetition in range(repetitions):
        cells += [ComparisonCell(name, None, None, repetition) for name in (CEILING, FLOOR)]
        cells += [ComparisonCell(PLAIN_LAPLACE, None, price, repetition) for price in prices]
    cells += [
        ComparisonCell(mechanism.name, mechanism, price, repetition)
        for repetition in range(repetitions)
        for mechanism, price in product(candidates, prices)
    ]
    if len({cell.key for cell in cells}) < len(cells):
        raise ParameterError("a mechanism is named twice with the same parameters")
    return cells


def grid(mechanism: str, choices: Mapping[str, Sequence[Any]], preset: str | None = None) -> list[Mechanism]:
    """A mechanism with every combination of the given values of its parameters, over its defaults or a preset."""
    kind = find_mechanism(mechanism)
    return [
        made_by(kind, preset, dict(zip(choices, values, strict=True)))
        for values in product(*choices.values())
    ]
