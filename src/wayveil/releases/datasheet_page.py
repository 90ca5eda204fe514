"""The datasheet as a page that a privacy officer can read, print and sign."""

from importlib.resources import files

from jinja2 import Environment

from wayveil.releases.datasheet import Datasheet


def datasheet_page(datasheet: Datasheet) -> str:
    """A self-contained HTML page: no script, nothing from elsewhere."""
    text = files("wayveil.releases").joinpath("datasheet.html.j2").read_text(encoding="utf-8")
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(text)
    return template.render(sheet=datasheet)
