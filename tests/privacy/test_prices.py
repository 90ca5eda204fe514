"""Sensitivities and scales by hand: what each unit pays for a count, a score and a tree, also after other steps."""

from fractions import Fraction

import pytest

from wayveil.errors import ParameterError
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.contributions import Contribution
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Event, Points, Rider, RiderDay, Trip, Window
from wayveil.trips.history import MERGED, PER_TRIP, Stability

F = Fraction
# A trip of up to four visits, each in a cell of its own; a visit more moves two cells.
SPREAD = Contribution(per_trip=4, per_visit=2, per_cell=1)
# The same where a visit can change the whole trip.
WHOLE = Contribution(per_trip=4, per_cell=1)


@pytest.mark.parametrize(
    ("unit", "contribution", "l1", "linf"),
    [
        (Trip(), SPREAD, 4, 1),
        (Rider(max_trips=3), SPREAD, 12, 3),
        (RiderDay(max_trips=2), SPREAD, 8, 2),
        (Event(), SPREAD, 2, 2),
        (Event(), WHOLE, 8, 1),
        (Points(length=3), SPREAD, 6, 6),
        (Window(max_visits=2), SPREAD, 16, 16),
        (Window(max_visits=2), WHOLE, 64, 8),
        (Trip().after(Stability(3, None)), SPREAD, 12, 3),
        (Rider(max_trips=3).after(Stability(3, None)), SPREAD, 12, 3),
        (Event().after(MERGED), SPREAD, 4, 4),
        (Event().after(PER_TRIP), SPREAD, 8, 1),
        (Event().after(Stability(3, None)), SPREAD, 24, 3),
    ],
)
def test_a_unit_moves_counts_by_this_much(unit, contribution, l1, linf):
    found = unit.sensitivity(contribution)
    assert (found.l1, found.linf, found.l2_squared) == (l1, linf, l1 * linf)


def test_scores_move_with_the_cells_of_each_trip():
    assert Trip().utility_sensitivity(Contribution(per_trip=9, per_cell=3)) == 3
    assert Rider(max_trips=2).utility_sensitivity(Contribution(per_trip=9, per_cell=3)) == 6
    assert Event().utility_sensitivity(Contribution(per_trip=9, per_cell=3)) == 6, (
        "a changed trip goes and comes"
    )


def test_noise_scales_follow_from_price_and_sensitivity():
    gate, half = Gate(Rider(max_trips=3), Budget(1), SeededBits(1)), F(1, 2)
    assert gate.scale(SPREAD, half) == 24
    assert gate.selection_scale(SPREAD, half) == 12
    assert gate.tree_scale(SPREAD, half) == F(7, 3) * 24
    in_rho = Gate(Rider(max_trips=3), Budget(1, currency="rho"), SeededBits(1))
    assert in_rho.scale(SPREAD, half) == 36
    assert in_rho.selection_scale(SPREAD, half) == 6, "rho 1/2 is paid with epsilon 1"


def test_what_has_no_bound_is_refused():
    with pytest.raises(ParameterError, match="no bound"):
        Trip().after(Stability(None, None))
    with pytest.raises(ParameterError, match="move to another day"):
        RiderDay().after(Stability(3, None))
    with pytest.raises(ParameterError, match="not in epsilon"):
        _ = Trip().sensitivity(Contribution(per_trip=2, euclidean=True)).l1
    assert Trip().sensitivity(Contribution(per_trip=2, euclidean=True)).l2_squared == 4
