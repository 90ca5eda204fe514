"""`Series`: one source of data, one plan, one budget over a year, many releases."""

from collections.abc import Collection, Sequence
from pathlib import Path

from wayveil.plan.files import read_plan
from wayveil.plan.plan import Plan
from wayveil.releases.release import Release
from wayveil.series.folder import RELEASE, SeriesFolder, days_of
from wayveil.series.period import Maker
from wayveil.series.run import Outcome, run_series, series_ledger
from wayveil.series.status import Status, status_of


class Series:
    """A series, by its plan (a TOML file; `wayveil plan --every week` writes one).

    >>> series = Series("wayveil.toml")                    # doctest: +SKIP
    >>> series.run(["taps_2026-W01.csv"]).released         # doctest: +SKIP
    ('2026-W01',)
    """

    def __init__(self, plan: Plan | str | Path) -> None:
        self.plan = plan if isinstance(plan, Plan) else read_plan(plan)
        self.folder = SeriesFolder(self.plan.home)

    def run(
        self, files: Sequence[str | Path], *, again: Collection[str] = (), change_policy: bool = False
    ) -> Outcome:
        """Release everything that the files make due, in order, once; see `run_series`."""
        return run_series(self.plan, files, again=again, change_policy=change_policy)

    def status(self) -> Status:
        """Spent, left, next due, gaps. Changes nothing."""
        return status_of(self.plan, series_ledger(self.plan))

    def releases(self) -> dict[str, Release]:
        """Every published release, by its period, in order of data time."""
        maker = Maker(self.plan, self.folder, series_ledger(self.plan), "")
        folders = {label: self.folder.published(label) for label in self.folder.labels()}
        return {
            label: Release.load(folder / RELEASE, maker.world(days_of(folder)))
            for label, folder in folders.items()
        }

    def __repr__(self) -> str:
        return f"<Series {self.plan.name}: {len(self.folder.labels())} releases in {self.folder.public}>"
