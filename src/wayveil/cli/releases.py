"""Commands about releases that are made: `score`, `report`, `export`, `verify`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wayveil.cli.opening import HeldWorld, Inside, ReleaseFolder, open_release, read_raw
from wayveil.cli.options import Anyway, AsJson, LedgerPlace, Spoken, grouped, present, remark
from wayveil.cli.risk import attack_beside
from wayveil.errors import ParameterError
from wayveil.exports.menu import menu_text
from wayveil.progress import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wayveil.releases.release import Release
    from wayveil.report.chart import FurtherSection
    from wayveil.trips.trips import Trips

RawFile = Annotated[Path, typer.Argument(help="The raw trips (parquet, csv, or a sequence file).")]
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


@grouped
def score(
    trips: RawFile,
    release: ReleaseFolder,
    spoken: Spoken,
    full: Full = False,
    queries: Queries = 40_000,
    seed: Annotated[int, typer.Option(help="Seed of the queries and reference lines.")] = 0,
    ledger: LedgerPlace = None,
    world: HeldWorld = None,
) -> None:
    """Compare a release with the raw trips. NOT for publication.

    Every figure stands between three lines. The **ceiling** is a resample of the raw trips, about as good as a private
    release of a crowd can be expected to get. The **floor** is made from public knowledge alone: a release that does
    not beat it tells nothing about these riders. The **empty** release has no trips at all: a figure on which silence
    does well is easy. Read the error of *non-empty* count queries first. docs/metrics.md defines every figure. The
    look at the raw trips is booked in the ledger in reach, free of charge.

        wayveil score trips.csv release/
    """
    from wayveil.utility.scorecard import score as score_release

    with shown(not spoken.silent):
        private = open_release(release, world)
        raw, _ = read_raw(trips, private, "score", ledger)
        card = score_release(raw, private, suite="full" if full else "core", queries=queries, seed=seed)
    typer.echo(card.to_json() if spoken.as_json else str(card))
    if not full:
        remark("The short list; --full asks every question that fits the data.", quiet=spoken.silent)


@dataclass(frozen=True)
class Attacked:
    """Options of the attacks beside an internal report."""

    risk: Annotated[
        bool,
        typer.Option(
            "--risk", help="With --raw: attack the release and write a page on it beside the report."
        ),
    ] = False
    holdout: Annotated[
        Path | None, typer.Option(help="With --risk: trips of people who are not in the data.")
    ] = None


@grouped
def report(
    release: ReleaseFolder,
    inside: Inside,
    attacked: Attacked,
    spoken: Spoken,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The HTML file; its pictures and their csv go beside it.")
    ] = Path("report.html"),
    full: Full = False,
    queries: Queries = REPORT_QUERIES,
    world: HeldWorld = None,
) -> None:
    """Write a self-contained HTML report, and beside it every picture as SVG with its numbers as csv.

    Without --raw it may be published: maps, rankings with error bars, origins and destinations, hours, lengths,
    patterns, the datasheet. With --raw it is for internal eyes: all of that beside the raw trips, and the errors; the
    look at the raw trips is booked in the ledger in reach.

        wayveil report release/ --out report.html
    """
    from wayveil.report.report_page import write_report

    raw = inside.raw
    if (attacked.risk or attacked.holdout is not None) and not (attacked.risk and raw is not None):
        raise ParameterError("attacks start from the raw trips and are internal: give --raw and --risk")
    with shown(not spoken.silent):
        private = open_release(release, world)
        if raw is None:
            write_report(out, release=private, audience="public")
            facts = {"for": "publication"}
        else:
            trips, _ = read_raw(raw, private, "report", inside.ledger)
            further, facts = [], {"for": "internal eyes only"}
            if attacked.risk:  # first, so that a hold-out that is refused leaves nothing behind
                further.append(attack_beside(out, private, raw, trips, attacked.holdout))
                facts = {"risk": str(out.with_name(further[0].target)), **facts}
            write_internal(out, private, trips, further, full=full, queries=queries)
    figures = str(out.with_name(f"{out.stem}-figures"))
    present({"report": str(out), "figures": figures, **facts}, as_json=spoken.as_json)


def write_internal(
    out: Path,
    release: "Release",
    raw: "Trips",
    further: "Sequence[FurtherSection]",
    *,
    full: bool,
    queries: int,
) -> None:
    """Measure a release against the raw trips and write the internal report with these further sections."""
    from wayveil.report.report_page import write_report
    from wayveil.utility.scorecard import score as score_release

    card = score_release(raw, release, suite="full" if full else "core", queries=queries)
    write_report(out, release=release, raw=raw, scorecard=card, further=further, audience="internal")


def verify(
    release: ReleaseFolder,
    key: Annotated[
        str | None,
        typer.Option(
            help="Fingerprint of the data holder's or the officer's key, as its owner gave it to you."
        ),
    ] = None,
    any_key: Annotated[
        bool,
        typer.Option("--any-key", help="Take whoever signed: checks that nothing changed, not who made it."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check who signed a release and that it is unchanged. Any changed byte is an error that names the file.

    A key that you have not seen before is an error too: compare its fingerprint with the one that the data holder gives
    out, and give it with --key once. It is then pinned, and later releases by the same key need no word.

        wayveil verify release/
    """
    from wayveil.released.verification import ANY_KEY, is_trusted, verify_release

    found = verify_release(release, trust=ANY_KEY if any_key else key)
    facts = {"folder": str(found.folder), "files": len(found.files), "key": found.key}
    if (made := found.approval) is not None:
        known = (
            ""
            if made.is_own or is_trusted(made.fingerprint)
            else ", not known here: compare it, then give it with --key"
        )
        facts["officer"] = f"{made.decision} ({made.officer}, {made.time}, key {made.fingerprint}{known})"
    present({**facts, "verdict": "as signed"}, as_json=as_json)


@dataclass(frozen=True)
class ExportOptions:
    """Options of `export`: the format, and what a release does not say itself."""

    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="The file to write; a folder for tides and gtfs-ride, two files for flowmap."
        ),
    ]
    kind: Annotated[str, typer.Option("--format", "-f", help=menu_text())] = "od"
    put_on: Annotated[
        str | None,
        typer.Option(help="A date, YYYY-MM-DD, for released trips that have none, in formats with dates."),
    ] = None
    feed: Annotated[Path | None, typer.Option(help="GTFS feed whose runs gtfs-ride names.")] = None
    said: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            help="What the plan did not say, key=value: curator, curator_type, purpose, region, contact; repeatable.",
        ),
    ] = None


@grouped
def export(
    release: ReleaseFolder,
    options: ExportOptions,
    anyway: Anyway = False,
    world: HeldWorld = None,
    as_json: AsJson = False,
) -> None:
    """Write a release in a format that other tools read. Costs nothing: the release is already private.

    All formats of a release have the same totals, and whole numbers that are not negative. Formats with dates (tides,
    gtfs-ride, od-month) want them, and most releases have times of day only: --put-on gives them one. docs/exports.md
    says what each format holds.

        wayveil export release/ --format od --out od.csv
    """
    from wayveil.exports.parts import judge_format
    from wayveil.exports.write import export as write
    from wayveil.plan.ordering import parse_settings

    private = open_release(release, world)
    kind, stated = options.kind, parse_settings(options.said or [], "--with")
    put_on, feed = options.put_on, options.feed
    files = write(private, kind, options.out, anyway=anyway, put_on=put_on, feed=feed, stated=stated)
    facts = {"format": kind, "written_to": [str(file) for file in files]}
    verdict = judge_format(private, kind, anyway=True)
    present({**facts, "verdict": verdict} if verdict else facts, as_json=as_json)
