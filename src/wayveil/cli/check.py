"""`wayveil check`: what a file is, what is wrong with it, and the plan that a release of it would follow."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from wayveil.cli.options import (
    AsJson,
    BoundingBox,
    LedgerPlace,
    Quiet,
    ServiceDate,
    TripColumns,
    WalkRadius,
    grouped,
    present,
    remark,
)
from wayveil.cli.plan_options import parse_keys
from wayveil.cli.tables import say_lines
from wayveil.progress import shown
from wayveil.sources.column_names import parse_map


@dataclass(frozen=True)
class CheckOptions:
    """Options of `check`."""

    files: Annotated[
        list[str],
        typer.Argument(
            help="Rows in files, a folder, a pattern or a database table; a GTFS feed, or a list of locations."
        ),
    ]
    world: Annotated[
        str | None, typer.Option("--world", "-w", help="The public world that the rows refer to.")
    ] = None
    mapped: TripColumns = None
    epsilon: Annotated[
        str, typer.Option("--epsilon", "-e", help="The privacy budget that the plan is made for.")
    ] = "1"
    bbox: BoundingBox = None
    date: ServiceDate = None
    walk_radius: WalkRadius = None
    ledger: LedgerPlace = None
    others: Annotated[
        list[str] | None,
        typer.Option(
            "--with", help="What is known of the rows, a key of the plan (times=day.month.year); repeatable."
        ),
    ] = None
    save: Annotated[
        Path | None, typer.Option(help="Write the plan here (wayveil.toml); `wayveil release` follows it.")
    ] = None
    quiet: Quiet = False
    as_json: AsJson = False


@grouped
def check(options: CheckOptions) -> None:
    """Describe a file, its problems, and how to release it. Spends nothing. INTERNAL: do not publish what it prints.

    Ends with the exact `wayveil release` command that it recommends, or writes the plan with --save. The look at the
    rows is booked in the ledger in reach, free of charge.

        wayveil check rides.csv --world city.zip --save wayveil.toml
    """
    from wayveil.plan.files import write_plan
    from wayveil.plan.guess import Guess

    keys = {"bbox": options.bbox, "service_date": options.date, "walk_radius": options.walk_radius}
    with shown(not options.quiet and not options.as_json):
        checked = Guess(
            options.files,
            options.world,
            {key: value for key, value in keys.items() if value is not None},
            parse_map(options.mapped or []),
            options.epsilon,
            options.ledger,
            parse_keys(options.others or []),
        ).look()
    if options.save is not None and checked.plan is not None:
        write_plan(checked.plan, options.save)
    if options.as_json:
        present(checked.facts(), as_json=True)
    else:
        say_lines(checked.lines())
    if options.save is not None and checked.plan is not None:
        remark(f"The plan is in {options.save}; look at it, then: wayveil release --plan {options.save}")
    if not checked.findings.ok:
        raise typer.Exit(2)
