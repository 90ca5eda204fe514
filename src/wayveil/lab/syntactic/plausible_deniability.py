"""Plausible deniability (Bindschaedler and Shokri 2016): a trip is released if k raw trips could have led to it alike.

Places are put into semantic clusters by how they are used (how often, at which hours, as an end or in between). A raw
trip, the seed, becomes a synthetic one of the same length: each stop is replaced by a place of the same cluster, drawn
by how often it is visited, or with a small chance by any place. With the number of stops fixed,

    P(y | d) = product over i of  (1 - blur) [cluster(d_i) = cluster(y_i)] visits(y_i) / visits of the cluster
                                   + blur visits(y_i) / all visits

A synthetic trip is released if at least k seeds, its own among them, give it a probability within a factor gamma of its
own seed's. Hours follow the hours of all trips, not those of the seed. Candidates are tried a public number of times.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from numba import njit
from pydantic import Field
from scipy.cluster.hierarchy import fcluster, linkage

from wayveil.arrays import Floats, Ints, Ragged
from wayveil.errors import ParameterError
from wayveil.lab.syntactic.method import Lots, SyntacticMethod, check_crowd
from wayveil.progress import step
from wayveil.trips.trips import Trips

MOST_PLACES = 6_000
HOUR = 3_600
SECONDS_PER_MOVE = 120


class PlausibleDeniability(SyntacticMethod):
    """Synthetic trips, each of which k seeds could have led to."""

    name: ClassVar[str] = "plausible-deniability"
    summary: ClassVar[str] = (
        "trips with stops swapped for alike ones, kept if k raw trips could have led to them"
    )

    k: int = Field(10, ge=2, description="seeds that must explain a released trip alike")
    gamma: float = Field(2.0, ge=1, description="how alike: within this factor of the probability")
    clusters: int = Field(20, ge=1, description="semantic clusters of places")
    blur: float = Field(0.05, gt=0, lt=1, description="chance that a stop becomes any place")
    longest: int = Field(40, ge=1, description="most stops of a seed; longer trips are cut")
    wanted: int | None = Field(
        None, ge=1, description="trips to release; default: as many as there are raw trips"
    )
    tries: int = Field(100_000, ge=1, description="candidates that are tried at most")

    def apply(self, trips: Trips, lots: Lots) -> tuple[Trips, pl.DataFrame, dict[str, Any]]:
        """Try seeds until enough trips were accepted or the tries are used up."""
        check_crowd(self.k, len(trips), "trips")
        seeds = trips.cut(self.longest)
        cluster = semantic_clusters(seeds, self.clusters)
        visits = np.bincount(seeds.location, minlength=seeds.world.size).astype(np.float64)
        wanted = len(trips) if self.wanted is None else self.wanted
        kept: list[Trips] = []
        tried = accepted = 0
        with step("trying seeds"):
            while tried < self.tries and accepted < wanted:
                count = min(self.tries - tried, max(1_000, wanted - accepted))
                candidates, seed = self._synthesise(seeds, cluster, visits, count, lots)
                alike = count_alike(candidates, seed, seeds, cluster, visits, self.blur, self.gamma)
                passed = np.flatnonzero(alike >= self.k)
                used = passed[: wanted - accepted]
                # Candidates behind the last one that was needed were never tried.
                tried += count if len(used) < wanted - accepted else int(used[-1]) + 1
                accepted += len(used)
                kept.append(candidates.take(used))
        made = _joined(kept, seeds.world)
        table = pl.DataFrame(
            {"stop_id": seeds.world.ids.tolist(), "cluster": cluster, "visits": visits.astype(np.int64)}
        )
        facts = {"tried": tried, "accepted": accepted, "acceptance": accepted / tried, "wanted": wanted}
        return _with_hours(made, trips, lots), table, facts

    def _synthesise(
        self, seeds: Trips, cluster: Ints, visits: Floats, count: int, lots: Lots
    ) -> tuple[Trips, Ints]:
        """So many candidates and the seed of each."""
        seed = lots.below(len(seeds), count)
        chosen = seeds.take(seed)
        order = np.argsort(cluster, kind="stable")
        heaped = np.cumsum(visits[order])
        bounds = np.searchsorted(cluster[order], np.arange(cluster.max() + 2))
        below = np.concatenate([[0.0], heaped])
        own = cluster[chosen.location]
        anywhere = lots.draw(chosen.visits) < self.blur
        low = np.where(anywhere, 0.0, below[bounds[own]])
        high = np.where(anywhere, heaped[-1], below[bounds[own + 1]])
        aim = low + lots.draw(chosen.visits) * (high - low)
        place = order[np.minimum(np.searchsorted(heaped, aim, side="right"), len(order) - 1)]
        return Trips(place.astype(np.int32), chosen.offsets, seeds.world), seed


def semantic_clusters(trips: Trips, most: int) -> Ints:
    """Clusters of the visited places by how they are used; places that nobody visits are one more cluster."""
    size = trips.world.size
    visits = np.bincount(trips.location, minlength=size).astype(np.float64)
    used = np.flatnonzero(visits)
    if len(used) > MOST_PLACES:
        raise ParameterError(
            f"plausible deniability clusters at most {MOST_PLACES:,} places, and {len(used):,} are visited; "
            "use a coarser world"
        )
    ends = np.bincount(trips.origins(), minlength=size), np.bincount(trips.destinations(), minlength=size)
    columns = [np.log(visits[used]), *(part[used] / visits[used] for part in ends)]
    if trips.time is not None:
        part_of_day = (trips.time // (6 * HOUR)) % 4
        by_part = np.bincount(trips.location * 4 + part_of_day, minlength=4 * size).reshape(size, 4)
        columns += list((by_part[used] / visits[used, None]).T)
    features = np.column_stack(columns)
    spread = features.std(axis=0)
    features = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1)
    cluster = np.full(size, 0, np.int64)
    if len(used) > 1:
        cluster[used] = fcluster(linkage(features, "ward"), most, "maxclust") - 1
    unused = visits == 0
    cluster[unused] = cluster[used].max(initial=0) + 1
    return cluster


def count_alike(
    candidates: Trips, seed: Ints, seeds: Trips, cluster: Ints, visits: Floats, blur: float, gamma: float
) -> Ints:
    """Count seeds of the same length that give each candidate a probability within the factor of its seed's."""
    of_cluster = np.bincount(cluster, visits, minlength=int(cluster.max()) + 1)
    same = np.log((1 - blur) / np.maximum(of_cluster[cluster], 1) + blur / visits.sum())
    other = np.full(len(cluster), np.log(blur / visits.sum()))
    order = np.argsort(seeds.lengths, kind="stable")
    start = np.searchsorted(seeds.lengths[order], np.arange(int(seeds.lengths.max()) + 2))
    made, raw = (Ragged(trips.location.astype(np.int64), trips.offsets) for trips in (candidates, seeds))
    odds = _StopOdds(cluster, same, other)
    return _alike(made, seed, raw, Ragged(order, start), odds, np.log(gamma) + 1e-9)


class _StopOdds(NamedTuple):
    """Cluster of each place, and the log probability of a stop from a seed's stop in the same cluster or in another."""

    cluster: Ints
    same: Floats
    other: Floats


@njit(cache=True)
def _likelihood(y: Ints, d: Ints, odds: _StopOdds) -> float:
    """log P(y | d), less the visits of y, which no seed changes."""
    cluster, same, other = odds
    total = 0.0
    for i in range(len(y)):
        total += same[y[i]] if cluster[y[i]] == cluster[d[i]] else other[y[i]]
    return total


@njit(cache=True)
def _alike(made: Ragged, seed: Ints, raw: Ragged, of_length: Ragged, odds: _StopOdds, factor: float) -> Ints:
    seeds, bounds = raw
    out = np.zeros(len(seed), np.int64)
    for t in range(len(seed)):
        y = made.values[made.offsets[t] : made.offsets[t + 1]]
        own = _likelihood(y, seeds[bounds[seed[t]] : bounds[seed[t] + 1]], odds)
        for at in range(of_length.offsets[len(y)], of_length.offsets[len(y) + 1]):
            d = of_length.values[at]
            here = _likelihood(y, seeds[bounds[d] : bounds[d + 1]], odds)
            out[t] += abs(own - here) <= factor
    return out


def _joined(parts: list[Trips], world: Any) -> Trips:
    location = np.concatenate([part.location for part in parts]) if parts else np.empty(0, np.int32)
    lengths = np.concatenate([part.lengths for part in parts]) if parts else np.empty(0, np.int64)
    return Trips(location, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), world)


def _with_hours(made: Trips, raw: Trips, lots: Lots) -> Trips:
    """Departures drawn from the hours of all raw trips; stops follow two minutes apart."""
    if raw.time is None:
        return made
    hours = np.sort(raw.time[raw.offsets[:-1]] // HOUR)
    begin = HOUR * hours[lots.below(len(hours), len(made))] + lots.below(HOUR, len(made))
    place = np.arange(made.visits) - np.repeat(made.offsets[:-1], made.lengths)
    passed = place * SECONDS_PER_MOVE
    return Trips(made.location, made.offsets, made.world, np.repeat(begin, made.lengths) + passed)
