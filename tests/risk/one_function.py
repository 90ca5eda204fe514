"""Mechanisms made of one function, for tests of what audits see."""

from dataclasses import dataclass

from wayveil.privacy.contributions import Contribution
from wayveil.privacy.questions import SparseCounts

VISITS = Contribution(per_trip=3, per_cell=1)


@dataclass(frozen=True)
class Asks:
    """A mechanism made of one function."""

    ask: object

    def measure(self, counter, gate):
        return self.ask(counter, gate)


def visits_of(counter):
    """How often each location is visited, among the first three stops of each trip."""
    heads = counter._trips.cut(3)
    return SparseCounts.of_keys(counter.world.size, heads.location)
