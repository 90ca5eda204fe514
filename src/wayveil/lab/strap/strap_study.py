"""`StrapStudy`: raw trips and an adversary, prepared once, and the STRAP value of any release."""

from copy import copy
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Literal

import numpy as np
import polars as pl

from wayveil.arrays import Floats, Ints, Mask
from wayveil.attacks.assess import Released, RiskSettings, risk
from wayveil.attacks.attack_findings import FurtherFigures, RiskReport
from wayveil.attacks.metric_paths import METRES_PER_SECOND, check_same_world, distinct_rows, row_hashes
from wayveil.attacks.targets import people_of, some_people
from wayveil.attacks.warping import MetricPaths, count_neighbours
from wayveil.errors import ParameterError
from wayveil.lab.strap.expected_distances import (
    Groups,
    expected_distances,
    group_distances,
    mean_of_matched,
    summed_distances,
)
from wayveil.lab.strap.profiles import Profiles, ReleaseModel, believed_moves
from wayveil.lab.strap.square_cells import (
    SquareCells,
    cut_at_junctions,
    distinct_segments,
    find_junctions,
    moving_trips,
    public_moves,
)
from wayveil.privacy.choosing import pair_codes
from wayveil.trips.trips import Trips
from wayveil.world.network import Network

CELL_SIZES = (500.0, 1000.0)
Mode = Literal["repaired", "literal"]


@dataclass(frozen=True)
class StrapSettings:
    """Choices that STRAP leaves open; all stand on the page.

    cell   metres of a cell's side
    p      chance that the adversary knows a visit
    near   metres within which two riders are neighbours (d_th of the study)
    timed  whether a second between their visits counts as a metre, where trips have times
    mode   `repaired`, or `literal`: the equations as printed
    seed   of what the adversary knows
    """

    cell: float = CELL_SIZES[0]
    p: float = 0.3
    near: float = 500.0
    mode: Mode = "repaired"
    seed: int = 0
    timed: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.p <= 1:
            raise ParameterError(f"the chance p that a visit is known must lie in 0..1, not {self.p:g}")
        if not self.cell > 0 or not self.near > 0:
            raise ParameterError("cells and the distance of neighbours need sizes above 0 metres")
        if self.mode not in ("repaired", "literal"):
            raise ParameterError(f"STRAP is read as 'repaired' or 'literal', not {self.mode!r}")


@dataclass(frozen=True, eq=False)
class Strap:
    """STRAP of one release: more is more private. A scale to compare releases of the same data, not a guarantee.

    riders      the value of each rider, in an order that depends on who they are and not on the file
    total       the sum, five and ten: sums over the 5 and 10 % with the lowest values
    exact, widened, weightless  segments whose expected distance is 0, whose neighbourhood had to be widened, and for
                which no released segment had any weight
    standing    released trips that visit one place only and are left out, because they have no way (repaired)
    """

    settings: StrapSettings
    riders: Floats
    junctions: int
    segments: int
    exact: int
    widened: int
    weightless: int
    standing: int

    @property
    def total(self) -> float:
        return float(self.riders.sum())

    def most_vulnerable(self, share: float) -> float:
        """The sum over the share of riders with the lowest values."""
        return float(np.sort(self.riders)[: ceil(share * len(self.riders))].sum())

    def describe(self) -> dict[str, Any]:
        return {
            **vars(self.settings),
            "strap": self.total,
            "most_vulnerable_5_percent": self.most_vulnerable(0.05),
            "most_vulnerable_10_percent": self.most_vulnerable(0.1),
            "riders": len(self.riders),
            "junctions": self.junctions,
            "segments": self.segments,
            "exact": self.exact,
            "widened": self.widened,
            "weightless": self.weightless,
            "standing": self.standing,
        }

    def __str__(self) -> str:
        return (
            f"STRAP ({self.settings.mode}, cells of {self.settings.cell:g} m, p = {self.settings.p:g}): "
            f"{self.total:,.1f}; worst-off 5 %: {self.most_vulnerable(0.05):,.2f}, 10 %: "
            f"{self.most_vulnerable(0.1):,.2f}; of {self.segments:,} segments {self.exact:,} are met exactly, "
            f"{self.widened:,} after widening, {self.weightless:,} without weight; {self.standing:,} released trips "
            "that visit one place only are left out"
        )


@dataclass(frozen=True, eq=False)
class Looked:
    """A release as one study sees it, whatever the adversary knows; `standing` trips visit one place only."""

    model: ReleaseModel
    groups: Groups | None
    standing: int


class StrapStudy:
    """The raw trips, their junctions, segments and neighbours, and what the adversary knows."""

    def __init__(self, raw: Trips, settings: StrapSettings | None = None) -> None:
        self.settings = StrapSettings() if settings is None else settings
        self.cells = SquareCells.over(raw.world, self.settings.cell)
        assert isinstance(raw.world, Network)  # it has coordinates
        self.raw = in_canonical_order(raw.take(raw.lengths > 0))
        if len(self.raw) == 0:
            raise ParameterError("there is no raw trip with a visit to compare with")
        person = people_of(self.raw)
        self.riders = int(person.max()) + 1
        self.junctions = find_junctions(self.raw, self.cells)
        self.segments = cut_at_junctions(self.raw, self.cells, self.junctions)
        self.different = distinct_segments(self.segments, self.cells)
        self.rider: Ints = person[self.segments.trip]
        self._moves = public_moves(raw.world, self.cells, self.junctions)
        self.profiles = self._believe()
        self.neighbours, self.warpings = self._count_neighbours(person)

    def knowing(self, p: float) -> "StrapStudy":
        """Return the same study of an adversary who knows another share of the visits; all but that is shared."""
        other = copy(self)
        other.settings = replace(self.settings, p=p)
        other.profiles = other._believe()
        return other

    def look_at(self, released: Trips) -> "Looked":
        """Return what no adversary changes: where released trips go, and how far they are from the raw ones."""
        check_same_world(self.raw, released)
        if self.settings.mode == "literal":
            return Looked(ReleaseModel.of(released, self.cells, self.junctions), None, 0)
        moving = moving_trips(released, self.cells)
        model = ReleaseModel.of(moving, self.cells, self.junctions)
        groups = group_distances(self.different, self.segments, model, self.cells, len(self.junctions))
        return Looked(model, groups, len(released) - len(moving))

    def measure(self, released: "Trips | Looked") -> Strap:
        """STRAP of one release. Several adversaries may share what `look_at` found."""
        looked = released if isinstance(released, Looked) else self.look_at(released)
        model, none = looked.model, np.zeros(0, bool)
        parts = (self.segments, self.different, self.rider, self.profiles, model)
        if self.settings.mode == "literal":
            metres, widened, weightless = summed_distances(*parts, self.cells, self.junctions), none, none
            distance = mean_of_matched(metres, self.rider, self.riders)
            others = self.neighbours - 1
            return self._result(distance * others / max(others.sum(), 1), metres, widened, weightless, 0)
        found = expected_distances(*parts, looked.groups, self.cells, self.junctions)
        count = np.bincount(self.rider, minlength=self.riders)
        distance = np.bincount(self.rider, found.metres, minlength=self.riders) / count
        values = distance * self.neighbours / self.neighbours.sum()
        return self._result(values, found.metres, found.widened, found.weightless, looked.standing)

    def _result(
        self, values: Floats, metres: Floats, widened: Mask, weightless: Mask, standing: int
    ) -> Strap:
        return Strap(
            self.settings,
            values,
            len(self.junctions),
            len(self.segments),
            int((metres == 0).sum()),
            int(widened.sum()),
            int(weightless.sum()),
            standing,
        )

    def _believe(self) -> Profiles:
        return believed_moves(
            self.segments,
            self.rider,
            self.riders,
            self._moves,
            len(self.junctions),
            self.settings.p,
            self.settings.seed,
        )

    def _count_neighbours(self, person: Ints) -> tuple[Ints, int]:
        """Riders whose whole trajectories lie nearer than the threshold, each rider included; and the warpings."""
        lengths = np.bincount(person, self.raw.lengths, minlength=self.riders).astype(np.int64)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        order = np.argsort(person[self.raw.trip_of_visit()], kind="stable")
        location, moment = self.raw.location[order], self._moments()[order]
        found = distinct_rows(pair_codes(self.cells.place[location], moment), offsets)
        bounds = np.concatenate([[0], np.cumsum(lengths[found.first])]).astype(np.int64)
        kept = np.arange(bounds[-1]) + np.repeat(offsets[found.first] - bounds[:-1], lengths[found.first])
        east, north = self.cells.east[location[kept]], self.cells.north[location[kept]]
        later = METRES_PER_SECOND * moment[kept]
        paths = MetricPaths.of(np.column_stack([east, north, later]), bounds)
        counts, warpings = count_neighbours(paths, found.copies, self.settings.near)
        return counts[found.of_row], warpings

    def _moments(self) -> Ints:
        """The times of visits; all the same where times do not count."""
        if not self.settings.timed:
            return np.zeros(self.raw.visits, np.int64)
        if self.raw.time is None:
            raise ParameterError(
                "times count between riders whose trips have some, and these trips have none"
            )
        return self.raw.time


def in_canonical_order(trips: Trips) -> Trips:
    """The trips by rider and by what they are, so that nothing depends on the order of the file."""
    sums = row_hashes(trips.location, trips.offsets)
    rider = np.zeros(len(trips), np.int64) if trips.rider is None else trips.rider
    return trips.take(np.lexsort((sums[:, 1], sums[:, 0], rider)))


def strap(released: Trips, raw: Trips, settings: StrapSettings | None = None) -> Strap:
    """STRAP of one release against the raw trips. For several releases, prepare a `StrapStudy` once."""
    return StrapStudy(raw, settings).measure(released)


LEAD = (
    "A scale to compare releases of the same data with each other; more is further from the raw trips. It hardly tells "
    "people in the data from others and says nothing by itself."
)


@dataclass(frozen=True)
class StrapBeside:
    """STRAP for cells of 500 m and 1 km.

    p        chance that its adversary knows a visit
    riders   raw riders that it looks at, at most
    """

    p: float = 0.3
    riders: int = 10_000

    def __post_init__(self) -> None:
        self.settings(seed=0)

    def settings(self, seed: int) -> list[StrapSettings]:
        """One for each size of cells."""
        return [StrapSettings(cell=cell, p=self.p, seed=seed) for cell in CELL_SIZES]

    def studies(self, raw: Trips, seed: int) -> list[StrapStudy]:
        """Prepare the raw trips once, for any number of releases."""
        looked_at = some_people(raw, self.riders, seed)
        return [StrapStudy(looked_at, settings) for settings in self.settings(seed)]


def risk_and_strap(
    release: Released | Trips,
    raw: Trips,
    holdout: Trips | None = None,
    *,
    model: pl.DataFrame | None = None,
    settings: RiskSettings | None = None,
    strap: StrapBeside | None = None,
) -> RiskReport:
    """Attack a release as `wayveil.risk` does, and put STRAP beside what the attacks reach. Not for publication."""
    settings = RiskSettings() if settings is None else settings
    strap = StrapBeside() if strap is None else strap
    found = risk(release, raw, holdout, model=model, settings=settings)
    released = release if isinstance(release, Trips) else release.trips
    figures = tuple(study.measure(released) for study in strap.studies(raw, settings.seed))
    return replace(
        found,
        further=(*found.further, FurtherFigures("STRAP", LEAD, figures)),
        settings={**found.settings, "p": strap.p, "riders_of_strap": strap.riders},
    )
