"""`release`: follow a plan, or the one that the options make, from raw rows to a signed folder."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayveil.cli.options import AsJson, Quiet, grouped, present, present_release, remark
from wayveil.cli.plan_options import PlanOptions
from wayveil.errors import WayveilError
from wayveil.progress import shown

if TYPE_CHECKING:
    from wayveil.plan.plan import Plan


@dataclass(frozen=True)
class ReleaseOptions(PlanOptions):
    """Options of `release`: a plan, whatever fills one in or changes it, and what a series may need once."""

    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the release; must not exist yet.")
    ] = None
    again: Annotated[
        list[str] | None,
        typer.Option(
            help="Series: pay once more for a period that was paid for and lost (2026-W05); repeatable."
        ),
    ] = None
    change_policy: Annotated[
        bool,
        typer.Option(
            "--change-policy", help="Series: put the plan's allowance in force in place of the ledger's."
        ),
    ] = False
    quiet: Quiet = False
    as_json: AsJson = False


@grouped
def release_rows(options: ReleaseOptions) -> None:
    """Release rows under differential privacy: private trips, model, signed datasheet, in one folder.

    Follows the plan in wayveil.toml, or one made of the options. Run the same command again to finish what was
    stopped; nothing is paid twice. A plan with a cadence releases every period that is due.

    Every release is booked in a ledger. A dataset that the ledger does not know yet needs a policy first: what may be
    spent on it in all (`wayveil ledger init`, or --policy-epsilon).

        wayveil release rides.csv --world city.zip --rows pairs --epsilon 1 --max-trips 2 --policy-epsilon 10
    """
    plan = options.plan_to_follow(out=options.out)
    if plan.series is not None:
        _release_due(plan, options)
        return
    from wayveil.run import run

    silent = options.quiet or options.as_json
    plan = ask_for_policy(plan, silent=silent)
    with shown(not silent), finished_later(plan):
        made = run(plan, say=lambda text: remark(text, quiet=silent))
    booked = "no ledger" if made.reservation is None else made.reservation.ledger.name
    present_release(made, plan.home, as_json=options.as_json, booked_in=f"{booked}, as {plan.dataset}")
    folder = str(plan.home)
    following = (["verify", folder], ["ask", folder, "boardings"], ["report", folder])
    remark(f"Next: {'; '.join(join(['wayveil', *words]) for words in following)}", quiet=silent)


def _release_due(plan: "Plan", options: ReleaseOptions) -> None:
    """Release every period of a series that is due, and say what was done."""
    from wayveil.run import run_due
    from wayveil.series.folder import SeriesFolder

    with shown(not options.quiet and not options.as_json):
        outcome = run_due(
            plan, options.series_files(), again=options.again or [], change_policy=options.change_policy
        )
    facts: dict[str, Any] = {
        "released": list(outcome.released),
        "finished": list(outcome.finished),
        "released_before": len(outcome.done_before),
        "waiting_for_files": list(outcome.waiting),
        "index": str(SeriesFolder(plan.home).public / "index.html"),
    }
    said = facts if options.as_json else {key: _listed(value) for key, value in facts.items()}
    present(said, as_json=options.as_json)
    remark(f"Next: wayveil status {plan.path}", quiet=options.quiet or options.as_json)


def _listed(value: object) -> object:
    return ", ".join(value) or "none" if isinstance(value, list) else value


def ask_for_policy(plan: "Plan", *, silent: bool) -> "Plan":
    """Name the ledger, and where somebody sits at the terminal ask for a policy that it lacks."""
    from wayveil.releases.accounts import ask_on_terminal, ledger_in_reach, place_of

    said = plan.protection
    if said.ledger == "none":
        return plan
    remark(f"ledger: {place_of(said.ledger)}", quiet=silent or said.ledger is not None)
    if silent or said.policy_epsilon is not None or not sys.stdin.isatty():
        return plan
    known = ledger_in_reach(said.ledger)
    if known is not None and known.policy(plan.dataset) is not None:
        return plan
    answer = ask_on_terminal(
        f"The ledger does not know the dataset {plan.dataset!r} yet. What may be spent on it in all, for each unit? "
        "(epsilon, for example 10; empty to stop)"
    )
    return plan.changed(policy_epsilon=answer) if answer else plan


@contextmanager
def finished_later(plan: "Plan") -> Iterator[None]:
    """Say what a stopped run has cost, and that the same command finishes it."""
    from wayveil.releases.paid import Paid

    paid = Paid(plan.home)
    kept = "what was measured is paid for and kept: the same command finishes it without spending again"
    try:
        yield
    except KeyboardInterrupt:
        stopped = "`wayveil ledger show` says what it has cost, which is nothing before the first noise"
        typer.echo(f"wayveil: stopped; {kept if paid.kept else stopped}", err=True)
        raise typer.Exit(130) from None
    except (OSError, WayveilError) as error:
        if not paid.kept:
            raise
        raise WayveilError(f"{str(error).rstrip('.')}. {kept[0].upper()}{kept[1:]}") from error
