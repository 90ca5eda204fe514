"""The command line: commands read options and files, call the room that does the work, and show what comes back.

Bad input ends with one sentence and exit code 2; an audit or a verification that finds something ends with 1.
"""

import sys
from functools import cache
from typing import Annotated

import typer

from wayveil import __version__
from wayveil.errors import WayveilError


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"wayveil {__version__}")
        raise typer.Exit


app = typer.Typer(
    name="wayveil",
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
    from wayveil.cli import (
        anonymise,
        ask,
        audits,
        compare,
        data,
        demo,
        gps,
        ledger,
        mechanisms,
        raw_map,
        release,
        releases,
        risk,
        series,
        simulate,
        study,
        tap_release,
        trend,
    )

    for commands in (
        demo,
        data,
        simulate,
        raw_map,
        release,
        releases,
        mechanisms,
        audits,
        risk,
        anonymise,
        compare,
        study,
        tap_release,
        ask,
        series,
        gps,
        trend,
    ):
        commands.register(app)
    app.add_typer(ledger.app, name="ledger")


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
