"""Commands about releases: `release`, `score`, `report`, `verify`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayveil.cli.mechanisms import make_mechanism
from wayveil.cli.opening import Look, Trust, open_release, read_raw
from wayveil.cli.options import (
    Anyway,
    AsJson,
    BoundingBox,
    DatasetName,
    Epsilon,
    LedgerPlace,
    MemoryLimit,
    NewPeople,
    NoRider,
    PolicyEpsilon,
    Quiet,
    WorldFile,
    present,
    present_release,
    remark,
)
from wayveil.cli.tap_commands import Cell, Grid, OptionalWorld
from wayveil.errors import ParameterError
from wayveil.progress import shown

if TYPE_CHECKING:
    from wayveil.privacy.ledger import Ledger
    from wayveil.privacy.units import Unit
    from wayveil.trips.trips import Trips

RawFile = Annotated[Path, typer.Argument(help="The raw trips (parquet, csv, or a sequence file).")]
ReleaseFolder = Annotated[Path, typer.Argument(help="The folder of a release.")]
Queries = Annotated[int, typer.Option(min=1, help="Count queries of each workload.")]
Full = Annotated[
    bool,
    typer.Option(
        "--full",
        help="Ask every question that fits: also n-grams, replay, frequent patterns, origins and destinations, the "
        "agency's operations, ranges, the GPS set, feasibility. Minutes on a million trips; without it, seconds.",
    ),
]


def release(
    trips: RawFile,
    epsilon: Epsilon,
    world: WorldFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the release; must not exist yet.")],
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            "-m",
            help="See `wayveil mechanisms`. Default: weave; noisy-prefix-tree for lists of thousands of places.",
        ),
    ] = None,
    parameters: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the mechanism, name=value; repeatable.")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            help="Who is protected: rider, rider-day, trip or event. Default: rider if there are riders."
        ),
    ] = None,
    max_trips: Annotated[
        int, typer.Option(min=1, help="Trips of one rider that are counted, chosen at random.")
    ] = 2,
    no_rider: NoRider = "refuse",
    bbox: BoundingBox = None,
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
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Release trips under differential privacy: private trips, model, signed datasheet.

    Every release is booked in a ledger. A dataset that the ledger does not know yet needs a policy first: what may be
    spent on it in all (`wayveil ledger init`, or --policy-epsilon). The ledger knows a dataset by what is in it: the
    same people under another name are refused.
    """
    from wayveil.privacy.budget import release_epsilon
    from wayveil.releases.accounts import open_account, settled_if_lost
    from wayveil.releases.release import default_mechanism
    from wayveil.releases.release import release as release_trips
    from wayveil.trips.read import read_trips
    from wayveil.world.opening import open_world

    budget = release_epsilon(epsilon)
    # A word that is wrong is said before a large feed is read.
    chosen = make_mechanism(mechanism, parameters or []) if mechanism else None
    if out.exists() and any(out.iterdir() if out.is_dir() else [out]):
        raise ParameterError(f"{out} already exists; a release is never written over another one")
    with shown(not quiet and not as_json):
        universe = open_world(world, bbox=bbox)
        chosen = chosen or make_mechanism(default_mechanism(universe).name, parameters or [])
        raw = read_trips(trips, universe)
        name = dataset or trips.name
        protected = make_unit(unit or ("trip" if raw.rider is None else "rider"), max_trips, no_rider)
        account = open_account(ledger, trips)
        known = None if new_people else raw
        require_dataset(account, name, protected, policy_epsilon, known, quiet=quiet or as_json)
        made = release_trips(
            raw,
            chosen,
            epsilon=budget,
            unit=protected,
            ledger=account,
            dataset=name,
            new_people=new_people,
            memory=int(memory * 2**30),
            purpose=purpose,
            curator=curator,
            tuned_on_data=tuned_on_data,
        )
        with settled_if_lost(made.reservation, out):
            folder = made.save(out)
    booked = "no ledger" if account is None else f"{account.name}, as {name}"
    present_release(made, folder, as_json=as_json, booked_in=booked)
    remark(f"Next: wayveil verify {folder}; wayveil report {folder} --world {world}", quiet=quiet or as_json)


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


def score(
    trips: RawFile,
    release: ReleaseFolder,
    world: WorldFile,
    full: Full = False,
    bbox: BoundingBox = None,
    trust: Trust = None,
    queries: Queries = 40_000,
    seed: Annotated[int, typer.Option(help="Seed of the queries and reference lines.")] = 0,
    ledger: LedgerPlace = None,
    dataset: DatasetName = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Compare a release with the raw trips. NOT for publication.

    Every figure stands between three lines. The **ceiling** is a resample of the raw trips: nothing private can be
    expected to beat it. The **floor** is made from public knowledge alone: a release that does not beat it tells
    nothing about these riders. The **empty** release has no trips at all: a figure on which silence does well is easy.
    Read the error of *non-empty* count queries first. docs/metrics.md defines every figure. The look at the raw trips
    is booked in the ledger in reach, free of charge.
    """
    from wayveil.utility.scorecard import score as score_release

    with shown(not quiet and not as_json):
        private = open_release(release, world, bbox=bbox, trust=trust)
        raw, _ = read_raw(trips, private, None, 0.02, look=Look("score", ledger, dataset))
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
    grid: Grid = None,
    cell: Cell = 0.02,
    bbox: BoundingBox = None,
    trust: Trust = None,
    queries: Queries = 40_000,
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

    from wayveil.comparison.results import Comparison
    from wayveil.report.page import write_report
    from wayveil.utility.scorecard import score as score_release

    if comparison is not None and raw is None:
        raise ParameterError(
            "a comparison was made from raw trips and goes into the internal report: give --raw too"
        )
    with shown(not quiet and not as_json):
        private = open_release(release, world, grid, cell, bbox=bbox, trust=trust)
        if raw is None:
            write_report(out, release=private, audience="public")
        else:
            trips, _ = read_raw(raw, private, grid, cell, look=Look("report", ledger, dataset))
            card = score_release(trips, private, suite="full" if full else "core", queries=queries)
            compared = None if comparison is None else Comparison.load(comparison)
            write_report(
                out, release=private, raw=trips, scorecard=card, comparison=compared, audience="internal"
            )
    facts = {"report": str(out), "figures": str(out.with_name(f"{out.stem}-figures"))}
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
    from wayveil.releases.verification import ANY_KEY, verify_release

    found = verify_release(release, trust=ANY_KEY if any_key else key)
    facts = {"folder": str(found.folder), "files": len(found.files), "key": found.key}
    present({**facts, "verdict": "as signed"}, as_json=as_json)


def export(
    release: ReleaseFolder,
    world: WorldFile,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The file to write; a flowmap is two files beside it.")
    ],
    kind: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            help="station-activities (TIDES), od, stop-flows, edge-flows, flowmap; or trie (JSON, of n-grams).",
        ),
    ] = "od",
    anyway: Anyway = False,
    bbox: BoundingBox = None,
    trust: Trust = None,
    as_json: AsJson = False,
) -> None:
    """Write a release in a format that other tools read. Costs nothing: the release is already private."""
    from wayveil.releases.exports import export as write
    from wayveil.releases.exports import verdict_on

    private = open_release(release, world, bbox=bbox, trust=trust)
    files = write(private, kind, out, anyway=anyway)
    verdict = verdict_on(private, kind)
    facts = {"format": kind, "written_to": [str(file) for file in files]}
    present(facts if verdict is None else {**facts, "verdict": verdict}, as_json=as_json)


def sample(
    release: ReleaseFolder,
    world: WorldFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the trips go (.parquet or .csv).")],
    trips: Annotated[
        int | None, typer.Option(min=1, help="How many; default: as many as the release says there are.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed draws the same trips.")] = None,
    bbox: BoundingBox = None,
    trust: Trust = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Draw more private trips from the model of a release. They are paid for: this costs nothing."""
    from wayveil.synthesis.model import DrawsMore
    from wayveil.trips.visits import write_visits

    with shown(not quiet and not as_json):
        private = open_release(release, world, bbox=bbox, trust=trust)
        if not isinstance(private.model, DrawsMore):
            made_by = private.datasheet["mechanism"]["name"]
            raise ParameterError(f"the model of this release ({made_by}) draws its own number of trips only")
        drawn = private.model.draw(trips, seed)
        write_visits(drawn, out)
    present({"trips": len(drawn), "written_to": str(out)}, as_json=as_json)


def make_unit(name: str, max_trips: int, no_rider: str = "refuse") -> "Unit":
    """The privacy unit of this name."""
    from wayveil.privacy import units

    riders: dict[str, Any] = {"max_trips": max_trips, "without_id": no_rider}
    made: dict[str, Unit] = {
        "trip": units.Trip(),
        "rider": units.Rider(**riders),
        "rider-day": units.RiderDay(**riders),
        "event": units.Event(),
    }
    if no_rider != "refuse" and name in ("trip", "event"):
        raise ParameterError(
            f"--no-rider has no meaning for the unit `{name}`, which does not look at riders"
        )
    if name not in made:
        raise ParameterError(f"there is no unit {name!r}; there are {', '.join(made)}")
    return made[name]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (release, score, report, export, sample, verify):
        app.command()(command)
