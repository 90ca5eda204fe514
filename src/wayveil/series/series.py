"""`Series`: one source of data, one plan, one budget over a year, many releases."""

import getpass
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from wayveil.errors import ParameterError, WayveilError
from wayveil.plan.files import read_plan
from wayveil.plan.plan import Plan
from wayveil.plan.reading import require_days
from wayveil.privacy.keys import signing_key
from wayveil.privacy.ledger import Ledger, LedgerError, open_ledger
from wayveil.privacy.ledger.data_time import span_of
from wayveil.progress import step
from wayveil.releases.accounts import open_account
from wayveil.releases.preflight import require_room
from wayveil.releases.release import Release
from wayveil.series.accounting import policy_of
from wayveil.series.folder import RELEASE, SeriesFolder, Work, days_of, find_work
from wayveil.series.page import index_is_current, write_index
from wayveil.series.period import Maker
from wayveil.series.status import Status, status_of


@dataclass(frozen=True)
class Outcome:
    """Work that a run did, and why it stopped before the end, if it did.

    finished  periods that an earlier run had paid for; this one only wrote them
    """

    released: tuple[str, ...]
    finished: tuple[str, ...]
    done_before: tuple[str, ...]
    waiting: tuple[str, ...]


def run_series(
    plan: Plan,
    files: Sequence[str | Path],
    *,
    ledger: Ledger | None = None,
    again: Collection[str] = (),
    change_policy: bool = False,
) -> Outcome:
    """Release every period that the files make due and that is not released yet; finish what was stopped.

    All files are checked before the first period is paid for. Running it again changes nothing. `again` names periods
    that were paid for and lost, which are to be paid for once more; `change_policy` puts the plan's budget in force
    where the ledger has another one.
    """
    folder, actor = SeriesFolder(plan.home), getpass.getuser()
    with folder.locked():
        ledger = series_ledger(plan) if ledger is None else ledger
        work = find_work(plan, folder, [Path(file) for file in files])
        maker = Maker(plan, folder, ledger, actor, again)
        _check(maker, work)
        for due in work.due:
            maker.world(due.days)
        require_plan_policy(ledger, plan, actor, change=change_policy)
        finished = _finish_begun(plan, folder, maker)
        coming = [due for due in work.due if due.label not in finished]
        for due in coming:
            maker.refuse_paid(due)
        released: list[str] = []
        try:
            for due in coming:
                with step(f"releasing {due.label}"):
                    maker.make(due)
                released.append(due.label)
        except WayveilError as error:
            if released or finished:
                error.add_note(f"Released before: {', '.join([*finished, *released])}.")
            raise
        finally:
            if not index_is_current(folder):
                write_index(plan, folder, status_of(plan, ledger))
    return Outcome(tuple(released), tuple(finished), work.done, work.waiting)


def series_ledger(plan: Plan) -> Ledger:
    """The ledger of a plan."""
    place = plan.protection.ledger
    if place is not None and place != "none":
        return open_ledger(plan.beside(place))
    found = open_account(place)
    if found is None:
        raise ParameterError("a series needs a ledger")
    return found


def require_plan_policy(ledger: Ledger, plan: Plan, actor: str, *, change: bool = False) -> None:
    """The ledger holds the plan's budget; another one is not put in its place in silence."""
    wanted, current = policy_of(plan), ledger.policy(plan.name)
    if current == wanted:
        return
    if current is not None and not change:
        raise LedgerError(
            f"the ledger has another budget for {plan.name} than the plan. If the plan is right, put it in force with "
            "`--change-policy`; the ledger then has a line about it. Nothing was spent"
        )
    ledger.set_policy(plan.name, wanted, actor=actor)


def _check(maker: Maker, work: Work) -> None:
    """Find everything that can be known to go wrong before anything is paid for."""
    files = {file.path: file for due in work.due for file in due.files}
    for due in work.due:
        maker.plan.world_of(due.days)
    with step("checking files"):
        for file in files.values():
            require_days(maker.plan, maker.world(file.days), file.path, file.days)
    if files:
        require_room(maker.folder.home, max(file.path.stat().st_size for file in files.values()))
        signing_key()


def _finish_begun(plan: Plan, folder: SeriesFolder, maker: Maker) -> list[str]:
    """Periods that were paid for and not published, with or without their files."""
    finished = []
    for booked in maker.ledger.booked(plan.name):
        days = booked.days
        if days is None or days != span_of(plan.cadence.every, days.first):
            continue
        label = plan.label(days)
        if (
            folder.making(label).is_dir()
            and not folder.published(label).exists()
            and maker.finish(label, days)
        ):
            finished.append(label)
    return finished


class Series:
    """A series, by its plan (a TOML file; `wayveil plan --every week` writes one).

    >>> series = wv.Series(folder / "year.toml")
    >>> series.plan.cadence.every
    'week'
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
