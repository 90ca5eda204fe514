"""What docs/results.md says around its tables: what was run, what each world is, and why Weave does not lead."""

HEAD = """# Results: every mechanism on public trips

What this page shows: releases of public or simulated trips with every mechanism, measured with the figures of
[metrics.md](metrics.md). None of the data are sensitive, so the figures may be shown; of your own trips they are not
for publication. Made by `python -m pages.results`.

<!-- summary: made by `python -m pages.results_summary` -->
<!-- end of summary -->

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

Which code, as commits: Weave a6e9654 on networks (on `berlin-1m` 307b574 but for the first release of each) and
7e5f5a7 elsewhere (networks are treated alike in all of them); markov, variable-ngrams and mobitrie 413f439 everywhere
(on `berlin-1m` 307b574, the first release of each 9149274; without a change of theirs in between); the other rivals
4eb8c35 and later, likewise (on `berlin-1m` f28079a). Since then walks of variable-ngrams run to and fro no more on
networks, which halves their errors of stops there, and trees buy the numbers of trips and visits with a twenty-fifth of
epsilon, which takes away what PPDP had too much; their rows were not measured again. `tap-margins` releases boardings,
not trips: see [taps.md](taps.md).

**GPS traces on grids** are measured elsewhere: [gps-measured.md](gps-measured.md) has all mechanisms (five releases
each, with standard errors), the [notebook](mechanisms/weave-notebook.md) AdaTrace and PrivTrace. On Shenzhen's taxis
without times Weave is as good as both or better on all 21 figures; nearest is the F1 of patterns at epsilon 2, where
PrivTrace is level (.670 against .67; with times, which cost a sixth of the budget, PrivTrace is ahead).

On the simulated city of 120,000 trips with cells of 250 m at epsilon 1 Weave leads on queries (.042 against .120 of
`dp-loc` and `od-hops`), ends, diameters, coarse patterns (F1 .94 against .90, support off by .07 against .14) and the
50 and 100 most frequent runs of single cells (84 and 86 % against 75 and 72 % of `dp-loc`); of the 10 most frequent
both find 64 %, of the top 20 `dp-loc` finds 75 % and Weave 71 %.

At epsilon 0.5 and 2 `dp-loc` is ahead on the top 10 and 20 (62 and 69 % against 54 and 65 %; 88 and 81 % against 68
and 76 %), Weave on the top 50 and 100.

On a second city of streets (that of the [study](gps-measured.md#the-dp-loc-study-table-by-table), 121,622 trips half as
long, 250 m, one release) `dp-loc` finds 60, 90, 78 and 74 % of the top 10, 20, 50 and 100 at epsilon 1 (70, 90, 88 and
85 % at 2), `od-hops` 80, 75, 82 and 75 % (60, 75, 76 and 76 %), `markov` 80, 80, 72 and 64 % (70, 75, 72 and 64 %).

Of drivers who wander, `dp-loc` and `od-hops` find none or few of them; `markov` finds more than Weave of the top
10 (84 % against 70 % at epsilon 1, 48 % against 30 % at 0.5), Weave more of the others from epsilon 1 on. On
Shenzhen, where such runs step back and forth and Weave cuts corners, `markov`, `dp-loc` and `od-hops` find more of
them (88, 70 and 70 % of the top 10 at epsilon 1 against 40 %): use one of these if that is the question. `recommend`
compares mechanisms on simulated trips of the same world, by the figure of each question, runs of cells among them.

**The rivals are tuned with the answer in view.** Each has a small grid of parameters, and every figure at every epsilon
shows the setting that is best for that figure and epsilon: more than any user could have. The Markov line's third
setting was added when it became possible, with figures of the others known. Weave has its defaults everywhere.

{grid}

**Not held out**, but for two. While Weave was made, releases of the other worlds of this page were looked at:
`berlin-10k`, `tube` and the four without a network again and again (shares and constants of the part without a network
were set with these in view), `oyster`, `berlin-10k-habit` and `berlin-1m` once or twice, to confirm. `bikeshare`,
`gazelle` and the riders with several trips were not: they were looked at when all was set. Constants for networks were
chosen on invented cities, but the shares of origins and of two edges, and how far answers are trusted, with a look
at `tube` and `berlin-10k`. So the figures flatter Weave, most of all on the four worlds without a network.

**How sure.** The numbers in brackets are numbers of releases. Many figures are compared and nothing is corrected for
that: a lead or deficit just beyond the intervals is weak evidence. Weave's noise differs between the releases here and
those that were looked at. The reasons given for deficits are read off how each mechanism spends its budget, unless
they say that something was tried.
"""

WORLDS = {
    "berlin-10k": "10,000 simulated riders on the Berlin network who take the shortest way, with times; unit `rider`. "
    "The floor knows more here than elsewhere: it routes as they do, and they start anywhere with equal chance.",
    "berlin-10k-habit": "10,000 riders of another kind on the same network: frequency-based boarding, shared errors "
    "about costs, habits. Nothing in it is shared with Weave's routing; unit `rider`.",
    "berlin-1m": "A million riders who take the shortest way on the Berlin network, with times; unit `rider`. "
    "Default settings only, as a release takes minutes to measure; of mobitrie-lt and tap-counts one to three "
    "releases.",
    "tube": "Journeys between Tube stations from real OD counts, routed by the fewest stations; no times.",
    "oyster": "Real journeys of a week on the Tube with the minute of entry, routed by the fewest stations.",
    "montreal-week": "A simulated week of taps at Montreal's metro stations, 72 symbols without a network and 168 "
    "hours: a trip is a rider's week; unit `rider`.",
    "buenos-aires": "Real smart-card taps of one day, a card's day as one trip over 1,200 public cells without a "
    "network; with hours; unit `rider`. **At epsilon 0.1 Weave refuses**: 987 trips per unit of noise are less "
    "than one for each place.\n\nReleased all the same (`Weave(weakest=0)`, five releases) it is ahead of markov by "
    "default on count queries (.40 against .55), TV and F1 of 3-grams (.92 against .98, .045 against .0003), runs "
    "(.36 against .04, gapped .36 against .03), lengths (.02 against .25) and zone pairs (.67 against .88), and "
    "behind on uniform queries (.23 against .12), stops (.89 against .58), edges (.48 against .34) and boardings "
    "per stop (.45 against .31), where silence is better than both (.07, .27, .27, .23). Fewer and larger places "
    "are the remedy.",
    "flights": "Real airline itineraries over 175 airports without a network; no times.",
    "msnbc": "Page categories of a news site, 17 symbols without a network; no times.",
    "bikeshare": "**Held out.** The stations that each bike of a bike-share stands at on a day, 74 symbols without a "
    "network; no times.",
    "gazelle": "**Held out.** Clicks on the 497 products of a web shop, without a network; no times.",
}

MARKOV_LINE = """Without a network a Markov chain is the line that any mechanism has to reach: figures on which Weave
is at least as good as markov with its default settings (in brackets: deficits beyond the 95 % intervals of both). What
each section says of the Markov line is against the best of its three settings, figure by figure. The last two worlds
were held out."""

RIDER_LEVEL = """Riders of the Berlin network with one to four trips each (8,000 riders, about 20,000 trips), epsilon 1
for everything a rider does: at most m trips of a rider are counted and the noise is m times as large. A small m loses
trips, a large one adds noise. Weave is ahead of these rivals on every column. The floor is a harder line here: it is
better than Weave on lengths throughout, on count queries with m = 1, and on edges with m = 4."""

SPARSE = "9,873 trips and 1.4 million possible moves: nearly all are empty, and an answer of nothing is hard to beat"
# (world, figure) or ("", figure): why Weave does not lead there.
REASONS: dict[tuple[str, str], str] = {
    (
        "",
        "boardings per stop",
    ): "A tree of height 4 spends a quarter of epsilon on first stops alone; Weave, with a "
    "dozen other questions to pay for, up to a third on a network and a fourteenth to a quarter elsewhere. Whoever "
    "needs only boardings should ask only for them: see plain-laplace",
    (
        "",
        "lengths JSD",
    ): "The rival pays a tenth of epsilon for lengths alone, Weave about a thirtieth on a network, and a tenth "
    "elsewhere, where it sees trips that return apart from the others. All values are small",
    ("", "top 100 runs F1"): "The rival counts short runs of stops themselves, and nothing else",
    ("", "top 100 gapped F1"): "As for runs",
    (
        "",
        "stops",
    ): "The rival spends two fifths of epsilon on visits of single stops, each visit counting one; in "
    "Weave's block of visits a trip counts one in all",
    ("", "OD metres"): "Both are at the sampling noise of 300 pairs; see the ceiling",
    (
        "",
        "edges",
    ): "The same table of moves, of which the Markov line has nine tenths to all of epsilon and Weave up to three "
    "quarters",
    ("", "F1 of 3-grams"): "As for edges",
    ("gazelle", "uniform queries"): "As for stops",
    ("flights", "top 100 runs F1"): "As for edges: most frequent runs are single moves",
    (
        "berlin-10k",
        "edges",
    ): "Nearly all edges carry next to nobody, and an answer of nothing is hard to beat",
    ("berlin-10k", "stops"): "As for edges",
    ("berlin-10k", "uniform queries"): "As for edges",
    ("buenos-aires", "uniform queries"): SPARSE,
    ("buenos-aires", "stops"): "As for uniform queries",
    ("buenos-aires", "edges"): SPARSE,
}
