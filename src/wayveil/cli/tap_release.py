"""Commands that release taps and help to choose who is protected: `taps release`, `taps units`."""

from pathlib import Path
from shlex import join
from typing import Annotated

import typer

from wayveil.cli.options import (
    AsJson,
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
    present_release,
    remark,
)
from wayveil.cli.tap_commands import (
    DAYS,
    Columns,
    Mapped,
    OptionalWorld,
    OptOut,
    RulesFile,
    TapFile,
    Zone,
    day_of,
    open_places,
    read_clean,
    rider_rules,
)
from wayveil.errors import ParameterError
from wayveil.progress import shown


def release(
    file: TapFile,
    epsilon: Epsilon,
    way: Annotated[
        str,
        typer.Option(
            help="cards (protects riders), counts-first or counts (protect single taps), or study (protects nobody "
            "behind the taps)."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the release; must not exist yet.")],
    world: OptionalWorld = None,
    columns: Columns = None,
    mapped: Mapped = None,
    mechanism: Annotated[
        str | None, typer.Option("--mechanism", "-m", help="See `wayveil lab mechanisms`.")
    ] = None,
    parameters: Annotated[
        list[str] | None, typer.Option("--set", help="Parameter of the mechanism, name=value.")
    ] = None,
    preset: Preset = None,
    period: Annotated[
        str | None, typer.Option(help="A trip is a rider's `day` or `week`; not for counts. Default: day.")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            help="Who is protected: event (one tap; default of counts and counts-first), rider (all that a card did; "
            "default of cards), rider-day, window, trip (a card's day or week). `wayveil lab units` helps to choose."
        ),
    ] = None,
    max_taps: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Taps that are counted of each rider, rider-day or window, with counts and counts-first.",
        ),
    ] = None,
    window_hours: Annotated[int | None, typer.Option(min=1, help="Hours of the unit window.")] = None,
    sensitive: Annotated[
        Path | None,
        typer.Option(
            help="A public csv of sensitive stops (stop_id, if need be merge_into): merged into the nearest other stop."
        ),
    ] = None,
    sensitive_epsilon: Annotated[
        str | None,
        typer.Option(
            help="With --sensitive: do not merge; protect what a unit did at these stops with this epsilon."
        ),
    ] = None,
    opt_out: OptOut = None,
    max_trips: Annotated[
        int | None,
        typer.Option(min=1, help="Trips of one rider that are counted; for cards and study. Default: 2."),
    ] = None,
    no_rider: NoRider = "refuse",
    alightings: Annotated[bool, typer.Option(help="Way cards: add where riders get off.")] = False,
    first_day: Annotated[
        str | None, typer.Option(help="Public period, for counts-first: YYYY-MM-DD.")
    ] = None,
    days: Annotated[
        int | None, typer.Option(min=1, help="Days of the public period, for counts-first. Default: 6.")
    ] = None,
    rules: RulesFile = None,
    zone: Zone = None,
    ledger: LedgerPlace = None,
    dataset: DatasetName = None,
    policy_epsilon: PolicyEpsilon = None,
    new_people: NewPeople = False,
    memory: MemoryLimit = 6,
    purpose: Annotated[str, typer.Option(help="What the release is for; goes into the ledger.")] = "",
    curator: Annotated[str, typer.Option(help="Who publishes; goes into the datasheet.")] = "",
    tuned_on_data: Annotated[
        bool,
        typer.Option("--tuned-on-data", help="Declare that bounds were chosen by looking at the raw taps."),
    ] = False,
    prior: PriorFolders = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Release taps: daily or weekly trips of riders, or counts, with a datasheet that says who is protected.

    wayveil taps release taps.parquet --world city.zip --epsilon 1 --way cards --out release/
    """
    from wayveil.cli.mechanisms import make_mechanism
    from wayveil.cli.release import require_dataset
    from wayveil.mechanisms.presets import refuse_nameless
    from wayveil.privacy.budget import release_epsilon
    from wayveil.releases.accounts import open_account, settled_if_lost
    from wayveil.releases.preflight import claimed
    from wayveil.releases.priors import open_prior
    from wayveil.releases.tap_units import choose_tap_unit
    from wayveil.releases.tap_ways import release_taps
    from wayveil.taps.sensitive import SensitiveStops

    budget = release_epsilon(epsilon)
    if parameters and mechanism is None:
        raise ParameterError("--set gives a parameter of a mechanism: name it with --mechanism")
    if mechanism is None:
        refuse_nameless(preset)
    chosen = None if mechanism is None else make_mechanism(mechanism, parameters or [], preset)
    with shown(not quiet and not as_json), claimed(out, size=file.stat().st_size if file.is_file() else 0):
        city = open_places(world)
        taps = read_clean(file, city, columns, mapped, zone, opt_out)
        hidden = None if sensitive is None else SensitiveStops.of_file(sensitive, city)
        priors = [open_prior(folder, taps.world) for folder in prior or []]
        name = dataset or file.name
        account = open_account(ledger, file)
        rows = None if new_people else taps.as_single_visits()
        protected = choose_tap_unit(
            way,
            unit,
            max_trips=max_trips,
            max_taps=max_taps,
            window_hours=window_hours,
            without_id=no_rider,  # type: ignore[arg-type]
        )
        require_dataset(account, name, protected, policy_epsilon, rows, quiet=quiet or as_json)
        made = release_taps(
            taps,
            way,  # type: ignore[arg-type]
            epsilon=budget,
            mechanism=chosen,
            period=period,  # type: ignore[arg-type]
            unit=unit,
            max_trips=max_trips,
            max_taps=max_taps,
            window_hours=window_hours,
            sensitive=hidden,
            sensitive_epsilon=sensitive_epsilon,
            without_id=no_rider,  # type: ignore[arg-type]
            alightings=alightings,
            first_day=None if first_day is None else day_of(first_day),
            days=DAYS if days is None and first_day is not None else days,
            rules=rider_rules(rules),
            ledger=account,
            dataset=name,
            new_people=new_people,
            memory=int(memory * 2**30),
            purpose=purpose,
            curator=curator,
            tuned_on_data=tuned_on_data,
            prior=priors,
        )
        with settled_if_lost(made.reservation, out):
            folder = made.save(out)
    booked = "no ledger" if account is None else f"{account.name}, as {name}"
    present_release(made, folder, as_json=as_json, booked_in=booked)
    places = ["--world", str(world)]
    following = [
        ["verify", str(folder)],
        ["ask", str(folder), "all", *places],
        ["report", str(folder), *places],
    ]
    remark(f"Next: {'; '.join(join(['wayveil', *words]) for words in following)}", quiet=quiet or as_json)
