"""`wayveil lab ...`: what researchers do with releases, and a release does not need.

The command line of the product mounts this one where the package has it.
"""

import typer

from wayveil.lab.cli import simulate, taps
from wayveil.lab.cli.compare import compare, recommend
from wayveil.lab.cli.methods import anonymise, audit, mechanisms
from wayveil.lab.cli.risk import report, risk
from wayveil.lab.cli.rows import draw, sample, trips, world
from wayveil.lab.cli.study import study

app = typer.Typer(
    name="lab",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""Research about releases: studies, audits, comparisons, simulators, methods without a guarantee.

    wayveil lab recommend --world city.zip --out recommended/""",
)
_PANELS = {
    "Which mechanism": (mechanisms, recommend, compare, report),
    "What was claimed": (study, audit),
    "Attacks, and methods without a guarantee": (risk, anonymise),
    "Worlds, raw rows and released ones": (world, taps.clean, taps.riders, taps.units, trips, sample),
}
for _panel, _commands in _PANELS.items():
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)
app.command("map", rich_help_panel=_panel)(draw)
app.add_typer(simulate.app, name="simulate", rich_help_panel="Simulators")
