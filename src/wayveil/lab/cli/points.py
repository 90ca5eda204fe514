"""`wayveil lab trips`: GPS points as trips over a public grid."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from wayveil.cli.nouns import Spoken, grouped
from wayveil.cli.options import present
from wayveil.cli.plan_options import PlanOptions
from wayveil.errors import ParameterError
from wayveil.progress import shown


@dataclass(frozen=True)
class TripsOptions(PlanOptions):
    """What `trips` takes: the keys of a plan that say what points are, and where trips go."""

    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where the trips go (.parquet or .csv).")
    ] = None


@grouped
def trips(options: TripsOptions, spoken: Spoken) -> None:
    """Read points as trips and write these, as raw as the points: for internal eyes.

    wayveil lab trips points.csv --world grid:37.60,-122.52,37.81,-122.35@250 --out trips.parquet
    """
    from wayveil.plan.plan import Plan
    from wayveil.plan.reading import files_of, open_plan_world, read_plan_points
    from wayveil.trips.visits import write_visits

    if options.out is None:
        raise ParameterError("say with --out where the trips go")
    with shown(not spoken.silent):
        plan = Plan.of(**{"epsilon": 1, "rows": "points", **options.values()})
        made = read_plan_points(plan.source, files_of(plan)[0], open_plan_world(plan))
        write_visits(made, options.out, riders=made.rider is not None)
    present({**made.describe(), "written_to": str(options.out)}, as_json=spoken.as_json)
