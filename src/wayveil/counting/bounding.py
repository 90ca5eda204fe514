"""What happens to a piece of raw trips before it is counted, the same for every engine that reads pieces."""

from wayveil.privacy.units import Unit
from wayveil.trips.identity import Words
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips


def bound_piece(trips: Trips, rule: LegalityRule, unit: Unit, key: Words) -> Trips:
    """A piece that holds whole units, as the rule leaves its trips and cut to the unit's bound by the run's key.

    What the gate does to trips in memory (`Gate.bound`), with the key that it drew for all pieces.
    """
    return unit.cut(rule.apply(trips), key)
