"""`compare_risk`: mechanisms with epsilon and methods with k on one picture: what attacks reach, against the error.

Half of the people are held out first: they are the people who are not in the data. Every release is made from the other
half. What attackers know is drawn once, so that it is the same for all releases. Internal, like every comparison.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from wayveil.attacks.assess import RiskSettings, risk
from wayveil.attacks.targets import split_people
from wayveil.errors import WayveilError
from wayveil.lab.comparison.comparison_cells import chosen_parameters, display_name
from wayveil.lab.strap.strap_study import StrapBeside
from wayveil.lab.syntactic.method import SyntacticMethod, anonymise
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Rational, exact
from wayveil.progress import track
from wayveil.run import make_release as release
from wayveil.synthesis.public_knowledge import empty, floor
from wayveil.trips.history import RAW_NOTICE
from wayveil.trips.trips import Trips
from wayveil.utility.count_queries import RangeCounts
from wayveil.utility.figures import ceiling
from wayveil.utility.scorecard import mean_and_interval

FIXED_ERRORS = (0.05, 0.1, 0.2)
LINES = ("raw", "resample", "hold-out", "floor", "empty")
FIGURES = {
    "linkage": "linkage risk",
    "membership": "membership, AUC",
    "strap_500": "STRAP, cells of 500 m",
    "strap_1000": "STRAP, cells of 1 km",
}


@dataclass(frozen=True, eq=False)
class RiskComparison:
    """Long table: a row per release with its setting, range-count error and figures of risk."""

    table: pl.DataFrame
    notice: str = RAW_NOTICE

    def curves(self, figure: str) -> dict[str, list[dict[str, float]]]:
        """Per mechanism, by setting: mean error, and mean and 95 % interval of a figure."""
        rows = self.table.filter(pl.col("setting").is_not_null()).drop_nulls(["error", figure])
        lines: dict[str, list[dict[str, float]]] = {}
        for (name, setting), part in rows.group_by(["name", "setting"], maintain_order=True):
            mean, low, high = mean_and_interval(part[figure].to_list())
            point = {
                "setting": float(str(setting)),
                "error": float(part["error"].to_numpy().mean()),
                "value": mean,
                "low": mean if low is None else low,
                "high": mean if high is None else high,
            }
            lines.setdefault(str(name), []).append(point)
        return {name: sorted(line, key=lambda point: point["setting"]) for name, line in lines.items()}

    def references(self, figure: str) -> dict[str, float]:
        """Raw, resample, hold-out, floor and empty release, where they have a value."""
        rows = self.table.filter(pl.col("setting").is_null()).drop_nulls(figure)
        return {str(name): float(value) for name, value in rows.select("name", figure).iter_rows()}

    def at_fixed_error(self, figure: str = "linkage") -> list[dict[str, str]]:
        """Per mechanism: the lowest risk (highest STRAP) of the settings that keep the error, or "not reached"."""
        best = max if figure.startswith("strap") else min
        rows = []
        for name, line in self.curves(figure).items():
            row = {"mechanism": name}
            for most in FIXED_ERRORS:
                reached = [point for point in line if point["error"] <= most]
                word = "not reached"
                if reached:
                    point = best(reached, key=lambda point: point["value"])
                    word = f"{point['value']:.3g} at {point['setting']:g}"
                row[f"error of {100 * most:g} %"] = word
            rows.append(row)
        return rows

    def gaps(self) -> list[tuple[str, str]]:
        """Return what could not be run, with the reason."""
        rows = self.table.filter(pl.col("message").is_not_null())
        return list(rows.select("name", "message").unique(maintain_order=True).iter_rows())


def compare_risk(
    trips: Trips,
    candidates: Sequence[Mechanism],
    epsilons: Iterable[Rational],
    crowds: Sequence[SyntacticMethod] = (),
    *,
    repetitions: int = 5,
    settings: RiskSettings | None = None,
    seed: int = 0,
) -> RiskComparison:
    """Release, attack and measure all of it.

    candidates, epsilons  mechanisms with differential privacy, at every epsilon
    crowds                methods without it, each with its k (K of LK-anonymity)
    """
    settings = RiskSettings() if settings is None else settings
    members, others = split_people(trips, seed)
    judge = _Judge(members, others, settings)
    prices = sorted(exact(epsilon) for epsilon in epsilons)
    rows: list[dict[str, Any]] = []
    for name, line in judge.lines(seed):
        rows.append({"name": name, "setting": None, "repetition": 0, **judge.measure(line)})
    cells: list[tuple[str, float, Any]] = [
        (display_name(one.name, chosen_parameters(one)), float(price), (one, price))
        for one in candidates
        for price in prices
    ]
    cells += [(one.name, crowd_of(one), one) for one in crowds]
    for (name, setting, how), repetition in track(
        [(cell, repetition) for cell in cells for repetition in range(repetitions)], "releases attacked"
    ):
        # These never leave the process, so their noise may be repeatable; it then protects nobody.
        bits = SeededBits(f"{seed} {name} {setting} {repetition}")
        row = {"name": name, "setting": setting, "repetition": repetition}
        try:
            if isinstance(how, SyntacticMethod):
                made = anonymise(members, how, bits=bits).trips
            else:
                made = release(members, how[0], epsilon=how[1], bits=bits, seed=repetition).trips
            rows.append({**row, **judge.measure(made)})
        except WayveilError as error:
            rows.append({**row, "message": str(error)})
    schema = {"name": pl.String, "setting": pl.Float64, "repetition": pl.Int64, "error": pl.Float64}
    schema |= dict.fromkeys(FIGURES, pl.Float64) | {"message": pl.String}
    table = pl.DataFrame(rows, schema=schema, infer_schema_length=None)
    return RiskComparison(table, notice=members.history.notice)


def crowd_of(method: SyntacticMethod) -> float:
    """The privacy parameter of a method: its k."""
    return float(getattr(method, "k", getattr(method, "K", np.nan)))


class _Judge:
    """Members, others and what attackers know, ready for any number of releases."""

    def __init__(self, members: Trips, others: Trips, settings: RiskSettings) -> None:
        self.members, self.others, self.settings = members, others, settings
        self.ranges = RangeCounts(members.without_times())
        self.studies = StrapBeside().studies(members, settings.seed)

    def lines(self, seed: int) -> Iterator[tuple[str, Trips]]:
        world = self.members.world
        yield "raw", self.members
        yield "resample", ceiling(self.members, seed + 1)
        yield "hold-out", self.others
        yield "floor", floor(world, len(self.members), seed + 2)
        yield "empty", empty(world, timed=self.members.time is not None)

    def measure(self, made: Trips) -> dict[str, float | None]:
        found = risk(made, self.members, self.others, settings=self.settings)
        link = found["linkage", "nearest trip in space", None].risk
        straps = {f"strap_{study.settings.cell:g}": study.measure(made).total for study in self.studies}
        (error,) = self.ranges.measure(made.without_times())
        return {
            "error": error.value,
            "linkage": None if link is None else link.value,
            "membership": 0.5 if found.membership is None else found.membership.auc,
            **straps,
        }
