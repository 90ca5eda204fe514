"""Commands that weigh mechanisms against each other: `compare` and `recommend`."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from wayveil.cli.options import (
    AsJson,
    BoundingBox,
    DatasetName,
    LedgerPlace,
    Preset,
    Quiet,
    WorldFile,
    present_rows,
    remark,
)
from wayveil.errors import ParameterError
from wayveil.lab.cli.candidates import chosen_unit, parse_candidates, parse_crowds, parse_prices
from wayveil.progress import shown

if TYPE_CHECKING:
    from wayveil.lab.comparison.comparison_cells import ComparisonCell
    from wayveil.lab.comparison.comparison_results import Comparison
    from wayveil.lab.syntactic.method import SyntacticMethod
    from wayveil.mechanisms.mechanism import Mechanism
    from wayveil.trips.trips import Trips

Mechanisms = Annotated[
    str,
    typer.Option(
        "--mechanism", "-m", help="Names with commas between, or `all`; see `wayveil lab mechanisms`."
    ),
]
Epsilons = Annotated[
    str, typer.Option("--epsilon", "-e", help="Budgets with commas between, from 0.001 to 1000.")
]
Repetitions = Annotated[int, typer.Option(min=1, help="Releases of each, for intervals.")]
Grid = Annotated[
    list[str] | None,
    typer.Option("--grid", help="Values of a parameter to try: mechanism.parameter=a,b,c; repeatable."),
]
Varied = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        help="A parameter and its values, of every mechanism: height=2,4,6. Each is drawn as an x axis of its own; "
        "with `-m all` those take part that have it; repeatable.",
    ),
]
UnitName = Annotated[
    str | None,
    typer.Option(
        "--unit",
        help="Who is protected: rider, rider-day, trip or event. Default: rider if there are riders.",
    ),
]
MaxTrips = Annotated[
    int | None,
    typer.Option(min=1, help="Trips of one rider that are counted, with --unit rider or rider-day."),
]
Folder = Annotated[
    Path, typer.Option("--out", "-o", help="Folder of the results; a run that was stopped goes on in it.")
]
AttackToo = Annotated[
    bool,
    typer.Option(
        "--risk",
        help="Hold half of the riders out, attack every release, and draw risk against error instead of utility "
        "against epsilon.",
    ),
]
Crowds = Annotated[
    list[str] | None,
    typer.Option(
        "--crowd", help="With --risk: a method without epsilon and its k: glove=2,5,10; repeatable."
    ),
]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes; default: one per core.")]
Queries = Annotated[int, typer.Option(min=1, help="Count queries of each workload.")]


def compare(
    context: typer.Context,
    trips: Annotated[Path, typer.Argument(help="The raw trips (parquet, csv, or a sequence file).")],
    world: WorldFile,
    out: Folder,
    mechanism: Mechanisms = "all",
    epsilon: Epsilons = "0.1,0.5,1,2",
    repetitions: Repetitions = 5,
    grid: Grid = None,
    vary: Varied = None,
    preset: Preset = None,
    unit: UnitName = None,
    max_trips: MaxTrips = None,
    risk: AttackToo = False,
    crowd: Crowds = None,
    bbox: BoundingBox = None,
    queries: Queries = 10_000,
    workers: Workers = None,
    ledger: LedgerPlace = None,
    dataset: DatasetName = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Release with many mechanisms and budgets and measure all of it, internally. NOT for publication.

    The look at the raw trips is booked in the ledger in reach, free of charge: later datasheets say that it happened.
    With --risk, a run that was stopped begins anew.

        wayveil lab compare trips.csv --world city.zip -m weave,markov -e 0.5,1,2 --out compared/
    """
    from wayveil.lab.comparison.run_cells import Settings
    from wayveil.releases.accounts import note_look
    from wayveil.trips.read import read_trips
    from wayveil.world.opening import open_world

    if crowd and not risk:
        raise ParameterError("--crowd names methods without epsilon, which are compared by risk: add --risk")
    for name in ("queries", "workers", "unit", "max_trips") if risk else ():
        if str(getattr(context.get_parameter_source(name), "name", "")) == "COMMANDLINE":
            raise ParameterError(
                f"--{name.replace('_', '-')} plays no part with --risk, which counts in boxes, attacks one by one "
                "and protects riders where there are some"
            )
    candidates = parse_candidates(mechanism, grid or [], vary or [], preset)
    # Said before anything is read or booked.
    parse_prices(epsilon)
    crowds = parse_crowds(crowd or [])
    with shown(not quiet and not as_json):
        raw = read_trips(trips, open_world(world, bbox=bbox))
        note_look("compare", raw, trips, ledger, dataset)
    if risk:
        _compare_risk(raw, candidates, epsilon, crowds, repetitions, out, trips.name, as_json, quiet)
        return
    settings = Settings(queries=queries, unit=chosen_unit(raw, unit, max_trips))
    found = _run(raw, candidates, epsilon, repetitions, settings, out, workers, quiet or as_json)
    _present(found, out, f"Comparison on {trips.name}", "the raw trips", as_json=as_json, quiet=quiet)


def recommend(
    world: WorldFile,
    out: Folder,
    riders: Annotated[
        int, typer.Option(min=1, help="Simulated riders: a public guess of how many there will be.")
    ] = 10_000,
    public_trips: Annotated[
        Path | None,
        typer.Option(help="Public trips of the same world to tune on, in place of simulated ones."),
    ] = None,
    mechanism: Mechanisms = "all",
    epsilon: Epsilons = "0.5,1,2",
    repetitions: Repetitions = 3,
    grid: Grid = None,
    vary: Varied = None,
    preset: Preset = None,
    unit: UnitName = None,
    max_trips: MaxTrips = None,
    bbox: BoundingBox = None,
    queries: Queries = 10_000,
    workers: Workers = None,
    seed: Annotated[int, typer.Option(help="Seed of the simulated riders.")] = 0,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Say which mechanism suits which question, tuned on simulated or public trips: costs no privacy.

    wayveil lab recommend --world city.zip --riders 20000 --out recommended/
    """
    from wayveil.lab.comparison.recommend import stand_in_trips
    from wayveil.lab.comparison.run_cells import Settings
    from wayveil.trips.read import read_trips
    from wayveil.world.opening import open_world

    candidates = parse_candidates(mechanism, grid or [], vary or [], preset)
    with shown(not quiet and not as_json):
        city = open_world(world, bbox=bbox)
        simulated = public_trips is None
        trips = (
            stand_in_trips(city, riders, seed=seed)
            if public_trips is None
            else read_trips(public_trips, city)
        )
    settings = Settings(queries=queries, unit=chosen_unit(trips, unit, max_trips))
    found = _run(trips, candidates, epsilon, repetitions, settings, out, workers, quiet or as_json)
    basis = f"{riders:,} simulated riders" if simulated else f"the public trips of {public_trips}"
    _present(found, out, "Recommendation", basis, as_json=as_json, quiet=quiet)


def _run(
    trips: object,
    candidates: "list[Mechanism]",
    epsilons: str,
    repetitions: int,
    settings: object,
    out: Path,
    workers: int | None,
    quiet: bool,
) -> "Comparison":
    from wayveil.lab.comparison.compare import compare as compare_releases

    prices = parse_prices(epsilons)
    board = Board([float(price) for price in prices], repetitions)
    with Live(board.table(), console=Console(stderr=True), refresh_per_second=2, transient=True) as live:
        if quiet:
            live.stop()

        def seen(cell: "ComparisonCell", status: str) -> None:
            board.add(cell, status)
            if not quiet:
                live.update(board.table())

        return compare_releases(
            trips,  # type: ignore[arg-type]
            candidates,
            prices,
            repetitions=repetitions,
            settings=settings,  # type: ignore[arg-type]
            out=out,
            workers=workers,
            on_cell=seen,
        )


class Board:
    """The progress table: mechanisms by epsilons, how many releases of each are done."""

    def __init__(self, epsilons: list[float], repetitions: int) -> None:
        self.epsilons, self.repetitions = epsilons, repetitions
        self.done: Counter[tuple[str, float | None]] = Counter()
        self.words: dict[tuple[str, float | None], str] = {}

    def add(self, cell: "ComparisonCell", status: str) -> None:
        """One more cell."""
        from wayveil.lab.comparison.comparison_cells import display_name

        place = (
            display_name(cell.name, cell.parameters),
            None if cell.epsilon is None else float(cell.epsilon),
        )
        self.done[place] += 1
        if status in ("refused", "failed"):
            self.words[place] = status

    def table(self) -> Table:
        """As it stands."""
        table = Table(title="releases compared", title_justify="left")
        table.add_column("mechanism")
        for epsilon in self.epsilons:
            table.add_column(f"ε = {epsilon:g}", justify="right")
        for name in dict.fromkeys(name for name, epsilon in self.done if epsilon is not None):
            cells = [
                self.words.get((name, e), f"{self.done[name, e]}/{self.repetitions}") for e in self.epsilons
            ]
            table.add_row(name, *cells)
        return table


def _present(found: "Comparison", out: Path, title: str, basis: str, *, as_json: bool, quiet: bool) -> None:
    from wayveil.lab.comparison.comparison_page import write_comparison_page
    from wayveil.lab.comparison.recommend import recommend as recommended

    page = write_comparison_page(out / "comparison.html", found, title=title, tuned_on=basis)
    rows = [
        {
            "question": one.question,
            "epsilon": f"{one.epsilon:g}",
            "best": one.name if one.useful else f"none ({one.name} is no better than no data)",
            "value": f"{one.value:.3g}",
            "floor": None if one.floor is None else f"{one.floor:.3g}",
            "next": one.runner_up,
            "clear": "yes" if one.clear else "no",
        }
        for one in recommended(found)
    ]
    present_rows(rows, as_json=as_json, title=f"Measured on {basis}")
    for name, reason in found.gaps():
        remark(f"{name} was not measured: {reason}", quiet=quiet or as_json)
    remark(f"Page: {page}; table: {out / 'results.parquet'}. {found.notice}", quiet=quiet or as_json)


def _compare_risk(
    raw: "Trips",
    candidates: "list[Mechanism]",
    epsilons: str,
    crowds: "list[SyntacticMethod]",
    repetitions: int,
    out: Path,
    name: str,
    as_json: bool,
    quiet: bool,
) -> None:
    from wayveil.lab.comparison.risk_chart import save_risk_chart
    from wayveil.lab.comparison.risk_curves import FIGURES, compare_risk

    with shown(not quiet and not as_json):
        found = compare_risk(raw, candidates, parse_prices(epsilons), crowds, repetitions=repetitions)
    out.mkdir(parents=True, exist_ok=True)
    found.table.write_parquet(out / "risk.parquet")
    save_risk_chart(found, out, title=f"Risk against error on {name}")
    rows = [
        {"figure": FIGURES[figure], **row}
        for figure in ("linkage", "strap_500")
        for row in found.at_fixed_error(figure)
    ]
    present_rows(rows, as_json=as_json, title="Risk and STRAP at a fixed error of range counts")
    for label, reason in found.gaps():
        remark(f"{label} was not measured: {reason}", quiet=quiet or as_json)
    remark(
        f"Picture: {out / 'risk.svg'}; table: {out / 'risk.parquet'}. {found.notice}", quiet=quiet or as_json
    )


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (compare, recommend):
        app.command()(command)
