"""`wayveil lab ...`: what researchers do with releases, and a release does not need.

The command line of the product mounts this one where the package has it.
"""

import typer

from wayveil.lab.cli import (
    anonymise,
    audit,
    compare,
    mechanisms,
    points,
    raw_map,
    report,
    risk,
    sample,
    simulate,
    study,
    taps,
    world,
)

app = typer.Typer(
    name="lab",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""Research about releases: studies, audits, comparisons, simulators, methods without a guarantee.

    wayveil lab recommend --world city.zip --out recommended/""",
)
for _commands in (
    mechanisms,
    compare,
    study,
    audit,
    risk,
    anonymise,
    report,
    raw_map,
    world,
    sample,
    simulate,
    taps,
    points,
):
    _commands.register(app)
