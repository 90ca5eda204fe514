"""Budget set aside for one run, as the run holds it."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from wayveil.privacy.ledger.data_time import Days
from wayveil.privacy.ledger.lines import Head, LedgerError
from wayveil.privacy.ledger.terms import Terms

if TYPE_CHECKING:
    from wayveil.privacy.ledger.ledger import Ledger


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
