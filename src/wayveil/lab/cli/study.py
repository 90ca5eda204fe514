"""`wayveil lab study`: run a published study, ours beside theirs."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wayveil.cli.options import BoundingBox, Spoken, grouped, present_rows, remark
from wayveil.errors import ParameterError
from wayveil.progress import shown

if TYPE_CHECKING:
    from wayveil.lab.studies.lab import Scale


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """Options of `study`."""

    name: Annotated[
        str, typer.Argument(help="Which: see the list below; `list` prints the names.", show_default=False)
    ]
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder of the page; a run that was stopped goes on in it."),
    ] = None
    quick: Annotated[
        bool, typer.Option("--quick", help="Minutes: few repetitions on small data (default).")
    ] = False
    full: Annotated[
        bool, typer.Option("--full", help="As often as the study did, on as much data: hours.")
    ] = False
    tiny: Annotated[
        bool, typer.Option("--tiny", help="Seconds: shows that everything runs; its figures say nothing.")
    ] = False
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder with public data sets (msnbc/, berlin/, ...; docs/studies.md lists them). Without it, or "
            "where a file is missing, data is simulated."
        ),
    ] = None
    world: Annotated[
        Path | None,
        typer.Option("--world", "-w", help="Your own city (GTFS or a saved network) for simulated riders."),
    ] = None
    trips: Annotated[
        Path | None,
        typer.Option(help="Your own trips on --world. The page then shows figures of raw trips: internal."),
    ] = None
    bbox: BoundingBox = None
    repetitions: Annotated[
        int | None,
        typer.Option(
            min=1, help="At most so many of each setting; a later run with more adds to the folder."
        ),
    ] = None
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Run the settings alone that have this value, such as data=MSNBC; repeatable. The page shows all that "
            "the folder holds."
        ),
    ] = None
    minutes: Annotated[
        float | None,
        typer.Option(min=0, help="Begin nothing after so many minutes; the next run goes on in the folder."),
    ] = None
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; default: one per core.")] = None


@grouped
def study(options: StudyOptions, spoken: Spoken) -> None:
    """Repeat a published study: its tables and figures, ours beside what it printed, and where and why ours differ.

    The folder gets one page (`index.html`), every figure as svg and csv, `results.csv` with every run, and
    `figures.json`: reached, not reached, cannot tell, or not reproducible, for every published table and figure.

        wayveil lab study mobitrie --quick --out page/

        wayveil lab study mobitrie --full --data public-data/ --out mobitrie/
    """
    from wayveil.lab.studies.run_study import studies

    if options.name == "list":
        present_rows([{"study": one} for one in studies()], as_json=spoken.as_json)
        return
    if options.out is None:
        raise ParameterError("name a folder for the page: --out page/")
    if options.quick + options.full + options.tiny > 1:
        raise ParameterError("choose one of --quick, --full and --tiny")
    if options.trips is not None and options.world is None:
        raise ParameterError("--trips need the public places that they are about: add --world")
    if options.bbox is not None and options.world is None:
        raise ParameterError("--bbox cuts your own city: add --world")
    if options.data is not None and not options.data.is_dir():
        raise ParameterError(f"--data takes a folder, and {options.data} is none")
    from wayveil.lab.studies.lab import Lab
    from wayveil.lab.studies.study_page import study_page, summary_rows

    scale: Scale = "full" if options.full else "tiny" if options.tiny else "quick"
    lab = Lab(
        scale=scale,
        data=options.data,
        world=options.world,
        trips=options.trips,
        bbox=options.bbox,
        out=options.out,
        repetitions=options.repetitions,
        only=_values(options.only or []),
    )
    with shown(not spoken.silent):
        page, verdicts, results = study_page(
            options.name, lab, workers=options.workers, minutes=options.minutes
        )
    present_rows(summary_rows(verdicts), as_json=spoken.as_json, title=f"{options.name}, {scale}")
    for place, reason in results.gaps():
        remark(f"{place}: {reason}", quiet=spoken.silent)
    notice = "Not for publication: it shows figures of raw trips. " if lab.internal else ""
    remark(f"Page: {page}. {notice}", quiet=spoken.silent)
    if any(cell["status"] == "failed" for cell in results.cells):
        raise typer.Exit(1)


def _values(said: list[str]) -> dict[str, str]:
    """name=value, as they are said."""
    found = [one.partition("=") for one in said]
    if not all(name and value for name, _, value in found):
        raise ParameterError("--only takes a name and a value: data=MSNBC")
    return {name: value for name, _, value in found}
