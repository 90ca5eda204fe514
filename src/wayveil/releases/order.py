"""What is to be released: rows, what happens to each of them, the mechanism that counts them, and for whom.

Everything here is decided before anything is counted, by the caller's words and by public facts.
"""

from dataclasses import dataclass, replace

from wayveil.counting.steps import Steps
from wayveil.disclosures import EMPTY
from wayveil.errors import ParameterError
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.privacy.units import Unit
from wayveil.releases.choices import UnitChoice, choose_mechanism, choose_unit
from wayveil.releases.hidden_stops import Hidden
from wayveil.trips.legality import LegalityRule
from wayveil.trips.legs import VisitKind, Ways, counted_world, default_ways, require_words
from wayveil.trips.trip_files import TripFiles
from wayveil.trips.trips import Trips
from wayveil.world.world import World


@dataclass(frozen=True, eq=False)
class Order:
    """One release before it is counted.

    rows         the trips, as they are counted after `steps`
    known_by     the rows by which a ledger knows the people, where these are others than `rows`
    said         what the caller said a row is; None: nobody said it
    hidden       sensitive stops that were merged or thinned out before
    rewritten    a mechanism that the private trips go through once more; buys nothing
    not_private  why the release protects nobody, where it does not
    """

    rows: Trips | TripFiles
    steps: Steps
    mechanism: Mechanism
    unit: Unit
    said: VisitKind | None = None
    known_by: Trips | None = None
    hidden: Hidden | None = None
    rewritten: Mechanism | None = None
    not_private: str | None = None

    @property
    def world(self) -> World:
        """The public world that trips are counted over."""
        return self.steps.world(self.rows.world)

    @property
    def ways(self) -> Ways:
        """What stands between two rows of a trip."""
        return self.steps.ways or "as-read"

    def check(self) -> None:
        """Refuse rows that no guarantee covers, or that the unit cannot bound."""
        if isinstance(self.rows, Trips):
            if len(self.rows) == 0:
                raise ParameterError("there are no trips to release", tells=EMPTY)
            self.unit.check(self.rows)
        if self.not_private is None:
            self.rows.history.refuse_unsound()


@dataclass(frozen=True)
class RowKind:
    """What a row is and what stands between two of them (see `trips.legs`), or a rule in place of all that."""

    rows: VisitKind | None = None
    ways: Ways | None = None
    rule: LegalityRule | None = None

    def __post_init__(self) -> None:
        require_words(self.rows, self.ways)

    def steps(self, world: World, mechanism: Mechanism | str | None) -> tuple[Steps, Mechanism]:
        """What trips go through before they are counted, and the mechanism that counts them then.

        A rule that the caller gives stands for everything that is done to trips; ways are then not looked for.
        """
        if self.rule is not None:
            return Steps(self.rule), choose_mechanism(mechanism, world)
        if self.rows is None:
            chosen = choose_mechanism(mechanism, world)
            own = chosen.rule(world)
            return Steps(own, must_fit=own.impossible not in ("keep", "route")), chosen
        ways = default_ways(self.rows, world) if self.ways is None else self.ways
        counted_over = counted_world(world, self.rows, ways)
        chosen = choose_mechanism(mechanism, counted_over)
        return Steps(chosen.rule(counted_over), self.rows, ways), chosen


def order_trips(
    trips: Trips | TripFiles, mechanism: Mechanism | str | None, unit: UnitChoice, kind: RowKind
) -> Order:
    """Order a release of trips; those that were read from points say so themselves."""
    if kind.rows is None and kind.rule is None and isinstance(trips, Trips) and trips.source is not None:
        kind = replace(kind, rows="points")
    steps, chosen = kind.steps(trips.world, mechanism)
    return Order(trips, steps, chosen, choose_unit(unit, trips), said=kind.rows)
