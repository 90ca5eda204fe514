"""Commands that weigh mechanisms against each other: `compare` and `recommend`."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from wayveil.cli.options import (
    BoundingBox,
    LedgerPlace,
    Spoken,
    grouped,
    present_rows,
    remark,
)
from wayveil.errors import ParameterError
from wayveil.lab.cli.lab_options import (
    DatasetName,
    Preset,
    WorldFile,
)
from wayveil.progress import shown

if TYPE_CHECKING:
    from fractions import Fraction

    from wayveil.lab.comparison.comparison_cells import ComparisonCell
    from wayveil.lab.comparison.comparison_results import Comparison
    from wayveil.lab.syntactic.method import SyntacticMethod
    from wayveil.mechanisms.mechanism import Mechanism
    from wayveil.privacy.units import Unit
    from wayveil.trips.trips import Trips


def parse_candidates(
    names: str, grids: list[str], varied: list[str] | None = None, preset: str | None = None
) -> "list[Mechanism]":
    """Mechanisms by name, each with every combination of the values given for its parameters.

    grids    mechanism.parameter=a,b,c: values for one mechanism
    varied   parameter=a,b,c: values for all; a mechanism that is named and does not have the parameter is refused
    preset   parameters as published; `all` are then those that have it
    """
    from wayveil.lab.comparison.comparison_cells import grid
    from wayveil.mechanisms.presets import has_preset, require_preset
    from wayveil.mechanisms.registry import mechanism, ready_mechanisms

    require_preset(preset)
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    common = dict(_values(text, "--vary takes parameter=a,b,c") for text in varied or [])
    if names == "all":
        ready = ready_mechanisms().items()
        fit = [name for name, kind in ready if common.keys() <= kind.model_fields.keys()]
        wanted = [name for name in fit if preset is None or has_preset(mechanism(name))]
        if not wanted:
            raise ParameterError(f"no mechanism has all of {', '.join(common)}; see `wayveil lab mechanisms`")
    choices: dict[str, dict[str, list[str]]] = {name: dict(common) for name in wanted}
    for name in wanted:
        if lacking := sorted(common.keys() - mechanism(name).model_fields.keys()):
            raise ParameterError(
                f"--vary {lacking[0]}: {name} has no such parameter; `wayveil lab mechanisms {name}` shows those it has"
            )
    for setting in grids:
        target, values = _values(setting, "--grid takes mechanism.parameter=a,b,c")
        name, dot, parameter = target.partition(".")
        if not dot:
            raise ParameterError(f"--grid takes mechanism.parameter=a,b,c, not {setting!r}")
        if name not in choices:
            raise ParameterError(
                f"--grid names {name!r}, which is not among the mechanisms of this comparison"
            )
        if parameter in common:
            raise ParameterError(f"{parameter} is named by --vary and by --grid; name it once")
        choices[name][parameter] = values
    return [candidate for name, values in choices.items() for candidate in grid(name, values, preset)]


def _values(setting: str, form: str) -> tuple[str, list[str]]:
    """The target and the values of `target=a,b,c`."""
    target, equals, values = setting.partition("=")
    if not (equals and target.strip() and values.strip()):
        raise ParameterError(f"{form}, not {setting!r}")
    head, dot, parameter = target.strip().rpartition(".")
    return f"{head}{dot}{parameter.replace('-', '_')}", [value.strip() for value in values.split(",")]


def chosen_unit(trips: "Trips", unit: str | None, max_trips: int | None) -> "Unit | None":
    """The unit that was asked for; None where nothing was said."""
    from wayveil.releases.order import UnitChoice, choose_unit

    if max_trips is not None and unit in ("trip", "event"):
        raise ParameterError(
            f"--max-trips bounds the trips of a rider; it has no meaning for the unit `{unit}`"
        )
    if max_trips is not None and unit is None and trips.rider is None:
        raise ParameterError("--max-trips bounds the trips of a rider, and these trips have no riders")
    return None if unit is None and max_trips is None else choose_unit(UnitChoice(unit, max_trips), trips)


def parse_prices(epsilons: str) -> "list[Fraction]":
    """Epsilons with commas between, each in the range of releases."""
    from wayveil.privacy.budget import release_epsilon

    return [release_epsilon(part.strip()) for part in epsilons.split(",") if part.strip()]


def parse_crowds(texts: list[str]) -> "list[SyntacticMethod]":
    """Methods without epsilon, each with the values of its k."""
    from wayveil.lab.syntactic.method import methods

    known, made = methods(), []
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or name not in known:
            raise ParameterError(
                f"--crowd takes a method and its k, such as glove=2,5,10 ({', '.join(known)}), not {text!r}"
            )
        key = "K" if "K" in known[name].model_fields else "k"
        made += [known[name](**{key: value.strip()}) for value in values.split(",")]
    return made


QUERIES = 10_000
Trials = Annotated[int, typer.Option(min=1, help="Releases of each, for intervals.")]
Epsilons = Annotated[
    str, typer.Option("--epsilon", "-e", help="Budgets with commas between, from 0.001 to 1000.")
]


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """Candidates that are weighed, over which world, and where the results go."""

    world: WorldFile
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the results; a run that was stopped goes on in it.")
    ]
    mechanism: Annotated[
        str,
        typer.Option(
            "--mechanism", "-m", help="Names with commas between, or `all`; see `wayveil lab mechanisms`."
        ),
    ] = "all"
    epsilon: Epsilons = "0.1,0.5,1,2"
    repetitions: Trials = 5
    grid: Annotated[
        list[str] | None,
        typer.Option(help="Values of a parameter to try: mechanism.parameter=a,b,c; repeatable."),
    ] = None
    vary: Annotated[
        list[str] | None,
        typer.Option(
            help="A parameter and its values, of every mechanism: height=2,4,6. Each is drawn as an x axis of its own; "
            "with `-m all` those take part that have it; repeatable.",
        ),
    ] = None
    preset: Preset = None
    unit: Annotated[
        str | None,
        typer.Option(
            help="Who is protected: rider, rider-day, trip or event. Default: rider if there are riders."
        ),
    ] = None
    max_trips: Annotated[
        int | None,
        typer.Option(min=1, help="Trips of one rider that are counted, with --unit rider or rider-day."),
    ] = None
    bbox: BoundingBox = None
    queries: Annotated[
        int | None, typer.Option(min=1, help="Count queries of each workload. Default: 10,000.")
    ] = None
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; default: one per core.")] = None

    def mechanisms(self) -> "list[Mechanism]":
        """Make every mechanism that is named, with every value that is tried."""
        return parse_candidates(self.mechanism, self.grid or [], self.vary or [], self.preset)


@dataclass(frozen=True, kw_only=True)
class CompareOptions(Candidates):
    """Options of `compare`."""

    trips: Annotated[Path, typer.Argument(help="The raw trips (parquet, csv, or a sequence file).")]
    risk: Annotated[
        bool,
        typer.Option(
            "--risk",
            help="Hold half of the riders out, attack every release, and draw risk against error instead of utility "
            "against epsilon.",
        ),
    ] = False
    crowd: Annotated[
        list[str] | None,
        typer.Option(help="With --risk: a method without epsilon and its k: glove=2,5,10; repeatable."),
    ] = None
    ledger: LedgerPlace = None
    dataset: DatasetName = None


@grouped
def compare(options: CompareOptions, spoken: Spoken) -> None:
    """Release with many mechanisms and budgets and measure all of it, internally. NOT for publication.

    The look at the raw trips is booked in the ledger in reach, free of charge: later datasheets say that it happened.
    With --risk, a run that was stopped begins anew.

        wayveil lab compare trips.csv --world city.zip -m weave,markov -e 0.5,1,2 --out compared/
    """
    from wayveil.releases.accounts import note_look
    from wayveil.trips.read import read_trips
    from wayveil.world.opening import open_world

    if options.crowd and not options.risk:
        raise ParameterError("--crowd names methods without epsilon, which are compared by risk: add --risk")
    for name in ("queries", "workers", "unit", "max_trips") if options.risk else ():
        if getattr(options, name) is not None:
            raise ParameterError(
                f"--{name.replace('_', '-')} plays no part with --risk, which counts in boxes, attacks one by one "
                "and protects riders where there are some"
            )
    # Said before anything is read or booked.
    candidates, _ = options.mechanisms(), parse_prices(options.epsilon)
    crowds = parse_crowds(options.crowd or [])
    with shown(not spoken.silent):
        raw = read_trips(options.trips, open_world(options.world, bbox=options.bbox))
        note_look("compare", raw, options.trips, options.ledger, options.dataset)
    if options.risk:
        _compare_risk(options, spoken, raw, candidates, crowds)
        return
    found = _run(options, spoken, raw, candidates)
    _present(options, spoken, found, f"Comparison on {options.trips.name}", "the raw trips")


@dataclass(frozen=True, kw_only=True)
class RecommendOptions(Candidates):
    """Options of `recommend`."""

    riders: Annotated[
        int, typer.Option(min=1, help="Simulated riders: a public guess of how many there will be.")
    ] = 10_000
    public_trips: Annotated[
        Path | None,
        typer.Option(help="Public trips of the same world to tune on, in place of simulated ones."),
    ] = None
    epsilon: Epsilons = "0.5,1,2"
    repetitions: Trials = 3
    seed: Annotated[int, typer.Option(help="Seed of the simulated riders.")] = 0


@grouped
def recommend(options: RecommendOptions, spoken: Spoken) -> None:
    """Say which mechanism suits which question, tuned on simulated or public trips: costs no privacy.

    wayveil lab recommend --world city.zip --riders 20000 --out recommended/
    """
    from wayveil.lab.comparison.recommend import stand_in_trips
    from wayveil.trips.read import read_trips
    from wayveil.world.opening import open_world

    candidates = options.mechanisms()
    with shown(not spoken.silent):
        city = open_world(options.world, bbox=options.bbox)
        if options.public_trips is None:
            trips, basis = (
                stand_in_trips(city, options.riders, seed=options.seed),
                f"{options.riders:,} simulated riders",
            )
        else:
            trips, basis = (
                read_trips(options.public_trips, city),
                f"the public trips of {options.public_trips}",
            )
    _present(options, spoken, _run(options, spoken, trips, candidates), "Recommendation", basis)


def _run(options: Candidates, spoken: Spoken, trips: "Trips", candidates: "list[Mechanism]") -> "Comparison":
    from wayveil.lab.comparison.compare import compare as compare_releases
    from wayveil.lab.comparison.run_cells import Settings

    settings = Settings(
        queries=options.queries or QUERIES, unit=chosen_unit(trips, options.unit, options.max_trips)
    )
    prices = parse_prices(options.epsilon)
    board = Board([float(price) for price in prices], options.repetitions)
    with Live(board.table(), console=Console(stderr=True), refresh_per_second=2, transient=True) as live:
        if spoken.silent:
            live.stop()

        def seen(cell: "ComparisonCell", status: str) -> None:
            board.add(cell, status)
            if not spoken.silent:
                live.update(board.table())

        return compare_releases(
            trips,
            candidates,
            prices,
            repetitions=options.repetitions,
            settings=settings,
            out=options.out,
            workers=options.workers,
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
        """Return the table as it stands."""
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


def _present(options: Candidates, spoken: Spoken, found: "Comparison", title: str, basis: str) -> None:
    from wayveil.lab.comparison.comparison_page import write_comparison_page
    from wayveil.lab.comparison.recommend import recommend as recommended

    page = write_comparison_page(options.out / "comparison.html", found, title=title, tuned_on=basis)
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
    present_rows(rows, as_json=spoken.as_json, title=f"Measured on {basis}")
    for name, reason in found.gaps():
        remark(f"{name} was not measured: {reason}", quiet=spoken.silent)
    remark(f"Page: {page}; table: {options.out / 'results.parquet'}. {found.notice}", quiet=spoken.silent)


def _compare_risk(
    options: CompareOptions,
    spoken: Spoken,
    raw: "Trips",
    candidates: "list[Mechanism]",
    crowds: "list[SyntacticMethod]",
) -> None:
    from wayveil.lab.comparison.comparison_charts import save_risk_chart
    from wayveil.lab.comparison.risk_curves import FIGURES, compare_risk

    out = options.out
    with shown(not spoken.silent):
        found = compare_risk(
            raw, candidates, parse_prices(options.epsilon), crowds, repetitions=options.repetitions
        )
    out.mkdir(parents=True, exist_ok=True)
    found.table.write_parquet(out / "risk.parquet")
    save_risk_chart(found, out, title=f"Risk against error on {options.trips.name}")
    rows = [
        {"figure": FIGURES[figure], **row}
        for figure in ("linkage", "strap_500")
        for row in found.at_fixed_error(figure)
    ]
    present_rows(rows, as_json=spoken.as_json, title="Risk and STRAP at a fixed error of range counts")
    for label, reason in found.gaps():
        remark(f"{label} was not measured: {reason}", quiet=spoken.silent)
    remark(f"Picture: {out / 'risk.svg'}; table: {out / 'risk.parquet'}. {found.notice}", quiet=spoken.silent)
