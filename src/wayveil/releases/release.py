"""`Release`: private trips, the model behind them and their datasheet."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayveil.accuracy.accuracy import Accuracy, find_accuracy
from wayveil.answers.answers import Answer
from wayveil.answers.tallies import kind_of
from wayveil.arrays import Floats, Ints
from wayveil.releases.datasheet import (
    Datasheet,
)
from wayveil.releases.whole import make_whole
from wayveil.showing import draw_map, show
from wayveil.synthesis.counted import CountsCells
from wayveil.synthesis.drawing import Drawing
from wayveil.synthesis.estimates import Estimate, Interval, Question, count_in_trips
from wayveil.synthesis.model import Estimates, ExpectedError, Model
from wayveil.trips.history import NOT_PRIVATE, SIMULATED, History
from wayveil.trips.trips import Trips
from wayveil.world.world import World

if TYPE_CHECKING:
    from wayveil.privacy.ledger import Reservation


@dataclass(frozen=True, eq=False)
class Release:
    """Private trips, the private model behind them, and the datasheet. All of it may be published.

    Of a release with millions of trips they are not in memory: `drawing` makes them while it is saved. Where another
    number of trips was written than the model stands for, numbers are counted in those of `whole`.
    """

    trips: Trips
    model: Model
    datasheet: Datasheet
    reservation: "Reservation | None" = None
    known_accuracy: Accuracy | None = None
    drawing: Drawing | None = None
    each_stands_for: float = 1.0

    @property
    def world(self) -> World:
        """The public world of the released trips."""
        return self.trips.world

    @property
    def released_trips(self) -> int:
        """How many private trips it has, also those that are drawn only when it is saved."""
        return len(self.trips) if self.drawing is None else self.drawing.count

    @property
    def visits_are_taps(self) -> bool:
        """Whether every visit boards, as a tap does; else only the first of a trip."""
        return bool(self.datasheet["visits"] == "taps")

    @cached_property
    def whole(self) -> "Release":
        """The same with all trips that its numbers are about, drawn again where others were written."""
        return make_whole(self)

    @cached_property
    def accuracy(self) -> Accuracy:
        """Intervals and a verdict for every kind of question. Kept and signed when saved."""
        return find_accuracy(self) if self.known_accuracy is None else self.known_accuracy

    @property
    def expected(self) -> tuple[ExpectedError, ...] | None:
        """How far off each kind of question is expected to be; None if the model cannot tell."""
        return self.accuracy.expected

    def estimate(self, question: Question) -> Estimate | None:
        """Numbers with their intervals, as far as the model or the trips tell; None if they do not."""
        if self.whole is not self:
            return self.whole.estimate(question)
        found = self.model.estimate(question, self.trips) if isinstance(self.model, Estimates) else None
        if found is not None:
            return found
        values = count_in_trips(question, self.trips)
        if values is None:
            return None
        values = values * self.each_stands_for
        kind = kind_of(question)
        bands = None if kind is None else self.accuracy.bands.get(kind)
        return Estimate(values) if bands is None else Estimate(values, *bands.ends(values))

    def interval(self, kind: str, cells: Ints, values: Floats) -> Interval | None:
        """Both ends of 95 % intervals of cells (see `releases.tallies`) for which the release shows these numbers.

        By the law of the noise where the cells were counted, else from replicas. They always hold what is shown. Not a
        number where nothing is known of a cell, None where nothing is known of the kind.
        """
        if self.whole is not self:
            return self.whole.interval(kind, cells, values)
        counted = None
        if "rewritten_by" not in self.datasheet and isinstance(self.model, CountsCells):
            counted = self.model.counted(kind)
        if counted is not None:
            low, high = counted.ends(cells)
            return np.minimum(low, values), np.maximum(high, values)
        bands = self.accuracy.bands.get(kind)
        return None if bands is None else bands.ends(values)

    def ask(self, question: str, *, anyway: bool = True, **additions: Any) -> Answer:
        """Answer a question about trips (`wayveil.answers.trip_questions`) or taps (`.answers`); costs nothing.

        What may be added is what `wayveil.answers.asking.ask_release` takes: `top`; `by` (hour, day, weekday, or a
        list such as "day,hour"); `between=("07:00", "09:00")`, `weekdays`, `on`, `route`, `stops`, `district` with
        `districts` (csv or frame: stop_id, district; or a GeoJSON of areas); `over` (minutes or kilometres);
        `timetable` and `seats` for load; `delays`. What a question has no use for is refused.
        """
        from wayveil.answers.asking import ask_release

        return ask_release(self, question, anyway=anyway, **additions)

    def save(self, folder: str | Path, *, key: str | Path | None = None) -> Path:
        """Write and sign the release as one folder that appears whole or not at all; then commit to the ledger."""
        from wayveil.releases.store import save_release

        return save_release(self, Path(folder), key)

    @classmethod
    def load(cls, folder: str | Path, world: World, *, trust: str | None = None) -> "Release":
        """A saved release, whole, after its signature, its files and its world were checked.

        The signer must be known: oneself, a key pinned before, or the one whose fingerprint `trust` is.
        """
        from wayveil.releases.store import load_parts

        trips, model, datasheet, accuracy = load_parts(Path(folder), world, trust)
        return cls(trips, model, datasheet, known_accuracy=accuracy)

    def map(self) -> Any:
        """The flows of the release on its network, as a picture that notebooks show and `save` writes."""
        return draw_map(self.whole)

    def __repr__(self) -> str:
        return f"<Release of {self.released_trips:,} trips: {self.datasheet['guarantee']['sentence']}>"

    def _repr_html_(self) -> str:
        return show(self)


def history_of_release(datasheet: Datasheet) -> History:
    """Private trips are nobody's rows any more; that they are simulated or not private stays with them."""
    marks = frozenset(datasheet["source"]) & {SIMULATED}
    return History(marks=marks if datasheet["private"] else marks | {NOT_PRIVATE})
