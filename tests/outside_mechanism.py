"""A mechanism as somebody else would write it: one module with a model, a mechanism and its audit plan."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from wayveil.arrays import Ints
from wayveil.counting.counter import Counter
from wayveil.counting.protocol import Frontier
from wayveil.lab.audits.mutants import HALF_NOISE, NO_BOUND, SEEDED, SILENT_END, TOTAL
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.shared_fields import Share
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.synthesis.model import Model
from wayveil.trips.trips import Trips
from wayveil.world.successors import CompleteSuccessors
from wayveil.world.world import World


@dataclass(frozen=True, eq=False)
class Starts(Model):
    """Noisy numbers of trips by where they start, and trips of that one stop."""

    world: World
    counts: Ints

    def generate(self, seed: int | None = None) -> Trips:
        location = np.repeat(np.arange(self.world.size), np.maximum(self.counts, 0))
        return Trips(location, np.arange(len(location) + 1), self.world)

    def table(self) -> pl.DataFrame:
        return pl.DataFrame({"location": self.world.ids, "trips": self.counts})


class FirstStops(Mechanism):
    """Where trips start, and nothing else."""

    name: ClassVar[str] = "first-stops"
    makes: ClassVar[type[Model]] = Starts
    summary: ClassVar[str] = "noisy numbers of trips by their first stop"
    steps: ClassVar[bool] = False

    share: Share = Field(
        Fraction(1, 2), description="Share of epsilon for the stops; the rest buys the total."
    )

    def measure(self, counter: Counter, gate: Gate) -> Starts:
        exact = counter.prefixes().count(
            Frontier(np.zeros(1, np.int64), CompleteSuccessors(counter.world.size))
        )
        for_stops, for_trips = gate.budget.split([self.share, 1 - self.share])
        one = Contribution(per_trip=1)
        trips = gate.histogram("number of trips", counter.trips(), one, for_trips).counts[0]
        counts = gate.histogram("trips by first stop", exact, one, for_stops).counts
        return Starts(counter.world, np.where(counts > 0, counts, 0) if trips > 0 else 0 * counts)


PLAN = AuditPlan(
    FirstStops(), epsilon=Fraction(2), mutations=(HALF_NOISE, SILENT_END, NO_BOUND, SEEDED, TOTAL)
)
