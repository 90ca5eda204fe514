"""The command line: commands read options and files, call the room that does the work, and show what comes back.

Bad input ends with one sentence and exit code 2; an audit or a verification that finds something ends with 1.
"""

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from wayveil import __version__
from wayveil.cli.moved import refuse_moved
from wayveil.errors import WayveilError


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"wayveil {__version__}")
        raise typer.Exit


# Commands whose function has another name, as one function of the house is called `release`.
NAMES = {"release_rows": "release"}


class _Commands(TyperGroup):
    """The commands; a name of an earlier version is answered with the new one."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        refuse_moved(args)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="wayveil",
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="""Publish trips without publishing anybody's life.

A first round trip, all on this machine:

    wayveil demo

With your own data: `wayveil check trips.csv --world city.zip` says what it is, what is wrong with it, and which
`wayveil release` command makes a private version of it. `wayveil ask` answers questions from that, and
`wayveil score` and `wayveil report` show how good it is.""",
)


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_say_version, help="Show the version and exit."),
    ] = False,
) -> None:
    pass


@cache
def _register() -> None:
    """Give the app its commands, once a process: an app that is run again must not have each of them twice."""
    from wayveil.cli import demo, ledger, ledger_keys, plan, releases, risk
    from wayveil.cli.ask import ask
    from wayveil.cli.check import check
    from wayveil.cli.release import release_rows

    panels: dict[str, tuple[Callable[..., None], ...]] = {
        "Start": (demo.demo, check, plan.plan, release_rows, ask, releases.report),
        "Every week": (plan.status,),
        "Hand on": (releases.export, releases.verify),
        "Inside only": (releases.score, risk.risk),
    }
    for panel, commands in panels.items():
        for command in commands:
            app.command(NAMES.get(command.__name__), rich_help_panel=panel)(command)
    ledger_keys.add_key_commands(ledger.app)
    app.add_typer(ledger.app, name="ledger", rich_help_panel="Officer")
    if (lab := find_spec("wayveil.lab")) and lab.origin:  # the product works without it
        app.add_typer(import_module("wayveil.lab.cli").app, name="lab", rich_help_panel="Lab")


def main() -> None:
    """Entry point of the `wayveil` command."""
    _register()
    try:
        app()
    except WayveilError as error:
        print(f"wayveil: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        # Whatever a disk or a folder does is about the place that was named, not about us.
        place = f"{error.filename}: " if error.filename else ""
        print(f"wayveil: {place}{error.strerror or error}", file=sys.stderr)
        sys.exit(2)
