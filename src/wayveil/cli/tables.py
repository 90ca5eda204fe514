"""Tables, sentences and commands that fit the terminal; in files and pipes they stay whole."""

import re
import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

# Wide enough for any table, where no terminal has a width.
UNCUT = 10_000
NUMBER = re.compile(r"(\+-|-)?[\d.,]*( ?%)?")


def print_table(table: Table) -> None:
    """To a terminal as wide as that is; into a file or a pipe without cutting anything."""
    console = Console(markup=False)
    if not console.is_terminal:
        console = Console(width=UNCUT, markup=False)
    console.print(table)


def print_rows(names: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table whose words fit the terminal: with lines, else without, else a paragraph for each row."""
    console = Console(markup=False)
    room = console.width if console.is_terminal else UNCUT
    columns = list(zip(names, *rows, strict=True))
    # A column takes three characters more with lines and one without; a table with lines takes one more.
    lined, bare = _widths(columns, room - 3 * len(names) - 1), _widths(columns, room - len(names))
    if (widths := lined or bare) is None:
        print(
            "\n".join([textwrap.fill(title, room), *(_paragraph(names, row, room) for row in rows)]).lstrip()
        )
        return
    table = Table(title=title or None, title_justify="left", title_style="bold", header_style="bold")
    if lined is None:
        table.box, table.padding, table.pad_edge = box.SIMPLE_HEAD, (0, 0, 0, 0), False
    for (name, *cells), width in zip(columns, widths, strict=True):
        right = all(NUMBER.fullmatch(cell) for cell in cells)
        table.add_column(name, width=width, justify="right" if right else "left")
    for row in rows:
        table.add_row(*row)
    print_table(table)


def _widths(columns: Iterable[Sequence[str]], room: int) -> list[int] | None:
    """Share the room of a line among columns; None if not all of their words fit."""
    least = [max(cell_len(word) for cell in column for word in [*cell.split(), ""]) for column in columns]
    most = [max(map(cell_len, column)) for column in columns]
    spare, wanted = room - sum(least), sum(most) - sum(least)
    if spare < 0:
        return None
    share = min(1.0, spare / max(wanted, 1))
    return [low + int(share * (high - low)) for low, high in zip(least, most, strict=True)]


def _paragraph(names: Sequence[str], row: Sequence[str], width: int) -> str:
    words = ", ".join(f"{name} {cell}" for name, cell in zip(names, row, strict=True) if cell)
    return textwrap.fill(words, width, subsequent_indent="  ", break_on_hyphens=False)


def say_lines(lines: Iterable[str]) -> None:
    """Print lines for people. On a terminal, sentences, commands and rows of tables (`a | b | c`) fit its width."""
    console = Console()
    if not console.is_terminal:
        print(*lines, sep="\n")
        return
    for bars, part in groupby(lines, lambda line: line.count(" | ")):
        if bars > 1:
            names, *rows = ([cell.strip() for cell in line.split(" | ")] for line in part)
            print_rows(names, rows)
        else:
            print("\n".join(_fitted(line, console.width) for line in part))


def _fitted(line: str, width: int) -> str:
    """Break a sentence between words, and a command where the shell goes on; anything set with blanks stays whole."""
    if line.startswith("  wayveil "):
        joined = re.sub(r"'[^']*'", lambda quoted: quoted[0].replace(" ", "\0"), line)
        parts = textwrap.wrap(
            joined.strip(),
            width - 2,
            initial_indent="  ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        return " \\\n".join(parts).replace("\0", " ")
    return line if "  " in line else textwrap.fill(line, width, break_on_hyphens=False)
