"""`wayveil ledger ...`: who spent how much on which dataset."""

import getpass
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayveil.cli.options import AsJson, grouped, present, present_rows
from wayveil.errors import ParameterError, decimal, plain

if TYPE_CHECKING:
    from wayveil.privacy.ledger import Ledger

app = typer.Typer(
    no_args_is_help=True,
    help="""The durable record of privacy spending: one line per step, hash-chained, never rewritten.

A ledger is a file or a postgresql:// address. Without one, commands use the default ledger: the file `ledger` in
WAYVEIL_HOME, in a folder .wayveil here or in a folder above, or in ~/.wayveil. It is as internal as the raw data.""",
)

Place = Annotated[
    str | None, typer.Argument(help="Ledger file or postgresql:// address; without it, the default ledger.")
]
Dataset = Annotated[str, typer.Option("--dataset", "-d", help="Name of the dataset.")]
UNITS = "rider, rider-day, trip, event or element (visits to one group of places)"


@app.command()
def init(
    ledger: Place = None,
    dataset: Annotated[
        str | None, typer.Option("--dataset", "-d", help="Also make this dataset, with its policy.")
    ] = None,
    total_epsilon: Annotated[
        str | None, typer.Option(help="With --dataset: what may be spent in all, for ever. Default: 10.")
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help=f"With --dataset: whose loss that limits: {UNITS}. Default: rider.")
    ] = None,
    project: Annotated[
        bool, typer.Option("--project", help="Make a folder .wayveil here: the ledger of this project.")
    ] = False,
) -> None:
    """Make a new, empty ledger, and with --dataset a dataset in it with what may be spent on it.

    wayveil ledger init --project --dataset trips.csv --total-epsilon 5
    """
    from wayveil.privacy.ledger import Policy
    from wayveil.releases.accounts import FILE, FOLDER, open_account

    if project:
        if ledger is not None:
            raise ParameterError("give a place for the ledger or --project, not both")
        Path(FOLDER).mkdir(exist_ok=True, mode=0o700)
        ledger = str(Path(FOLDER) / FILE)
    if dataset is None and (total_epsilon is not None or unit is not None):
        raise ParameterError("--total-epsilon and --unit are about a dataset: name it with --dataset")
    opened = open_account(ledger)
    if opened is None:
        raise ParameterError("`none` is no place for a ledger")
    if dataset is not None:
        if opened.policy(dataset) is not None:
            raise ParameterError(
                f"{dataset} has a policy already; change it with `wayveil ledger policy --dataset {quote(dataset)}`"
            )
        policy = Policy("10" if total_epsilon is None else total_epsilon, unit=unit or "rider")
        opened.set_policy(dataset, policy, actor=getpass.getuser())
    typer.echo(f"ledger at {opened.name}, head {opened.head()}")


@app.command()
def show(
    ledger: Place = None,
    lines: Annotated[bool, typer.Option("--lines", help="Every line instead of the sums.")] = False,
    delta: Annotated[
        str | None, typer.Option(help="Also compose all spends tightly for this delta (PLD).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what each dataset has spent and what is left: the plain sum, for the unit of its policy.

    wayveil ledger show
    """
    opened = existing_ledger(ledger)
    said = plain if as_json else decimal
    if lines:
        every: list[dict[str, object]] = [
            {
                "line": line.sequence,
                "time": line.time.isoformat(timespec="seconds"),
                "actor": line.actor,
                "step": line.kind,
                "dataset": line.dataset,
                "epsilon": said(line.epsilon) if line.epsilon is not None else None,
                "unit": None if line.unit is None else line.unit["name"],
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
            "unit": state.unit or "not said",
            "spent": "cannot be added up" if state.spent is None else said(state.spent),
            "remaining": "no limit" if state.remaining is None else said(state.remaining),
            "releases": state.committed,
            "open": state.open,
            "cancelled": state.cancelled,
            "refused": state.settled,
            "by_unit": ", ".join(f"{unit} {said(spent)}" for unit, spent in state.by_unit.items()),
            "not_private": state.not_private,
            "looks": state.looks,
        }
        if state.spans and state.policy is not None and state.policy.data is not None:
            currency = "epsilon" if state.policy.data.rho is None else "rho"
            row["by_span_of_data"] = ", ".join(
                f"{span.label}: {currency} {said(getattr(span.spent, currency))}, "
                f"{said(getattr(span.remaining, currency))} left"
                for span in state.spans
            )
        if delta is not None and state.spent is not None:
            row[f"epsilon_at_delta_{delta}"] = f"{opened.composition(state.dataset, delta).epsilon:.4g}"
        rows.append(row)
    present_rows(rows, as_json=as_json)


@app.command("reserve-status")
def reserve_status(
    ledger: Place = None,
    cancel: Annotated[
        str | None, typer.Option(help="Give back this reservation; only possible if it never drew noise.")
    ] = None,
    reason: Annotated[str, typer.Option(help="Why it is given back.")] = "cancelled by hand",
    as_json: AsJson = False,
) -> None:
    """Reservations that were neither committed, settled nor cancelled: running now, or left by a crash (and spent).

    wayveil ledger reserve-status
    """
    opened = existing_ledger(ledger)
    if cancel is not None:
        opened.cancel(cancel, actor=getpass.getuser(), reason=reason)
    rows = [
        {
            "reservation": held.id,
            "dataset": held.dataset,
            "epsilon": plain(held.epsilon) if as_json else decimal(held.epsilon),
            "actor": held.actor,
            "age": str(held.age).split(".")[0],
            "drew_noise": "yes" if held.started else "no, may be cancelled",
        }
        for held in opened.open_reservations()
    ]
    present_rows(rows, as_json=as_json)


@app.command()
def verify(
    ledger: Place = None,
    release: Annotated[
        list[Path] | None,
        typer.Option(help="Also check that this release is booked here, as its datasheet says."),
    ] = None,
    heads: Annotated[
        Path | None, typer.Option(help="Also check the heads that `ledger head --sign` noted in this file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check the chain: an edited, removed, moved or cut-off line is reported, with exit code 1.

    wayveil ledger verify
    """
    from wayveil.releases.key_changes import read_heads
    from wayveil.releases.priors import problem_of
    from wayveil.releases.release import load_datasheet

    opened, folders = existing_ledger(ledger), release or []
    priors = [load_datasheet(folder)["ledger"] for folder in folders]
    noted = [] if heads is None else read_heads(opened, heads)
    result = opened.verify([*(each["head"] for each in priors if each is not None), *noted])
    problem = result.problem
    if problem is None:
        problem = next(filter(None, (problem_of(folder, opened) for folder in folders)), None)
    present({"verdict": problem or "the chain holds", "head": str(result.head)}, as_json=as_json)
    if problem is not None:
        raise typer.Exit(1)


@app.command()
def adopt(
    folder: Annotated[Path, typer.Argument(help="A release that was made without this ledger.")],
    dataset: Dataset,
    ledger: Place = None,
) -> None:
    """Book a release that was made without this ledger: it is charged, and others may follow it.

    wayveil ledger adopt release/ --dataset trips.csv
    """
    from wayveil.releases import priors

    made = priors.adopt(folder, existing_ledger(ledger), dataset, getpass.getuser())
    typer.echo(f"{folder} is booked for {dataset} with epsilon {decimal(made.epsilon)}")


@dataclass(frozen=True)
class PolicyChanges:
    """Parts of a policy that a person may set, or statements on the data: names as `Policy` has them."""

    total_epsilon: Annotated[str | None, typer.Option(help="Set: what may be spent in all.")] = None
    unit: Annotated[str | None, typer.Option(help=f"Set: whose loss is limited: {UNITS}.")] = None
    per_period_epsilon: Annotated[str | None, typer.Option(help="Set: what may be spent in any period.")] = (
        None
    )
    period_days: Annotated[int | None, typer.Option(help="Set: length of that period, in days.")] = None
    total_delta: Annotated[str | None, typer.Option(help="Set: delta that may be spent in all.")] = None
    actors: Annotated[
        list[str] | None,
        typer.Option("--actor", help="Set: who may spend; repeatable. Default: everybody."),
    ] = None
    trips_per_rider: Annotated[
        int | None, typer.Option(help="State: no rider has more trips in the data. Converts `trip` releases.")
    ] = None
    days_per_rider: Annotated[
        int | None, typer.Option(help="State: no rider is in the data on more days. Converts `rider-day`.")
    ] = None
    visits_per_rider: Annotated[
        int | None, typer.Option(help="State: no rider has more visits in the data. Converts `event`.")
    ] = None
    earlier_unit: Annotated[
        str | None,
        typer.Option(help="State: the unit of releases that an earlier version booked without one."),
    ] = None
    trips_per_day: Annotated[
        int | None, typer.Option(help="State: no rider makes more trips in one day. Converts `trip`.")
    ] = None
    visits_per_day: Annotated[
        int | None, typer.Option(help="State: no rider has more visits in one day. Converts `event`.")
    ] = None
    not_private: Annotated[
        bool | None,
        typer.Option(
            "--allow-not-private/--no-allow-not-private",
            help="Set: whether releases without a guarantee may be made; they are in no sum.",
        ),
    ] = None

    @property
    def given(self) -> dict[str, Any]:
        """Return what was said."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Lifted:
    """Limits of a policy that are taken away."""

    everybody: Annotated[bool, typer.Option("--everybody", help="Set: everybody may spend.")] = False
    no_period: Annotated[bool, typer.Option("--no-period", help="Set: no limit per period.")] = False
    no_total: Annotated[
        bool, typer.Option("--no-total", help="Set: no limit for ever, beside one per span of data time.")
    ] = False

    def changes(self, given: Mapping[str, Any]) -> dict[str, None]:
        """Return the keys that become empty; none of them may be set at once."""
        lifted = {
            "--everybody": ["actors"] if self.everybody else [],
            "--no-period": ["per_period_epsilon", "period_days"] if self.no_period else [],
            "--no-total": ["total_epsilon"] if self.no_total else [],
        }
        for option, keys in lifted.items():
            for key in keys:
                if key in given:
                    raise ParameterError(f"{option} takes a limit away that another option sets: {key}")
        return {key: None for keys in lifted.values() for key in keys}


@app.command()
@grouped
def policy(
    dataset: Dataset,
    changed: PolicyChanges,
    lifted: Lifted,
    ledger: Place = None,
    data_span: Annotated[
        str | None,
        typer.Option(
            help="Set, with --data-epsilon: limit what the data of one day, week, month, year or iso-year (whole "
            "weeks) may cost. Releases then say which days they are of, as `wayveil release --days` does."
        ),
    ] = None,
    data_epsilon: Annotated[
        str | None, typer.Option(help="Set, with --data-span: what one unit may lose from such a span.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a dataset's policy, or change the parts that are given and keep all others.

    wayveil ledger policy --dataset trips.csv
    """
    from wayveil.privacy.ledger import LedgerError

    changes = changed.given | lifted.changes(changed.given)
    if (data_span is None) != (data_epsilon is None):
        raise ParameterError("a limit per span of data time needs both --data-span and --data-epsilon")
    if data_span is not None:
        changes["data"] = {"span": data_span, "epsilon": data_epsilon}
    opened = existing_ledger(ledger)
    current = opened.policy(dataset)
    if current is None:
        known = ", ".join(opened.datasets()) or "none"
        raise LedgerError(
            f"the ledger {opened.name} has no dataset {dataset!r} with a policy; it knows: {known}. A new one is made "
            f"with `wayveil ledger init {quote(opened.name)} --dataset {quote(dataset)}`"
        )
    if changes:
        current = current.changed(**changes)
        opened.set_policy(dataset, current, actor=getpass.getuser())
    present({"dataset": dataset, **current.payload()}, as_json=as_json)


def existing_ledger(place: str | None) -> "Ledger":
    """The ledger at a place, or the default one; it must be there."""
    from wayveil.privacy.ledger import open_ledger
    from wayveil.releases.accounts import default_place

    return open_ledger(default_place() if place is None else place, create=False)
