"""History of data before it is counted: how far one visit more could have moved it, and what marks it carries.

A *stability* says how far a step that looks at one trip at a time spreads a change. A *mark* is a word that travels
with the data, in memory and in files, so that no later step can take for honest what an earlier one made up.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import polars as pl

from wayveil.disclosures import MARKED, SIMULATED_ROWS, discloses
from wayveil.errors import ParameterError

# Marks, in the order in which they are said.
FILLED, RECONSTRUCTED, SIMULATED, NOT_PRIVATE = "filled", "reconstructed", "simulated", "not private"
MARKS = {
    FILLED: "stops or routes were filled in from other rows, so they depend on other people's taps",
    RECONSTRUCTED: "riders were reconstructed from all taps together, so one tap more can change every rider",
    SIMULATED: "the data is simulated: there is nobody behind it",
    NOT_PRIVATE: "an earlier step says of its output that it is not private",
}
# A mark that makes data safer to publish holds if every row has it; any other if one row has it.
GOOD = frozenset({SIMULATED})
RAW_NOTICE = "Not for publication: these figures are computed from the raw trips."
SIMULATED_NOTICE = "These figures are computed from simulated trips: there is nobody behind them."
# The name of the column in a table, and of the key in the metadata of a parquet file, that carries the marks.
MARKS_NAME = "wayveil_marks"
_BETWEEN = "; "


@dataclass(frozen=True)
class Stability:
    """Bound on how far a change of the input of a step can move its output; None: without bound.

    trips    one trip more in the input is at most so many trips more in the output
    visits   one visit more in a trip of the input is at most so many visits more or fewer in the output, whether the
             trip was there before or comes with its first visit
    """

    trips: int | None = 1
    visits: int | None = 1

    def then(self, following: "Stability") -> "Stability":
        """Of two steps, one after the other."""
        return Stability(_times(self.trips, following.trips), _times(self.visits, following.visits))

    def joined(self, other: "Stability") -> "Stability":
        """Of parts of one dataset: the part that spreads a change further."""
        return Stability(_worse(self.trips, other.trips), _worse(self.visits, other.visits))


UNMOVED = Stability()
# A rule that looks at one trip and may change all of it.
PER_TRIP = Stability(trips=1, visits=None)
# Merging a visit with the one before it to the same place. Put x between a and b. If x = a it is merged away. If x = b,
# it takes the place of b as the first of its run: one in, one out. If a = b they were one visit, and x parts them: two
# in. Otherwise x alone comes in.
MERGED = Stability(trips=1, visits=2)


@dataclass(frozen=True)
class History:
    """Record of what was done while reading, and the marks that the data carries.

    stability   follows from the columns of the file and the options of the reader, never from what is in its rows: the
                noise is a public function of it
    half_named  whether some trip has rows with its rider and rows without. A fact about rows, so it has no price: it
                can only be a reason to refuse
    """

    stability: Stability = UNMOVED
    marks: frozenset[str] = frozenset()
    half_named: bool = False

    def marked(self, *marks: str) -> "History":
        """With these marks too."""
        return replace(self, marks=self.marks | set(marks))

    def then(self, step: Stability) -> "History":
        """After one more step."""
        return replace(self, stability=self.stability.then(step))

    @property
    def notice(self) -> str:
        """Return what has to stand beside figures that were computed from these trips."""
        return SIMULATED_NOTICE if SIMULATED in self.marks else RAW_NOTICE

    @property
    def words(self) -> list[str]:
        """The marks, in a fixed order."""
        return [mark for mark in MARKS if mark in self.marks]

    def refuse_unsound(self) -> None:
        """Refuse data that depends on other people's rows, or that says of itself that it is not private."""
        unsound = [mark for mark in self.words if mark != SIMULATED]
        if unsound:
            reasons = "; ".join(f"`{mark}`: {MARKS[mark]}" for mark in unsound)
            raise ParameterError(
                f"this data is marked {reasons}. No private release can be made from it; begin with the file as it "
                "was before (for taps: clean it with fill=none or with public vehicle data), or use the way `study`, "
                "which says that it is not private",
                tells=MARKED,
            )


# Every row is taken as it stands: one visit more is one visit more.
AS_READ = History()
# Of trips of which nobody says how they were made: one row more may have changed a whole trip.
UNTOLD = History(stability=PER_TRIP)
MADE_UP = History(marks=frozenset({SIMULATED}))


def marks_of(words: Iterable[str]) -> frozenset[str]:
    """The marks among some texts; each may hold several."""
    return frozenset(mark for text in words for mark in text.split(_BETWEEN) if mark in MARKS)


def marks_text(history: History) -> str | None:
    """The marks as one text for a column or a key; None without any."""
    return _BETWEEN.join(history.words) or None


@discloses(SIMULATED_ROWS)
def marks_in(column: pl.Series) -> frozenset[str]:
    """The marks of a table, from the column that has those of each row."""
    return marks_together(marks_of([text or ""]) for text in column.cast(pl.String).unique().to_list())


def marks_together(parts: Iterable[frozenset[str]]) -> frozenset[str]:
    """The marks of data that has several parts: good ones that all of them carry, bad ones that any does."""
    each = list(parts)
    return frozenset[str]().union(*each) - GOOD | GOOD.intersection(*each) if each else frozenset()


def _worse(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)


def _times(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one * other
