"""Budget set aside for one run, as the run holds it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from wayveil.privacy.budget import Rational, exact
from wayveil.privacy.ledger.data_time import Days
from wayveil.privacy.ledger.lines import Head, LedgerError
from wayveil.privacy.ledger.terms import Terms

if TYPE_CHECKING:
    from wayveil.privacy.ledger.ledger import Ledger


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


@dataclass(frozen=True)
class Reservation:
    """Budget set aside for one run. Call `start` right before the first noise, `commit` after publishing."""

    id: str
    dataset: str
    epsilon: Fraction
    delta: Fraction
    actor: str
    head: Head
    ledger: "Ledger" = field(repr=False, compare=False)
    days: Days | None = field(default=None, compare=False)
    # Taken up from a run that died after its start; its one run goes on with the same noise.
    started: bool = field(default=False, repr=False, compare=False)

    def start(self) -> Head:
        """From here on the budget is gone, whatever happens. A reservation pays for one run, so only once."""
        if self.started:
            return self.head
        return self.ledger.start(self.id, actor=self.actor)

    def cancel(self, reason: str) -> Head:
        """Give the budget back; refused after `start`."""
        return self.ledger.cancel(self.id, actor=self.actor, reason=reason)

    def settle(self, epsilon: Fraction, reason: str) -> Head:
        """End a run that publishes nothing: it has bought noisy answers for so much, and gives back the rest.

        Only for a run that stopped because of those answers. One that failed otherwise may have failed because of
        the raw trips, and stays spent whole.
        """
        return self.ledger.settle(self.id, epsilon, actor=self.actor, reason=reason)

    def require(self, terms: Terms) -> None:
        """Refuse a release whose datasheet states other terms than those that were reserved."""
        differing = terms.differing(self.ledger.line_of(self))
        if differing is not None:
            raise LedgerError(f"the release states {differing}: it is not the one that was paid for")

    def commit(self, release_hash: str, summary: Any = None, terms: Terms | None = None) -> Head:
        """Say what was published with it, and on which terms; refused if those were not reserved."""
        if terms is not None:
            self.require(terms)
        return self.ledger.commit(self.id, actor=self.actor, release_hash=release_hash, summary=summary)
