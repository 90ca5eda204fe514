"""How far one trip and one visit move a histogram of visits, in which every visit is in one cell."""

from wayveil.errors import ParameterError
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.units import Points, Unit, Window


def visit_contribution(mechanism: str, unit: Unit, max_visits: int | None) -> Contribution:
    """Of a histogram that counts the first `max_visits` visits of a trip, or all of them for a unit of visits."""
    if max_visits is not None:
        # A visit that comes first can push another over the limit: one in, one out.
        return Contribution(per_trip=max_visits, per_cell=max_visits, per_visit=2)
    if not isinstance(unit, Points | Window):
        raise ParameterError(
            f"{mechanism}: a {unit.name} can hold any number of visits, so its noise would have to be infinite; set "
            f"max_visits to the number of visits of a trip that count, or protect single visits (unit `event`)"
        )
    return Contribution(per_trip=None, per_visit=1)
