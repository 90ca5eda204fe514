"""`trend`: what changed between releases, and what noise could have made."""

from pathlib import Path
from typing import Annotated

import typer

from wayveil.cli.options import (
    Anyway,
    AsJson,
    BoundingBox,
    Quiet,
    ServiceDate,
    WalkRadius,
    WorldFile,
    present_rows,
    remark,
)
from wayveil.errors import ParameterError
from wayveil.progress import shown


def trend(
    releases: Annotated[
        list[Path], typer.Argument(help="Folders of two releases or more, the oldest first.")
    ],
    world: WorldFile,
    question: Annotated[
        str,
        typer.Option(
            "--question",
            help="What may have changed: total, stops, hours, stop-hours, routes; boardings, alightings, journeys.",
        ),
    ] = "stops",
    top: Annotated[int, typer.Option(min=1, help="Rows to show.")] = 20,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write the whole table (.csv, .parquet, .json), or a page with pictures (.html).",
        ),
    ] = None,
    bbox: BoundingBox = None,
    date: ServiceDate = None,
    walk_radius: WalkRadius = None,
    anyway: Anyway = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Say what changed from the first release to the last, with intervals from the noise of both.

    A change is named only where it stands out among all numbers; of the others it is said that noise could have made
    them. Ranks are ranges: those that a stop may have, given the noise. Releases are public, so asking costs nothing.

        wayveil trend week01 week05 --world city.zip
        wayveil trend week01 week02 week03 --world city.zip --out trend.html
    """
    import polars as pl

    from wayveil.answers.spreadsheets import write_csv
    from wayveil.answers.trends import find_trend
    from wayveil.releases.priors import open_prior
    from wayveil.report.trend_page import write_trend_page
    from wayveil.world.opening import open_world

    if out is not None and out.suffix not in (".csv", ".parquet", ".json", ".html"):
        raise ParameterError(f"--out takes .csv, .parquet, .json or .html, not {out.suffix or out.name!r}")
    with shown(not quiet and not as_json):
        city = open_world(world, bbox=bbox, service_date=date, walk_radius_metres=walk_radius)
        opened = [open_prior(folder, city) for folder in releases]
        found = find_trend(opened, question, anyway=anyway)
        if out is not None and out.suffix == ".html":
            write_trend_page(out, opened, anyway=anyway)
        elif out is not None:
            noted = found.table.with_columns(note=pl.lit(found.note))
            if out.suffix == ".parquet":
                noted.write_parquet(out)
            elif out.suffix == ".json":
                noted.write_json(out)
            else:
                write_csv(noted, out)
    table = found.changed if found.changed.height else found.table
    if as_json:
        present_rows(found.table.to_dicts(), as_json=True)
        return
    # People are whole; files have the numbers as they are.
    whole = pl.selectors.float().round(0).cast(pl.Int64, strict=False)
    shown_rows = table.drop("before_low", "before_high", "after_low", "after_high").head(top)
    rows = shown_rows.with_columns(whole).to_dicts()
    present_rows(rows, as_json=False, title=f"{question}, from {found.names[0]} to {found.names[-1]}")
    remark(found.words, quiet=quiet)
    remark(found.note, quiet=quiet)
