"""`Accuracy`: an interval for every number of a release, and a verdict on every kind of question."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from wayveil.accuracy.bands import Bands
from wayveil.accuracy.misfits import find_bias
from wayveil.accuracy.verdicts import Verdict
from wayveil.synthesis.model import ExpectedError
from wayveil.trips.trips import Trips

ALL_NOISE = (
    "All numbers of this release are noise: too few trips for so small an epsilon, or spread too thin."
)
NOT_JUDGED = "How far off the numbers of this release are is not known: it could not be made again to see."


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Intervals by kind of question, a verdict on each, and what the model itself expects (None: it does not).

    `again` are the trips of the release made again with simulated noise, to which any question may be put as well.
    `smoothed`: how many times farther off stops are by their noisy counts than that shows, beyond what is usual.
    """

    bands: Mapping[str, Bands]
    verdicts: tuple[Verdict, ...]
    expected: tuple[ExpectedError, ...] | None
    again: Trips | None = None
    smoothed: float = 1.0

    def of(self, kind: str) -> Verdict | None:
        """The verdict on one kind of question."""
        return next((verdict for verdict in self.verdicts if verdict.kind == kind), None)

    def bias(self, kind: str) -> float | None:
        """Deviation of what trips of this model cannot express, in roots of the number; None where nobody knows."""
        return find_bias(kind, self.expected)

    @property
    def is_noise(self) -> bool:
        """Tell that every number of the release is noise."""
        return bool(self.verdicts) and all(
            verdict.is_noise and not verdict.useful for verdict in self.verdicts
        )

    @property
    def words(self) -> list[str]:
        """The verdict for people, one sentence a line; the worst news first."""
        if not self.verdicts:
            return [NOT_JUDGED]
        return [*([ALL_NOISE] if self.is_noise else []), *(verdict.words for verdict in self.verdicts)]

    def record(self) -> dict[str, Any]:
        """For a file."""
        return {
            "intervals": {kind: bands.record() for kind, bands in self.bands.items()},
            "verdicts": [asdict(verdict) for verdict in self.verdicts],
            "expected": None if self.expected is None else [asdict(error) for error in self.expected],
            "smoothed": self.smoothed,
        }

    @classmethod
    def of_record(cls, record: Mapping[str, Any], again: Trips | None = None) -> "Accuracy":
        """Read what `record` wrote; trips lie in a file of their own."""
        expected = record["expected"]
        return cls(
            {kind: Bands.of_record(bands) for kind, bands in record["intervals"].items()},
            tuple(Verdict.of_record(verdict) for verdict in record["verdicts"]),
            None if expected is None else tuple(ExpectedError(**error) for error in expected),
            again,
            record.get("smoothed", 1.0),
        )
