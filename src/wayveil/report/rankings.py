"""Tables of the busiest stops and moves, released beside raw where raw may be shown."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayveil.report.svg_map import PairFlows
from wayveil.utility.stops import busiest

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Row:
    """One line of a ranking; shares are lengths of bars in percent, raw values are None where raw is not shown."""

    rank: int
    name: str
    private: int
    private_share: float
    private_rank: int | None
    raw: int | None
    raw_share: float | None

    @property
    def difference(self) -> str:
        """How far the release is off, in percent of the raw count."""
        return f"{(self.private - self.raw) / self.raw * 100:+.1f} %" if self.raw else ""


def ranking(name: Callable[[int], str], private: Counts, raw: Counts | None, top: int) -> list[Row]:
    """The largest counts: of the raw trips where they may be shown, else of the release."""
    largest = max(int(private.max(initial=0)), 0 if raw is None else int(raw.max(initial=0)), 1)
    place = np.empty(len(private), np.int64)
    place[np.argsort(-private, kind="stable")] = np.arange(1, len(private) + 1)
    return [
        Row(
            rank=rank,
            name=name(int(i)),
            private=int(private[i]),
            private_share=round(100 * int(private[i]) / largest, 1),
            private_rank=int(place[i]) if private[i] > 0 else None,
            raw=None if raw is None else int(raw[i]),
            raw_share=None if raw is None else round(100 * int(raw[i]) / largest, 1),
        )
        for rank, i in enumerate(busiest(private if raw is None else raw, top), 1)
    ]


def move_ranking(names: NDArray[np.str_], private: PairFlows, raw: PairFlows | None, top: int) -> list[Row]:
    """The busiest pairs of consecutive stops, both directions together."""
    size = len(names)
    keys = private.a * size + private.b
    if raw is not None:
        keys = np.union1d(keys, raw.a * size + raw.b)

    def totals(pairs: PairFlows) -> Counts:
        out = np.zeros(len(keys), np.int64)
        out[np.searchsorted(keys, pairs.a * size + pairs.b)] = pairs.total
        return out

    return ranking(
        lambda i: f"{names[keys[i] // size]} – {names[keys[i] % size]}",
        totals(private),
        None if raw is None else totals(raw),
        top,
    )
