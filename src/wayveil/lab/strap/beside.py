"""STRAP beside the attacks on a release: the report of `wayveil.risk` with a scale of distance added."""

from dataclasses import dataclass, replace

import polars as pl

from wayveil.attacks.assess import Released, RiskSettings, risk
from wayveil.attacks.attack_findings import FurtherFigures, RiskReport
from wayveil.attacks.targets import some_people
from wayveil.lab.strap.strap_study import CELL_SIZES, StrapSettings, StrapStudy
from wayveil.trips.trips import Trips

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
