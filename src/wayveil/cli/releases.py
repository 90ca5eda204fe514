"""Commands about releases: `release`, `score`, `report`, `verify`, `mechanisms`."""

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayveil.cli.options import AsJson, BoundingBox, Quiet, WorldFile, present, present_rows, remark
from wayveil.cli.taps import Cell, Grid, OptionalWorld
from wayveil.errors import ParameterError
from wayveil.progress import shown

if TYPE_CHECKING:
    from wayveil.mechanisms.mechanism import Mechanism
    from wayveil.privacy.units import Unit
    from wayveil.releases.release import Release

RawFile = Annotated[
    Path, typer.Argument(help="The raw trips (parquet, csv, a folder of such parts, or a sequence file).")
]
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
    epsilon: Annotated[
        str, typer.Option("--epsilon", "-e", help="Privacy budget: a number or fraction, 0.5 or 1/2.")
    ],
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
    bbox: BoundingBox = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            help="Ledger file or postgresql:// address; default: beside the trips. `none` for no ledger."
        ),
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Name of the dataset in the ledger; default: the file's name.")
    ] = None,
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
    trips_out: Annotated[
        str,
        typer.Option(help="How many private trips to draw: all, none, or a number. The model can draw more."),
    ] = "all",
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Release trips under differential privacy: private trips, model, signed datasheet."""
    from wayveil.counting.engines import open_source
    from wayveil.privacy.budget import exact
    from wayveil.releases.accounts import account_for
    from wayveil.releases.release import default_mechanism
    from wayveil.releases.release import release as release_trips
    from wayveil.synthesis.drawing import trips_wanted
    from wayveil.world.opening import open_world

    budget, wanted = exact(epsilon), trips_wanted(trips_out)
    # A word that is wrong is said before a large feed is read.
    chosen = make_mechanism(mechanism, parameters or []) if mechanism else None
    if out.exists() and any(out.iterdir() if out.is_dir() else [out]):
        raise ParameterError(f"{out} already exists; a release is never written over another one")
    with shown(not quiet and not as_json):
        universe = open_world(world, bbox=bbox)
        chosen = chosen or make_mechanism(default_mechanism(universe).name, parameters or [])
        raw, counter, why = open_source(trips, universe, engine, spark=spark, scratch=scratch)
        remark(why, quiet=quiet or as_json or not why)
        name = dataset or trips.name
        made = release_trips(
            raw,
            chosen,
            counter=counter,
            trips_out=wanted,
            epsilon=budget,
            unit=None if unit is None else make_unit(unit, max_trips),
            ledger=account_for(ledger, trips, name),
            dataset=name,
            purpose=purpose,
            curator=curator,
            tuned_on_data=tuned_on_data,
        )
        folder = made.save(out)
    facts = {
        "guarantee": made.datasheet["guarantee"]["sentence"],
        "released_trips": made.released_trips,
        "written_to": str(folder),
    }
    present(facts, as_json=as_json)
    remark(f"Next: wayveil verify {folder}; wayveil report {folder} --world {world}", quiet=quiet or as_json)


def score(
    trips: RawFile,
    release: ReleaseFolder,
    world: WorldFile,
    full: Full = False,
    taps: Annotated[
        bool, typer.Option("--taps", help="The raw file is one of taps: every visit boards.")
    ] = False,
    bbox: BoundingBox = None,
    queries: Queries = 40_000,
    seed: Annotated[int, typer.Option(help="Seed of the queries and reference lines.")] = 0,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Compare a release with the raw trips. NOT for publication.

    Every figure stands between three lines. The **ceiling** is a resample of the raw trips: nothing private can be
    expected to beat it. The **floor** is made from public knowledge alone: a release that does not beat it tells
    nothing about these riders. The **empty** release has no trips at all: a figure on which silence does well is easy.
    Read the error of *non-empty* count queries first. docs/metrics.md defines every figure.
    """
    from wayveil.cli.taps import raw_taps_as_trips
    from wayveil.releases.release import Release
    from wayveil.trips.read import read_trips
    from wayveil.utility.scorecard import score as score_release
    from wayveil.world.opening import open_world

    with shown(not quiet and not as_json):
        city = open_world(world, bbox=bbox)
        private = Release.load(release, city)
        card = score_release(
            raw_taps_as_trips(trips, city) if taps else read_trips(trips, city),
            private,
            suite="full" if full else "core",
            queries=queries,
            taps=taps or _counts_taps(private),
            seed=seed,
        )
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
    taps: Annotated[
        bool,
        typer.Option(
            "--taps", help="The release is one of taps: add the agency's answers. With --raw, a file of taps."
        ),
    ] = False,
    grid: Grid = None,
    cell: Cell = 0.02,
    bbox: BoundingBox = None,
    queries: Queries = 40_000,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write a self-contained HTML report, and beside it every picture as SVG with its numbers as csv.

    Without --raw it may be published: maps, rankings with error bars, origins and destinations, hours, lengths,
    patterns, the datasheet. With --raw it is for internal eyes: all of that beside the raw trips, and the errors.
    """
    import polars as pl

    from wayveil.cli.taps import open_places, raw_taps_as_trips
    from wayveil.comparison.results import Comparison
    from wayveil.releases.release import Release
    from wayveil.report.page import write_report
    from wayveil.trips.read import read_trips
    from wayveil.utility.scorecard import score as score_release

    if comparison is not None and raw is None:
        raise ParameterError(
            "a comparison was made from raw trips and goes into the internal report: give --raw too"
        )
    with shown(not quiet and not as_json):
        city = open_places(world, grid, cell, bbox)
        private = Release.load(release, city)
        shared: dict[str, Any] = {
            "network": city,
            "release": private,
            "model": pl.read_parquet(release / "model.parquet"),
            "taps": taps or None,
        }
        if raw is None:
            write_report(out, **shared, audience="public")
        else:
            trips = raw_taps_as_trips(raw, city, grid, cell) if taps else read_trips(raw, city)
            card = score_release(
                trips,
                private,
                suite="full" if full else "core",
                queries=queries,
                taps=taps or _counts_taps(private),
            )
            compared = None if comparison is None else Comparison.load(comparison)
            write_report(out, **shared, raw=trips, scorecard=card, comparison=compared, audience="internal")
    facts = {"report": str(out), "figures": str(out.with_name(f"{out.stem}-figures"))}
    present({**facts, "for": "publication" if raw is None else "internal eyes only"}, as_json=as_json)


def _counts_taps(release: "Release") -> bool:
    """Whether the datasheet tells that every visit of the release is a boarding."""
    from wayveil.report.answers_view import TAP_MECHANISMS

    return release.datasheet["mechanism"]["name"] in TAP_MECHANISMS


def verify(
    release: ReleaseFolder,
    key: Annotated[
        str | None,
        typer.Option(help="Fingerprint of the data holder's key, as you got it from the data holder."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that a release is as it was signed: a changed byte is an error that names the file."""
    from wayveil.releases.store import verify_release

    present(
        {**verify_release(release, key_fingerprint_expected=key), "verdict": "as signed"}, as_json=as_json
    )


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
    bbox: BoundingBox = None,
    as_json: AsJson = False,
) -> None:
    """Write a release in a format that other tools read. Costs nothing: the release is already private."""
    from wayveil.releases.exports import export as write
    from wayveil.releases.release import Release
    from wayveil.releases.trie_export import export_trie
    from wayveil.world.opening import open_world

    if kind == "trie":
        files = export_trie(release, out)
    else:
        files = write(Release.load(release, open_world(world, bbox=bbox)), kind, out)
    present({"format": kind, "written_to": [str(file) for file in files]}, as_json=as_json)


def sample(
    release: ReleaseFolder,
    world: WorldFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the trips go (.parquet or .csv).")],
    trips: Annotated[
        int | None, typer.Option(min=1, help="How many; default: as many as the release says there are.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed draws the same trips.")] = None,
    bbox: BoundingBox = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Draw more private trips from the measurements of a weave release. They are paid for: this costs nothing."""
    from wayveil.releases.store import load_datasheet
    from wayveil.synthesis.weave.measurements import Measurements
    from wayveil.trips.visits import write_visits
    from wayveil.world.opening import open_world

    made_by = load_datasheet(release)["mechanism"]["name"]
    if made_by != "weave":
        raise ParameterError(f"more trips can be drawn from weave releases; this one was made by {made_by}")
    with shown(not quiet and not as_json):
        drawn = Measurements.load(release, open_world(world, bbox=bbox)).generate(seed, trips=trips)
        write_visits(drawn, out)
    present({"trips": len(drawn), "written_to": str(out)}, as_json=as_json)


def mechanisms(
    name: Annotated[str | None, typer.Argument(help="Show one mechanism with all its parameters.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the mechanisms, or explain one and its parameters."""
    from wayveil.mechanisms.mechanism import mechanisms as all_mechanisms

    known = all_mechanisms()
    if name is None:
        present_rows(
            [{"mechanism": key, "releases": kind.summary} for key, kind in known.items()], as_json=as_json
        )
        return
    kind = known.get(name)
    if kind is None:
        raise unknown_mechanism(name)
    defaults = {key: field.get_default(call_default_factory=True) for key, field in kind.model_fields.items()}
    if as_json:
        present(defaults, as_json=True)
        return
    typer.echo(f"{name}: {inspect.getdoc(kind)}\n")
    present_rows([{"--set": key, "default": value} for key, value in defaults.items()], as_json=False)


def unknown_mechanism(name: str) -> ParameterError:
    """The sentence for a name that no mechanism has."""
    from wayveil.mechanisms.mechanism import mechanisms as all_mechanisms

    return ParameterError(f"there is no mechanism {name!r}; there are {', '.join(sorted(all_mechanisms()))}")


def make_mechanism(name: str, settings: list[str]) -> "Mechanism":
    """The mechanism of this name with parameters given as name=value."""
    from wayveil.mechanisms.mechanism import mechanisms as all_mechanisms

    known = all_mechanisms()
    if name not in known:
        raise unknown_mechanism(name)
    parameters: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ParameterError(f"--set takes name=value, not {setting!r}")
        parameters[key.strip().replace("-", "_")] = value.strip()
    return known[name](**parameters)


def make_unit(name: str, max_trips: int) -> "Unit":
    """The privacy unit of this name."""
    from wayveil.privacy import units

    made: dict[str, Unit] = {
        "trip": units.Trip(),
        "rider": units.Rider(max_trips=max_trips),
        "rider-day": units.RiderDay(max_trips=max_trips),
        "event": units.Event(),
    }
    if name not in made:
        raise ParameterError(f"there is no unit {name!r}; there are {', '.join(made)}")
    return made[name]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (release, score, report, export, sample, verify, mechanisms):
        app.command()(command)
