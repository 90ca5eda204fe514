"""`release` and `resume`: from raw trips to a signed folder, and to the end of a run that was stopped."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated

import typer

from wayveil.cli.mechanisms import make_mechanism
from wayveil.cli.options import (
    AsJson,
    BoundingBox,
    DatasetName,
    Epsilon,
    LedgerPlace,
    MemoryLimit,
    NewPeople,
    NoRider,
    PolicyEpsilon,
    Preset,
    PriorFolders,
    Quiet,
    ServiceDate,
    TripColumns,
    TripsOut,
    Visits,
    WalkRadius,
    WaysOption,
    WorldFile,
    present_release,
    remark,
    world_words,
)
from wayveil.errors import ParameterError, WayveilError
from wayveil.progress import shown

if TYPE_CHECKING:
    from wayveil.mechanisms.mechanism import Mechanism
    from wayveil.privacy.ledger import Ledger
    from wayveil.privacy.units import Unit
    from wayveil.releases.paid import Paid
    from wayveil.trips.files import TripFiles
    from wayveil.trips.trips import Trips

Out = Annotated[Path, typer.Option("--out", "-o", help="Folder of the release; must not exist yet.")]


def release(
    trips: Annotated[
        Path, typer.Argument(help="The raw trips (parquet, csv, a folder of such parts, or a sequence file).")
    ],
    epsilon: Epsilon,
    world: WorldFile,
    out: Out,
    visits: Visits = None,
    ways: WaysOption = None,
    delta: Annotated[
        str | None,
        typer.Option(
            help="For trained mechanisms and --currency rho: the chance that epsilon does not cover, far below one "
            "over the number of trips. Default: 1e-6."
        ),
    ] = None,
    currency: Annotated[
        str,
        typer.Option(
            help="`epsilon` for pure differential privacy, or `rho`: the same epsilon at --delta, spent as zCDP with "
            "Gaussian noise (weave: a third less error on edges)."
        ),
    ] = "epsilon",
    mapped: TripColumns = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            "-m",
            help="See `wayveil lab mechanisms`. Default: weave; noisy-prefix-tree for lists of thousands of places.",
        ),
    ] = None,
    parameters: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the mechanism, name=value; repeatable.")
    ] = None,
    preset: Preset = None,
    unit: Annotated[
        str | None,
        typer.Option(
            help="Who is protected: rider, rider-day, trip or event. Default: rider if there are riders."
        ),
    ] = None,
    max_trips: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Trips of one rider that are counted, chosen at random. Must be said where riders have several; "
            "`wayveil check` shows what each bound would keep.",
        ),
    ] = None,
    no_rider: NoRider = "refuse",
    bbox: BoundingBox = None,
    date: ServiceDate = None,
    walk_radius: WalkRadius = None,
    ledger: LedgerPlace = None,
    dataset: DatasetName = None,
    policy_epsilon: PolicyEpsilon = None,
    new_people: NewPeople = False,
    memory: MemoryLimit = 6,
    purpose: Annotated[str, typer.Option(help="What the release is for; goes into the ledger.")] = "",
    curator: Annotated[str, typer.Option(help="Who publishes; goes into the datasheet.")] = "",
    tuned_on_data: Annotated[
        bool,
        typer.Option(
            "--tuned-on-data", help="Declare that parameters were chosen by looking at the raw trips."
        ),
    ] = False,
    engine: Annotated[
        str,
        typer.Option(
            help="Where trips are counted: memory, stream (files of any size, piece by piece), spark, or auto. "
            "All give the same release; see docs/scale.md."
        ),
    ] = "auto",
    spark: Annotated[
        str | None,
        typer.Option(help="Address of Spark: local[2], spark://host:7077, or sc://host (Connect)."),
    ] = None,
    scratch: Annotated[
        Path | None,
        typer.Option(
            help="Folder for temporary files of stream and spark. They hold raw rows, only you can read them, and "
            "they are removed."
        ),
    ] = None,
    trips_out: TripsOut = "all",
    prior: PriorFolders = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Release trips under differential privacy: private trips, model, signed datasheet.

    Every release is booked in a ledger. A dataset that the ledger does not know yet needs a policy first: what may be
    spent on it in all (`wayveil ledger init`, or --policy-epsilon). The ledger knows a dataset by what is in it: the
    same people under another name are refused. What is paid for is kept: a run that is stopped later is finished by
    `wayveil resume`, without spending again.

        wayveil release trips.csv --world city.zip --epsilon 1 --out release/
    """
    from wayveil.counting.engines import open_source, size_of
    from wayveil.mechanisms.presets import refuse_nameless
    from wayveil.privacy.budget import release_epsilon
    from wayveil.releases.accounts import open_account, settled_if_lost
    from wayveil.releases.choices import choose_unit
    from wayveil.releases.preflight import claimed
    from wayveil.releases.priors import open_prior
    from wayveil.run import make_release as release_trips
    from wayveil.synthesis.drawing import trips_wanted
    from wayveil.trips.columns import parse_map, refuse_hidden_riders
    from wayveil.trips.legs import require_words
    from wayveil.trips.trips import Trips
    from wayveil.world.opening import open_world

    budget, wanted = release_epsilon(epsilon), trips_wanted(trips_out)
    # A word that is wrong is said before a large feed is read.
    require_words(visits, ways)
    if not mechanism:
        refuse_nameless(preset)
    chosen = make_mechanism(mechanism, parameters or [], preset) if mechanism else None
    columns = parse_map(mapped or [])
    size = size_of(trips)
    finish = resume_command(out, world, bbox, date, walk_radius)
    paid = unpaid(out, finish)
    with shown(not quiet and not as_json), claimed(out, size=size):
        universe = open_world(world, bbox=bbox, service_date=date, walk_radius_metres=walk_radius)
        priors = [open_prior(folder, universe) for folder in prior or []]
        raw, counter, why = open_source(
            trips, universe, engine, columns=columns or None, spark=spark, scratch=scratch
        )
        remark(why, quiet=quiet or as_json or not why)
        if unit is None:
            refuse_hidden_riders(trips, columns)
        name = dataset or trips.name
        protected = choose_unit(unit, raw, max_trips, no_rider)
        if chosen is None and parameters:
            chosen = _default_with(raw, visits, ways, parameters)
        account = open_account(ledger, trips)
        # What is in files that are counted in pieces is known once they are read; it is held against the ledger then.
        known = raw if isinstance(raw, Trips) and not new_people else None
        require_dataset(account, name, protected, policy_epsilon, known, quiet=quiet or as_json)
        with finished_later(paid, finish):
            made = release_trips(
                raw,
                chosen,
                epsilon=budget,
                delta=delta,
                currency=currency,
                unit=protected,
                ledger=account,
                dataset=name,
                new_people=new_people,
                memory=int(memory * 2**30),
                purpose=purpose,
                curator=curator,
                tuned_on_data=tuned_on_data,
                visits=visits,
                ways=ways,
                keep=paid,
                counter=counter,
                trips_out=wanted,
                prior=priors,
            )
            with settled_if_lost(None if paid.kept else made.reservation, out):
                folder = made.save(out)
        paid.forget()
    booked = "no ledger" if account is None else f"{account.name}, as {name}"
    present_release(made, folder, as_json=as_json, booked_in=booked)
    options = world_words(world, bbox, date, walk_radius)
    following = (join(["wayveil", "verify", str(folder)]), join(["wayveil", "report", str(folder), *options]))
    remark(f"Next: {'; '.join(following)}", quiet=quiet or as_json)


def resume(
    out: Annotated[Path, typer.Argument(help="The folder that the stopped release was to be written to.")],
    world: WorldFile,
    bbox: BoundingBox = None,
    date: ServiceDate = None,
    walk_radius: WalkRadius = None,
    ledger: Annotated[
        str | None,
        typer.Option(help="The ledger it was paid from, where that has moved or needs a password."),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Finish a release that was stopped after it was paid for. Needs no raw trips and spends nothing.

    wayveil resume release/ --world city.zip
    """
    from wayveil.releases.paid import Paid, resume_release
    from wayveil.releases.preflight import claimed
    from wayveil.world.opening import open_world

    paid = Paid(out)
    paid.require()
    with shown(not quiet and not as_json), claimed(out):
        city = open_world(world, bbox=bbox, service_date=date, walk_radius_metres=walk_radius)
        with finished_later(paid, resume_command(out, world, bbox, date, walk_radius)):
            made = resume_release(out, city, ledger=ledger)
    booked = "no ledger" if made.reservation is None else made.reservation.ledger.name
    present_release(made, out, as_json=as_json, booked_in=booked)


@contextmanager
def finished_later(paid: "Paid", command: str) -> Iterator[None]:
    """Say what a stopped run has cost, and what can be done."""
    try:
        yield
    except KeyboardInterrupt:
        if paid.kept:
            said = f"stopped after everything was paid for; `{command}` finishes it without spending again"
        else:
            said = "stopped; `wayveil ledger show` says what it has cost, which is nothing before the first noise"
        typer.echo(f"wayveil: {said}", err=True)
        raise typer.Exit(130) from None
    except (OSError, WayveilError) as error:
        if not paid.kept:
            raise
        reason = str(error).rstrip(".")
        raise WayveilError(
            f"{reason}. What was measured is paid for and kept: `{command}` finishes it without spending again"
        ) from error


def require_dataset(
    account: "Ledger | None",
    name: str,
    unit: "Unit",
    policy_epsilon: str | None,
    rows: "Trips | None",
    *,
    quiet: bool,
) -> None:
    """See that the ledger has a policy for the dataset; ask for one where somebody sits at the terminal.

    Rows that are known under another name are refused before.
    """
    import getpass
    import sys

    from wayveil.releases.accounts import ask_on_terminal, require_policy

    if account is None:
        if policy_epsilon is not None:
            raise ParameterError("--policy-epsilon sets a policy in a ledger, and --ledger none names none")
        return
    ask = ask_on_terminal if not quiet and sys.stdin.isatty() else None
    actor = getpass.getuser()
    require_policy(account, name, unit, actor=actor, rows=rows, policy_epsilon=policy_epsilon, ask=ask)


def _default_with(
    raw: "Trips | TripFiles", visits: str | None, ways: str | None, parameters: list[str]
) -> "Mechanism":
    """The default mechanism of the world that the trips are counted over, with parameters."""
    from wayveil.releases.choices import default_mechanism
    from wayveil.trips.legs import counted_world

    world = raw.world if visits is None else counted_world(raw.world, visits, ways)  # type: ignore[arg-type]
    return make_mechanism(default_mechanism(world).name, parameters)


def unpaid(out: Path, finish: str) -> "Paid":
    """Where the model of a new run into this folder is kept; refused where one was paid for and not finished."""
    from wayveil.releases.paid import Paid

    paid = Paid(out)
    if paid.kept:
        raise WayveilError(
            f"a run into {out} was paid for and not finished: `{finish}` finishes it without spending; remove "
            f"{paid.folder} to give it up"
        )
    return paid


def resume_command(
    out: Path, world: Path, bbox: str | None = None, date: str | None = None, walk: float | None = None
) -> str:
    """The command that finishes a run that was stopped."""
    return join(["wayveil", "resume", str(out), *world_words(world, bbox, date, walk)])
