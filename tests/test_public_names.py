"""Every public verb does the same when it is called again, whatever was loaded before."""

import inspect
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest

import wayveil as wv

GRID = "grid:37.6,-122.5,37.8,-122.3@2000"
POINTS = "uid,tid,datetime,lat,lng\n" + "".join(
    f"a,1,2026-01-05 08:{minute:02}:00,{37.62 + minute / 100},{-122.45 + minute / 100}\n"
    for minute in range(0, 10, 2)
)


def verbs(room: ModuleType) -> list[str]:
    """Public names of a room that are called, and not made."""
    return [name for name in dir(room) if name.islower() and name not in ("lab", "__version__")]


class Place:
    """A city of our own, trips and taps on it, and a release, made once."""

    def __init__(self, folder):
        self.folder, self.written = folder, 0
        self.feed = wv.lab.write_city(folder / "city.zip", 3, stops=40, lines=4)
        self.city = wv.read_gtfs(self.feed)
        self.trips = wv.lab.simulate_city(self.city, 400, seed=1).trips
        wv.write_visits(self.trips, folder / "trips.parquet", riders=True)
        (folder / "points.csv").write_text(POINTS)
        taps = "".join(f"2026-01-05 08:0{i}:00,{self.city.ids[i]},c{i}\n" for i in range(4))
        (folder / "taps.csv").write_text("event_time,stop_id,card_id\n" + taps)
        self.plan = folder / "wayveil.toml"
        self.plan.write_text("[protection]\nepsilon = 1\n")
        self.made = self.release()
        self.out = self.made.save(folder / "release")
        self.comparison = self.compare()

    def release(self):
        return wv.release(self.trips, "markov", epsilon=4, unit=wv.Rider(max_trips=1), ledger=None, seed=1)

    def compare(self):
        return wv.lab.compare(self.trips, [wv.Markov()], [4], repetitions=1, workers=1)

    def new(self, suffix=""):
        """A path that nothing was written to yet."""
        self.written += 1
        return self.folder / f"new-{self.written}{suffix}"


def refused(call):
    """The error with which a call was refused."""
    with pytest.raises(wv.WayveilError) as error:
        call()
    return error.type


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return Place(tmp_path_factory.mktemp("place"))


PRODUCT: dict[str, Any] = {
    "ask": lambda p: wv.ask(p.out, "stops", anyway=True).table.height,
    "display": lambda p: len(wv.display(p.city)),
    "draw_map": lambda p: wv.draw_map(p.made).svg,
    "export": lambda p: len(wv.export(p.out, "od", p.new(".csv"), anyway=True)),
    "guess_plan": lambda p: wv.guess_plan(p.folder / "trips.parquet", p.feed, ledger="none").said(),
    "mechanisms": lambda p: sorted(wv.mechanisms()),
    "open_ledger": lambda p: wv.open_ledger(p.folder / "ledger").datasets(),
    "open_world": lambda p: wv.open_world(GRID).size,
    "read_gtfs": lambda p: wv.read_gtfs(p.feed).size,
    "read_plan": lambda p: wv.read_plan(p.plan).said(),
    "read_points": lambda p: len(wv.read_points(p.folder / "points.csv", wv.open_world(GRID))),
    "read_taps": lambda p: len(wv.read_taps(p.folder / "taps.csv", p.city).taps),
    "read_trips": lambda p: len(wv.read_trips(p.folder / "trips.parquet", p.city)),
    "register": lambda p: wv.register(wv.Markov),
    "release": lambda p: len(p.release().trips) > 0,
    "resume_release": lambda p: refused(lambda: wv.resume_release(p.new(), p.city)),
    "risk": lambda p: wv.risk(p.made, p.trips).to_json(),
    "sample": lambda p: len(wv.sample(p.out, 20, seed=1)),
    "score": lambda p: wv.score(p.trips, p.made, queries=20, seed=1).to_json(),
    "trend": lambda p: wv.trend([p.made, p.release()], anyway=True).table.height,
    "verify_release": lambda p: len(wv.verify_release(p.out).files),
    "write_pictures": lambda p: len(wv.write_pictures(p.new(), p.made.trips)),
    "write_report": lambda p: wv.write_report(p.folder / "r.html", release=p.made).read_text(),
    "write_visits": lambda p: wv.write_visits(p.trips, p.new(".csv")),
}
LAB: dict[str, Any] = {
    "anonymise": lambda p: len(wv.lab.anonymise(p.trips.head(40), wv.lab.Glove(k=2)).trips) > 0,
    "compare": lambda p: p.compare().figures,
    "recommend": lambda p: len(wv.lab.recommend(p.comparison)),
    "risk_and_strap": lambda p: wv.lab.risk_and_strap(p.made, p.trips).to_json(),
    "simulate_city": lambda p: len(wv.lab.simulate_city(p.city, 30, seed=1).trips),
    "simulate_habit": lambda p: len(wv.lab.simulate_habit(p.city, 30, seed=1)),
    "simulate_week": lambda p: len(wv.lab.simulate_week(p.city, 30, seed=1)),
    "write_city": lambda p: wv.lab.write_city(p.new(".zip"), 3, stops=40, lines=4).read_bytes(),
}


@pytest.mark.parametrize("verb", verbs(wv))
def test_a_verb_of_the_product_works_twice_in_a_row(place, verb):
    assert PRODUCT[verb](place) == PRODUCT[verb](place)


@pytest.mark.parametrize("verb", verbs(wv.lab))
def test_a_verb_of_the_lab_works_twice_in_a_row(place, verb):
    assert LAB[verb](place) == LAB[verb](place)


def test_mechanisms_are_listed_whatever_was_loaded_before():
    code = (
        "import wayveil as wv; wv.Weave; a = wv.mechanisms(); b = wv.mechanisms(); print(a == b, len(a) > 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"


def test_no_public_name_is_hidden_by_a_room():
    for name in wv.__all__:
        found = getattr(wv, name)
        assert not inspect.ismodule(found) or callable(found) or name == "lab"


def test_researchers_names_are_in_the_lab():
    assert len([name for name in wv._HOMES if name != "lab"]) <= 48
    assert not set(wv.lab.__all__) & set(wv.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        wv.lab.nothing  # noqa: B018


def test_names_are_loaded_without_what_only_some_runs_need():
    heavy = "{'scipy.stats', 'scipy.optimize', 'scipy.spatial', 'duckdb', 'matplotlib', 'rich', 'typer'}"
    code = f"import sys, wayveil as wv; wv.release, wv.read_gtfs, wv.Weave; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
