"""`wayveil lab ...`: what researchers do with releases, and a release does not need.

The command line of the product mounts this one where the package has it.
"""

import typer

from wayveil.lab.cli import simulate, taps
from wayveil.lab.cli.anonymise import anonymise
from wayveil.lab.cli.audit import audit
from wayveil.lab.cli.compare import compare, recommend
from wayveil.lab.cli.mechanisms import mechanisms
from wayveil.lab.cli.points import trips
from wayveil.lab.cli.raw_map import draw
from wayveil.lab.cli.report import report
from wayveil.lab.cli.risk import risk
from wayveil.lab.cli.sample import sample
from wayveil.lab.cli.study import study
from wayveil.lab.cli.world import world

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
