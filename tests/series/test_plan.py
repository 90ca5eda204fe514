"""Plans: the one that `init` writes, and what is said about those that are wrong."""

from datetime import date
from pathlib import Path

import pytest

from series.series_worlds import write_plan
from wayveil.errors import InputError, ParameterError
from wayveil.privacy.ledger.data_time import Days, span_of
from wayveil.series.file_names import NamePattern
from wayveil.series.plan import read_plan
from wayveil.series.template import template


@pytest.mark.parametrize(
    ("every", "first"), [("day", "2026-03-02"), ("week", "2026-03-02"), ("month", "2026-03-01")]
)
def test_the_plan_that_init_writes_is_a_plan(tmp_path: Path, every: str, first: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(template("plan.toml", "taps", every, date.fromisoformat(first)))
    plan = read_plan(path)
    assert (plan.name, plan.every, plan.first) == ("taps", every, date.fromisoformat(first))
    assert plan.home == tmp_path / "series"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('unit = "rider"\nmax_trips', 'unit = "horse"\nmax_trips', r"line \d+: publish.unit"),
        ("period_epsilon = 52", "period_epsilon = -1", r"line \d+: budget.period_epsilon: .*-1"),
        ('outside = "refuse"', 'outside = "ask"', "line 10: source.outside"),
        ('outside = "refuse"', "colour = 3", "line 10: source.colour: Extra inputs"),
        ("prior = 2", 'prior = "many"', r"line \d+: publish.prior"),
        (
            "first = 2025-12-29\n\n[source]",
            "first = 2025-12-30\n\n[source]",
            "first: a week does not begin on 2025-12-30",
        ),
        ("taps_%G-W%V.csv", "taps.csv", "line 9: source.files: .*says its days"),
        ('"station-activities"', '"sheets"', "no format 'sheets'"),
        ('place = "stops.csv"', 'town = "stops.csv"', "line 12: worlds.0.place: Field required"),
        ("period_epsilon = 52", 'period_epsilon = 52\nperiod = "day"', "several days"),
        ('way = "cards"', 'way = "counts"', "protects single taps"),
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
        "[publish]", '[[worlds]]\nplace = "new.zip"\nfirst = 2026-05-13\n\n[publish]'
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
