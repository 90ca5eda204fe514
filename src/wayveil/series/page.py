"""The index page of a series: all releases, the year as a picture, and for the privacy officer what it costs."""

from pathlib import Path
from typing import Any

from markupsafe import Markup

from wayveil.errors import decimal
from wayveil.files import write_whole
from wayveil.plan.plan import Plan
from wayveil.released.datasheet_page import templates
from wayveil.report.page_files import write_page
from wayveil.series.accounting import costs_by_unit, noise_by_accounting, releases_in_a_period
from wayveil.series.folder import EXPORTS, RELEASE, REPORT, SeriesFolder, record_of
from wayveil.series.picture import year_svg
from wayveil.series.status import Status

INDEX, PICTURE = "index.html", "year.svg"


def write_index(plan: Plan, folder: SeriesFolder, status: Status) -> Path:
    """Write the index and the picture into the public folder; each appears whole. Nothing on it comes from raw rows."""
    picture = year_svg(status)
    write_whole(folder.public / PICTURE, picture)
    html = (
        templates("wayveil.series")
        .get_template("index.html.j2")
        .render(
            plan=plan,
            words=[line for line in status.words() if not line.startswith("  ")],
            status=status,
            picture=Markup(picture),  # made of escaped parts
            releases=[_row(folder, label) for label in reversed(folder.labels())],
            number=releases_in_a_period(plan),
            costs=costs_by_unit(plan),
            noise=noise_by_accounting(plan),
            decimal=decimal,
            digits=lambda value: f"{float(value):,.4g}",
        )
    )
    return write_page(folder.public / INDEX, html)


def index_is_current(folder: SeriesFolder) -> bool:
    """Whether the index lists every published period; a run may have died right before it was written."""
    index = folder.public / INDEX
    text = index.read_text(encoding="utf-8") if index.is_file() else ""
    return bool(text) and all(f"<td>{label}</td>" in text for label in folder.labels())


def _row(folder: SeriesFolder, label: str) -> dict[str, Any]:
    home = folder.published(label)
    record = record_of(home)
    exports = sorted(path.name for path in (home / EXPORTS).glob("*")) if (home / EXPORTS).is_dir() else []
    # Whoever reads the page has no command line before them.
    left_out = {kind: why.partition(" To see the numbers")[0] for kind, why in record["left_out"].items()}
    return {
        **record,
        "left_out": left_out,
        "report": f"{label}/{REPORT}" if (home / REPORT).is_file() else None,
        "datasheet": f"{label}/{RELEASE}/datasheet.html",
        "files": [(name, f"{label}/{EXPORTS}/{name}") for name in exports],
    }
