"""Page one of the datasheet as a PDF of one A4 page, with fields for a signature; no browser is needed."""

from pathlib import Path
from textwrap import wrap
from typing import Any

from wayveil.accuracy.judged import JudgedRelease
from wayveil.released.officer import SIGNED, officer_lines
from wayveil.world.timebins import TimeBins

# Points; A4 is 595 x 842. Texts are wrapped by signs, so that a line of capitals fits as well.
WIDTH, HEIGHT, MARGIN, COLUMN = 595.0, 842.0, 42.0, 150.0
SIGNS, SIZE = 74, 9.0
FIELDS_ABOVE = 190.0


def write_officer(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """Write the ten lines and the six fields of the officer's page."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    name = str(release.datasheet["deployment"]["basic"]["name"])
    page = Figure(figsize=(WIDTH / 72, HEIGHT / 72))

    def say(x: float, y: float, text: str, size: float = SIZE, **how: Any) -> None:
        page.text(x / WIDTH, y / HEIGHT, text.replace("$", r"\$"), size=size, va="top", **how)

    say(MARGIN, HEIGHT - 40, "Wayveil privacy datasheet, page one", color="0.35")
    for at, part in enumerate(wrap(name, 52)[:2]):
        say(MARGIN, HEIGHT - 58 - 20 * at, part, 16, weight="bold")
    lines = [
        (title, wrap(text, SIGNS)) for title, text in officer_lines(release.datasheet, release.usefulness)
    ]
    y = HEIGHT - 115
    # Two thirds of a row stand between two lines; whatever there is to say, it stays above the fields.
    row = min(13.0, (y - FIELDS_ABOVE) / sum(len(text) + 2 / 3 for _, text in lines))
    size = min(SIZE, row * 0.75)
    for title, text in lines:
        say(MARGIN, y, title, size, weight="bold")
        for part in text:
            say(COLUMN, y, part, size)
            y -= row
        y -= row * 2 / 3
    wide = (WIDTH - 2 * MARGIN) / 3
    for at, field in enumerate(SIGNED):
        x, y = MARGIN + wide * (at % 3), FIELDS_ABOVE - 40 - 60 * (at // 3)
        ends = [x / WIDTH, (x + wide - 14) / WIDTH]
        page.add_artist(Line2D(ends, [y / HEIGHT] * 2, color="black", linewidth=0.6))
        for below, part in enumerate(wrap(field, 30)):
            say(x, y - 4 - 10 * below, part, 8)
    say(
        MARGIN,
        52,
        "Every parameter, price and public input is in datasheet.html of the release.",
        8,
        color="0.35",
    )
    say(MARGIN, 41, "To sign with a key: wayveil ledger sign. To check: wayveil verify.", 8, color="0.35")
    with rc_context({"pdf.fonttype": 42}):
        FigureCanvasPdf(page).print_pdf(out, metadata={"Title": f"Privacy datasheet: {name}"})
    return [out]
