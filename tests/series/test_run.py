"""A tiny year: what is due is released once, in order, within the budget; everything else is refused unpaid."""

import json
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest

from series.series_worlds import MONDAY, STOPS, week_file, write_plan, write_taps_of
from wayveil.errors import BudgetExceededError, InputError, ParameterError
from wayveil.plan.files import read_plan
from wayveil.plan.plan import Plan
from wayveil.privacy.ledger import Ledger, LedgerError, open_ledger
from wayveil.series.period import LostPeriodError
from wayveil.series.series import Series


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path / "home"))


def ledger_of(plan: Plan) -> Ledger:
    return open_ledger(plan.beside("ledger"))


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_series_runs_once_in_order_and_within_its_budget(tmp_path: Path) -> None:
    series = Series(write_plan(tmp_path, period_epsilon=4, report="true"))
    files = [week_file(tmp_path, week) for week in (3, 1, 2)]
    assert series.run(files).released == ("2026-W01", "2026-W02", "2026-W03")
    ledger = ledger_of(series.plan)
    # By hand: three releases of epsilon 1 for a rider, all of the data of the year 2026.
    (year,) = ledger.spans("town")
    assert (year.label, year.spent.epsilon, year.remaining.epsilon) == ("2026", 3, 1)
    assert [str(each.days) for each in ledger.booked("town")] == [
        "2025-12-29/2026-01-04",
        "2026-01-05/2026-01-11",
        "2026-01-12/2026-01-18",
    ]
    assert {line.unit["name"] for line in ledger.entries() if line.kind == "reserve"} == {"rider"}
    before, head = everything(series.folder.home), ledger.head()
    again = series.run(files)
    assert (again.released, again.done_before) == ((), ("2026-W01", "2026-W02", "2026-W03"))
    assert everything(series.folder.home) == before
    assert ledger.head() == head
    # Each release follows those before it, and says so.
    follows = [
        json.loads((series.folder.published(label) / "period.json").read_text())["follows"]
        for label in again.done_before
    ]
    assert follows == [0, 1, 2]
    page = (series.folder.public / "index.html").read_text()
    assert all(f'href="{label}/report.html"' in page for label in again.done_before)
    assert "what a daily rider" in page
    assert "--anyway" not in page
    assert 'table class="releases"' in page
    # Week 5 leaves a gap; week 6 is more than the year has.
    assert series.run([week_file(tmp_path, 5)]).released == ("2026-W05",)
    with pytest.raises(BudgetExceededError, match="in the data of 2026, has 0 left: 1 too much") as refused:
        series.run([week_file(tmp_path, 6)])
    assert (refused.value.requested, refused.value.remaining) == (1, 0)
    assert ledger.spans("town")[0].spent.epsilon == 4
    status = series.status()
    assert status.years[0].of("gap") == ["2026-W04"]
    assert status.years[0].of("unfinished") == []
    assert status.next_due.label == "2026-W06"
    assert "4 of 53 published; epsilon 4 spent, 0 left of 4" in "\n".join(status.words())
    assert set(series.releases()) == {"2026-W01", "2026-W02", "2026-W03", "2026-W05"}
    assert ledger.verify().ok


def test_disjoint_weeks_of_rider_days_cost_one_week(tmp_path: Path) -> None:
    series = Series(write_plan(tmp_path, unit="rider-day", budget_unit="rider-day", period_epsilon=1))
    series.run([week_file(tmp_path, week) for week in (1, 2)])
    assert ledger_of(series.plan).spans("town")[0].spent.epsilon == 1


def test_single_taps_of_a_rider_are_charged_by_what_is_stated(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, way="counts", unit="event", period_epsilon=20)
    with pytest.raises(LedgerError, match="nobody has said how many"):
        Series(plan).run([week_file(tmp_path, 1)])
    plan.path.write_text(plan.path.read_text().replace("[series]", "visits_per_day = 2\n\n[series]"))
    plan = read_plan(plan.path)
    with pytest.raises(LedgerError, match="--change-policy"):
        Series(plan).run([week_file(tmp_path, 1)])
    Series(plan).run([week_file(tmp_path, 1)], change_policy=True)
    assert ledger_of(plan).spans("town")[0].spent.epsilon == 14


def test_in_rho_the_year_is_stated_once(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, epsilon="0.9", period_epsilon=8)
    plan.path.write_text(
        plan.path.read_text().replace('unit = "rider"\nmax', 'currency = "rho"\nunit = "rider"\nmax')
    )
    series = Series(read_plan(plan.path))
    series.run([week_file(tmp_path, week) for week in (1, 2)])
    (year,) = series.status().years
    assert year.currency == "rho"
    assert year.stated < Fraction("1.4"), "two releases of 0.9 are less than their sum"
    assert "delta" in series.releases()["2026-W01"].datasheet["guarantee"]["sentence"]


def test_files_that_come_too_late_or_twice_are_refused_before_anything_is_spent(tmp_path: Path) -> None:
    series = Series(write_plan(tmp_path))
    first = week_file(tmp_path, 1)
    series.run([first])
    head = ledger_of(series.plan).head()
    first.write_text(first.read_text() + "c9,s01,2026-01-02T10:00:00\n")
    with pytest.raises(InputError, match=r"2026-W01 was released .* has changed since"):
        series.run([first, week_file(tmp_path, 2)])
    (tmp_path / "more").mkdir()
    with pytest.raises(InputError, match=r"has days that taps_2026-W02\.csv has as well"):
        series.run([week_file(tmp_path, 2), week_file(tmp_path / "more", 2)])
    with pytest.raises(InputError, match="is not named as the plan says"):
        series.run([tmp_path / "stops.csv"])
    assert ledger_of(series.plan).head() == head
    assert series.folder.labels() == ["2026-W01"]


def test_rows_of_other_days_refuse_the_file_or_are_dropped_one_by_one(tmp_path: Path) -> None:
    series = Series(write_plan(tmp_path))
    stray = week_file(tmp_path, 2)
    stray.write_text(stray.read_text() + "c1,s01,2026-01-12T00:10:00\n")
    with pytest.raises(InputError, match=r"W02.csv, row 841: is of 2026-01-12, .* \(1 such rows\)"):
        series.run([week_file(tmp_path, 1), stray])
    assert not ledger_of(series.plan).entries(), "the first week was not paid for either"
    dropping = Series(write_plan(tmp_path, outside="drop"))
    assert dropping.run([stray]).released == ("2026-W02",)
    cleaning = (dropping.folder.internal / "cleaning" / "2026-W02.txt").read_text()
    assert "outside the period: 1 dropped" in cleaning
    assert "841 rows in" not in "".join(
        path.read_text()
        for path in dropping.folder.public.rglob("*")
        if path.suffix in (".html", ".json", ".csv")
    )


def test_a_week_of_daily_files_waits_for_the_last_one(tmp_path: Path) -> None:
    series = Series(write_plan(tmp_path, files="t_%Y-%m-%d.csv"))
    daily = [
        write_taps_of(tmp_path / f"t_{day}.csv", day, range(1), seed=at)
        for at, day in enumerate(date.fromordinal(MONDAY.toordinal() + ahead) for ahead in range(7))
    ]
    outcome = series.run(daily[:6])
    assert (outcome.released, outcome.waiting) == ((), ("2026-W01",))
    assert series.run(daily).released == ("2026-W01",)
    cards = (series.folder.internal / "cleaning" / "2026-W01.txt").read_text()
    assert "840 rows in, 840 taps out" in cards


def test_a_new_feed_is_used_from_its_first_day_on_and_earlier_releases_are_followed(tmp_path: Path) -> None:
    plan = write_plan(tmp_path)
    lines = (tmp_path / "stops.csv").read_text() + f"s{STOPS},New stop,48.5,-123.3\n"
    (tmp_path / "new.csv").write_text(lines)
    text = plan.path.read_text().replace(
        "[method]", '[[worlds]]\nplace = "new.csv"\nfirst = 2026-01-05\n\n[method]'
    )
    plan.path.write_text(text)
    series = Series(plan.path)
    series.run([week_file(tmp_path, week) for week in (1, 2)])
    made = series.releases()
    assert [each.world.size for each in made.values()] == [STOPS, STOPS + 1]
    assert json.loads((series.folder.published("2026-W02") / "period.json").read_text())["follows"] == 1


def test_a_period_that_failed_after_its_noise_is_paid_again_only_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = Series(write_plan(tmp_path))

    def fails(*arguments: object) -> None:
        raise ParameterError("a failure that may come from the rows")

    with monkeypatch.context() as patch:
        patch.setattr("wayveil.releases.making.make_datasheet", lambda **_: fails())
        with pytest.raises(ParameterError, match="may come from the rows"):
            series.run([week_file(tmp_path, 1)])
    assert ledger_of(series.plan).spans("town")[0].spent.epsilon == 1
    with pytest.raises(LostPeriodError, match="--again 2026-W01"):
        series.run([week_file(tmp_path, 1)])
    assert series.run([week_file(tmp_path, 1)], again=["2026-W01"]).released == ("2026-W01",)
    assert ledger_of(series.plan).spans("town")[0].spent.epsilon == 2


def test_no_day_is_released_twice_also_where_the_plan_has_changed(tmp_path: Path) -> None:
    Series(write_plan(tmp_path)).run([week_file(tmp_path, 1)])
    daily = Series(write_plan(tmp_path, every="day", files="t_%Y-%m-%d.csv"))
    days = [
        write_taps_of(tmp_path / f"t_2026-01-{day:02}.csv", date(2026, 1, day), range(1), seed=day)
        for day in (4, 5)
    ]
    with pytest.raises(LostPeriodError, match="2026-01-04 has days of a release of 2025-12-29/2026-01-04"):
        daily.run(days, change_policy=True)
    assert daily.run(days[1:], change_policy=True).released == ("2026-01-05",)


def test_two_runs_at_once_are_one_too_many(tmp_path: Path) -> None:
    series = Series(write_plan(tmp_path))
    with series.folder.locked(), pytest.raises(Exception, match="another run of this series"):
        series.run([week_file(tmp_path, 1)])
