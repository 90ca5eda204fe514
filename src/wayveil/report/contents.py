"""Everything a report shows of trips: pictures, rankings, patterns and answers, each with its numbers.

Made from a release alone, all of it may be published with the release. Given the raw trips, they stand beside, and
nothing of it may.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from math import ceil, floor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.spreadsheets import write_csv
from wayveil.arrays import Ints
from wayveil.report.answers_view import AnswerTable, answer_tables, expected_table
from wayveil.report.chart import Chart
from wayveil.report.maps import Maps, flow_maps, heat_maps
from wayveil.report.pictures import (
    Matrices,
    distance_chart,
    hour_chart,
    length_chart,
    od_matrices,
    top_table,
)
from wayveil.report.rankings import (
    NoiseBars,
    Row,
    journey_ranking,
    move_ranking,
    ranking,
    ranking_table,
    standing_out,
)
from wayveil.report.svg_map import PairFlows
from wayveil.report.trie_picture import trie_chart
from wayveil.synthesis.model import Nests
from wayveil.trips.trips import Trips
from wayveil.utility.edges import edge_flows
from wayveil.utility.figures import check_comparable
from wayveil.utility.stop_figures import origin_counts, stop_counts
from wayveil.world.grid import Grid
from wayveil.world.network import Network
from wayveil.world.world import World

TOP = 20
# The kinds of question whose numbers a section shows.
SECTIONS = {
    "stops": ("stops",),
    "origins": ("boardings",),
    "moves": ("edges",),
    "journeys": ("journeys",),
    "patterns": ("edges", "triples"),
    "hours": ("hours",),
    "lengths": ("lengths",),
}
_KINDS = {"contiguous": "Stops in a row", "gapped": "Stops in order, others in between"}
_HEADS = {
    "raw_rank": "#",
    "stops": "Stops",
    "raw_support": "Raw trips",
    "private_support": "Private trips",
    "low": "From",
    "high": "To (95 %)",
    "private_rank": "Private rank",
}


@dataclass(frozen=True, eq=False)
class PatternTable:
    """Patterns as text for the page, and as data."""

    kind: str
    title: str
    heads: list[str]
    rows: list[list[str]]
    data: pl.DataFrame


@dataclass(frozen=True, eq=False)
class Contents:
    """Contents of a page on a release (and of the raw trips, where they may be seen).

    `said` tells what to think of the numbers of each section.
    """

    maps: Maps | None
    matrices: Matrices
    hours: Chart | None
    lengths: Chart | None
    trie: Chart | None
    stops: list[Row]
    origins: list[Row]
    moves: list[Row]
    journeys: list[Row]
    patterns: list[PatternTable]
    answers: list[AnswerTable]
    unanswered: list[str]
    expected: AnswerTable | None
    bars: NoiseBars
    said: dict[str, str]

    @classmethod
    def of(cls, released: JudgedRelease | Trips, raw: Trips | None = None) -> "Contents":
        """Compute all of it. Of bare trips there are no bars, no answers and no picture of a model."""
        release = released if isinstance(released, JudgedRelease) else None
        private = released.trips if isinstance(released, JudgedRelease) else released
        if raw is not None:
            check_comparable(raw, private)
        world = private.world
        bars = NoiseBars(release, TOP)
        tables: list[AnswerTable] = []
        unanswered: list[str] = []
        if release is not None and release.visits_are_taps:
            tables, unanswered = answer_tables(release, raw, top=TOP)
        trie = None
        if release is not None and isinstance(release.model, Nests):
            trie = trie_chart(release.model.nested(), world)
        # A page that may be published shows no table of which nothing is worth having; it says so in its place.
        withheld = {
            name for name, kinds in SECTIONS.items() if raw is None and release and bars.withholds(*kinds)
        }
        said = {name: bars.say(*kinds) for name, kinds in SECTIONS.items()}
        matrices = od_matrices(private, raw, bars)
        said["zones"] = matrices.said
        lengths = None if "lengths" in withheld else length_chart(private, raw, bars)
        if isinstance(world, Grid):
            # Cells are no stops: nobody asks how many a trip passes, or which follow each other.
            withheld |= {"moves", "patterns"}
            if release is not None:
                lengths, said["lengths"] = distance_chart(release, raw)
        return cls(
            maps=_maps(world, private, raw, bars, withheld),
            matrices=matrices,
            hours=None if "hours" in withheld else hour_chart(private, raw, bars),
            lengths=lengths,
            trie=trie,
            **_rankings(private, raw, bars, withheld),
            journeys=_journeys(release, private, raw, bars),
            answers=tables,
            unanswered=unanswered,
            expected=None if release is None else expected_table(release),
            bars=bars,
            said=said,
        )

    def charts(self) -> list[Chart]:
        """Every picture."""
        maps = [] if self.maps is None else [chart for _, chart in self.maps.pictures]
        single = [chart for chart in (self.hours, self.lengths, self.trie) if chart is not None]
        return [*maps, *(chart for _, chart in self.matrices.pictures), *single]

    def save(self, folder: str | Path) -> list[Path]:
        """Write every picture as SVG with its numbers as csv beside it, and every table as csv."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        written = [path for chart in self.charts() for path in chart.save(folder)]
        tables = {
            "stops": ranking_table(self.stops, "stop"),
            "origins": ranking_table(self.origins, "stop"),
            "moves": ranking_table(self.moves, "stops"),
            "journeys": ranking_table(self.journeys, "from_and_to"),
            **{f"top-{table.kind}": table.data for table in self.patterns},
            **{f"answer-{table.name}": table.data for table in self.answers},
            **({} if self.expected is None else {f"answer-{self.expected.name}": self.expected.data}),
        }
        for name, table in tables.items():
            write_csv(table, folder / f"{name}.csv")
            written.append(folder / f"{name}.csv")
        return written


def write_pictures(folder: str | Path, private: Trips, raw: Trips | None = None) -> list[Path]:
    """Maps, origin-destination matrices, visits by hour, trip lengths and tables of what is most frequent.

    Every picture lies beside its numbers as csv. With the raw trips, which then stand beside, it is not for
    publication.

    >>> len(wv.write_pictures(folder / "pictures", made.trips)) > 0
    True
    """
    return Contents.of(private, raw).save(folder)


def _maps(
    world: World, private: Trips, raw: Trips | None, bars: NoiseBars, withheld: Collection[str]
) -> Maps | None:
    """Flows on a network, visits on a grid; None without coordinates, or where nothing is worth having."""
    if isinstance(world, Grid):
        judged = bars.judge("stops", stop_counts(private))
        shown = stop_counts(private) if judged is None else judged.shown
        return (
            None
            if "stops" in withheld
            else heat_maps(world, shown, None if raw is None else stop_counts(raw))
        )
    return flow_maps(world, private, raw) if isinstance(world, Network) and "moves" not in withheld else None


def _rankings(
    private: Trips, raw: Trips | None, bars: NoiseBars, withheld: Collection[str]
) -> dict[str, Any]:
    """The busiest stops, origins and moves, and the most frequent patterns; nothing of what is withheld."""
    names: NDArray[np.str_] = private.world.labels

    def rank(section: str, count: Callable[[Trips], Ints]) -> list[Row]:
        if section in withheld:
            return []
        made, real = count(private), None if raw is None else count(raw)
        return ranking(lambda i: str(names[i]), made, real, TOP, bars.judge(SECTIONS[section][0], made))

    def flows(side: Trips) -> PairFlows:
        return PairFlows.of(edge_flows(side))

    return {
        "stops": rank("stops", stop_counts),
        "origins": rank("origins", origin_counts),
        "moves": []
        if "moves" in withheld
        else move_ranking(names, flows(private), None if raw is None else flows(raw), TOP, bars),
        "patterns": [_patterns(kind, private, raw, bars) for kind in _KINDS if "patterns" not in withheld],
    }


def _journeys(release: JudgedRelease | None, private: Trips, raw: Trips | None, bars: NoiseBars) -> list[Row]:
    """The busiest journeys; where raw ones do not stand beside, only those that stand out of the noise."""
    rows = journey_ranking(private.world.labels, private, raw, TOP, bars)
    if release is None or raw is not None:
        return rows
    return standing_out(rows, release.accuracy.of("journeys"), len(private))


def _patterns(kind: str, private: Trips, raw: Trips | None, bars: NoiseBars) -> PatternTable:
    """The most frequent patterns; where runs of three stops are not worth having, those of two alone."""
    data = top_table(private, raw, TOP, gapped=kind == "gapped", bars=bars)
    if raw is None and bars.withholds("triples"):
        data = data.filter(pl.col("stops").str.count_matches(" > ") < 2)
    order = _HEADS if raw is not None else ("private_rank", *_HEADS)
    shown = [name for name in dict.fromkeys(order) if name in data.columns]
    rows = [
        [_cell(name, row[name]) for name in shown]
        for row in data.iter_rows(named=True)
        if raw is None or row["raw_rank"] is not None
    ]
    heads = ["#", *(_HEADS[name] for name in shown[1:])]
    return PatternTable(kind, _KINDS[kind], heads, rows, data)


def _cell(name: str, value: Any) -> str:
    if name in ("low", "high"):
        return "–" if value is None else f"{(floor if name == 'low' else ceil)(max(value, 0)):,}"
    return (
        "–" if value is None else f"{value:,}" if isinstance(value, int) else str(value).replace(" > ", " › ")
    )
