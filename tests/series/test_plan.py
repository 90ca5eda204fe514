"""Plans: the one that `init` writes, and what is said about those that are wrong."""

from datetime import date
from pathlib import Path

import pytest

from series.series_worlds import write_plan
from wayveil.errors import InputError, ParameterError
from wayveil.plan.file_names import NamePattern
from wayveil.plan.files import explain_keys, read_plan
from wayveil.plan.files import write_plan as write_to
from wayveil.plan.plan import Plan
from wayveil.plan.template import series_plan
from wayveil.privacy.ledger.data_time import Days, span_of


@pytest.mark.parametrize(
    ("every", "first"), [("day", "2026-03-02"), ("week", "2026-03-02"), ("month", "2026-03-01")]
)
def test_the_plan_that_init_writes_is_a_plan(tmp_path: Path, every: str, first: str) -> None:
    path = tmp_path / "wayveil.toml"
    write_to(series_plan("taps", every, date.fromisoformat(first)).changed(path=path), path)
    plan = read_plan(path)
    assert (plan.name, plan.cadence.every, plan.cadence.first) == ("taps", every, date.fromisoformat(first))
    assert plan.home == tmp_path / "series"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'unit = "rider"\nmax_trips',
            'unit = "horse"\nmax_trips',
            r"line 26: protection.unit: choose one of",
        ),
        ("epsilon = 52", "epsilon = -1", r"line 30: protection.allowance.epsilon: .*-1"),
        ('outside = "refuse"', 'outside = "ask"', "line 8: source.outside"),
        ('outside = "refuse"', "colour = 3", "line 8: source.colour: there is no such key"),
        ("prior = 2", "prior = -1.5", r"line 16: method.prior"),
        (
            'every = "week"\nfirst = 2025-12-29',
            'every = "week"\nfirst = 2025-12-30',
            "line 35: series.first: a week does not begin on 2025-12-30",
        ),
        ("taps_%G-W%V.csv", "taps.csv", "line 7: source.files: .*says its days"),
        ('"station-activities"', '"sheets"', "unknown format 'sheets'"),
        ('place = "stops.csv"', 'town = "stops.csv"', "line 10: worlds.0.place: field required"),
        ("epsilon = 52", 'epsilon = 52\nspan = "day"', "several days"),
        ('rows = "taps"', 'rows = "calls"', "a way is for taps"),
    ],
)
def test_what_is_wrong_is_said_with_its_key_and_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = write_plan(tmp_path).path
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(InputError, match=said):
        read_plan(path)


def test_names_of_files_say_their_days() -> None:
    assert NamePattern.parse("t_%Y%m%d.csv").days_of("x/t_20260228.csv") == span_of("day", date(2026, 2, 28))
    assert NamePattern.parse("t_%G-W%V").days_of("t_2026-W53") == Days(date(2026, 12, 28), date(2027, 1, 3))
    assert NamePattern.parse("%Y-%m.parquet").days_of("2028-02.parquet") == span_of("month", date(2028, 2, 1))
    for name in ("t_20260230.csv", "t_2026.csv", "u_20260228.csv"):
        with pytest.raises(InputError, match="Nothing was spent"):
            NamePattern.parse("t_%Y%m%d.csv").days_of(name)
    for pattern in ("t_%Y-%d", "t_%H", "t", "%Y%Y", "a/%Y"):
        with pytest.raises(ParameterError):
            NamePattern.parse(pattern)


def test_each_period_has_the_world_of_its_first_day(tmp_path: Path) -> None:
    path = write_plan(tmp_path).path
    text = path.read_text().replace(
        "[method]", '[[worlds]]\nplace = "new.zip"\nfirst = 2026-05-13\n\n[method]'
    )
    path.write_text(text)
    plan = read_plan(path)
    assert plan.world_of(span_of("week", date(2026, 5, 13))).place == "stops.csv"
    assert plan.world_of(span_of("week", date(2026, 5, 20))).place == "new.zip"
    path.write_text(
        text.replace(
            "first = 2025-12-29\n\n[[worlds]]", "first = 2025-12-29\nlast = 2026-01-31\n\n[[worlds]]"
        )
    )
    with pytest.raises(ParameterError, match="in force on 2026-03-02"):
        read_plan(path).world_of(span_of("week", date(2026, 3, 2)))


EARLIER = """
name = "town"
ledger = "ledger"
every = "week"
first = 2025-12-29

[source]
files = "taps_%G-W%V.csv"
map = { card = "CARD" }
daily_taps = 3

[[worlds]]
place = "stops.csv"
first = 2025-12-29

[publish]
way = "cards"
max_trips = 3
prior = 2

[budget]
epsilon = 1
accounting = "rho"
delta = "1e-5"
period_epsilon = 52
"""


def test_a_plan_of_the_format_before_is_read_and_written_as_one_of_today(tmp_path: Path) -> None:
    old = tmp_path / "plan.toml"
    old.write_text(EARLIER)
    plan = read_plan(old)
    assert (plan.source.rows, plan.source.columns) == ("taps", {"card": "CARD"})
    assert (plan.method.way, plan.method.prior, plan.output.folder) == ("cards", 2, "series")
    assert (plan.protection.currency, plan.protection.max_trips, plan.allowance.epsilon) == ("rho", 3, 52)
    assert plan.allowance.daily_taps == 3
    again = read_plan(write_to(plan, tmp_path / "wayveil.toml"))
    assert {**again.said(), "path": old} == plan.said()
    old.write_text(EARLIER.replace("way =", "colour = 3\nway ="))
    with pytest.raises(InputError, match=r"method\.colour: there is no such key"):
        read_plan(old)


def test_the_page_lists_every_key() -> None:
    page = (Path(__file__).parents[2] / "docs" / "plan.md").read_text()
    rows = [f"| `{key}` | {words} |" for key, words in explain_keys()]
    table = "\n".join(["| key | meaning |", "|---|---|", *rows])
    assert page.partition("<!-- keys -->\n")[2].partition("\n<!-- /keys -->")[0] == table


def test_paths_of_the_command_line_lead_from_where_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    plan = write_plan(tmp_path / "plans")
    changed = plan.changed(**plan.from_here({"folder": "out", "ledger": "book", "world": "w.csv"}))
    assert changed.home.resolve() == tmp_path / "here" / "out"
    assert Path(changed.beside(str(changed.protection.ledger))).resolve() == tmp_path / "here" / "book"
    assert plan.from_here({"ledger": "none", "world": "grid:0,0,1,1@250"}) == {
        "ledger": "none",
        "world": "grid:0,0,1,1@250",
    }


@pytest.mark.parametrize(
    ("rows", "given"),
    [
        ("calls", {"split_gap": 600}),
        ("taps", {"rules": {"fill": False}}),
        ("pairs", {"opt_out": "wish"}),
        ("points", {"alightings": True}),
        ("legs", {"max_taps": 3}),
        ("taps", {"engine": "stream"}),
        ("points", {"engine": "spark"}),
    ],
)
def test_a_key_that_the_rows_have_no_use_for_is_refused(rows: str, given: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=r"this is for|counted in memory"):
        Plan.of(files="rows.csv", rows=rows, epsilon=1, **given)
