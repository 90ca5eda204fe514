"""What docs/results.md says around its tables: what was run, what each world is, and why Weave does not lead."""

HEAD = """# Results: every mechanism on public trips

What this page shows: releases of public or simulated trips with every mechanism, measured with the figures of
[metrics.md](metrics.md). None of the data are sensitive, so the figures may be shown; of your own trips they are not
for publication. Made by `python -m bench.results`.

How to read it: *ceiling* is a resample of the raw trips, *floor* is trips from public knowledge alone (on a network:
public routing between uniform stops; it is given the true number of trips), *empty* is no trips at all, *plain-laplace*
answers each question of operations on its own with the whole epsilon. A mechanism that does not beat floor and empty
has not earned its budget on that question. Errors and divergences are better when low, F1 when high. A dash means that
the release says nothing about it.

**What was run.** Epsilon {epsilons}; planned {repetitions} releases of each, the number in brackets is what was made.
At most 50,000 trips of each world, drawn without replacement, the same for everybody: with ten times the trips the same
epsilon gives a tenth of the relative noise, so the tables are pessimistic for large worlds; `berlin-1m` shows one with
all its million. 2,000 count queries per workload (500 there). The earth mover's distance uses at most 300 pairs a side
and is mostly sampling noise: compare it with the ceiling, not with 0. The unit is the trip, or the rider where there
are riders (one trip each, unless said otherwise). Feasibility is not in these tables.

**The rivals are tuned with the answer in view.** Each has a small grid of parameters, and every figure at every epsilon
shows the setting that is best for that figure and epsilon: more than any user could have. Weave has its defaults
everywhere, which were tuned on invented cities only.

{grid}
"""

WORLDS = {
    "berlin-10k": "10,000 simulated riders on the Berlin network who take the shortest way, with times; unit `rider`.",
    "berlin-10k-habit": "10,000 riders of another kind on the same network: frequency-based boarding, shared errors "
    "about costs, habits. Nothing in it is shared with Weave's routing; unit `rider`.",
    "berlin-1m": "A million riders who take the shortest way on the Berlin network, with times; unit `rider`.",
    "tube": "Journeys between Tube stations from real OD counts, routed by the fewest stations; no times.",
    "oyster": "Real journeys of a week on the Tube with the minute of entry, routed by the fewest stations.",
    "montreal-week": "A simulated week of taps at Montreal's metro stations, 72 symbols without a network and 168 "
    "hours: a trip is a rider's week; unit `rider`.",
    "buenos-aires": "Real smart-card taps of one day, a card's day as one trip over 1,200 public cells without a "
    "network; with hours; unit `rider`.",
    "flights": "Real airline itineraries over 175 airports without a network; no times.",
    "msnbc": "Page categories of a news site, 17 symbols without a network; no times.",
}

RIDER_LEVEL = """Riders of the Berlin network with one to four trips each (8,000 riders, about 20,000 trips), epsilon 1
for everything a rider does: at most m trips of a rider are counted and the noise is m times as large. A small m loses
trips, a large one adds noise."""

# (world, figure) or ("", figure): why Weave does not lead there.
REASONS: dict[tuple[str, str], str] = {}
