"""Every public name has an example, and the examples are true: all run in one small city."""

import contextlib
import doctest
import inspect
from datetime import date

import pytest

import wayveil as wv
from wayveil.plan.files import write_plan
from wayveil.plan.template import series_plan

NAMES = [name for name in wv.__all__ if name != "__version__"]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """What the examples speak of: a folder with files, the city, its trips, and a release of them."""
    folder = tmp_path_factory.mktemp("examples")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WAYVEIL_HOME", str(folder / "home"))
        city = wv.read_gtfs(wv.lab.write_city(folder / "city.zip", 3, stops=40, lines=4))
        trips = wv.lab.simulate_city(city, 400, seed=1).trips
        wv.write_visits(trips, folder / "trips.parquet", riders=True)
        taps = "".join(f"2026-01-05 08:0{i}:00,{city.ids[i]},c{i}\n" for i in range(4))
        (folder / "taps.csv").write_text("event_time,stop_id,card_id\n" + taps)
        fixes = "".join(
            f"a,1,2026-01-05 08:0{i}:00,{37.62 + i / 100},{-122.45 + i / 100}\n" for i in range(0, 9, 2)
        )
        (folder / "points.csv").write_text("uid,tid,datetime,lat,lng\n" + fixes)
        (folder / "wayveil.toml").write_text("[protection]\nepsilon = 1\n")
        write_plan(series_plan("taps", "week", date(2026, 1, 5)), folder / "year.toml")
        made = wv.release(trips, "markov", epsilon=4, unit=wv.Rider(max_trips=1), rows="calls", ledger=None)
        made.save(folder / "release")
        yield {"wv": wv, "folder": folder, "city": city, "trips": trips, "made": made}


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_an_example_that_is_true(name, place):
    text = inspect.getdoc(getattr(wv, name)) or ""
    parsed = doctest.DocTestParser().get_doctest(text, dict(place), name, None, None)
    shown = [each for each in parsed.examples if doctest.SKIP not in each.options]
    assert shown, f"wv.{name} has no example that runs"
    with contextlib.chdir(place["folder"]):
        runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
        assert runner.run(parsed, out=print).failed == 0, text
