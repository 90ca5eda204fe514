"""A picture with its numbers: every figure of a report can be saved as SVG with a csv of its data beside it."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import polars as pl

GROUND = '<use href="#network"/>'


@dataclass(frozen=True, eq=False)
class Chart:
    """A picture, the numbers in it, and what it shows in words.

    `plain` pictures carry no colours of their own: in a page they follow its style sheet, in a file of their own they
    take the same sheet along, and the `ground` that a page draws only once for all of its maps.
    """

    name: str
    svg: str
    data: pl.DataFrame
    alt: str
    plain: bool = False
    ground: str = ""

    def save(self, folder: str | Path) -> tuple[Path, Path]:
        """Write `name.svg` and, beside it, `name.csv`."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        picture, numbers = folder / f"{self.name}.svg", folder / f"{self.name}.csv"
        picture.write_text(self._alone() if self.plain else self.svg, encoding="utf-8")
        self.data.write_csv(numbers)
        return picture, numbers

    def _repr_svg_(self) -> str:
        """The picture by itself, for notebooks."""
        return self._alone() if self.plain else self.svg

    def _repr_html_(self) -> str:
        return self._repr_svg_()

    def _alone(self) -> str:
        head, rest = self.svg.replace(GROUND, self.ground).split(">", 1)
        named = head if "xmlns=" in head else f'{head} xmlns="http://www.w3.org/2000/svg"'
        return f"{named}><style>{drawing_style()}</style>{rest}"


@cache
def drawing_style() -> str:
    """The part of the style sheet that pictures need."""
    sheets = {"wayveil.released": "colours.css", "wayveil.report": "drawing.css"}
    return "".join(
        files(room).joinpath("templates", name).read_text(encoding="utf-8") for room, name in sheets.items()
    )
