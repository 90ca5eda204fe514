"""`Reading`: how files are written, as the plan says it. Public facts; a release guesses none of them."""

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from wayveil.errors import ParameterError
from wayveil.sources.column_names import COORDINATES, DATES

PLACES = ("id", "code", "name")
ENDS = ("origin", "destination")
# Two coordinates in one cell.
COORDINATE_PAIR = r"^\D*?(?<a>-?\d{1,3}\.\d+)[^\d.-]+(?<b>-?\d{1,3}\.\d+)\D*$"


@dataclass(frozen=True)
class Reading:
    """Form in which files are written.

    columns    ours to theirs
    encoding, separator, quote, decimal, skip, header   of csv: `skip` lines stand before the header
    line_ends  of csv: `lf`, with or without a carriage return, or `cr` alone
    ragged     rows of csv may have more cells than the header, or the first of them: those beyond are not read
    sheet      of a workbook, and table of a database
    times      how times are written (see `moments`); `iso` leaves them to the readers, `none` reads none
    clock      whether clocks are `written` (8:05), count `seconds` or `minutes` since midnight, or are `hhmm`
    zone       the city's time zone: times that name a zone or count from an epoch are put on its clock
    places     how places are called: by `id`, `code` or `name`
    radius     metres within which a place of the world is that of coordinates
    step       seconds from one position to the next where a cell holds a whole track
    rules      what becomes of bad rows (see `bad_rows`)
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    encoding: str = "utf-8"
    separator: str | None = None
    quote: str = '"'
    decimal: str = "."
    skip: int = 0
    header: bool = True
    ragged: bool = False
    line_ends: str = "lf"
    sheet: str | None = None
    times: str = "iso"
    clock: str = "written"
    zone: str | None = None
    places: str = "id"
    radius: float | None = None
    step: int | None = None
    rules: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise ParameterError(f"unknown encoding {self.encoding!r}; write one like windows-1252") from None
        if self.zone is not None:
            require_zone(self.zone)

    @property
    def changes_values(self) -> bool:
        """Tell whether values are rewritten before the readers of trips, taps and points see them."""
        said = (self.times, self.clock, self.zone, self.places, self.decimal) != (
            "iso",
            "written",
            None,
            "id",
            ".",
        )
        apart = any(name in self.columns for name in (*DATES.values(), *COORDINATES))
        return said or apart or bool(self.rules) or self.of_pair("lat") or self.both_ends

    def of_pair(self, name: str) -> bool:
        """Tell whether a coordinate stands in one cell with the other one."""
        lat = name.replace("lon", "lat")
        return lat in self.columns and self.columns[lat] == self.columns.get(lat.replace("lat", "lon"))

    @property
    def both_ends(self) -> bool:
        """Tell whether origin and destination stand in one cell."""
        return "origin" in self.columns and self.columns["origin"] == self.columns.get("destination")

    @property
    def made(self) -> list[str]:
        """Return the columns that are made of others: the place of an end whose coordinates are known."""
        return [end for end in ENDS if f"{end}_lat" in self.columns and end not in self.columns]

    @property
    def hidden(self) -> set[str]:
        """Return the columns that go into others."""
        dates = {date for time, date in DATES.items() if date in self.columns and time in self.columns}
        if self.times == "none":
            dates |= {*DATES, *DATES.values()}
        return dates | {f"{end}_{part}" for end in self.made for part in ("lat", "lon")}

    def needs(self, name: str) -> list[str]:
        """Return the columns that a column is made of."""
        apart = DATES.get(name)
        coordinates = [f"{name}_lat", f"{name}_lon"] if name in self.made else []
        return [name, *coordinates, *([apart] if apart in self.hidden and apart is not None else [])]

    @property
    def plain(self) -> bool:
        """Tell whether files are csv or Parquet as this package writes them, but for the names of columns."""
        # Names that changed from file to file, and `(file)` and `(none)` that are names of no column.
        special = any("|" in name or " + " in name or name.startswith("(") for name in self.columns.values())
        return not self.changes_values and not special and self.written == Reading().written

    @property
    def written(self) -> tuple[object, ...]:
        """Return what finds the cells of a file."""
        text = (
            self.encoding,
            self.separator,
            self.quote,
            self.skip,
            self.header,
            self.ragged,
            self.line_ends,
        )
        return (*text, self.sheet)


def require_zone(name: str) -> None:
    """Refuse a time zone that nobody knows."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ParameterError(f"unknown time zone {name!r}; write one like Europe/Madrid") from error
