"""Commands about releases that are made: `score`, `report`, `export`, `sample`, `verify`."""

from pathlib import Path
from typing import Annotated

import typer

from wayveil.cli.opening import Look, Trust, open_release, read_raw
from wayveil.cli.options import (
    Anyway,
    AsJson,
    BoundingBox,
    DatasetName,
    LedgerPlace,
    Quiet,
    ServiceDate,
    WalkRadius,
    present,
    remark,
)
from wayveil.cli.risk import attack_beside, risk_page_beside
from wayveil.cli.tap_commands import OptionalWorld
from wayveil.errors import ParameterError
from wayveil.exports.menu import MENU, menu_text
from wayveil.progress import shown

RawFile = Annotated[Path, typer.Argument(help="The raw trips (parquet, csv, or a sequence file).")]
ReleaseFolder = Annotated[Path, typer.Argument(help="The folder of a release.")]
Queries = Annotated[int, typer.Option(min=1, help="Count queries of each workload.")]
# Enough for errors to a thirtieth of themselves, in less time than the release took; `score` asks forty times as many.
REPORT_QUERIES = 1_000
Full = Annotated[
    bool,
    typer.Option(
        "--full",
        help="Ask every question that fits: also n-grams, replay, frequent patterns, origins and destinations, the "
        "agency's operations, ranges, the GPS set, feasibility. Minutes on a million trips; the bar says how many.",
    ),
]


def score(
    trips: RawFile,
    release: ReleaseFolder,
    full: Full = False,
    world: OptionalWorld = None,
    bbox: BoundingBox = None,
    date: ServiceDate = None,
    walk_radius: WalkRadius = None,
    trust: Trust = None,
    queries: Queries = 40_000,
    seed: Annotated[int, typer.Option(help="Seed of the queries and reference lines.")] = 0,
    ledger: LedgerPlace = None,
    dataset: DatasetName = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Compare a release with the raw trips. NOT for publication.

    Every figure stands between three lines. The **ceiling** is a resample of the raw trips, about as good as a private
    release of a crowd can be expected to get. The **floor** is made from public knowledge alone: a release that does
    not beat it tells nothing about these riders. The **empty** release has no trips at all: a figure on which silence
    does well is easy. Read the error of *non-empty* count queries first. docs/metrics.md defines every figure. The
    look at the raw trips is booked in the ledger in reach, free of charge.
    """
    from wayveil.utility.scorecard import score as score_release

    with shown(not quiet and not as_json):
        private = open_release(release, world, bbox=bbox, date=date, walk_radius=walk_radius, trust=trust)
        raw, _ = read_raw(trips, private, look=Look("score", ledger, dataset))
        card = score_release(raw, private, suite="full" if full else "core", queries=queries, seed=seed)
    typer.echo(card.to_json() if as_json else str(card))
    if not full:
        remark("The short list; --full asks every question that fits the data.", quiet=quiet or as_json)


def report(
    release: ReleaseFolder,
    world: OptionalWorld = None,
    raw: Annotated[
        Path | None, typer.Option(help="The raw trips: adds the comparison and makes the report internal.")
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The HTML file; its pictures and their csv go beside it.")
    ] = Path("report.html"),
    full: Full = False,
    comparison: Annotated[
        Path | None,
        typer.Option(help="Folder of `wayveil compare`, shown in the internal report (with --raw)."),
    ] = None,
    risk: Annotated[
        bool,
        typer.Option(
            "--risk", help="With --raw: attack the release and write a page on it beside the report."
        ),
    ] = False,
    holdout: Annotated[
        Path | None, typer.Option(help="With --risk: trips of people who are not in the data.")
    ] = None,
    bbox: BoundingBox = None,
    date: ServiceDate = None,
    walk_radius: WalkRadius = None,
    trust: Trust = None,
    queries: Queries = REPORT_QUERIES,
    ledger: LedgerPlace = None,
    dataset: DatasetName = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write a self-contained HTML report, and beside it every picture as SVG with its numbers as csv.

    Without --raw it may be published: maps, rankings with error bars, origins and destinations, hours, lengths,
    patterns, the datasheet. With --raw it is for internal eyes: all of that beside the raw trips, and the errors; the
    look at the raw trips is booked in the ledger in reach.
    """

    from wayveil.lab.comparison.comparison_results import Comparison
    from wayveil.report.report_page import write_report
    from wayveil.utility.scorecard import score as score_release

    if comparison is not None and raw is None:
        raise ParameterError(
            "a comparison was made from raw trips and goes into the internal report: give --raw too"
        )
    if (risk or holdout is not None) and not (risk and raw is not None):
        raise ParameterError("attacks start from the raw trips and are internal: give --raw and --risk")
    with shown(not quiet and not as_json):
        private = open_release(release, world, bbox=bbox, date=date, walk_radius=walk_radius, trust=trust)
        if raw is None:
            write_report(out, release=private, audience="public")
        else:
            trips, _ = read_raw(raw, private, look=Look("report", ledger, dataset))
            card = score_release(trips, private, suite="full" if full else "core", queries=queries)
            compared = None if comparison is None else Comparison.load(comparison)
            beside = None
            if risk:  # first, so that a hold-out that is refused leaves nothing behind
                beside = attack_beside(out, private, raw, trips, holdout)
            write_report(
                out,
                release=private,
                raw=trips,
                scorecard=card,
                comparison=compared,
                audience="internal",
                risk_page=None if beside is None else beside.name,
            )
    facts = {"report": str(out), "figures": str(out.with_name(f"{out.stem}-figures"))}
    facts |= {"risk": str(risk_page_beside(out))} if risk else {}
    present({**facts, "for": "publication" if raw is None else "internal eyes only"}, as_json=as_json)


def verify(
    release: ReleaseFolder,
    key: Annotated[
        str | None,
        typer.Option(help="Fingerprint of the data holder's key, as you got it from the data holder."),
    ] = None,
    any_key: Annotated[
        bool,
        typer.Option("--any-key", help="Take whoever signed: checks that nothing changed, not who made it."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check that a release is as it was signed, and by whom: a changed byte is an error that names the file.

    A key that you have not seen before is an error too: compare its fingerprint with the one that the data holder gives
    out, and give it with --key once. It is then pinned, and later releases by the same key need no word.
    """
    from wayveil.released.verification import ANY_KEY, verify_release

    found = verify_release(release, trust=ANY_KEY if any_key else key)
    facts = {"folder": str(found.folder), "files": len(found.files), "key": found.key}
    present({**facts, "verdict": "as signed"}, as_json=as_json)


def export(
    release: ReleaseFolder,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="The file to write; a folder for tides and gtfs-ride, two files for flowmap."
        ),
    ],
    kind: Annotated[str, typer.Option("--format", "-f", help=menu_text())] = "od",
    put_on: Annotated[
        str | None,
        typer.Option(
            help="A date, YYYY-MM-DD, for released trips that have none, in formats with dates. Default: that of "
            "--date."
        ),
    ] = None,
    feed: Annotated[
        Path | None,
        typer.Option(
            help="GTFS feed whose runs gtfs-ride names. Default: --world, if that is a feed and not a saved network."
        ),
    ] = None,
    anyway: Anyway = False,
    world: OptionalWorld = None,
    bbox: BoundingBox = None,
    date: ServiceDate = None,
    walk_radius: WalkRadius = None,
    trust: Trust = None,
    as_json: AsJson = False,
) -> None:
    """Write a release in a format that other tools read. Costs nothing: the release is already private.

    All formats of a release have the same totals, and whole numbers that are not negative. Formats with dates (tides,
    gtfs-ride, od-month) want them, and most releases have times of day only: --put-on gives them one. docs/exports.md
    says what each format holds.
    """
    from wayveil.answers.trip_periods import is_dated
    from wayveil.exports.parts import verdict_on
    from wayveil.exports.write import export as write

    private = open_release(release, world, bbox=bbox, date=date, walk_radius=walk_radius, trust=trust)
    entry = MENU.get(kind)
    if entry is not None and entry.feed and feed is None and world is not None and world.suffix != ".npz":
        feed = world
    if entry is not None and entry.dated and put_on is None and not is_dated(private.whole.trips):
        put_on = date
    files = write(private, kind, out, anyway=anyway, put_on=put_on, feed=feed)
    verdict = verdict_on(private, kind)
    facts = {"format": kind, "written_to": [str(file) for file in files]}
    present(facts if verdict is None else {**facts, "verdict": verdict}, as_json=as_json)


def sample(
    release: ReleaseFolder,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the trips go (.parquet or .csv).")],
    trips: Annotated[
        int | None, typer.Option(min=1, help="How many; default: as many as the release says there are.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed draws the same trips.")] = None,
    world: OptionalWorld = None,
    bbox: BoundingBox = None,
    date: ServiceDate = None,
    walk_radius: WalkRadius = None,
    trust: Trust = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Draw more private trips from the model of a release. They are paid for: this costs nothing."""
    from wayveil.synthesis.model import DrawsMore
    from wayveil.trips.visits import write_visits

    with shown(not quiet and not as_json):
        private = open_release(release, world, bbox=bbox, date=date, walk_radius=walk_radius, trust=trust)
        if not isinstance(private.model, DrawsMore):
            made_by = private.datasheet["mechanism"]["name"]
            raise ParameterError(f"the model of this release ({made_by}) draws its own number of trips only")
        drawn = private.model.draw(trips, seed)
        write_visits(drawn, out)
    present({"trips": len(drawn), "written_to": str(out)}, as_json=as_json)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (score, report, export, sample, verify):
        app.command()(command)
