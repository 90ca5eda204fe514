"""`Accuracy`: an interval for every number of a release, and a verdict on every kind of question."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from wayveil.accuracy.bands import Bands
from wayveil.accuracy.verdicts import Verdict
from wayveil.errors import RefusedError
from wayveil.synthesis.model import ExpectedError

ALL_NOISE = (
    "This release says no more than silence: with so few trips or so small an epsilon, all of it is noise."
)
NOT_JUDGED = "How far off the numbers of this release are is not known: it could not be made again to see."


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Intervals by kind of question, a verdict on each, and what the model itself expects (None: it does not)."""

    bands: Mapping[str, Bands]
    verdicts: tuple[Verdict, ...]
    expected: tuple[ExpectedError, ...] | None

    def of(self, kind: str) -> Verdict | None:
        """The verdict on one kind of question."""
        return next((verdict for verdict in self.verdicts if verdict.kind == kind), None)

    @property
    def is_noise(self) -> bool:
        """Tell that the release is no better than silence on everything."""
        return bool(self.verdicts) and all(verdict.is_noise for verdict in self.verdicts)

    @property
    def words(self) -> list[str]:
        """The verdict for people, one sentence a line; the worst news first."""
        if not self.verdicts:
            return [NOT_JUDGED]
        return [*([ALL_NOISE] if self.is_noise else []), *(verdict.words for verdict in self.verdicts)]

    def refuse_noise(self, kind: str | None, *, anyway: bool) -> None:
        """Raise where a number of this kind would be noise, unless it is wanted anyway."""
        verdict = None if kind is None or anyway else self.of(kind)
        if verdict is not None and verdict.is_noise:
            raise RefusedError(f"{verdict.words} To see the numbers all the same: --anyway (anyway=True).")

    def record(self) -> dict[str, Any]:
        """For a file."""
        return {
            "intervals": {kind: bands.record() for kind, bands in self.bands.items()},
            "verdicts": [asdict(verdict) for verdict in self.verdicts],
            "expected": None if self.expected is None else [asdict(error) for error in self.expected],
        }

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> "Accuracy":
        """Read what `record` wrote."""
        expected = record["expected"]
        return cls(
            {kind: Bands.of_record(bands) for kind, bands in record["intervals"].items()},
            tuple(Verdict(**verdict) for verdict in record["verdicts"]),
            None if expected is None else tuple(ExpectedError(**error) for error in expected),
        )
