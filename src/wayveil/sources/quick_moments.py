"""Moments as most files write them, read byte by byte: 17.11.2026 08:05:30, 9/7/26 6:05 AM, 2026-11-17T08:05Z.

What is read here is what the patterns of `moments` read; every other text is left to them. Each text by itself.
"""

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from wayveil.arrays import Ints

Bytes = NDArray[np.uint8]
DAY = 86_400
# Years 1900 to 2100, in seconds since 1970.
_EARLIEST, _LATEST = -2_208_988_800, 4_102_444_800
LEFT, LOCAL, ZONED = 0, 1, 2
_ORDER = {"year-month-day": 0, "day.month.year": 1, "month/day/year": 2}
# Numbers of a moment: date, clock with parts of a second, zone.
_NUMBERS = 9
# Texts whose bytes are held at once: few, so that they stay near.
_AT_ONCE = 1 << 16
_NONE = -(10**9)


def read_quickly(*texts: pl.Series, order: str, zoned: bool) -> tuple[Ints, Bytes]:
    """Return microseconds since 1970 of texts and, for each, whether it is LOCAL, ZONED (then of UTC) or LEFT unread.

    Date and clock may stand in two columns. Not `zoned`: texts that name a zone are left.
    """
    moments, kind = np.zeros(len(texts[0]), np.int64), np.zeros(len(texts[0]), np.uint8)
    for first in range(0, len(texts[0]), _AT_ONCE):
        piece = slice(first, first + _AT_ONCE)
        found = [_bytes_of(each[piece]) for each in texts]
        text = found[0][0] if len(found) == 1 else np.concatenate([text for text, _ in found])
        length = np.stack([length for _, length in found])
        _read(text, length, _ORDER[order], zoned, moments[piece], kind[piece])
    return moments, kind


def _bytes_of(text: pl.Series) -> tuple[Bytes, Ints]:
    """Return the bytes of all texts, and how many each has."""
    some = text.cast(pl.Binary).cast(pl.List(pl.UInt8))
    length = some.list.len().fill_null(0).cast(pl.Int64)
    each = (some.filter(length > 0) if length.min() == 0 else some).explode()
    return each.to_numpy(), length.to_numpy()


@njit(cache=True)
def _read(text: Bytes, length: Ints, order: int, zoned: bool, moments: Ints, kind: Bytes) -> None:
    """Cut each text into numbers and the marks after them, and read these; `length` has a row for each column."""
    number, digits, mark = np.zeros((3, _NUMBERS), np.int64)
    columns, rows = length.shape
    begin, other = 0, length[: columns - 1].sum()
    before = 0
    day = _NONE
    for row in range(rows):
        count = at = end = 0
        for column in range(columns):
            if column:  # after a date, and nothing beside it
                count = 3 if count == 3 and at == end + 1 else -_NUMBERS
                mark[2] = 32
            at, end = begin, begin + length[column, row]
            begin, other = (other, end) if columns == 2 else (end, other)
            while at < end and text[at] == 32:
                at += 1
            while at < end and text[end - 1] == 32:
                end -= 1
            while at < end and -1 < count < _NUMBERS:
                first, value = at, 0
                while at < end:
                    digit = text[at] - 48
                    if digit < 0 or digit > 9:
                        break
                    value = 10 * value + digit
                    at += 1
                if at == first:
                    break
                number[count], digits[count], mark[count] = value, at - first, text[at] if at < end else 0
                at += 1
                count += 1
        if count < 5 or mark[0] != mark[1] or not (mark[2] == 32 or mark[2] | 32 == 116):  # a blank or T
            continue
        if not 45 <= mark[0] <= 47 or not (mark[3] == 46 or mark[3] == 58) or digits[4] != 2:  # - . / and . :
            continue
        last, second = 4, 0
        if count > 5 and mark[4] == mark[3]:
            last, second = 5, number[5] if digits[5] == 2 else DAY
            if count > 6 and (mark[5] == 44 or mark[5] == 46):  # parts of a second
                last = 6
        more, rest, tail = count - last - 1, end - at, mark[last] | 32
        half = away = 0
        named = more == rest == 0 and tail == 122  # Z
        if more == 0 and rest == 2 and mark[last] == 32 and text[at + 1] | 32 == 109:  # m of am and pm
            half = text[at] | 32
        elif more == 0 and rest == 1 and text[at] | 32 == 109:
            half = tail
        elif more == 2 and rest == -1 and mark[last + 1] == 58 and digits[last + 1] == digits[last + 2] == 2:
            away = _away(mark[last], number[last + 1], number[last + 2])
            named = away != _NONE
        if (named and not zoned) or not (named or half or (more == 0 and rest == -1)):
            continue
        date = _date(number[0], digits[0], number[1] if digits[1] <= 2 else 0, number[2], digits[2], order)
        if date != before:  # most often the one above
            before, day = date, _day(date)
        clock = _clock(number[3] if digits[3] <= 2 else DAY, number[4], second, half)
        moment = day * DAY + clock - away
        if day != _NONE and clock != _NONE and _EARLIEST <= moment < _LATEST:
            moments[row], kind[row] = 1_000_000 * moment, ZONED if named else LOCAL


@njit(cache=True)
def _away(sign: int, hours: int, minutes: int) -> int:
    """Return seconds east of UTC."""
    if (sign != 43 and sign != 45) or hours > 19 or minutes > 59:  # + -
        return _NONE
    return (44 - sign) * (3_600 * hours + 60 * minutes)


@njit(cache=True)
def _clock(hour: int, minute: int, second: int, half: int) -> int:
    """Return the second of the day; `half` is the letter of am or pm."""
    if half:
        if not 1 <= hour <= 12 or (half != 97 and half != 112):
            return _NONE
        hour = hour % 12 + (12 if half == 112 else 0)
    return 3_600 * hour + 60 * minute + second if hour < 24 and minute < 60 and second < 60 else _NONE


@njit(cache=True)
def _date(first: int, digits: int, month: int, last: int, last_digits: int, order: int) -> int:
    """Return a date as one number like 20261117."""
    if digits == 4 and last_digits <= 2:
        return 10_000 * first + 100 * month + last
    if digits > 2 or order == 0 or (last_digits != 4 and last_digits != 2):
        return 0
    month, day = (first, month) if order == 2 else (month, first)
    short = last_digits == 2
    return 10_000 * (last + (2000 if short and last < 69 else 1900 if short else 0)) + 100 * month + day


@njit(cache=True)
def _day(date: int) -> int:
    """Return days since 1970."""
    year, month, day = date // 10_000, date // 100 % 100, date % 100
    leap = 1 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 0
    longest = 28 + leap if month == 2 else 30 + (month + month // 8) % 2
    if not 1 <= month <= 12 or not 1 <= day <= longest:
        return _NONE
    years = year - 1
    before = 365 * years + years // 4 - years // 100 + years // 400 + (367 * month - 362) // 12
    return before + day - (0 if month <= 2 else 2 - leap) - 719_163
