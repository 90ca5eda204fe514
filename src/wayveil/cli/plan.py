"""`wayveil plan` and `wayveil status`: write, check and explain a plan; say where a series stands."""

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wayveil.cli.options import AsJson, grouped, present, present_rows
from wayveil.cli.plan_options import PlanOptions
from wayveil.cli.tables import say_lines
from wayveil.errors import ParameterError, decimal
from wayveil.progress import shown

if TYPE_CHECKING:
    from wayveil.plan.plan import Plan


@dataclass(frozen=True)
class WriteOptions(PlanOptions):
    """Options of `plan`: whatever fills in a plan, and where it goes."""

    save: Annotated[
        Path | None,
        typer.Option(help="Write the plan here, with a comment on every key; never over another file."),
    ] = None
    every: Annotated[
        str | None, typer.Option(help="Start the plan of a series: a release per day, week or month.")
    ] = None
    first: Annotated[
        str | None,
        typer.Option(help="With --every: first day of data, YYYY-MM-DD. Default: this year's first."),
    ] = None
    keys: Annotated[bool, typer.Option("--keys", help="Explain every key of a plan, and stop.")] = False
    as_json: AsJson = False


@grouped
def plan(options: WriteOptions) -> None:
    """Find the epsilon that needs take, write a plan, or say what one costs. Reads no rows and spends nothing.

    With --need and the number of rides, simulated riders show the smallest epsilon that meets the needs, or with
    --epsilon how exact the answers are. The exit code is 1 if no epsilon within the policy meets them.

        wayveil plan rides.csv -w city.zip --rows pairs --need "boardings per stop, within 10 %" --with rides=30000

    A plan of a series in the format before (plan.toml) is read as well: --save writes it as the plan of today.

        wayveil plan rides.csv --world city.zip --rows pairs --epsilon 1 --max-trips 2 --save wayveil.toml

        wayveil plan --every week --dataset taps --save wayveil.toml
    """
    from wayveil.plan.files import explain_keys, plan_text, write_plan

    if options.keys:
        present_rows(
            [{"key": key, "meaning": words} for key, words in explain_keys()], as_json=options.as_json
        )
        return
    if options.need and options.every is None:
        _say_promise(options)
        return
    found = _start_series(options) if options.every is not None else options.plan_to_follow()
    if options.save is not None:
        write_plan(found, options.save)
        present(
            {"plan": str(options.save), "next": f"wayveil release --plan {options.save}"},
            as_json=options.as_json,
        )
        return
    if found.series is None:
        typer.echo(plan_text(found))
        return
    _say_costs(found, as_json=options.as_json)


def _say_promise(options: WriteOptions) -> None:
    """Find what the needs take, say it, and write the plan with it."""
    from wayveil.plan.files import write_plan
    from wayveil.plan.guess import release_command
    from wayveil.plan.promise import promise, refuse_above

    with shown(not options.as_json):
        found = promise(
            options.plan_to_follow(epsilon="1") if options.epsilon is None else options.plan_to_follow()
        )
    epsilon = options.epsilon or (None if found.epsilon is None else f"{found.epsilon:g}")
    if options.epsilon is not None:
        refuse_above(found, options.epsilon)
    plan = (
        None if epsilon is None else found.plan.changed(epsilon=epsilon, needs=found.promised(float(epsilon)))
    )
    command = None if plan is None else release_command(plan)
    if options.as_json:
        present({**found.facts(), "command": command}, as_json=True)
    else:
        say_lines([*found.lines(), *([] if command is None else ["To release it:", f"  {command}"])])
    if options.save is not None and plan is not None:
        write_plan(plan, options.save)
    if found.epsilon is None:
        raise typer.Exit(1)


def _start_series(options: WriteOptions) -> "Plan":
    from wayveil.plan.template import series_plan
    from wayveil.privacy.ledger.data_time import span_of

    if options.every not in ("day", "week", "month"):
        raise ParameterError(f"a release is per day, week or month, not per {options.every!r}")
    try:
        today = datetime.date.today()
        first = options.first
        begin = datetime.date(today.year, 1, 4) if first is None else datetime.date.fromisoformat(first)
    except ValueError as error:
        raise ParameterError(f"{options.first!r} is not a date; write YYYY-MM-DD") from error
    made = series_plan(options.dataset or "taps", options.every, span_of(options.every, begin).first)  # type: ignore[arg-type]
    beside = {} if options.save is None else {"path": options.save}
    return made.changed(**beside, **options.values())


def status(
    plan: Annotated[Path, typer.Argument(help="The plan of the series.")] = Path("wayveil.toml"),
    picture: Annotated[Path | None, typer.Option(help="Also write the year as a picture (.svg).")] = None,
    as_json: AsJson = False,
) -> None:
    """Say where a series stands, as a strip: ■ published, □ gap, ✗ paid and lost, ▷ next, · to come; and its cost.

    wayveil status wayveil.toml --picture year.svg
    """
    from wayveil.series.page import year_svg
    from wayveil.series.series import Series

    series = Series(plan)
    found = series.status()
    if picture is not None:
        picture.write_text(year_svg(found), encoding="utf-8")
    if as_json:
        present(found.to_dict(), as_json=True)
        return
    say_lines([*found.words(), ""])
    _say_costs(series.plan, as_json=False)


def _say_costs(plan: "Plan", *, as_json: bool) -> None:
    """Say what a plan costs a daily rider under each unit, and the noise under each accounting."""
    from wayveil.series.accounting import budget_words, costs_by_unit, noise_by_accounting

    at = f"at delta {float(plan.delta):g}"
    costs = [
        {
            "a release protects one": cost.unit + (" (this plan)" if cost.chosen else ""),
            "one tap": decimal(cost.tap),
            "one day": decimal(cost.day),
            "one release": decimal(cost.release),
            "the year, sum": decimal(cost.year),
            f"{at}, zCDP": f"{float(cost.by_zcdp):.4g}",
            f"{at}, PLD": None if cost.by_pld is None else f"{cost.by_pld:.4g}",
        }
        for cost in costs_by_unit(plan)
    ]
    noise = [
        {
            "accounting": row.accounting,
            "epsilon of one release": f"{row.epsilon:.4g}",
            "delta": f"{float(row.delta):g}",
            "noise on a count": f"{row.spread:.4g}",
        }
        for row in noise_by_accounting(plan)
    ]
    if as_json:
        present(
            {"plan": plan.name, "budget": budget_words(plan), "costs": costs, "noise": noise}, as_json=True
        )
        return
    allowed = plan.allowance
    say_lines([budget_words(plan), "", f"What the {allowed.span} of a daily rider costs, in epsilon:"])
    present_rows(costs, as_json=False)
    same = f"The same guarantee for one {allowed.unit} (epsilon {decimal(allowed.epsilon)} a {allowed.span})"
    say_lines(["", f"{same}, counted in different ways:"])
    present_rows(noise, as_json=False)
