"""Dialect of a text file: its encoding, separator, quotes, decimal mark, and the lines before its header.

Guessed by `wayveil check`, which shows it and writes it into the plan.
"""

import codecs
import csv
import re
from collections import Counter
from pathlib import Path

from wayveil.disclosures import LAYOUT
from wayveil.errors import InputError
from wayveil.sources.header_words import column_for
from wayveil.sources.reading import Reading
from wayveil.sources.text_files import open_bytes

HEAD = 1 << 18
LINES = 200
SEPARATORS = ",;\t|"
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Encodings beside UTF-8; the first one where names of columns do not tell.
_ENCODINGS = (
    *(f"windows-125{number}" for number in (2, 0, 1, 3, 4, 5, 6, 7)),
    *("koi8-r", "cp850", "cp866", "mac-roman", "shift_jis", "gb18030", "cp949", "big5"),
)
_LINE_END = re.compile(r"\r*\n|\r")
# A cell in quotes that does not end on its line, which goes on for a few lines; what stands for a line's end in it.
_OPEN, FEW_LINES, _BROKEN = re.compile(r'(?:^|[,;\t|])"(?:[^"]|"")*$'), 9, "\u2028"
# How packed files begin.
_PACKED = {
    b"\x1f\x8b": ".gz",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"PK\x03\x04": ".zip",
    b"BZh": ".bz2",
    b"\xfd7zXZ": ".xz",
}
_DATA = re.compile(r"[\d.,:/ T+-]*\d[\d.,:/ T+Z-]*|")
_MOMENT = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}[T ]\d{1,2}:\d{2}.*")


def guess_dialect(path: Path) -> Reading:
    """Return how a text file seems to be written."""
    with open_bytes(path) as file:
        head = file.read(HEAD)
    encoding = _encoding(path, head)
    lines = _lines(head, encoding)
    returns, feeds = (head.count(mark) for mark in (b"\r", b"\n"))
    _require_table(path, head, lines)
    quote = "'" if _quoted(lines, "'") > _quoted(lines, '"') else '"'
    lines = _whole_cells(lines)
    separator, skip, fields = _shape(lines, quote)
    every = [row for row in csv.reader(lines[skip:], delimiter=separator, quotechar=quote) if row]
    rows = [row for number, row in enumerate(every) if number == 0 or len(row) == fields]
    header = not rows or not is_data(rows[0])
    beyond = [cell for row in every[1:] for cell in row[len(rows[0]) :]]
    cells = [cell.strip() for row in rows[1:] for cell in row]
    commas = sum(bool(re.fullmatch(r"-?\d{1,3},\d{3,}", cell)) for cell in cells)
    points = sum(bool(re.fullmatch(r"-?\d{1,3}\.\d{3,}", cell)) for cell in cells)
    return Reading(
        encoding=encoding,
        separator=separator,
        quote=quote,
        skip=skip + sum(line.count(_BROKEN) for line in lines[:skip]),
        header=header,
        line_ends="cr" if returns > 3 * feeds else "lf",
        # A cell beyond the header may be half of a name with a comma in it: nobody drops it unasked.
        ragged=(bool(beyond) and not any(cell.strip() for cell in beyond))
        or (not header and len(set(map(len, every))) > 1),
        decimal="," if commas > points else ".",
    )


def _require_table(path: Path, head: bytes, lines: list[str]) -> None:
    """Refuse what is no text of rows, and say what to do with it."""
    packed = next((suffix for mark, suffix in _PACKED.items() if head.startswith(mark)), None)
    if packed is not None:
        raise InputError(
            f"is packed, whatever it is called: mv {path} {path}{packed}", file=path, tells=LAYOUT
        )
    if head[257:262] == b"ustar":
        folder = path.name.partition(".")[0]
        raise InputError(
            f"is an archive; unpack it, and give the folder: python -m tarfile -e {path} {folder} && wayveil check "
            f"{folder}",
            file=path,
            tells=LAYOUT,
        )
    if lines and lines[0].lstrip().startswith(("<!DOCTYPE", "<html", "<table", "<?xml")):
        raise InputError(
            "is a web page, or XML, whatever it is called: open it in a spreadsheet, save it as .xlsx, and check that",
            file=path,
            tells=LAYOUT,
        )
    cells = [re.split(r"\s{2,}", line.strip()) for line in lines if line.strip()]
    apart = any(mark in line for mark in SEPARATORS for line in lines[:2])
    if len(cells) > 2 and len(cells[0]) > 2 and len(set(map(len, cells))) == 1 and not apart:
        raise InputError(
            'has columns of fixed width: put marks between them, and check that: python -c "import re, sys; '
            f"[print(re.sub(r'\\s{{2,}}', '\\t', line.strip())) for line in open(sys.argv[1])]\" {path} > mended.tsv",
            file=path,
            tells=LAYOUT,
        )
    inner = [line[1:-1].replace('""', "") for line in lines if line[:1] == line[-1:] == '"']
    if sum('"' not in line and any(mark in line for mark in SEPARATORS) for line in inner) > len(lines) / 2:
        raise InputError(
            'has each line in quotes, as one cell: take them off, and check that: python -c "import csv, sys; '
            f'[print(*row) for row in csv.reader(open(sys.argv[1]))]" {path} > mended.csv',
            file=path,
            tells=LAYOUT,
        )


def _encoding(path: Path, head: bytes) -> str:
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name
    # Text of two bytes a letter has a zero in every second place.
    if head[1::2].count(0) > len(head) // 4:
        return "utf-16-le"
    if head[::2].count(0) > len(head) // 4:
        return "utf-16-be"
    decoder = codecs.getincrementaldecoder("utf-8")()
    with open_bytes(path) as file:
        try:
            while chunk := file.read(1 << 22):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return max(_ENCODINGS, key=lambda name: _known_words(head, name))
    return "utf-8"


def _lines(head: bytes, encoding: str) -> list[str]:
    text = head.decode(encoding, errors="replace").removeprefix("\ufeff")
    lines = _LINE_END.split(text)[: LINES + 1]
    return lines[:-1] if len(lines) > 1 and (len(head) == HEAD or not lines[-1]) else lines


def _whole_cells(lines: list[str]) -> list[str]:
    """Join lines that one cell in quotes runs over."""
    found: list[str] = []
    for line in lines:
        if found and _OPEN.search(found[-1]) and found[-1].count(_BROKEN) < FEW_LINES:
            found[-1] += _BROKEN + line
        else:
            found.append(line)
    return found


def _known_words(head: bytes, encoding: str) -> int:
    """Count the words of the first lines that are names of columns; less than none where bytes are no letters."""
    text = "\n".join(_lines(head, encoding)[:20])
    names = {name for name in re.split(r"[,;\t|\n\"]", text) if not re.search(r"\d", name)}
    mixed = len(
        re.findall(r"[A-Za-z][\u0370-\uffff]|[\u0370-\uffff][A-Za-z]", text)
    )  # letters of two alphabets
    return sum(column_for(name) is not None for name in names) - min(mixed, 3) - 100 * ("\ufffd" in text)


def _shape(lines: list[str], quote: str) -> tuple[str, int, int]:
    """Return separator, lines before the header, and fields of a row: those that most lines agree on."""
    best: tuple[float, str, int, int] = (0.0, ",", 0, 1)
    for separator in (*SEPARATORS, " "):
        counts = [len(row) for row in csv.reader(lines, delimiter=separator, quotechar=quote) if row]
        usual = Counter(count for count in counts if count > 1).most_common(1)
        if not usual:
            continue
        fields, often = usual[0]
        score = often / len(counts) + min(fields, 30) / 1_000 - (separator == " ")
        if score > best[0]:
            skip = _lines_before(lines, separator, quote, fields)
            first = list(csv.reader(lines[skip : skip + 2], delimiter=separator, quotechar=quote))
            skip += len(first) == 2 and len(first[1]) == fields and names_more(*first)
            best = (score, separator, skip, fields)
    return best[1:]


def _lines_before(lines: list[str], separator: str, quote: str, fields: int) -> int:
    for number, line in enumerate(lines):
        if line.startswith("# "):
            continue
        row = next(csv.reader([line], delimiter=separator, quotechar=quote), [])
        # A header may lack what stands after the last separator of its rows.
        short = len(row) == fields - 1 and not is_data(row) and all(cell.strip() for cell in row)
        if short or (len(row) == fields and sum(bool(cell.strip()) for cell in row) > fields / 2):
            return number
    return 0


def names_more(first: list[str], second: list[str]) -> bool:
    """Tell whether the second line of a header in two lines names more columns than the first."""
    known = [sum(column_for(cell) is not None for cell in row) for row in (first, second)]
    return not is_data(second) and known[1] > known[0]


def _quoted(lines: list[str], quote: str) -> int:
    return sum(
        len(re.findall(rf"(?:^|[,;\t|]){quote}[^{quote}]*{quote}(?=[,;\t|]|$)", line)) for line in lines
    )


def is_data(row: list[str]) -> bool:
    """Tell whether a first row holds values: no column is called by a date or a time, and few by numbers."""
    if any(_MOMENT.fullmatch(cell.strip()) for cell in row):
        return True
    values = sum(bool(_DATA.fullmatch(cell.strip())) and bool(cell.strip()) for cell in row)
    return values > 0 and values >= len(row) / 3
