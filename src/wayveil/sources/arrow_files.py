"""Look at the lengths that an Arrow file states before a library believes them.

A reader takes the memory that a damaged length asks for, and where there is not so much the whole process ends: that is
no error which could be said in a sentence.
"""

from collections.abc import Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path
from struct import unpack_from

MAGIC = b"ARROW1"
_DICTIONARIES, _BATCHES, _HEADER, _DATA, _BUFFERS = 2, 3, 2, 1, 2
_DICTIONARY = 2  # kind of message


def require_lengths(path: Path) -> None:
    """Refuse an Arrow file of which a block or buffer reaches beyond its end; the error says nothing of its rows."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) == MAGIC:
            with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
                _require_blocks(content)


def _require_blocks(content: mmap) -> None:
    end = len(content) - len(MAGIC) - 4
    if content[end + 4 :] != MAGIC:
        return
    footer = end - _number(content, "<i", end)
    root = footer + _number(content, "<I", footer)
    for blocks in (_DICTIONARIES, _BATCHES):
        for at in _vector(content, root, blocks, 24):
            offset, _, body = unpack_from("<qi4xq", content, at)
            if min(offset, body) < 0 or offset + body > len(content):
                raise ValueError("a block reaches beyond the end of the file")
            _require_buffers(content, offset + (8 if content[offset : offset + 4] == b"\xff" * 4 else 4))


def _require_buffers(content: mmap, message: int) -> None:
    table = message + _number(content, "<I", message)
    batch = _child(content, table, _HEADER)
    kind = _field(content, table, 1)
    if kind and content[kind] == _DICTIONARY:
        batch = _child(content, batch, _DATA)
    for at in _vector(content, batch, _BUFFERS, 16):
        offset, length = unpack_from("<qq", content, at)
        if min(offset, length) < 0 or offset + length > len(content):
            raise ValueError("a column reaches beyond the end of the file")


def _number(content: mmap, form: str, at: int) -> int:
    if at < 0:
        raise ValueError("it points before its beginning")
    return int(unpack_from(form, content, at)[0])


def _field(content: mmap, table: int, place: int) -> int:
    """Where a field of a flatbuffer table stands; 0 if it has none."""
    fields = table - _number(content, "<i", table)
    if 4 + 2 * place >= _number(content, "<H", fields):
        return 0
    offset = _number(content, "<H", fields + 4 + 2 * place)
    return table + offset if offset else 0


def _child(content: mmap, table: int, place: int) -> int:
    at = _field(content, table, place)
    return at + _number(content, "<I", at)


def _vector(content: mmap, table: int, place: int, size: int) -> Iterator[int]:
    """Where the structs of a vector stand."""
    if _field(content, table, place) == 0:
        return
    first = _child(content, table, place)
    for number in range(min(_number(content, "<I", first), len(content) // size)):
        yield first + 4 + size * number
