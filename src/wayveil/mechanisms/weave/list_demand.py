"""Who travels where there is no network: places seen through all noisy views that say something about them."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from wayveil.arrays import Floats
from wayveil.mechanisms.weave.cell_estimates import CellEstimates
from wayveil.mechanisms.weave.demand import Demand
from wayveil.mechanisms.weave.settings import Generation
from wayveil.mechanisms.weave.shrinkage import group_alike, keep_likely_counts
from wayveil.world.walk_blocks import WalkBlocks


@dataclass(frozen=True, eq=False)
class ListDemand(Demand):
    """Also knows the share of each place among all visits."""

    visits: Floats

    @classmethod
    def estimate(
        cls, blocks: WalkBlocks, noisy: dict[str, CellEstimates], total: float, settings: Generation
    ) -> "ListDemand":
        """Visits, and trips that begin and end at each place, from the noisy blocks."""
        size, move = blocks.geography.world.size, noisy.get("move")
        marks: list[CellEstimates | None] = [None, None]
        if move is not None:
            marks = [CellEstimates(mark, move.deviation) for mark in move.value[size**2 :].reshape(2, size)]
        ends = [
            _join_marks(noisy[name], mark, total, settings.on_list.marks_off)
            for name, mark in zip(("origin", "destination"), marks, strict=True)
        ]
        visits = estimate_visits(noisy["visit"], move, ends, size, settings)
        origin, destination = (_estimate_ends(counted, visits, total, settings) for counted in ends)
        return cls(blocks, noisy, total, settings, origin, destination, visits)


def estimate_visits(
    visit: CellEstimates,
    move: CellEstimates | None,
    ends: list[CellEstimates],
    places: int,
    settings: Generation,
) -> Floats:
    """The share of each place among all visits, from three views.

    The block of visits by class of lengths; moves to and from each place, if asked for, which say nearly the same with
    other noise; and how many trips begin and end there, which says something else, but often with far less noise. Each
    view counts as its noise deserves.
    """
    table = visit.value.reshape(-1, places)
    views = [CellEstimates(table.sum(axis=0), visit.deviation * sqrt(len(table)))]
    if move is not None:
        square, marks = (part.reshape(-1, places) for part in np.split(move.value, [places**2]))
        both = (square.sum(axis=0) + square.sum(axis=1) + marks.sum(axis=0)) / 2
        views.append(CellEstimates(both, move.deviation * sqrt(places)))
    direct, near = _average_shares(views), _average_shares(ends)
    first = _average_shares([direct, near]).value
    precise = direct.deviation**-2
    other = 1 / (near.deviation**2 + (settings.on_list.visits_off * np.maximum(first, 0.0)) ** 2)
    mean = (precise * direct.value + other * near.value) / (precise + other)
    # The scale of the noise at places that hardly anybody visits: of other places it is clear that somebody does.
    quiet = sqrt(0.5 / (precise + near.deviation**-2))
    share = keep_likely_counts(mean, quiet, 1.0, settings.shrinkage)
    everywhere = settings.on_list.everywhere
    return (share + everywhere / places) / (1 + everywhere)


def _average_shares(views: list[CellEstimates]) -> CellEstimates:
    """Shares from several views with different totals, weighted by their precision."""
    wholes = [max(float(view.value.sum()), view.deviation) for view in views]
    precision = [(whole / view.deviation) ** 2 for view, whole in zip(views, wholes, strict=True)]
    mean = sum(
        weight * view.value / whole for view, whole, weight in zip(views, wholes, precision, strict=True)
    ) / sum(precision)
    return CellEstimates(np.asarray(mean), sum(precision) ** -0.5)


def _join_marks(
    noisy: CellEstimates, mark: CellEstimates | None, total: float, marks_off: float
) -> CellEstimates:
    """Trips that begin (or end) at each place, from two views: as counted, and from the marks in the table of moves, if
    that was asked for; long trips weigh less in the marks, which are therefore off by some share beside their noise.
    """
    if mark is None:
        return noisy
    scale = total / max(float(mark.value.sum()), mark.deviation, 1.0)
    own = noisy.deviation**-2
    other = 1 / ((mark.deviation * scale) ** 2 + (marks_off * total / len(mark.value)) ** 2)
    mean = (own * noisy.value + other * mark.value * scale) / (own + other)
    return CellEstimates(mean, (own + other) ** -0.5)


def _estimate_ends(counted: CellEstimates, visits: Floats, total: float, settings: Generation) -> Floats:
    """Trips that begin (or end) at each place, as counted, and from its visits, which are off by some share."""
    busy, precise = visits * total, counted.deviation**-2
    shrinkage = settings.shrinkage
    sure = keep_likely_counts(counted.value, counted.scale, total, shrinkage, group_alike(visits, shrinkage))
    expected = 1 / ((settings.on_list.visits_off * busy) ** 2 + 1e-9)
    mass = (precise * sure + expected * busy) / (precise + expected)
    mass = np.where(sure > 0, mass, 0.0) + 1e-9 * busy
    return np.asarray(mass * (total / mass.sum()))
