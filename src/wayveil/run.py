"""`release`: the one way from a plan, or from rows, to something that may leave the building."""

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

from wayveil.counting.engines import size_of
from wayveil.errors import InputError, ParameterError, without_password
from wayveil.exports.write import export_wanted
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.plan.file_names import NamePattern
from wayveil.plan.files import plan_text, read_plan
from wayveil.plan.needs import parts_of, read_needs
from wayveil.plan.ordering import (
    order_rows,
    plan_mechanism,
    price_of,
    serve_needs,
    size_of_world,
    statement_of,
)
from wayveil.plan.parts import Source
from wayveil.plan.plan import Plan
from wayveil.plan.reading import files_of, open_plan_world, open_rows, read_frame, require_days
from wayveil.privacy.ledger import open_ledger
from wayveil.released.datasheet_making import Statement
from wayveil.releases.accounts import open_account
from wayveil.releases.hold import Booking, Price
from wayveil.releases.making import Means, carry_out
from wayveil.releases.order import RowKind, UnitChoice, order_trips
from wayveil.releases.paid import Paid, commit_saved, take_up
from wayveil.releases.preflight import claimed
from wayveil.releases.priors import open_prior
from wayveil.releases.release import Release
from wayveil.releases.tap_orders import TapTreatment, order_taps
from wayveil.report.report_page import write_report
from wayveil.series.series import Outcome, run_series
from wayveil.sources.frames import frame_of
from wayveil.taps.taps import Taps
from wayveil.trips.trip_files import TripFiles
from wayveil.trips.trips import Trips
from wayveil.world.opening import open_world
from wayveil.world.world import World

Rows = Trips | TripFiles | Taps
Noun = TypeVar("Noun")
# Where the command line books as well: WAYVEIL_HOME, a folder .wayveil here or above, or ~/.wayveil.
DEFAULT_LEDGER = "default"
PRICED = ("epsilon", "delta", "currency")
BESIDE_NOUNS = (*PRICED, "needs", "not_private", "policy_epsilon", "rows")


def run(plan: Plan, *, say: Callable[[str], None] = lambda _: None) -> Release:
    """Follow a plan to its folder. A run that was stopped after it was paid for is finished without spending again."""
    plan_mechanism(plan)  # a wrong word is said before a large feed is read
    out, paid = plan.home, Paid(plan.home, plan=plan_text(plan))
    if paid.saved:
        judged = Release.load(out)
    else:
        with claimed(out, size=0 if paid.kept else sum(map(size_of, files_of(plan)))):
            made = _finish(plan, paid) if paid.kept else _begin(plan, paid, say)
            # The folder is for others to read.
            judged = replace(made, known_accuracy=made.accuracy, plan=without_password(paid.plan))
            judged.save(out)
    _hand_on(plan, judged, say)
    commit_saved(paid, _ledger_place(plan))
    return judged


def _hand_on(plan: Plan, made: Release, say: Callable[[str], None]) -> None:
    """Write the report and the exports that the plan wants, beside the release."""
    out, days = plan.home, plan.source.days
    folder = out.with_name(f"{out.name}-exports")
    if plan.output.exports and not folder.exists():
        first_day, feed = None if days is None else days.first, Path(plan.beside(plan.world_of().place))
        left_out = export_wanted(made, plan.output.exports, folder, out.name, first_day, feed)
        for kind, why in left_out.items():
            say(f"not exported as {kind}: {why}")
    if plan.output.report:
        write_report(out.with_name(f"{out.name}-report.html"), release=made)


def _begin(plan: Plan, paid: Paid, say: Callable[[str], None]) -> Release:
    """Read, order, count and draw."""
    world, files, days = open_plan_world(plan), files_of(plan), plan.source.days
    for file in files if days is not None else ():
        require_days(plan, world, file, days)  # type: ignore[arg-type]
    read = open_rows(plan, world, files, days)
    if read.why:
        say(read.why)
    order = order_rows(plan, read.rows)
    means = replace(_means(plan, world), engine=read.engine, keep=paid)
    return carry_out(order, price_of(plan), _booking(plan), statement_of(plan), means)


def _finish(plan: Plan, paid: Paid) -> Release:
    """Draw what was paid for by the same plan."""
    paid.refuse_other_plan()
    return take_up(paid, open_plan_world(plan), ledger=_ledger_place(plan))


def run_due(plan: Plan, files: Sequence[str | Path] = (), **options: Any) -> Outcome:
    """Release every period of a plan with a cadence that its files make due; see `series.run`."""
    return run_series(plan, files or dated_files(plan), **options)


def dated_files(plan: Plan) -> list[Path]:
    """The files that lie where the plan of a series says, by the pattern of their names."""
    pattern = Path(plan.beside(plan.source.files[0]))
    found = sorted(path for path in pattern.parent.glob("*") if NamePattern.parse(pattern.name).fits(path))
    if not found:
        raise InputError("no file is named so; series files lie there or are named one by one", file=pattern)
    return found


def release(data: Any, mechanism: Mechanism | str | None = None, **given: Any) -> Release | Outcome:
    """Release rows under differential privacy: a plan, or trips, taps, a frame, a file or a folder of parts.

    A plan is followed to its folder (one with a cadence for every period that is due). Rows are released in memory;
    with `out` also saved. What is not in a plan is `given` by the names of its keys: `world`, `rows` (calls, legs,
    pairs, taps, points), `columns`, `epsilon`, `unit`, `max_trips`, ...; in Python a world, a mechanism, a unit, a
    ledger and earlier releases (`prior`) may be objects.

    It is booked in the default ledger, in another one (or its place), or, with `ledger=None`, in none: the datasheet
    then says so. A dataset that the ledger does not know yet needs a policy, what may be spent on it in all:
    `policy_epsilon`. Seeded noise (`bits`) protects nobody and is booked only where a ledger is named.

    >>> wv.release(trips, "markov", epsilon=1, max_trips=1, rows="calls", ledger=None).datasheet["private"]
    True
    """
    if isinstance(data, str | Path) and Path(data).suffix == ".toml":
        data = read_plan(data)
    if isinstance(data, Plan):
        plan = data.changed(**given) if given else data
        return run(plan) if plan.series is None else run_due(plan)
    default = None if given.get("bits") is not None else DEFAULT_LEDGER
    options = {"ledger": default, **given}
    rows = _read(data, options)
    out = options.pop("out", None)
    if out is None:
        return make_release(rows, mechanism, **options)
    with claimed(Path(out)):
        paid = Paid(Path(out))
        if paid.kept:
            raise InputError(
                "a run into this folder was paid for and not finished: wv.resume_release(out, world) finishes it "
                f"without spending; remove {paid.folder} to give it up",
                file=paid.out,
            )
        made = make_release(rows, mechanism, **options, keep=paid)
        made.save(out)
        paid.forget()
    return made


def make_release(data: Rows, mechanism: Mechanism | str | None = None, **given: Any) -> Release:
    """Release rows as `release` does, in no ledger unless one is named: for studies, audits and tests."""
    _refuse_unknown(
        given, Means, UnitChoice, Statement, Booking, TapTreatment if isinstance(data, Taps) else RowKind
    )
    options = dict(given)
    if isinstance(place := given.get("ledger"), str | Path):
        ours = open_account(None) if place == DEFAULT_LEDGER else open_ledger(place, create=False)
        options["ledger"] = ours
    if given.get("policy_epsilon") is not None:
        options["policy"] = str(given["policy_epsilon"])
    price = Price.of(**{key: given[key] for key in PRICED if key in given})
    means, choice = _fill(Means, options), _fill(UnitChoice, options)
    needs = read_needs(given["needs"], taps=isinstance(data, Taps)) if given.get("needs") else ()
    if isinstance(data, Taps):
        treatment = _fill(TapTreatment, options)
        if needs:
            treatment = replace(treatment, parts=parts_of(needs, size_of_world(data.world)))
        if given.get("rows") not in (None, "taps"):
            raise ParameterError(f"these rows are taps, not {given['rows']}")
        order = order_taps(data, mechanism, choice, treatment, price, means.bits)
    else:
        kind = _fill(RowKind, options)
        if needs:
            mechanism = serve_needs(mechanism, needs, data.world, kind)
        order = order_trips(data, mechanism, choice, kind)
    if "not_private" in given:
        order = replace(order, not_private=given["not_private"])
    return carry_out(order, price, _fill(Booking, options), _fill(Statement, options), means)


def _read(data: Any, options: dict[str, Any]) -> Rows:
    """Rows in memory as they are; a frame, a file or a folder as the options say, which are taken out."""
    if isinstance(data, Trips | TripFiles | Taps):
        return data
    world = options.pop("world", None)
    if world is None:
        raise ParameterError("say which public places the rows are of: world=... (a world, or its place)")
    world = world if isinstance(world, World) else open_world(world)
    kept = ("rows", "ways", "days")
    said = {key: options[key] for key in Source.model_fields if key in options}
    for key in set(said) - set(kept):
        options.pop(key)
    source = Source(**said)
    if frame_of(data) is not None:
        return read_frame(source, data, world)
    engine = options.pop("engine", None)
    counted: dict[str, Any] = {key: options.pop(key) for key in ("spark", "scratch") if key in options}
    if engine is not None:
        counted["engine"] = getattr(engine, "name", engine)
    if options.get("way") is not None:
        counted["way"] = options["way"]
    plan = Plan.of(files=str(data), epsilon=options.get("epsilon", 1), **said, **counted)
    options.setdefault("dataset", plan.dataset)
    read = open_rows(plan, world, files_of(plan), source.days)
    options["engine"] = read.engine if engine is None or isinstance(engine, str) else engine
    if isinstance(read.rows, Taps):
        options.pop("rows", None)  # said, and done
    return read.rows


def _fill(kind: type[Noun], options: dict[str, Any]) -> Noun:
    """Make the noun of those of its fields that were given."""
    return kind(**{each.name: options[each.name] for each in fields(kind) if each.name in options})  # type: ignore[arg-type]


def _refuse_unknown(given: dict[str, Any], *kinds: Any) -> None:
    """Refuse options that no noun has a field for."""
    known = {each.name for kind in kinds for each in fields(kind) if each.init} | set(BESIDE_NOUNS)
    for name in sorted(set(given) - known):
        raise ParameterError(f"unknown option {name!r}; choose one of {', '.join(sorted(known))}")


def _booking(plan: Plan) -> Booking:
    said, files = plan.protection, files_of(plan)
    return Booking(
        open_account(_ledger_place(plan) or said.ledger, Path(files[0])),
        plan.dataset,
        new_people=said.new_people,
        days=plan.source.days,
        policy=None if said.policy_epsilon is None else str(said.policy_epsilon),
    )


def _ledger_place(plan: Plan) -> str | None:
    """The ledger that the plan names; None: it names none."""
    place = plan.protection.ledger
    return None if place in (None, "none") else plan.beside(str(place))


def _means(plan: Plan, world: World) -> Means:
    if isinstance(plan.method.prior, int):
        raise ParameterError("method.prior: a number of earlier releases is for a series; name folders")
    folders = [Path(plan.beside(folder)) for folder in plan.method.prior]
    return Means(
        memory=int(plan.machine.memory * 2**30),
        prior=[open_prior(folder, world) for folder in folders],
        trips_out=plan.output.trips_out,
    )
