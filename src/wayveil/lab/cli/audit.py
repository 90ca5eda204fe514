"""`wayveil lab audit`: try to break the guarantees."""

from typing import Annotated

import typer

from wayveil.cli.options import AsJson, Quiet
from wayveil.progress import shown


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
    from wayveil.errors import ParameterError
    from wayveil.lab.audits.run_audits import run_audits

    if not everything and not mechanism:
        raise ParameterError("name a mechanism to attack, or use --all")
    with shown(not quiet and not as_json):
        table = run_audits(None if everything else mechanism, effort="fast" if fast else "full")
    typer.echo(table.to_json() if as_json else str(table))
    if not table.ok:
        raise typer.Exit(1)
