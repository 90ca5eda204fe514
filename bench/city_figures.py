"""Every figure of a release of GPS traces, as one row: patterns, the field's set, and the next hop. Internal.

Trips over cells are held against raw trips whose jumps are filled in, for patterns and hops (or as they are, where a
mechanism keeps jumps); and, as points along their ways, against the raw points, for the GPS set.
"""

import numpy as np

from wayveil.lab.research_figures import next_hop_figures
from wayveil.synthesis.model import Model
from wayveil.trips.legality import LegalityRule
from wayveil.trips.tracks import Tracks
from wayveil.trips.trips import Trips
from wayveil.utility.gps_figures import GpsFigures
from wayveil.utility.patterns import top_contiguous_patterns

# The lists of the DP-Loc study.
TOPS = (10, 20, 50, 100)
HOPS = 100_000


class CityFigures:
    """Raw trips over a grid and the points that they were made of, ready for any number of releases."""

    def __init__(
        self, raw: Trips, tracks: Tracks, *, tops: tuple[int, ...] = TOPS, filled: bool = True
    ) -> None:
        self.tops, self.raw = tops, LegalityRule(impossible="route" if filled else "keep").apply(raw)
        self.gps, self.patterns = GpsFigures(tracks), self._patterns(self.raw)

    def measure(self, made: Trips, model: Model | None = None, *, seed: int = 0) -> dict[str, float]:
        """Figures by name: `top 10` and so on (share of the raw top k found), the GPS set, and for a model that knows
        next hops `loss`, `accuracy` and `metres`.
        """
        found = self._patterns(made)
        row = {f"top {top}": len(set(self.patterns[:top]) & set(found[:top])) / top for top in self.tops}
        row |= {
            m.key.removeprefix("gps/"): float(m.value) for m in self.gps.measure(Tracks.driven(made, seed))
        }
        if model is not None and hasattr(model, "hops"):
            hops = next_hop_figures(self.raw, model, most=HOPS)
            row |= {m.key.removeprefix("next_hop/"): float(m.value) for m in hops}
        return {name: value for name, value in row.items() if np.isfinite(value)}

    def _patterns(self, trips: Trips) -> list[tuple[int, ...]]:
        return [pattern for pattern, _ in top_contiguous_patterns(trips, max(self.tops))]
