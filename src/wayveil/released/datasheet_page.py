"""The datasheet as a page that a privacy officer can read, print and sign. The report shows the same parts."""

from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined, TemplateNotFound, UndefinedError

from wayveil.errors import InputError
from wayveil.released.datasheet import NOT_STATED, Datasheet
from wayveil.released.datasheet_view import DatasheetView, words


def datasheet_page(datasheet: Datasheet) -> str:
    """A self-contained HTML page: no script, nothing from elsewhere."""
    try:
        basic = datasheet["deployment"]["basic"]
        curators = (each["data_curator_name"] for each in basic["data_curators"])
        origin = [*(name for name in curators if name != NOT_STATED), basic["publication_date"]]
        origin.append(f"Wayveil {datasheet['wayveil']['version']}")
        return (
            templates("wayveil.released")
            .get_template("datasheet.html.j2")
            .render(
                name=basic["name"],
                origin=" · ".join(filter(None, origin)),
                view=DatasheetView.of(datasheet),
            )
        )
    except (KeyError, TypeError, ValueError, AttributeError, UndefinedError) as error:
        # Datasheets come from files that others may have changed.
        raise InputError(f"this is not the datasheet of a release: {error} is missing or wrong") from error


@cache
def templates(*rooms: str) -> Environment:
    """The templates of these rooms, read once: everything is escaped, and a name that is missing is an error."""
    folders = [files(room).joinpath("templates") for room in rooms]

    def load(name: str) -> str:
        for folder in folders:
            if (file := folder.joinpath(name)).is_file():
                return file.read_text(encoding="utf-8")
        raise TemplateNotFound(name)

    environment = Environment(
        loader=FunctionLoader(load),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["words"] = words
    return environment
