"""`ask`: questions to a release, and to several of them: what changed."""

from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayveil.answers.questions import ALL, QUESTIONS, TRIP_QUESTIONS, explain_questions
from wayveil.cli.opening import HeldWorld, Inside, open_release, read_raw
from wayveil.cli.options import Anyway, Spoken, grouped, present_rows, remark
from wayveil.errors import ParameterError
from wayveil.progress import shown

if TYPE_CHECKING:
    import polars as pl

    from wayveil.releases.release import Release

WHICH = "Which part of it"
ADDED = "What a question needs"


@dataclass(frozen=True)
class AskedPart:
    """Options that say which part of a release is asked about."""

    by: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=WHICH,
            help="A row for every `hour`, `day` or `weekday`; of taps also for several: `day,hour`.",
        ),
    ] = None
    between: Annotated[
        tuple[str, str] | None,
        typer.Option(rich_help_panel=WHICH, help="Two times of the day: --between 07:00 09:00."),
    ] = None
    weekdays: Annotated[
        bool, typer.Option("--weekdays", rich_help_panel=WHICH, help="Monday to Friday only.")
    ] = False
    on: Annotated[
        list[str] | None,
        typer.Option(rich_help_panel=WHICH, help="A date (2024-12-16) or a weekday (Monday); repeatable."),
    ] = None
    route: Annotated[
        list[str] | None,
        typer.Option(rich_help_panel=WHICH, help="Id or name of a route; repeatable. Taps, and line-load."),
    ] = None
    stops: Annotated[
        list[str] | None,
        typer.Option("--stop", rich_help_panel=WHICH, help="Id of a stop, such as a hub; repeatable."),
    ] = None
    district: Annotated[
        list[str] | None,
        typer.Option(rich_help_panel=WHICH, help="Name of a district of --districts; repeatable."),
    ] = None
    districts: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=WHICH,
            help="Which stop lies in which district: a csv with stop_id and district, or a GeoJSON of named areas. "
            "For the question districts, and for --district.",
        ),
    ] = None


@dataclass(frozen=True)
class Needs:
    """Options that some questions need."""

    over: Annotated[
        float | None,
        typer.Option(
            rich_help_panel=ADDED,
            help="The share of trips above so many minutes (`durations`) or kilometres (`distances`).",
        ),
    ] = None
    timetable: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=ADDED,
            help="For `load` and `line-load`: the GTFS feed that says what ran on these days and hours.",
        ),
    ] = None
    timetable_date: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=ADDED,
            help="With --timetable: the day whose runs every day had, where its calendars do not cover them.",
        ),
    ] = None
    days: Annotated[
        int | None,
        typer.Option(
            min=1,
            rich_help_panel=ADDED,
            help="With --timetable, for releases without dates: on how many days people were counted.",
        ),
    ] = None
    seats: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=ADDED,
            help="For `load` and `line-load`: seats of a vehicle (38 by default), or a csv with seats by route_id or "
            "trip_id.",
        ),
    ] = None
    delays: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=ADDED,
            help="For `delay`: TIDES stop_visits (csv, parquet), or GTFS-realtime trip updates (.pb).",
        ),
    ] = None


@dataclass(frozen=True)
class Listing:
    """Options that say what becomes of the answer."""

    top: Annotated[int, typer.Option(min=1, help="Rows to show.")] = 20
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write the whole table (.csv, .parquet, .json); of several releases also a page of pictures (.html).",
        ),
    ] = None
    anyway: Anyway = False


@grouped
def ask(
    releases: Annotated[
        list[Path] | None,
        typer.Argument(help="The folder of a release; or of several, the oldest first: what changed."),
    ] = None,
    question: Annotated[str | None, typer.Argument(help=explain_questions())] = None,
    *,
    part: AskedPart,
    needs: Needs,
    listing: Listing,
    inside: Inside,
    spoken: Spoken,
    world: HeldWorld = None,
) -> None:
    """Answer an agency's question from a release, with error bars that cost no budget.

    Boardings of a route in the morning peak: `ask R boardings --route 14 --weekdays --between 07:00 09:00`. The busiest
    stops of a district: `ask R most-used --top 10 --districts city.geojson --district Centre`. How full a route is:
    `ask R load --route 14 --between 08:00 09:00 --timetable feed.zip`. A filter that a question cannot use is refused.
    Where no interval is known, the answer says so.

    With two or more releases: what changed from the first to the last, with intervals from the noise of both. Only
    changes that stand out are named; the others could be noise.

        wayveil ask release/ boardings
        wayveil ask week1/ week5/ boardings --out changes.html
    """
    known = (*TRIP_QUESTIONS, *QUESTIONS, ALL)
    if question is None or not releases:
        # A single word is taken for the question.
        folder, said = ("release", question) if question in known else (question or "release", "boardings")
        raise ParameterError(
            f"name a release and a question: wayveil ask {quote(folder)} {said}; the questions are {', '.join(known)}"
        )
    if question not in known:
        raise ParameterError(f"unknown question {question!r}; choose one of {', '.join(known)}")
    added = {name: value for group in (part, needs) for name, value in vars(group).items() if value}
    several = len(releases) > 1
    for name in (*added, *(["raw"] if inside.raw is not None else [])):
        if several:
            raise ParameterError(f"--{name.replace('_', '-')} belongs to one release, not to several")
        if question == ALL and name not in ("seats", "raw"):
            raise ParameterError(f"--{name.replace('_', '-')} belongs to one question, not to all")
    _check_out(listing.out, page=several)
    with shown(not spoken.silent):
        opened = [open_release(folder, world) for folder in releases]
        found = (
            _compare(opened, question, listing)
            if several
            else _answer(opened[0], question, added, listing, inside)
        )
        if listing.out is not None and listing.out.suffix != ".html":
            _write(found.noted, listing.out)
    found.present(listing.top, spoken)


@dataclass(frozen=True, eq=False)
class Found:
    """An answer as people see it.

    table  what a person is shown, `noted` what leaves in a file or for a program: it says the same as the terminal
    whole  whether a person is shown all rows
    """

    title: str
    table: "pl.DataFrame"
    noted: "pl.DataFrame"
    notes: list[str]
    whole: bool = False

    def present(self, top: int, spoken: Spoken) -> None:
        """Show it to a person, or to a machine."""
        if spoken.as_json:
            present_rows(self.noted.to_dicts(), as_json=True)
            return
        rows = self.table if self.whole else self.table.head(top)
        present_rows([_short(row) for row in _told_once(rows).to_dicts()], as_json=False, title=self.title)
        if rows.height < self.table.height:
            more = self.table.height - rows.height
            remark(f"{more:,} more rows: --top, or all of them with --out.", quiet=spoken.quiet)
        for note in self.notes:
            remark(note, quiet=spoken.quiet)


def _answer(
    release: "Release", question: str, added: dict[str, Any], listing: Listing, inside: Inside
) -> Found:
    """One release, asked one question or all."""
    import polars as pl

    from wayveil.answers.asked import Asked
    from wayveil.answers.asking import ask_release

    beside = None
    if inside.raw is not None:
        from wayveil.utility.raw_answers import RawAnswers

        beside = RawAnswers(*read_raw(inside.raw, release, "ask", inside.ledger))
    warned = [] if release.datasheet["private"] else [release.datasheet["guarantee"]["sentence"]]
    if question == ALL:
        from wayveil.answers.answer_sheet import answer_sheet
        from wayveil.answers.asking import ask_release

        sheet = answer_sheet(
            release,
            top=listing.top,
            seats=added.get("seats"),
            answering=beside or ask_release,
            anyway=listing.anyway,
        )
        noted = sheet.table.with_columns(note=pl.col("question").replace_strict(sheet.notes, default=""))
        return Found("answers", sheet.table, noted, [*warned, *sheet.say_once()], whole=True)
    asked = Asked.of(question, top=listing.top, **added)
    answer = ask_release(release, asked, anyway=listing.anyway, beside=beside)
    noted = answer.table.with_columns(note=pl.lit(answer.note))
    quoted = [f'For a paper: "{answer.sentence}"'] if answer.sentence else []
    return Found(
        answer.title, answer.table, noted, [*warned, answer.note, *quoted], whole=question == "hours"
    )


def _compare(releases: "list[Release]", question: str, listing: Listing) -> Found:
    """Several releases: what changed from the first to the last."""
    import polars as pl

    from wayveil.answers.trends import find_trend

    trend = find_trend(releases, question, anyway=listing.anyway)
    if listing.out is not None and listing.out.suffix == ".html":
        from wayveil.report.trend_page import write_trend_page

        write_trend_page(listing.out, releases, anyway=listing.anyway)
    # People are whole; files have the numbers as they are.
    table = trend.changed if trend.changed.height else trend.table
    table = table.drop("before_low", "before_high", "after_low", "after_high")
    table = table.with_columns(pl.selectors.float().round(0).cast(pl.Int64, strict=False))
    title = f"{question}, from {trend.names[0]} to {trend.names[-1]}"
    return Found(title, table, trend.table.with_columns(note=pl.lit(trend.note)), [trend.words, trend.note])


def _check_out(out: Path | None, *, page: bool) -> None:
    known = [".csv", ".parquet", ".json", *([".html"] if page else [])]
    if out is not None and out.suffix not in known:
        hint = "; a page of one release is made by `wayveil report`" if out.suffix == ".html" else ""
        said = f"{', '.join(known[:-1])} or {known[-1]}"
        raise ParameterError(f"--out takes {said}, not {out.suffix or out.name!r}{hint}")


def _write(table: "pl.DataFrame", out: Path) -> None:
    from wayveil.answers.spreadsheets import write_csv

    if out.suffix == ".parquet":
        table.write_parquet(out)
    elif out.suffix == ".json":
        table.write_json(out)
    else:
        write_csv(table, out)


def _told_once(table: "pl.DataFrame") -> "pl.DataFrame":
    """Without names that are the ids."""
    pairs = (("stop_id", "stop"), ("from_id", "from"), ("to_id", "to"))
    named = [(one, name) for one, name in pairs if {one, name} <= set(table.columns)]
    return table.drop([name for one, name in named if table[one].equals(table[name], check_names=False)])


def _short(row: dict[str, Any]) -> dict[str, Any]:
    """Whole numbers without a point, others with three digits, nothing where nothing is known."""
    return {
        key: ""
        if value is None
        else value
        if not isinstance(value, float)
        else f"{value:,.0f}"
        if value.is_integer()
        else f"{value:.3g}"
        for key, value in row.items()
    }
