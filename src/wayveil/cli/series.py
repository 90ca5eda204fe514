"""`wayveil series ...`: one source, one plan, one budget, a release every day, week or month."""

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wayveil.cli.options import AsJson, Quiet, present, present_rows, remark
from wayveil.errors import ParameterError
from wayveil.progress import shown

if TYPE_CHECKING:
    from wayveil.series.plan import Plan

app = typer.Typer(
    no_args_is_help=True,
    help="""The agency's year: releases that follow each other under one budget.

    wayveil series init plan.toml          write a plan, with comments; then change it and run init again to check it
    wayveil series run plan.toml taps/*    release everything that is due, in order, once
    wayveil series status plan.toml        what is published, spent, left, missing and next

A plan limits what one person (or day, or tap) may lose from the data of a year; no lifetime total is needed. Running
again changes nothing, and a run that was killed is finished by the next one. See docs/year.md.""",
)
PlanFile = Annotated[Path, typer.Argument(help="The plan of the series (TOML).")]


@app.command()
def init(
    plan: PlanFile,
    every: Annotated[str, typer.Option(help="A release per day, week or month; for a new plan.")] = "week",
    first: Annotated[
        str | None,
        typer.Option(help="First day of data, YYYY-MM-DD; for a new plan. Default: this year's first."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Of the series; for a new plan. Default: the file's.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a commented plan; or, where there is one, check it and say what it will cost. Spends nothing.

    wayveil series init plan.toml
    """
    from wayveil.privacy.ledger.data_time import span_of
    from wayveil.series.accounting import budget_words
    from wayveil.series.plan import read_plan
    from wayveil.series.template import template

    if plan.exists():
        if first is not None or name is not None:
            raise ParameterError(f"{plan} is there already: change it with an editor; init only checks it")
        found = read_plan(plan)
        if not as_json:
            typer.echo(budget_words(found) + "\n")
        _say_costs(found, as_json=as_json)
        return
    if every not in ("day", "week", "month"):
        raise ParameterError(f"a release is per day, week or month, not per {every!r}")
    try:
        today = datetime.date.today()
        begin = datetime.date(today.year, 1, 4) if first is None else datetime.date.fromisoformat(first)
    except ValueError as error:
        raise ParameterError(f"{first!r} is not a date; write YYYY-MM-DD") from error
    begin = span_of(every, begin).first  # type: ignore[arg-type]
    plan.parent.mkdir(parents=True, exist_ok=True)
    plan.write_text(template(plan.name, name or plan.stem, every, begin), encoding="utf-8")
    present(
        {"plan": str(plan), "next": f"edit it, then `wayveil series init {plan}` checks it"}, as_json=as_json
    )


@app.command()
def run(
    plan: PlanFile,
    files: Annotated[
        list[Path], typer.Argument(help="The raw files, old ones and new ones; their names say their days.")
    ],
    again: Annotated[
        list[str] | None,
        typer.Option(help="Pay once more for a period that was paid for and lost (2026-W05); repeatable."),
    ] = None,
    change_policy: Annotated[
        bool,
        typer.Option(
            "--change-policy", help="Put the plan's budget in force where the ledger has another one."
        ),
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Release everything that is due, in order of data time, once.

    Check, clean, release, verdict, exports, report, and an index page of all releases.

    All files are checked before anything is paid for. A file whose rows were released, or that has rows of other days
    than its name says, is refused. Running it again changes nothing; a run that was killed is finished, not paid again.

        wayveil series run plan.toml taps/*
    """
    from wayveil.series.series import Series

    series = Series(plan)
    with shown(not quiet and not as_json):
        outcome = series.run(files, again=again or [], change_policy=change_policy)
    facts = {
        "released": list(outcome.released),
        "finished": list(outcome.finished),
        "released_before": len(outcome.done_before),
        "waiting_for_files": list(outcome.waiting),
        "index": str(series.folder.public / "index.html"),
    }
    present(facts if as_json else {key: _listed(value) for key, value in facts.items()}, as_json=as_json)
    remark(f"Next: wayveil series status {plan}", quiet=quiet or as_json)


@app.command()
def status(
    plan: PlanFile,
    picture: Annotated[Path | None, typer.Option(help="Also write the year as a picture (.svg).")] = None,
    as_json: AsJson = False,
) -> None:
    """The year in words and as a strip: ■ published, □ gap, ✗ paid and lost, ▷ next, · to come; and what it costs.

    wayveil series status plan.toml
    """
    from wayveil.series.picture import year_svg
    from wayveil.series.series import Series

    series = Series(plan)
    found = series.status()
    if picture is not None:
        picture.write_text(year_svg(found), encoding="utf-8")
    if as_json:
        present(found.to_dict(), as_json=True)
        return
    for line in found.words():
        typer.echo(line)
    typer.echo()
    _say_costs(series.plan, as_json=False)


def _say_costs(plan: "Plan", *, as_json: bool) -> None:
    """What a plan costs a daily rider under each unit, and the noise under each accounting."""
    from wayveil.errors import decimal
    from wayveil.series.accounting import budget_words, costs_by_unit, noise_by_accounting

    at = f"at delta {float(plan.budget.delta):g}"
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
    typer.echo(f"What the {plan.budget.period} of a daily rider costs, in epsilon:")
    present_rows(costs, as_json=False)
    typer.echo(
        f"\nThe same guarantee for one {plan.budget.unit} (epsilon {decimal(plan.budget.period_epsilon)} a "
        f"{plan.budget.period}), counted in different ways:"
    )
    present_rows(noise, as_json=False)


def _listed(value: object) -> object:
    return ", ".join(value) or "none" if isinstance(value, list) else value
