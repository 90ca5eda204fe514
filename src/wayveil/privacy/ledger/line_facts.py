"""What the line of a reservation states beside its price."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wayveil.privacy.budget import Rational, exact
from wayveil.privacy.ledger.data_time import Days


@dataclass(frozen=True)
class LineFacts:
    """What stands on the line of a reservation beside its price, its mechanism and its unit.

    rho      of a run that is accounted in zCDP, beside the (epsilon, delta) that it is charged as
    private  false for a run that protects nobody: it is recorded, and in no sum
    content  the name of the rows, as `Ledger.take_in` returned it
    days     which days of data they are of
    asked    what is asked of them (see `terms`)
    """

    purpose: str = ""
    rho: Rational | None = None
    private: bool = True
    content: str | None = None
    days: Days | None = None
    asked: Mapping[str, Any] | None = None

    def fields(self) -> dict[str, Any]:
        """The fields of the line."""
        days = None if self.days is None else str(self.days)
        payload = {"content": self.content, "days": days, "asked": self.asked}
        return {
            "rho": None if self.rho is None else exact(self.rho, "rho"),
            "purpose": self.purpose,
            "private": self.private,
            "payload": {name: said for name, said in payload.items() if said is not None} or None,
        }
