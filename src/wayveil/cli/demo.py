"""`wayveil demo`: the whole job on a city of our own."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from wayveil.cli.options import AsJson, Quiet, present
from wayveil.errors import InputError
from wayveil.progress import shown

MARK = ".wayveil-demo"
# What the plan of the demo says beside its budget.
SAID = {
    "files": "raw-trips.parquet",
    "world": "city.zip",
    "walk_radius": 250,
    "rows": "calls",
    "unit": "rider",
    "max_trips": 2,
    "ledger": "ledger",
    "name": "demo",
    "curator": "Wayveil demo",
    "purpose": "showing what a release holds",
    "region": "a simulated city",
    "contact": "nobody, it is simulated",
}


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for everything the demo makes.")] = Path(
        "demo"
    ),
    riders: Annotated[int, typer.Option(min=100, help="Simulated riders, each there and back.")] = 50_000,
    epsilon: Annotated[str, typer.Option(help="Privacy budget of the release.")] = "1",
    seed: Annotated[int, typer.Option(help="Seed of the city and its riders (never of the noise).")] = 7,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Make a city, simulate its riders, release their trips privately, measure the result, and show it.

    wayveil demo --out demo/
    """
    from wayveil.plan.files import NAME, write_plan
    from wayveil.plan.plan import Plan
    from wayveil.plan.reading import open_plan_world
    from wayveil.privacy.budget import release_epsilon
    from wayveil.report.report_page import write_report
    from wayveil.run import run
    from wayveil.simulate.city import simulate_city
    from wayveil.simulate.feed import write_city
    from wayveil.trips.visits import write_visits
    from wayveil.utility.scorecard import score
    from wayveil.world.network import Network

    budget = release_epsilon(epsilon)
    _start_afresh(out)
    plan = Plan.of(epsilon=budget, policy_epsilon=10 + budget, path=out / NAME, **SAID)
    with shown(not quiet and not as_json):
        write_city(out / "city.zip", seed=seed)
        city = open_plan_world(plan)
        assert isinstance(city, Network)  # a feed is one
        trips = simulate_city(city, riders, seed=seed, trips_per_rider=2).trips
        write_visits(trips, out / "raw-trips.parquet", riders=True)
        write_plan(plan, out / NAME)
        private = run(plan)
        card = score(trips, private, seed=seed)
        inside = out / "report-internal.html"
        write_report(inside, raw=trips, release=private, scorecard=card, audience="internal")
        write_report(out / "report.html", release=private, audience="public")
    facts = {
        "guarantee": private.datasheet["guarantee"]["sentence"],
        "raw_trips": len(trips),
        "private_trips": len(private.trips),
        "plan": str(out / NAME),
        "release": str(out / "release"),
        "report_to_publish": str((out / "report.html").resolve()),
        "report_for_internal_eyes": str((out / "report-internal.html").resolve()),
    }
    present(facts, as_json=as_json)


def _start_afresh(out: Path) -> None:
    """Empty the demo's own folder; never touch a folder that the demo did not make."""
    if out.exists():
        if not (out / MARK).exists():
            raise InputError("already exists and is not a demo's folder; choose another with --out", file=out)
        shutil.rmtree(out)
    out.mkdir(parents=True)
    (out / MARK).touch()
