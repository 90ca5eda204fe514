"""From a plan and its rows to an order: what is counted, by which mechanism, for whom, at what price."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

from pydantic import ValidationError

from wayveil.errors import InputError, ParameterError
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.presets import made_by, refuse_nameless
from wayveil.mechanisms.registry import mechanism as find_mechanism
from wayveil.plan.needs import Need, WorldSize, named_districts, parts_of
from wayveil.plan.plan import Plan
from wayveil.privacy.ledger.data_time import Days
from wayveil.released.datasheet_making import Statement
from wayveil.released.reached import StatedNeed
from wayveil.releases.hold import Price
from wayveil.releases.order import Order, RowKind, UnitChoice, default_mechanism, order_trips
from wayveil.releases.tap_orders import TapTreatment, order_taps
from wayveil.sources.bad_rows import say_rules
from wayveil.synthesis.riders.roles import RiderRules
from wayveil.taps.sensitive import SensitiveStops
from wayveil.taps.taps import Taps
from wayveil.trips.trip_files import TripFiles
from wayveil.trips.trips import Trips
from wayveil.world.network import Network
from wayveil.world.world import World


def order_rows(plan: Plan, rows: Trips | TripFiles | Taps, days: Days | None = None) -> Order:
    """Order what a plan wants of these rows; `days` are theirs."""
    said = plan.protection
    unit = UnitChoice(
        said.unit,
        said.max_trips,
        said.max_taps,
        said.window_hours,
        said.no_rider,
        said.bounding,
        said.most_rows,
        said.consecutive,
    )
    if isinstance(rows, Taps):
        return order_taps(rows, plan_mechanism(plan), unit, _treatment(plan, rows, days), price_of(plan))
    kind = RowKind(plan.source.rows, plan.source.ways)
    mechanism = plan_mechanism(plan)
    if mechanism is None and plan.method.parameters:
        name = default_mechanism(kind.steps(rows.world, None)[0].world(rows.world)).name
        mechanism = make_mechanism(name, plan.method.parameters)
    if plan.needs or (plan.method.parameters and plan.method.mechanism is None):
        mechanism = serve_needs(mechanism, plan.needs, rows.world, kind, plan.beside)
    return order_trips(rows, mechanism, unit, kind)


def serve_needs(
    mechanism: Mechanism | str | None,
    needs: Sequence[Need],
    world: World,
    kind: RowKind,
    beside: Callable[[str], str] = str,
) -> Mechanism:
    """The mechanism, or the default one, with its budget shared for the needs; `beside` leads to their files."""
    refuse_unknown_routes(needs, world)
    parts, file = parts_of(needs, size_of_world(world)), named_districts(needs)
    districts = None if file is None else beside(file)
    if mechanism is None:
        return default_mechanism(kind.steps(world, None)[0].world(world), parts, districts)
    found = find_mechanism(mechanism)() if isinstance(mechanism, str) else mechanism
    return found.serving(parts, districts)


def refuse_unknown_routes(needs: Sequence[Need], world: World) -> None:
    """Refuse a need about a route that the network does not have, with some that it has."""
    names = [*world.route_ids.tolist(), *world.route_names.tolist()] if isinstance(world, Network) else []
    unknown = next((need for need in needs if need.route is not None and need.route not in names), None)
    if unknown is not None:
        some = f"choose one of {', '.join(names[:8])}, ..." if names else "it has no routes"
        raise ParameterError(f"the need {str(unknown)!r} names a route that the world does not have; {some}")


def size_of_world(world: World) -> WorldSize:
    """Public numbers of places, routes and edges."""
    if not isinstance(world, Network):
        return WorldSize(world.size, edges=world.size)
    return WorldSize(world.size, max(len(world.route_ids), 1), world.edges)


def price_of(plan: Plan) -> Price:
    """Return what a release of the plan may cost."""
    said = plan.protection
    return Price(said.epsilon, said.delta, said.currency)


def statement_of(plan: Plan) -> Statement:
    """Return what the plan says for the datasheet: what the release is for, and which needs."""
    words = [*([plan.purpose] if plan.purpose else []), *(f"for {need}" for need in plan.needs)]
    return Statement(
        plan.curator,
        "; ".join(words),
        plan.protection.tuned_on_data,
        curator_type=plan.curator_type,
        region=plan.region,
        contact=plan.contact,
        bad_rows=say_rules(plan.source.bad_rows),
        needs=tuple(
            StatedNeed(
                str(need),
                need.question,
                need.top,
                need.within,
                need.promised,
                part=need.route is not None or need.hours is not None,
            )
            for need in plan.needs
        ),
    )


def plan_mechanism(plan: Plan) -> Mechanism | None:
    """The mechanism that the plan names; None: it leaves that to us."""
    method = plan.method
    if method.mechanism is None:
        refuse_nameless(method.preset)
        if method.parameters and plan.source.rows == "taps":
            raise ParameterError("--set gives a parameter of a mechanism: name it with --mechanism")
        return None
    return make_mechanism(method.mechanism, method.parameters, method.preset)


def make_mechanism(name: str, parameters: Mapping[str, Any], preset: str | None = None) -> Mechanism:
    """Make a mechanism with parameters, which go before what the preset sets; texts are read as its fields want."""
    kind = find_mechanism(name)
    read = {key: _read(kind, key, value) for key, value in parameters.items()}
    return made_by(kind, preset, read)


def parse_settings(settings: list[str], option: str = "--set") -> dict[str, Any]:
    """Parameters given as name=value; a dot leads into a part, as in `shares.trips`.

    >>> parse_settings(["height=3", "shares.trips=1/10"])
    {'height': '3', 'shares': {'trips': '1/10'}}
    """
    parameters: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ParameterError(f"{option} takes name=value, not {setting!r}")
        *parts, last = key.strip().replace("-", "_").split(".")
        within = parameters
        for part in parts:
            within = within.setdefault(part, {})
            if not isinstance(within, dict):
                raise ParameterError(f"{option} names {part!r} both as a whole and in parts")
        within[last] = value.strip()
    return parameters


def _read(kind: type[Mechanism], name: str, value: Any) -> Any:
    """Return what pydantic cannot read off a text: nothing at all, and several values with commas between."""
    field = kind.model_fields.get(name)
    annotation = None if field is None else field.annotation
    if not isinstance(value, str):
        return value
    if value == "none" and NoneType in get_args(annotation):
        return None
    several = get_origin(annotation) is tuple
    return [each.strip() for each in value.split(",")] if several else value


def _treatment(plan: Plan, taps: Taps, days: Days | None) -> TapTreatment:
    method, said = plan.method, plan.protection
    stops = None
    if said.sensitive is not None:
        stops = SensitiveStops.of_file(Path(plan.beside(said.sensitive)), taps.world)
    rules = None if method.rider_rules is None else read_rider_rules(Path(plan.beside(method.rider_rules)))
    return TapTreatment(
        parts=parts_of(plan.needs, size_of_world(taps.world)),
        way=method.way,
        chain=method.chain,
        days=plan.source.days if days is None else days,
        alightings=method.alightings,
        sensitive=stops,
        sensitive_epsilon=said.sensitive_epsilon,
        rules=rules,
    )


def read_rider_rules(path: Path) -> RiderRules:
    """Read the rules by which riders are made of anonymous taps, from a TOML file."""
    try:
        return RiderRules(**tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InputError(f"cannot be read ({error})", file=path) from error
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        first = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise InputError(f"holds no usable rules ({first})", file=path) from error
