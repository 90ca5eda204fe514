"""Release that would have been made if the released trips were the truth: measured again, drawn again.

The noise of a replica is simulated, with the law that the release had; the raw trips are not looked at. So a replica is
post-processing and costs nothing. How far a replica is from the release shows how far the release may be from the
truth, for every mechanism in the same way.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import ClassVar

from wayveil.counting.local import LocalCounter
from wayveil.errors import ParameterError, RefusedError
from wayveil.mechanisms.all_rows import SIZE_LABELS
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.registry import mechanism
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.contributions import Contribution, Sensitivity
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Event, Points, Rider, RiderDay, Trip, Unit, Window
from wayveil.released.released_trips import Datasheet, ReleasedTrips
from wayveil.synthesis.model import Replica, Replicates
from wayveil.trips.identity import Words
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips

_UNITS: dict[str, type[Unit]] = {kind.name: kind for kind in (Trip, Rider, RiderDay, Event, Points, Window)}


@dataclass(frozen=True)
class AlreadyBounded(Unit):
    """The unit of a release over trips that were cut to its bounds before: the same noise, nothing left to cut.

    factor  what the counts of the release were multiplied by, and their noise with them
    """

    name: ClassVar[str] = "already bounded"
    chooses: ClassVar[bool] = False
    unit: Unit
    factor: Fraction = Fraction(1)

    @property
    def neighbours(self) -> str:
        return self.unit.neighbours

    def cut(self, trips: Trips, key: Words) -> Trips:
        return trips

    def counted(self, trips: Trips, rule: LegalityRule, key: Words) -> Trips:
        return trips

    def sensitivity(self, contribution: Contribution) -> Sensitivity:
        whole = self.unit.sensitivity(contribution)
        return replace(
            whole, distance=ceil(whole.distance * self.factor), linf=ceil(whole.linf * self.factor)
        )

    def utility_sensitivity(self, contribution: Contribution) -> int:
        return ceil(self.unit.utility_sensitivity(contribution) * self.factor)


def draw_replicas(release: ReleasedTrips, count: int, *, seed: int = 0) -> Iterator[Replica]:
    """So many replicas; fewer where one is refused, as the release nearly was."""
    for place in range(count):
        try:
            yield _draw(release, seed + place)
        except RefusedError:
            return


def _draw(release: ReleasedTrips, seed: int) -> Replica:
    if isinstance(release.model, Replicates):
        return release.model.replicate(release.trips, seed)
    chosen, world = mechanism_of(release.datasheet), release.world
    size = release.datasheet.get("size") or {"rows_per_weight": 1}
    bounded = unit_of(release.datasheet).after(chosen.rule(world).stability(world))
    unit = AlreadyBounded(bounded, Fraction(size["rows_per_weight"]))
    gate = Gate(unit, budget_of(release.datasheet), SeededBits(seed))
    model = chosen.measure(LocalCounter(release.trips), gate)
    return Replica(model, model.generate(seed))


def mechanism_of(datasheet: Datasheet) -> Mechanism:
    """The mechanism with the parameters that the datasheet states."""
    described = datasheet["mechanism"]
    return mechanism(described["name"]).of_record(described["parameters"])


def budget_of(datasheet: Datasheet) -> Budget:
    """Budget that the model of a release had, in its own currency."""
    guarantee = datasheet["guarantee"]
    # What bought the number of all rows did not go into the model.
    size = sum(Fraction(spend["price"]) for spend in datasheet["spends"] if spend["label"] in SIZE_LABELS)
    if "rho" in guarantee:
        return Budget(Fraction(guarantee["rho"]) - size, currency="rho", delta=Fraction(guarantee["delta"]))
    return Budget(Fraction(guarantee["epsilon"]) - size)


def unit_of(datasheet: Datasheet) -> Unit:
    """The unit that the datasheet states."""
    guarantee = datasheet["guarantee"]
    kind = _UNITS.get(guarantee["unit"])
    if kind is None:
        raise ParameterError(f"unknown unit {guarantee['unit']!r}; choose one of {', '.join(_UNITS)}")
    return kind(**guarantee["bounds"])
