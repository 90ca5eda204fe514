"""Times as agencies write them, given in ISO form. Only the order of a date must be said: 3/4 may be 4/3.

What a text means depends on that text and on `times` of the plan alone. Each distinct text is read once.
"""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import polars as pl

from wayveil.arrays import Ints
from wayveil.sources.categories import each_distinct, of_distinct
from wayveil.sources.column_names import DATES
from wayveil.sources.quick_moments import DAY, LOCAL, ZONED, read_quickly

Order = Literal["year-month-day", "day.month.year", "month/day/year"]
Times = Literal[
    "iso",
    "none",
    "year-month-day",
    "day.month.year",
    "month/day/year",
    "seconds",
    "milliseconds",
    "microseconds",
    "nanoseconds",
    "excel-days",
]
ORDERS: tuple[Order, ...] = get_args(Order)
# Whole numbers that are clocks: how many seconds each of their parts is, from the last two digits on.
NUMBERED = {"seconds": (1,), "minutes": (60,), "hhmm": (60, 3_600), "hhmmss": (1, 60, 3_600)}
PER_SECOND = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
# Day 0 of spreadsheets, in days since 1970.
EXCEL_EPOCH = -25_569

# A zone as an offset; a name like CEST or Europe/Berlin only says which wall clock is shown.
_PLACE = r"\s+[a-z]+(?:/[a-z_]+)+"
_ZONE = (
    r"(?:\s*(?:etc/)?(?<zone>z|utc|gmt|(?<sign>[+-])(?<zh>\d{2})(?::?(?<zm>\d{2}))?)"
    rf"(?:\[.*\]|{_PLACE})?|\s+[a-z]{{2,4}}t|\s+msk|{_PLACE})?"
)
_HALF = r"(?:\s*(?<half>[ap])\.?\s?m\.?)?"
_PARTS = r"(?:[.,]\d+|:\d{3})?"
# A clock, and what stands before and after it: a date, or nothing.
_CLOCK = (
    r"^(?<before>.*?)(?:^|[t ,;_])\s*(?:(?<early>[ap])\.?\s?m\.?\s*)?(?<h>\d{1,3})"
    rf"(?:[:h](?<m>\d{{1,2}})?|\.(?<m2>\d{{2}}))(?:[:.m](?<s>\d{{1,2}}){_PARTS})?\s?(?:uhr|s)?"
    rf"{_HALF}{_ZONE}$"
)
_HOUR = r"^(?<before>.*?)(?:^|[t ,;_])(?<h>\d{1,2})\s*(?<half>[ap])\.?\s?m\.?$"
_COMPACT_CLOCK = rf"^(?<before>\d{{8}})[t _-]?(?<h>\d{{2}})(?<m>\d{{2}})(?<s>\d{{2}})?(?:\.\d+)?{_ZONE}$"
# As databases and logs join it to a date, and as names of files have it.
_JOINED_CLOCK = (
    rf"^(?<before>.*(?:\d{{4}}|-\d\d))[:-](?<h>\d{{2}})[:.](?<m>\d{{2}})[:.](?<s>\d{{2}}){_PARTS}{_ZONE}$"
)
_DASHED_CLOCK = r"^(?<before>.*\d{2})[t _](?<h>\d{2})-(?<m>\d{2})-(?<s>\d{2})$"
# Before the date, or between its day and its year.
_FIRST_CLOCK = (
    r"^(?<before>(?:\p{L}+ )?\p{L}{3,10} \d{1,2} |)(?<h>\d{1,2}):(?<m>\d{2})"
    rf"(?::(?<s>\d{{2}}){_PARTS})?{_HALF}{_ZONE}[ ,;]+(?<after>.+)$"
)
_BARE_CLOCK = r"^(?<h>\d{1,2}?)(?:(?<m>[0-5]\d)(?<s>[0-5]\d)?)?(?:\.0+)?$"
_CLOCKS = (_CLOCK, _HOUR, _COMPACT_CLOCK, _JOINED_CLOCK, _DASHED_CLOCK, _FIRST_CLOCK)
_GROUPS = (*"abc", "before", "after", "h", "m", "m2", "s", "half", "early", "zone", "sign", "zh", "zm")
# A day of the week may stand around a date, and words between it and a clock.
_WEEKDAY = r"(?:\p{L}{2,10}\.?,?\s+)?"
_WORDS = r"\.?(?:\s?\(\p{L}+\)|(?:[\s,]+\p{L}{1,10}\.?){1,2})?$"
_DATE = (
    rf"^{_WEEKDAY}(?<a>\d{{1,4}})(?:\s?[./\-]\s?|\.?\s(?:de\s)?)(?<b>\d{{1,2}}|\p{{L}}{{3,12}})\.?"
    rf"(?:\s?[./\-]\s?|,?\s(?:del?\s)?)(?<c>\d{{4}}|\d{{1,2}}){_WORDS}"
)
_NAMED = rf"^{_WEEKDAY}(?<b>\p{{L}}{{3,12}})\.?\s+(?<a>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?<c>\d{{4}}){_WORDS}"
_JOINED = r"^(?<a>\d{1,2})(?<b>\p{L}{3,12})(?<c>\d{4}|\d{2})$"
_COMPACT = r"^(?<a>(?:19|20)\d{2})(?<b>0[1-9]|1[0-2])(?<c>\d{2})$"
_COMPACT_LAST = r"^(?<a>\d{2})(?<b>\d{2})(?<c>\d{4})$"
# Months by how they begin in the languages of Europe, without accents; names that mean two months are left out.
_MONTHS = {
    1: "jan ene gen ian sty tam oca янв січ ιαν",
    2: "feb fev lut hel sub фев лют φεβ",
    3: "mar mrt mae maa мар бер μαρ",
    4: "apr avr abr kwi huh nis апр кві απρ",
    5: "may mai mei mag maj tou май мая тра μαι μαϊ",
    6: "jun juin giu iun cze kes haz июн чер ιουν",
    7: "jul juil lug iul lip hei tem июл лип ιουλ",
    8: "aug aou ago sie elo agu авг сер αυγ",
    9: "sep set sze wrz syy eyl сен вер σεπ",
    10: "oct okt ott out paz lok eki окт жов οκτ",
    11: "nov noi lis marr kas ноя лис νοε",
    12: "dec dez dic des gru jou ara дек гру δεκ",
}
# Letters as those months are written without marks; names in Chinese and Japanese say which part is which.
_MARKS = {
    **dict.fromkeys(("上午", "午前", "오전", "π.μ.", "πμ"), " am "),
    **dict.fromkeys(("下午", "午後", "오후", "μ.μ.", "μμ"), " pm "),
    **dict(zip("年月日時时分秒", ["-", "-", " ", ":", ":", ":", ""], strict=True)),
    **dict(zip("éèêëûúüáàâãçćčśšşźžżñíîóôğąęłάέίύϊΐ", "eeeeuuuaaaacccssszzzniioogaelαειυιι", strict=True)),
    "ä": "ae",
}


def parse_moments(
    text: pl.Series, order: str = "year-month-day", *, clock_alone: bool = False
) -> pl.DataFrame:
    """Return `day` (since 1970), `second` of it (may pass midnight) and zone `offset` of texts; null for none.

    `clock_alone`: texts of a column of clocks, where 8, 0805 and 8.05 are clocks too.
    """
    return parse_orders(text, (order,), clock_alone=clock_alone)[order]


def parse_orders(
    text: pl.Series, orders: Sequence[str] = ORDERS, *, clock_alone: bool = False
) -> dict[str, pl.DataFrame]:
    """Return what texts say under each order of a date (see `parse_moments`)."""
    plain = _plain(text)
    # 17.11.26 is a date, and 17.11 is a clock only where nothing but clocks can stand.
    whole_date = plain.str.contains(r"^\d+\.\d+(\.\d+)?$") & (not clock_alone)
    parts = _first_of(plain.set(whole_date, None), [*_CLOCKS, *([_BARE_CLOCK] if clock_alone else [])])
    around = pl.concat_str(pl.col("before", "after").fill_null(""), separator=" ").str.strip_chars(" ,;t_:-")
    rest = parts.select(rest=pl.when(pl.col("h").is_null()).then(plain).otherwise(around))["rest"]
    dates = _first_of(rest, [_DATE, _NAMED, _JOINED, _COMPACT, _COMPACT_LAST])
    clocks = _clocks(parts)
    found = {}
    for order in orders:
        day = dates.select(day=_day(order))["day"]
        # A clock beside what is no date is no clock: `246 15:24` says nothing.
        known = (day.is_not_null() | (rest == "")).fill_null(False)
        found[order] = clocks.select(day, pl.when(known).then(pl.col("second", "offset")))
    return found


def iso_text(moments: pl.DataFrame, zone: str | None) -> pl.Series:
    """Return ISO texts of moments that have a day and a clock; those with a zone are put on the clock of `zone`."""
    wall = moments["day"] * DAY + moments["second"]
    offset = moments["offset"]
    if zone is not None and offset.null_count() < len(offset):
        utc = (
            pl.from_epoch(wall - offset, time_unit="s").dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        )
        away = (utc.dt.base_utc_offset() + utc.dt.dst_offset()).dt.total_seconds()
        wall, offset = _first_known(wall - offset + away, wall), _first_known(away, offset)
    local = pl.from_epoch(wall, time_unit="s").dt.strftime("%Y-%m-%dT%H:%M:%S")
    return pl.select(pl.concat_str([local, _offset_text(offset)])).to_series()


def read_moments(text: pl.Series, order: str, zone: str | None) -> pl.Series:
    """Return a column of moments where every text is one; else ISO texts, and those that are none as they stand.

    What a text becomes hangs on that text alone.
    """
    quick, kind = read_quickly(text, order=order, zoned=zone is not None)
    moments = _in_chunks(quick, text)
    found = []
    for each in [each for each in (LOCAL, ZONED) if (kind == each).any()] or [LOCAL]:
        fits = kind == each
        read = moments if fits.all() else moments.set(pl.Series(~fits), None)
        if each == ZONED and zone is not None:
            read = read.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        if read.null_count() == text.null_count():
            return read
        found.append(moment_text(read))
    known = pl.select(pl.coalesce(found)).to_series()
    left = (known.is_null() & text.is_not_null()).arg_true()
    other = each_distinct(text.gather(left), lambda each: iso_text(parse_moments(each, order), zone))
    return known.scatter(left, other.cast(pl.String))


def read_numbers(text: pl.Series, times: str, zone: str | None) -> pl.Series:
    """Return moments of times that count from an epoch (whole seconds without a zone); texts where one does not."""
    if times == "excel-days":
        days = text.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
        seconds = ((days + EXCEL_EPOCH) * DAY).round(0).cast(pl.Int64, strict=False)
        read = pl.from_epoch(seconds, time_unit="s")
    else:
        whole = text.cast(pl.Int64, strict=False)
        if whole.null_count() > text.null_count():
            number = text.cast(pl.Float64, strict=False).floor()
            whole = _first_known(whole, number.cast(pl.Int64, strict=False))
        read = whole // PER_SECOND[times]
        if zone is not None:
            utc = pl.from_epoch(read, time_unit="s").dt.replace_time_zone("UTC")
            read = utc.dt.convert_time_zone(zone)
    if read.null_count() == text.null_count():
        return read
    return pl.select(pl.coalesce(moment_text(read), text)).to_series()


def beside_date(date: pl.Series, clock: pl.Series, order: str, zone: str | None) -> pl.Series:
    """Return moments of dates and clocks in two columns; a clock past 24:00 is on the day after. Both texts stay where
    one of them says nothing.
    """
    both = [column.cast(pl.String) for column in (date, clock)]
    quick, kind = read_quickly(*both, order=order, zoned=False)
    left = pl.Series(kind != LOCAL).arg_true()
    if left.is_empty():
        return _in_chunks(quick, date)
    day = of_distinct(date.gather(left), lambda text: parse_moments(text, order).select("day"))
    at = of_distinct(
        clock.gather(left),
        lambda text: parse_moments(text, order, clock_alone=True).select("second", "offset"),
    )
    moments = pl.concat([day, at], how="horizontal")
    wall = moments["day"] * DAY + moments["second"]
    read = pl.Series(quick).scatter(left, wall * 10**6).cast(pl.Datetime("us"))
    if wall.null_count() == 0 and moments["offset"].null_count() == len(wall):
        return read
    texts = pl.concat_str([column.gather(left).fill_null("") for column in both], separator=" ")
    other = pl.select(pl.coalesce(iso_text(moments, zone), texts.str.strip_chars())).to_series()
    return moment_text(read).scatter(left, other)


def clocks_of_numbers(column: pl.Series, unit: str) -> pl.Series:
    """Return clocks of whole numbers (see `NUMBERED`); what is none within two days stays."""

    def read(text: pl.Series) -> pl.Series:
        count = text.cast(pl.Float64, strict=False).floor().cast(pl.Int64, strict=False)
        *pairs, first = NUMBERED[unit]
        parts = [count // 100**at % 100 for at in range(len(pairs))]
        seconds = count // 100 ** len(pairs) * first
        for part, each in zip(parts, pairs, strict=True):
            seconds += part.set(part >= 60, None) * each
        return clock_text(seconds)

    return each_distinct(column, read)


def clock_text(second: pl.Series) -> pl.Series:
    """Return seconds since midnight as clocks, which may pass it; none for two days and more."""
    parts = (second // 3_600, second // 60 % 60, second % 60)
    two = [part.cast(pl.String).str.zfill(2) for part in parts]
    known = second.is_between(0, 2 * DAY - 1)
    return pl.select(pl.when(known).then(pl.concat_str(two, separator=":"))).to_series()


def moment_text(read: pl.Series) -> pl.Series:
    """Return moments as ISO texts, and seconds as they are."""
    if not isinstance(read.dtype, pl.Datetime):
        return read.cast(pl.String)
    return read.dt.strftime("%Y-%m-%dT%H:%M:%S" + ("%:z" if read.dtype.time_zone else ""))


def with_text_times(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table under our names with its times as texts."""
    return table.with_columns(moment_text(table[name]) for name in DATES if name in table.columns)


def of_one_form(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with its times as texts where some of its columns have moments (of a zone) and others do not."""
    types = [table[name].dtype for name in DATES if name in table.columns]
    kinds = {(each.base_type(), getattr(each, "time_zone", None)) for each in types}
    return with_text_times(table) if len(kinds) > 1 else table


def _in_chunks(quick: Ints, like: pl.Series) -> pl.Series:
    """Return moments that lie in memory as another column does: a table of both need not be copied to fit."""
    cuts = np.cumsum(like.chunk_lengths())[:-1]
    return pl.concat([pl.Series(each) for each in np.split(quick, cuts)]).cast(pl.Datetime("us"))


def _plain(text: pl.Series) -> pl.Series:
    """Lower case, no marks on the letters of months, one kind of blank, and nothing around that spreadsheets put."""
    plain = text.cast(pl.String).str.to_lowercase().str.replace_all(r"[\s\u00a0\u202f]+", " ")
    return plain.str.replace_many(_MARKS).str.strip_chars(" :='\"[]")


def _day(order: str) -> pl.Expr:
    """Return the day since 1970 of the parts of a date."""
    a, b, c = (pl.col(name).cast(pl.Int64, strict=False) for name in "abc")
    named = _month_number(pl.col("b"))
    long_last = named.is_not_null() & (pl.col("c").str.len_chars() == 4)
    first = pl.col("a").str.len_chars() == 4
    first = first | ~long_last if order == "year-month-day" else first
    year, last = (pl.when(first).then(one).otherwise(other) for one, other in ((a, c), (c, a)))
    swapped = ~first & named.is_null() if order == "month/day/year" else pl.lit(False)
    month = pl.coalesce(named, pl.when(swapped).then(a).otherwise(b))
    day = pl.when(swapped).then(b).otherwise(last)
    full = pl.when(year < 100).then(year + 2000 - 100 * (year >= 69).cast(pl.Int64)).otherwise(year)
    numbers = ((full, 4), (month, 2), (day, 2))
    joined = pl.concat_str([each.cast(pl.String).str.zfill(width) for each, width in numbers], separator="-")
    return joined.str.to_date("%Y-%m-%d", strict=False).cast(pl.Int64)


def _clocks(parts: pl.DataFrame) -> pl.DataFrame:
    def number(*names: str) -> pl.Expr:
        return pl.coalesce(*names).cast(pl.Int64, strict=False).fill_null(0)

    half = pl.coalesce("half", "early")
    hour, minute, second = pl.col("h").cast(pl.Int64, strict=False), number("m", "m2"), number("s")
    late = 12 * (half == "p").cast(pl.Int64)
    hour = pl.when(half.is_not_null()).then(hour % 12 + late).otherwise(hour)
    fits = (minute < 60) & (second < 60) & (hour < 48)
    east = number("zh") * 3_600 + number("zm") * 60
    offset = pl.when(pl.col("sign") == "-").then(-east).otherwise(east)
    return parts.select(
        second=pl.when(fits).then(hour * 3_600 + minute * 60 + second),
        offset=pl.when(fits & pl.col("zone").is_not_null()).then(offset),
    )


def _first_of(plain: pl.Series, patterns: list[str]) -> pl.DataFrame:
    """Return the named groups of the first pattern that fits each text."""
    found = [pl.DataFrame(schema={"at": pl.UInt32} | dict.fromkeys(_GROUPS, pl.String))]
    left = pl.DataFrame({"text": plain}).with_row_index("at")
    # Without a digit nothing fits.
    for pattern in patterns if left["text"].str.contains(r"\d").any() else ():
        groups = left.with_columns(pl.col("text").str.extract_groups(f"(?<whole>{pattern})")).unnest("text")
        fits = groups["whole"].is_not_null()
        found.append(groups.filter(fits))
        left = left.filter(~fits)
    return pl.concat([*found, left], how="diagonal").sort("at")


def _month_number(text: pl.Expr) -> pl.Expr:
    known = {word: month for month, words in _MONTHS.items() for word in words.split()}
    begins = (
        text.str.slice(0, length).replace_strict(known, default=None, return_dtype=pl.Int64)
        for length in (4, 3)
    )
    return pl.coalesce(*begins)


def _offset_text(offset: pl.Series) -> pl.Series:
    away = offset.abs()
    hours, minutes = (part.cast(pl.String).str.zfill(2) for part in (away // 3_600, away // 60 % 60))
    sign = pl.when(offset < 0).then(pl.lit("-")).otherwise(pl.lit("+"))
    return pl.select(pl.concat_str([sign, hours, pl.lit(":"), minutes])).to_series().fill_null("")


def _first_known(one: pl.Series, other: pl.Series) -> pl.Series:
    return pl.select(pl.coalesce(one, other)).to_series()
