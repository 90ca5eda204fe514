"""Rules that delete small cells, on the same raw trips, and the difference attack that undoes them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from wayveil.arrays import Ints
from wayveil.attacks.attack_findings import FurtherFigures
from wayveil.attacks.targets import people_of
from wayveil.released.officer import example_person
from wayveil.trips.trips import Trips

FEWEST = 10
LEAD = (
    "The effect of customary rules on the same trips. The attack: somebody asks to be taken out, a second table is "
    "published, and the two are compared."
)


@dataclass(frozen=True)
class CustomaryRule:
    """A rule or a release, what the difference attack gains from it, and the figures behind the words."""

    name: str
    words: str
    figures: Mapping[str, float]

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "words": self.words, **self.figures}

    def __str__(self) -> str:
        return f"{self.name}: {self.words}"


def compare_suppression(raw: Trips, datasheet: Mapping[str, Any]) -> FurtherFigures:
    """Compare a release with "10 or more" and with k-anonymity of the raw trips it was made from."""
    trips = raw.take(raw.lengths > 0)
    size, begin, end = trips.world.size, trips.origins().astype(np.int64), trips.destinations()
    timed = trips.time is not None
    hour = (
        np.zeros(len(trips), np.int64) if trips.time is None else trips.time[trips.offsets[:-1]] // 3600 % 24
    )
    by_hour = " and hour" if timed else ""
    figures = [
        _rule(trips, f"{FEWEST} or more", f"a table of boardings by stop{by_hour}", begin * 24 + hour),
        _rule(
            trips,
            f"k-anonymity, k = {FEWEST}",
            f"a file of trips alike in first stop, last stop{by_hour}",
            (begin * size + end) * 24 + hour,
        ),
    ]
    if timed:
        figures[0] = _with_totals(figures[0], begin * 24 + hour)
    if datasheet:
        figures.append(
            CustomaryRule(
                "This release", f"{example_person(datasheet)}, whatever is published without her.", {}
            )
        )
    return FurtherFigures("Suppression", LEAD, tuple(figures))


def _rule(trips: Trips, name: str, what: str, cell: Ints) -> CustomaryRule:
    """Publish the cells that hold enough; a person is revealed if a shown cell is smaller without her."""
    _, at, counts = np.unique(cell, return_inverse=True, return_counts=True)
    person, shown = people_of(trips), counts[at] >= FEWEST
    kept = float(np.mean(shown)) if len(trips) else 0.0
    revealed = len(np.unique(person[shown])) / max(1, int(person.max(initial=-1)) + 1)
    who, gives = ("trip", "begins") if trips.rider is None else ("rider", "boards")
    words = (
        f"{what}, without groups of fewer than {FEWEST}, keeps {kept:.1%} of the trips. Compared with a second one "
        f"made without one {who}, it shows where that {who} {gives}, for {revealed:.1%} of the {who}s."
    ).replace("%", " %")
    return CustomaryRule(name, words, {"kept": kept, "revealed": revealed})


def _with_totals(rule: CustomaryRule, cell: Ints) -> CustomaryRule:
    """Count the hidden cells that are the only hidden one of their stop: its total gives them back."""
    cells, counts = np.unique(cell, return_counts=True)
    stops = cells[counts < FEWEST] // 24
    back = int(np.sum(np.bincount(stops) == 1)) if len(stops) else 0
    words = f"{rule.words} Totals per stop give back {back:,} of {len(stops):,} hidden numbers."
    return CustomaryRule(rule.name, words, {**rule.figures, "hidden": len(stops), "given_back": back})
