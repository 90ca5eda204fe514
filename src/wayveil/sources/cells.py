"""Cells that hold several values (two coordinates, two places, a whole track), and columns that together hold one.

Each row is read by itself, and columns that are one are named in the plan: `Year + Month + Day`, `Time + AM/PM`.
"""

import re
from collections.abc import Callable, Sequence

import polars as pl

from wayveil.sources.header_words import meanings, words_of
from wayveil.sources.moments import moment_text

# A text with a whole track in it: a line of GIS, or a list of positions.
TRACK = r"(?i)^\s*(?:srid=\d+;\s*)?linestring|^\s*\[\s*\["
JOINT = " + "
_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_POSITION = rf"(?i)(?:\[\s*{_NUMBER}\s*,|[(,]\s*{_NUMBER}\s)\s*{_NUMBER}"
# What stands between two places in a cell: arrows and words before dashes, which names of places have too.
_BETWEEN = (
    *("→", "->", "=>", ">", " to ", " nach ", " bis ", " naar ", " vers ", " hacia ", " til ", " till "),
    *(" a ", " à ", " - ", " – ", " — ", " / ", "|", ";", "/", "–", "-", "_", ":"),
)
_ROLES = {
    "year": "year jahr ano annee anno jaar rok god ar yyyy 年",
    "month": "month monat mes mois mese maand mesic miesiac manad maned kuukausi mm 月",
    "day": "day tag dia jour giorno dag dzien den dd 日",
    "hour": "hour stunde hora heure ora uur hh",
    "minute": "minute minutes min minuto minutos minuut minuten minuta",
}
_ROLE = {word: role for role, words in _ROLES.items() for word in words.split()}
# Columns that together are a date or a clock.
_WHOLE = (("year", "month", "day"), ("hour", "minute"))


def guess_joints(names: Sequence[str]) -> list[str]:
    """Return the columns that are one: year, month and day of the same thing, or its hour and minute."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for name in names:
        words = words_of(name)
        roles = [_ROLE[word] for word in words if word in _ROLE]
        if len(roles) == 1:
            rest = tuple(word for word in words if word not in _ROLE)
            found.setdefault(rest, {}).setdefault(roles[0], name)
    return [
        JOINT.join(parts[role] for role in whole)
        for parts in found.values()
        for whole in _WHOLE
        if set(whole) <= set(parts)
    ]


def is_half(column: pl.Series) -> bool:
    """Tell whether a column says which half of the day a clock is of."""
    words = (
        column.cast(pl.String).drop_nulls().str.strip_chars().str.to_lowercase().str.replace_all(r"\.", "")
    )
    return len(words) > 0 and bool(words.is_in(["am", "pm"]).all())


def joined(table: pl.DataFrame, name: str) -> pl.Series:
    """Return columns as one text: the parts of a date with dashes, those of a clock with colons."""
    parts = name.split(JOINT)
    dated = len(parts) == 3 and "time" not in meanings(parts[0])
    text = table.select(
        pl.concat_str([pl.col(part).cast(pl.String) for part in parts], separator="-" if dated else ":")
    )
    return text.to_series().str.replace(r":\s*([AaPp])", " $1").alias(name)


def split_places(text: pl.Series, known: Callable[[pl.Series], pl.Series], end: str) -> pl.Series:
    """Return the first or the last of the two places of texts, cut where both are known; else the text."""
    found = pl.Series([None], dtype=pl.String).new_from_index(0, len(text))
    for mark in map(re.escape, _BETWEEN):
        for pattern in (rf"(?i)^(?<a>.+?){mark}(?<b>.+)$", rf"(?i)^(?<a>.+){mark}(?<b>.+)$"):
            both = text.str.extract_groups(pattern).struct.unnest()
            one, other = (both[each].str.strip_chars() for each in "ab")
            part = one if end == "origin" else other
            fits = known(one) & known(other)
            found = pl.select(pl.coalesce(found, pl.when(fits).then(part))).to_series()
    return pl.select(pl.coalesce(found, text)).to_series()


def along(table: pl.DataFrame, step: int) -> pl.DataFrame:
    """Return a row for each position of the track of a row, each so many seconds after the one before."""
    cell = pl.col("lat").cast(pl.String)
    rows = table.with_row_index("of row").with_columns(cell.str.extract_all(_POSITION).alias("position"))
    # A track without positions has none; a cell without a track stays to be refused.
    rows = rows.filter(cell.is_null() | ~cell.str.contains(r"^\s*\[\s*\]|(?i:empty)\s*$")).explode("position")
    both = pl.col("position").str.extract_all(rf"(?i){_NUMBER}")
    rows = rows.with_columns(lon=both.list.get(0), lat=both.list.get(1))
    if "event_time" in table.columns:
        later = rows.select(step * pl.int_range(pl.len()).over("of row")).to_series()
        text = moment_text(rows["event_time"])
        wall = text.str.slice(0, 19).str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False)
        moved = (wall + pl.Series(later * 10**6).cast(pl.Duration("us"))).dt.strftime("%Y-%m-%dT%H:%M:%S")
        counted = (text.cast(pl.Int64, strict=False) + later).cast(pl.String)
        whole = pl.select(pl.coalesce(counted, pl.concat_str([moved, text.str.slice(19)]), text))
        rows = rows.with_columns(whole.to_series().alias("event_time"))
    return rows.drop("of row", "position")
