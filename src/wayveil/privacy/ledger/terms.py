"""What a release and its line in the ledger agree on: whom it protects, at what price, by what, over which world."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from wayveil.errors import ParameterError, plain
from wayveil.privacy.ledger.conversion import BookedUnit
from wayveil.privacy.ledger.lines import Line, canonical


@dataclass(frozen=True)
class Terms:
    """The terms of one release, as a datasheet states them. `asked` is what was asked: the parameters and the world.

    Lines of earlier versions do not say what was asked, and some say no unit: what a line does not say is not compared.
    """

    epsilon: Fraction
    delta: Fraction
    unit: BookedUnit
    mechanism: str
    private: bool
    asked: Mapping[str, Any]

    @classmethod
    def of_datasheet(cls, datasheet: Mapping[str, Any]) -> Self:
        """Read the terms off a datasheet."""
        try:
            stated, described = datasheet["guarantee"], datasheet["mechanism"]
            worlds = {each["name"]: each["sha256"] for each in datasheet["public_inputs"]}
            return cls(
                Fraction(stated["epsilon"]),
                Fraction(stated["delta"]),
                BookedUnit(stated["unit"], stated["bounds"]),
                str(described["name"]),
                bool(datasheet["private"]),
                asked(described["parameters"], worlds.get("counted in", worlds["world"])),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ParameterError(
                f"the datasheet does not state the terms of its release ({error})"
            ) from error

    def differing(self, line: Line) -> str | None:
        """In words, the first thing in which a reservation's line says something else; None if they agree."""
        booked = line.payload.get("asked") if isinstance(line.payload, dict) else None
        pairs: list[tuple[str, Any, Any]] = [
            ("epsilon", self.epsilon, line.epsilon),
            ("delta", self.delta, line.delta),
            ("mechanism", self.mechanism, line.mechanism),
            ("private", self.private, line.private),
        ]
        if line.unit is not None:
            mine = self.unit.payload()
            pairs += [(f"unit {name}", mine[name], line.unit[name]) for name in ("name", "bounds")]
        if isinstance(booked, dict):
            pairs += [(name, self.asked.get(name), value) for name, value in sorted(booked.items())]
        for name, stated, held in pairs:
            if canonical(_said(stated)) != canonical(_said(held)):
                return f"{name} {_short(stated)}, where the ledger has {_short(held)}"
        return None


def asked(parameters: Any, world: str) -> dict[str, Any]:
    """What a release asks of the rows, as it stands on the line of its reservation."""
    return {"parameters": parameters, "world": world}


def _said(value: Any) -> Any:
    return str(value) if isinstance(value, Fraction) else value


def _short(value: Any) -> str:
    text = plain(value) if isinstance(value, Fraction) else canonical(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
