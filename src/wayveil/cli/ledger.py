"""`wayveil ledger ...`: who spent how much on which dataset."""

import getpass
from pathlib import Path
from typing import Annotated

import typer

from wayveil.cli.options import AsJson, present, present_rows
from wayveil.errors import plain

app = typer.Typer(
    no_args_is_help=True,
    help="""The durable record of privacy spending: one line per step, hash-chained, never rewritten.

A ledger is a file (by default `TRIPS.ledger` beside the trips) or a postgresql:// address.""",
)

Place = Annotated[str, typer.Argument(help="Ledger file or postgresql:// address.")]
Dataset = Annotated[str, typer.Option("--dataset", "-d", help="Name of the dataset.")]


@app.command()
def init(
    ledger: Place,
    dataset: Annotated[
        str | None, typer.Option("--dataset", "-d", help="Also set a policy for this dataset.")
    ] = None,
    total_epsilon: Annotated[str, typer.Option(help="What the dataset may spend in all.")] = "10",
) -> None:
    """Make a new, empty ledger."""
    from wayveil.privacy.ledger import Policy, open_ledger

    opened = open_ledger(ledger)
    if dataset is not None:
        opened.set_policy(dataset, Policy(total_epsilon), actor=getpass.getuser())
    typer.echo(f"ledger at {opened.name}, head {opened.head()}")


@app.command()
def show(
    ledger: Place,
    lines: Annotated[bool, typer.Option("--lines", help="Every line instead of the sums.")] = False,
    delta: Annotated[
        str | None, typer.Option(help="Also compose all spends tightly for this delta (PLD).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What each dataset has spent and what is left; composition is the plain sum."""
    from wayveil.privacy.ledger import open_ledger

    opened = open_ledger(ledger, create=False)
    if lines:
        every: list[dict[str, object]] = [
            {
                "line": line.sequence,
                "time": line.time.isoformat(timespec="seconds"),
                "actor": line.actor,
                "step": line.kind,
                "dataset": line.dataset,
                "epsilon": plain(line.epsilon) if line.epsilon is not None else None,
                "reservation": line.reservation,
            }
            for line in opened.entries()
        ]
        present_rows(every, as_json=as_json)
        return
    rows: list[dict[str, object]] = []
    for state in opened.summary():
        row: dict[str, object] = {
            "dataset": state.dataset,
            "spent": plain(state.spent),
            "remaining": "no limit" if state.remaining is None else plain(state.remaining),
            "releases": state.committed,
            "open": state.open,
            "cancelled": state.cancelled,
            "refused": state.settled,
        }
        if delta is not None:
            row[f"epsilon_at_delta_{delta}"] = f"{opened.composition(state.dataset, delta).epsilon:.4g}"
        rows.append(row)
    present_rows(rows, as_json=as_json)


@app.command("reserve-status")
def reserve_status(
    ledger: Place,
    cancel: Annotated[
        str | None, typer.Option(help="Give back this reservation; only possible if it never drew noise.")
    ] = None,
    reason: Annotated[str, typer.Option(help="Why it is given back.")] = "cancelled by hand",
    as_json: AsJson = False,
) -> None:
    """Reservations that were neither committed, settled nor cancelled: running now, or left by a crash (and spent)."""
    from wayveil.privacy.ledger import open_ledger

    opened = open_ledger(ledger, create=False)
    if cancel is not None:
        opened.cancel(cancel, actor=getpass.getuser(), reason=reason)
    rows = [
        {
            "reservation": held.id,
            "dataset": held.dataset,
            "epsilon": plain(held.epsilon),
            "actor": held.actor,
            "age": str(held.age).split(".")[0],
            "drew_noise": "yes" if held.started else "no, may be cancelled",
        }
        for held in opened.open_reservations()
    ]
    present_rows(rows, as_json=as_json)


@app.command()
def verify(
    ledger: Place,
    release: Annotated[
        list[Path] | None,
        typer.Option(help="Also check that the ledger still has the head on this release's datasheet."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check the chain: an edited, removed, moved or cut-off line is reported, with exit code 1."""
    from wayveil.privacy.ledger import open_ledger
    from wayveil.releases.store import load_datasheet

    heads = []
    for folder in release or []:
        booked = load_datasheet(folder)["ledger"]
        if booked is not None:
            heads.append(booked["head"])
    result = open_ledger(ledger, create=False).verify(heads)
    present({"verdict": result.problem or "the chain holds", "head": str(result.head)}, as_json=as_json)
    if not result.ok:
        raise typer.Exit(1)


@app.command()
def policy(
    ledger: Place,
    dataset: Dataset,
    total_epsilon: Annotated[str | None, typer.Option(help="Set: what may be spent in all.")] = None,
    per_period_epsilon: Annotated[
        str | None, typer.Option(help="Set: what may be spent in any period.")
    ] = None,
    period_days: Annotated[int | None, typer.Option(help="Set: length of that period, in days.")] = None,
    actor: Annotated[
        list[str] | None, typer.Option(help="Set: who may spend; repeatable. Default: everybody.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a dataset's policy, or set a new one with --total-epsilon."""
    from wayveil.privacy.ledger import Policy, open_ledger

    opened = open_ledger(ledger)
    if total_epsilon is not None:
        new = Policy(total_epsilon, per_period_epsilon, period_days, actor)
        opened.set_policy(dataset, new, actor=getpass.getuser())
    current = opened.policy(dataset)
    facts = (
        {"dataset": dataset, "policy": "none: nothing is limited"} if current is None else current.payload()
    )
    present(facts, as_json=as_json)
