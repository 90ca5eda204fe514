"""`wayveil lab mechanisms|anonymise|audit`: mechanisms, methods without a guarantee, and attempts to break them."""

from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import typer

from wayveil.cli.options import (
    AsJson,
    BoundingBox,
    Quiet,
    Spoken,
    grouped,
    present,
    present_rows,
)
from wayveil.errors import ParameterError
from wayveil.lab.cli.lab_options import (
    WorldFile,
)
from wayveil.progress import shown


def mechanisms(
    name: Annotated[str | None, typer.Argument(help="Show one mechanism with all its parameters.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the mechanisms, or explain one: its guarantee, and every parameter that --set takes.

    wayveil lab mechanisms weave
    """
    from wayveil.mechanisms.pages import manual
    from wayveil.mechanisms.registry import mechanism
    from wayveil.mechanisms.registry import mechanisms as all_mechanisms

    if name is None:
        listed = [
            {"mechanism": key, "releases": kind.summary, "takes --prior": "yes" if kind.follows else ""}
            for key, kind in all_mechanisms().items()
        ]
        present_rows(listed, as_json=as_json)
        return
    about = manual(mechanism(name))
    if as_json:
        present(about.to_dict(), as_json=True)
        return
    typer.echo(f"{about.name}: {about.summary}\n")
    typer.echo(_wrapped(about.about) + "\n\n" + _wrapped(f"Guarantee: {about.guarantee}") + "\n\nParameters:")
    for each in about.parameters:
        default = "must be given" if each.default is None else f"default {each.default}"
        typer.echo(f"  --set {each.name}=...  ({each.values}; {default})".replace("`", ""))
        if each.description:
            typer.echo(_wrapped(each.description.replace("`", ""), indent=6))
    if about.published is not None:
        preset = " ".join(f"--set {key}={value}" for key, value in about.published.items())
        typer.echo("\n" + _wrapped(f"As published (--preset published): {preset}"))
    typer.echo(f"\nIn Python: wayveil.{about.class_name}. Page: {about.page}")


def _wrapped(text: str, indent: int = 0) -> str:
    paragraphs = text.split("\n\n")
    margin = " " * indent
    return "\n\n".join(
        fill(
            " ".join(each.split()),
            100,
            initial_indent=margin,
            subsequent_indent=margin,
            break_on_hyphens=False,
        )
        for each in paragraphs
    )


@dataclass(frozen=True, kw_only=True)
class AnonymiseOptions:
    """Options of `anonymise`."""

    trips: Annotated[Path, typer.Argument(help="The raw trips (parquet or csv).")]
    world: WorldFile
    method: Annotated[
        str, typer.Option("--method", "-m", help="glove, lk-anonymity or plausible-deniability.")
    ]
    out: Annotated[Path, typer.Option("--out", "-o", help="A new folder for trips, table and datasheet.")]
    parameters: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the method, name=value; repeatable.")
    ] = None
    bbox: BoundingBox = None


@grouped
def anonymise(options: AnonymiseOptions, spoken: Spoken) -> None:
    """No differential privacy. Make k-anonymous or deniable trips, to compare with private releases.

    What comes out is as sensitive as the raw trips. No ledger books it; `wayveil lab risk` shows what attacks
    reach on it.

        wayveil lab anonymise trips.csv --world city.zip --method glove --set k=5 --out glove/
    """
    from wayveil.lab.syntactic.method import anonymise as run
    from wayveil.lab.syntactic.method import methods
    from wayveil.trips.read import read_trips
    from wayveil.world.opening import open_world

    known = methods()
    if options.method not in known:
        raise ParameterError(f"unknown method {options.method!r}; choose one of {', '.join(sorted(known))}")
    settings: dict[str, Any] = {}
    for setting in options.parameters or []:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ParameterError(f"--set takes name=value, not {setting!r}")
        settings[key.strip().replace("-", "_")] = value.strip()
    chosen = known[options.method](**settings)
    if options.out.exists() and any(options.out.iterdir() if options.out.is_dir() else [options.out]):
        raise ParameterError(f"{options.out} already exists; nothing is written over it")
    with shown(not spoken.silent):
        made = run(read_trips(options.trips, open_world(options.world, bbox=options.bbox)), chosen)
        folder = made.save(options.out)
    facts = {"statement": made.datasheet["statement"], **made.datasheet["facts"], "trips": len(made.trips)}
    present({**facts, "written_to": str(folder)}, as_json=spoken.as_json)


def audit(
    mechanism: Annotated[
        list[str] | None, typer.Argument(help="Mechanisms to attack; see `wayveil lab mechanisms`.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Attack all mechanisms.")] = False,
    fast: Annotated[bool, typer.Option("--fast", help="A minute instead of a thorough run.")] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Attack the guarantee of a mechanism, and check that broken variants of it are caught.

    Exit code 1 if a guarantee was broken, or if a deliberately broken variant was not noticed.

        wayveil lab audit weave --fast
    """
    from wayveil.lab.audits.run_audits import run_audits

    if not everything and not mechanism:
        raise ParameterError("name a mechanism to attack, or use --all")
    with shown(not quiet and not as_json):
        table = run_audits(None if everything else mechanism, effort="fast" if fast else "full")
    typer.echo(table.to_json() if as_json else str(table))
    if not table.ok:
        raise typer.Exit(1)
