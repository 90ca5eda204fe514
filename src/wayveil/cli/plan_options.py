"""Options that fill in a plan: every command that follows or writes one has them."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayveil.errors import ParameterError
from wayveil.plan.meanings import MEANINGS
from wayveil.sources.column_names import parse_map

if TYPE_CHECKING:
    from wayveil.plan.plan import Plan

DATA, WHO, HOW = "What the data is", "Who is protected, and the price", "How it is counted and written"


def _option(help: str, *names: str, panel: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel)


def _key(key: str, panel: str, *names: str, **more: Any) -> Any:
    """Make the option of a key of a plan, which says what the key means."""
    return typer.Option(*names, help=MEANINGS[key], rich_help_panel=panel, **more)


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
    world: Annotated[str | None, _key("place", DATA, "--world", "-w")] = None
    bbox: Annotated[str | None, _key("bbox", DATA)] = None
    date: Annotated[str | None, _key("service_date", DATA)] = None
    walk_radius: Annotated[float | None, _key("walk_radius", DATA)] = None
    rows: Annotated[str | None, _key("rows", DATA, "--rows", "--visits")] = None
    ways: Annotated[str | None, _key("ways", DATA)] = None
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
    days: Annotated[str | None, _key("days", DATA)] = None
    epsilon: Annotated[str | None, _key("epsilon", WHO, "--epsilon", "-e")] = None
    delta: Annotated[str | None, _key("delta", WHO)] = None
    currency: Annotated[str | None, _key("currency", WHO)] = None
    unit: Annotated[str | None, _key("unit", WHO)] = None
    max_trips: Annotated[int | None, _key("max_trips", WHO, min=1)] = None
    max_taps: Annotated[int | None, _key("max_taps", WHO, min=1)] = None
    no_rider: Annotated[str | None, _key("no_rider", WHO)] = None
    ledger: Annotated[str | None, _key("ledger", WHO)] = None
    dataset: Annotated[str | None, _key("name", WHO)] = None
    policy_epsilon: Annotated[str | None, _key("policy_epsilon", WHO)] = None
    new_people: Annotated[bool, _key("new_people", WHO, "--new-people")] = False
    tuned_on_data: Annotated[bool, _key("tuned_on_data", WHO, "--tuned-on-data")] = False
    mechanism: Annotated[str | None, _key("mechanism", HOW, "--mechanism", "-m")] = None
    parameters: Annotated[
        list[str] | None, _option("A parameter of the mechanism, name=value; repeatable.", "--set", panel=HOW)
    ] = None
    preset: Annotated[str | None, _key("preset", HOW)] = None
    way: Annotated[str | None, _key("way", HOW)] = None
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
    purpose: Annotated[str | None, _key("purpose", HOW)] = None
    curator: Annotated[str | None, _key("curator", HOW)] = None
    trips_out: Annotated[
        str | None, _option("How many private trips to draw: all, none, or a number.", panel=HOW)
    ] = None
    engine: Annotated[str | None, _key("engine", HOW)] = None
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
                    "set the privacy budget with --epsilon, or name a plan; `wayveil check FILE --world FEED --save "
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
