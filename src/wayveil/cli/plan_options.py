"""Options that fill in a plan: every command that follows or writes one has them."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayveil.errors import ParameterError
from wayveil.sources.column_names import parse_map

if TYPE_CHECKING:
    from wayveil.plan.plan import Plan

DATA, WHO, HOW = "What the data is", "Who is protected, and the price", "How it is counted and written"


def _option(help: str, *names: str, panel: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


@dataclass(frozen=True)
class PlanOptions:
    """Files, a plan, and values for its keys."""

    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="The raw rows: files, a folder, a pattern or a database table; files of a series; or a plan (.toml)."
        ),
    ] = None
    plan: Annotated[
        Path | None, _option("The plan to follow; default: wayveil.toml here.", "--plan", "-p", panel=DATA)
    ] = None
    world: Annotated[
        str | None,
        _option(
            "Public places: a GTFS zip or folder, a saved network, a csv or GeoJSON of places, a text file with one "
            "location per line, or grid:south,west,north,east@250 (cells of 250 m).",
            "--world",
            "-w",
            panel=DATA,
        ),
    ] = None
    bbox: Annotated[str | None, _option("Keep stops inside south,west,north,east (degrees).", panel=DATA)] = (
        None
    )
    date: Annotated[str | None, _option("Keep the service of one day, YYYY-MM-DD.", panel=DATA)] = None
    walk_radius: Annotated[
        float | None, _option("Add walks between stops at most this many metres apart.", panel=DATA)
    ] = None
    rows: Annotated[
        str | None,
        _option(
            "What a row is: `calls` (every stop passed), `legs` (where people board and alight), `pairs` (origin and "
            "destination in one row), `taps` (boardings only), `points` (GPS). `wayveil check` says what it seems.",
            "--rows",
            "--visits",
            panel=DATA,
        ),
    ] = None
    ways: Annotated[
        str | None,
        _option(
            "For legs and pairs: `routed` by the fastest path (default), or only the `ends`.", panel=DATA
        ),
    ] = None
    mapped: Annotated[
        list[str] | None,
        _option(
            "A column with another name, ours=theirs (stop_id=STATION); repeatable.", "--map", panel=DATA
        ),
    ] = None
    columns: Annotated[
        str | None,
        _option(
            "A known layout of taps (wayveil, bc-transit, tides, sube, ...) or a TOML file; for points without a "
            "header their columns in order (rider_id,event_time,lon,lat,-).",
            panel=DATA,
        ),
    ] = None
    days: Annotated[
        str | None, _option("The days that the rows are of, 2026-01-05/2026-01-11.", panel=DATA)
    ] = None
    epsilon: Annotated[
        str | None,
        _option(
            "Privacy budget: a number or fraction, 0.5 or 1/2, from 0.001 to 1000.",
            "--epsilon",
            "-e",
            panel=WHO,
        ),
    ] = None
    delta: Annotated[
        str | None,
        _option(
            "With rho or a trained mechanism: the chance that epsilon does not cover. Default: 1e-6.",
            panel=WHO,
        ),
    ] = None
    currency: Annotated[
        str | None,
        _option(
            "`epsilon`: pure, Laplace noise; `rho`: the same epsilon at --delta, Gaussian noise.", panel=WHO
        ),
    ] = None
    unit: Annotated[
        str | None,
        _option(
            "Who is protected: rider, rider-day, trip, event, points (`--with consecutive=3`: so many visits of a "
            "trip, one after the other) or window. Default: rider if there are riders.",
            panel=WHO,
        ),
    ] = None
    max_trips: Annotated[
        int | None,
        _option(
            "Trips (days of taps) of one rider that are counted, chosen at random. Without it all of them count, by "
            "weights (docs/weights.md).",
            panel=WHO,
            min=1,
        ),
    ] = None
    max_taps: Annotated[
        int | None,
        _option("Taps of one rider, rider-day or window that count, with --way counts.", panel=WHO, min=1),
    ] = None
    no_rider: Annotated[
        str | None,
        _option("Rows without a rider: `refuse`, `drop`, or each a rider of its `own`.", panel=WHO),
    ] = None
    ledger: Annotated[
        str | None,
        _option(
            "Ledger file or postgresql:// address; `none` for none. Default: WAYVEIL_HOME, a folder .wayveil here or "
            "above, or ~/.wayveil.",
            panel=WHO,
        ),
    ] = None
    dataset: Annotated[
        str | None, _option("Name of the dataset in the ledger; default: the file's name.", panel=WHO)
    ] = None
    policy_epsilon: Annotated[
        str | None,
        _option(
            "For a dataset that the ledger does not know yet: what may be spent on it in all.", panel=WHO
        ),
    ] = None
    new_people: Annotated[
        bool,
        _option(
            "Nobody here is in another dataset of the ledger, although it looks so.",
            "--new-people",
            panel=WHO,
        ),
    ] = False
    tuned_on_data: Annotated[
        bool,
        _option(
            "Declare that parameters were chosen by looking at the raw rows.", "--tuned-on-data", panel=WHO
        ),
    ] = False
    mechanism: Annotated[
        str | None,
        _option(
            "See `wayveil lab mechanisms`. Default: weave; of taps tap-counts.",
            "--mechanism",
            "-m",
            panel=HOW,
        ),
    ] = None
    parameters: Annotated[
        list[str] | None, _option("A parameter of the mechanism, name=value; repeatable.", "--set", panel=HOW)
    ] = None
    preset: Annotated[
        str | None, _option("`published`: parameters as the mechanism's authors set them.", panel=HOW)
    ] = None
    way: Annotated[
        str | None,
        _option(
            "Taps: `cards` (chains of a card, protects riders), `counts` or `counts-first` (single taps), `study` "
            "(protects nobody behind the taps).",
            panel=HOW,
        ),
    ] = None
    prior: Annotated[
        list[str] | None,
        _option(
            "Folder of an earlier release to follow; repeatable, the oldest first. Costs nothing.", panel=HOW
        ),
    ] = None
    need: Annotated[
        list[str] | None,
        _option(
            "A question that the release is for: 'boardings per stop, top 50, within 10 %'; repeatable. Epsilon is "
            "spent on these. Default: total, boardings per stop and per hour, districts, load.",
            panel=HOW,
        ),
    ] = None
    purpose: Annotated[str | None, _option("What the release is for.", panel=HOW)] = None
    curator: Annotated[str | None, _option("Who publishes.", panel=HOW)] = None
    trips_out: Annotated[
        str | None, _option("How many private trips to draw: all, none, or a number.", panel=HOW)
    ] = None
    engine: Annotated[
        str | None,
        _option("Where rows are counted: memory, stream (any size), spark, or auto; all equal.", panel=HOW),
    ] = None
    others: Annotated[
        list[str] | None,
        _option(
            "Any other key of the plan, key=value (split_gap=600, rules.fill=false, memory=3); repeatable. "
            "`wayveil plan --keys` lists them.",
            "--with",
            panel=HOW,
        ),
    ] = None

    def plan_to_follow(self, **more: Any) -> "Plan":
        """The plan that was named (or wayveil.toml here) with what the options change, or one made of them."""
        from wayveil.plan.files import NAME, read_plan
        from wayveil.plan.plan import Plan

        values = self.values(**more)
        named = self._plan_file()
        if named is None and not self.raw_files and Path(NAME).is_file():
            named = Path(NAME)
        if named is None:
            if "epsilon" not in values:
                raise ParameterError(
                    "say the privacy budget with --epsilon, or name a plan; `wayveil check FILE --world FEED --save "
                    f"{NAME}` writes one"
                )
            return Plan.of(**values)
        plan = read_plan(named)
        if plan.series is not None:
            values.pop("files", None)
        return plan.changed(**plan.from_here(values)) if values else plan

    @property
    def raw_files(self) -> list[str]:
        """The files that are not the plan."""
        named = self._plan_file()
        return [file for file in self.files or [] if named is None or Path(file) != named]

    def series_files(self) -> list[Path]:
        """Files of a series that were named one by one; none: those that lie where the plan says."""
        return [Path(file) for file in self.raw_files]

    def _plan_file(self) -> Path | None:
        if self.plan is not None:
            return self.plan
        return next((Path(file) for file in self.files or [] if file.endswith(".toml")), None)

    def values(self, **more: Any) -> dict[str, Any]:
        """Return what was said, by the keys of a plan."""
        from wayveil.plan.ordering import parse_settings
        from wayveil.synthesis.drawing import trips_wanted

        said: dict[str, Any] = {
            "files": self.raw_files or None,
            "name": self.dataset,
            "service_date": self.date,
            "columns": self._columns(),
            "parameters": parse_settings(self.parameters) if self.parameters else None,
            "folder": None if more.get("out") is None else str(more["out"]),
            "needs": self.need,
        }
        same = (
            *("world", "bbox", "walk_radius", "rows", "ways", "days", "epsilon", "delta", "currency", "unit"),
            *("max_trips", "max_taps", "no_rider", "ledger", "policy_epsilon", "mechanism", "preset", "way"),
            *("prior", "purpose", "curator", "engine"),
        )
        said |= {name: getattr(self, name) for name in same}
        said |= {name: True for name in ("new_people", "tuned_on_data") if getattr(self, name)}
        found = {key: value for key, value in said.items() if value is not None}
        if self.trips_out is not None:
            found["trips_out"] = trips_wanted(self.trips_out)
        if "epsilon" in more and self.epsilon is None:
            found["epsilon"] = more["epsilon"]
        return found | parse_keys(self.others or [])

    def _columns(self) -> dict[str, str] | str | None:
        if not self.mapped:
            return self.columns
        if self.columns is not None:
            raise ParameterError("give --columns or --map, not both")
        return parse_map(self.mapped)


def parse_keys(settings: list[str]) -> dict[str, Any]:
    """Keys of a plan given as key=value; a dot leads into a table, and values are read as TOML where they can be."""
    found: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ParameterError(f"--with takes key=value, not {setting!r}")
        *parts, last = key.strip().replace("-", "_").split(".")
        within = found
        for part in parts:
            within = within.setdefault(part, {})
        within[last] = _value(text.strip())
    return found


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
