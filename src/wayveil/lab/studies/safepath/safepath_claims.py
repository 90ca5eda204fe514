"""Claims of the study in words, tested on our results, and the reasons where ours differ: with numbers, never typed."""

from math import isnan

import numpy as np

from wayveil.lab.studies.figure_verdicts import MARGIN, NOT_MEASURED, Curve, Said, falls, grows, pairs, span
from wayveil.lab.studies.safepath.safepath_datasets import BELOW, BUS, SECONDS_AT_5, SECONDS_IN_ALL, TABLE_3
from wayveil.lab.studies.safepath.safepath_trials import (
    BOTH,
    CROWDS,
    EACH,
    EMPTY,
    EVERY_CHILD,
    FIRST,
    NGRAM,
    NONEMPTY,
    OURS,
    PUBLISHED,
    SCALE,
    SECONDS,
    SEQPT,
    UNIFORM,
)
from wayveil.lab.studies.study import Split
from wayveil.lab.studies.study_results import Results

LESS = ("100", "10000")  # epsilons with hardly any noise, and with none
NEAR = 0.1  # errors that differ by less are called comparable


def error_falls(results: Results, data: str) -> Said:
    """Figure 3, taller taxonomies."""
    return falls(_by_taxonomy(results, data, "2"))


def children_alike(results: Results, data: str) -> Said:
    """Figure 3, two children or six."""
    both = pairs(_by_taxonomy(results, data, "2"), _by_taxonomy(results, data, "6"))
    if not both:
        return NOT_MEASURED
    apart = max(abs(two - six) for two, six in both)
    return apart < BELOW, f"they differ by at most {apart:.2g}"


def _by_taxonomy(results: Results, data: str, children: str) -> Curve:
    line = f"{PUBLISHED}, {children} children"
    return results.curve("taxonomy", UNIFORM, "taxonomy height", data=data, line=line)


def children_cost(results: Results, data: str) -> Said:
    """Figure 4, at every height of the taxonomies."""
    where = {"data": data, "mechanism": PUBLISHED}
    rises = []
    for height in results.curve("taxonomy", SECONDS, "taxonomy height", **where):
        seconds = results.curve(
            "taxonomy", SECONDS, "children", **where, **{"taxonomy height": f"{height:g}"}
        )
        fewest, *_, most = seconds.values()
        rises.append(most / max(fewest, 1e-9))
    if not rises:
        return NOT_MEASURED
    return min(rises) > 1, f"the most children take {span(rises)} times as long as the fewest"


def small_somewhere(results: Results, data: str) -> Said:
    """Figure 5, the least error of both epsilons."""
    found = [
        value for epsilon in ("0.5", "1.25") for value in _by_height(results, data, UNIFORM, epsilon).values()
    ]
    silent = results.curve("height", UNIFORM, "height", data=data, mechanism=EMPTY)
    if not found or not silent:
        return NOT_MEASURED
    words = f"{100 * min(found):.2g} % at best, and {100 * min(silent.values()):.2g} % for an empty release"
    return min(found) < BELOW, words


def height_helps(results: Results, data: str) -> Said:
    """Figure 5, from the lowest tree to the highest, by epsilon; what an empty release does stands beside."""
    found = {epsilon: _by_height(results, data, NONEMPTY, epsilon) for epsilon in ("0.5", "1.25")}
    said = {epsilon: falls(curve) for epsilon, curve in found.items()}
    silent = falls(results.curve("height", NONEMPTY, "height", data=data, mechanism=EMPTY))
    words = "; ".join(f"epsilon {epsilon}: {what}" for epsilon, (_, what) in said.items())
    return (
        all(holds for holds, _ in said.values()),
        f"non-empty queries, {words}; an empty release: {silent[1]}",
    )


def epsilon_helps(results: Results, data: str) -> Said:
    """Figure 5, at every height."""
    both = pairs(*(_by_height(results, data, NONEMPTY, epsilon) for epsilon in ("0.5", "1.25")))
    less = sum(large < small for small, large in both)
    words = f"strictly less at {less} of {len(both)} heights, of non-empty queries"
    return less > 0 and all(large <= small for small, large in both), words


def _by_height(results: Results, data: str, figure: str, epsilon: str) -> Curve:
    return results.curve("height", figure, "height", data=data, mechanism=PUBLISHED, epsilon=epsilon)


def comparable(results: Results) -> Said:
    """Figure 6 (a): near each other, and better than saying nothing."""
    errors = {
        name: results.curve("rivals", NONEMPTY, "height", mechanism=name)
        for name in (OURS, SEQPT, CROWDS, EMPTY)
    }
    if not all(errors.values()):
        return NOT_MEASURED
    silent, own = min(errors.pop(EMPTY).values()), errors[OURS]
    near = all(abs(a - b) < NEAR for rival in (SEQPT, CROWDS) for a, b in pairs(own, errors[rival]))
    useful = min(own.values()) < 0.9 * silent
    words = "; ".join(f"{name} {span(values.values())}" for name, values in errors.items())
    return near and useful, (
        f"{words}; an empty release {silent:.3g}. Comparable are those within {NEAR} of each other, if they say more "
        "than silence"
    )


def seqpt_is_slow(results: Results) -> Said:
    """Figure 6 (b), at height 5."""
    seconds = {
        name: results.mean("rivals", SECONDS, mechanism=name, height="5")
        for name in (OURS, EVERY_CHILD, SEQPT)
    }
    if any(map(isnan, seconds.values())):
        return NOT_MEASURED
    every, drawn = (seconds[name] / seconds[OURS] for name in (EVERY_CHILD, SEQPT))
    wanted = SECONDS_AT_5["SeqPT"] / SECONDS_AT_5["SafePath"]
    return (
        every >= wanted,
        f"{every:.2g} times if every child is visited, {drawn:.2g} times if they are drawn",
    )


def ngrams_slower(results: Results) -> Said:
    """Figure 7, time at every depth."""
    ratios = [theirs / max(own, 1e-9) for own, theirs in _beside_ngrams(results, SECONDS)]
    return (min(ratios) > 1, f"{span(ratios)} times as long") if ratios else NOT_MEASURED


def ngrams_alike(results: Results) -> Said:
    """Figure 7, errors at every depth."""
    gaps = [abs(theirs - own) for own, theirs in _beside_ngrams(results, NONEMPTY)]
    return (max(gaps) < NEAR, f"they differ by {span(gaps)}") if gaps else NOT_MEASURED


def ngrams_shorter(results: Results) -> Said:
    """Figure 7, visits per trip at every depth: the longest of all is a walk that nobody made."""
    both = _beside_ngrams(results, EACH)
    if not both:
        return NOT_MEASURED
    own, theirs = (span(values) for values in zip(*both, strict=True))
    words = f"{own} visits per trip with SafePath, {theirs} with n-grams"
    return all(mine > other for mine, other in both), words


def _beside_ngrams(results: Results, figure: str) -> list[tuple[float, float]]:
    return pairs(*(results.curve("ngrams", figure, "h or n", mechanism=name) for name in (OURS, NGRAM)))


def split(results: Results, data: str) -> Split:
    """Say what less noise would do to the errors of two visits, and how much of a trip was kept before and is now.

    Mended: trips are as long as the riders' weeks, within the margin, and say more than an empty release.
    """
    six = {"data": data, "height": "6"}
    noisy, ours, silent = (
        results.mean("height", NONEMPTY, epsilon="1.25", mechanism=name, **six)
        for name in (PUBLISHED, OURS, EMPTY)
    )
    less = (
        f"{results.mean('less noise', NONEMPTY, mechanism=PUBLISHED, epsilon=epsilon, **six):.3g} at {epsilon}"
        for epsilon in LESS
    )
    kept, now = (
        results.mean("height", EACH, epsilon="1.25", mechanism=name, **six) for name in (PUBLISHED, OURS)
    )
    true = results.mean("data", "mean length", data=data, timestamps="168")
    return Split(
        f"Error of two visits that somebody made, height 6: {noisy:.3g} at epsilon 1.25, {', '.join(less)}, and "
        f"{silent:.3g} for an empty release.",
        f"{kept:.3g} visits per trip before what thresholds take was filled up, {now:.3g} now; the riders have "
        f"{true:.3g}. The same error is {ours:.3g} now.",
        abs(now - true) <= MARGIN * true and ours < silent,
    )


def quick_enough(results: Results, data: str) -> Said:
    """Figure 8, all records; where there are fewer here, as many more seconds as the study has records."""
    where = {"data": data, "timestamps": "168", "mechanism": PUBLISHED}
    seconds, records = (results.mean("scale", figure, **where) for figure in (SECONDS, "records"))
    as_many = seconds * max(1.0, TABLE_3[data]["168"][0] / records)
    return as_many <= SECONDS_IN_ALL[data], f"{seconds:.2g} s for {records:,.0f} records here"


def time_grows(results: Results, data: str) -> Said:
    """Figure 8."""
    return grows(results.curve("scale", SECONDS, "timestamps", data=data, mechanism=PUBLISHED))


def seconds_each(results: Results, data: str) -> str:
    """Say what a record costs, with few and with many."""
    words = []
    for stamps in ("35", "168"):
        where = {"data": data, "timestamps": stamps, "mechanism": PUBLISHED}
        seconds, records = (results.mean("scale", figure, **where) for figure in (SECONDS, "records"))
        words.append(f"{1e6 * seconds / records:.2g} s per million of {records:,.0f} records")
    return f"{' and '.join(words)}, in processor seconds."


def silence(results: Results, part: str, **where: str) -> str:
    """Say what an empty release scores: how much a figure says."""
    said = [
        f"{np.mean(found.to_numpy()):.3g} on {words}"
        for figure, words in ((NONEMPTY, "non-empty queries"), (UNIFORM, "uniform ones"))
        if len(found := results.rows(part, figure=figure, mechanism=EMPTY, **where)["value"])
    ]
    if not said:
        return ""
    return f"An empty release scores {' and '.join(said)}.{_no_better(results, part, **where)}"


def _no_better(results: Results, part: str, **where: str) -> str:
    """Said where what is released answers no query."""
    own, silent = (
        results.rows(part, figure=NONEMPTY, mechanism=name, **where)["value"].mean()
        for name in (PUBLISHED, EMPTY)
    )
    if not isinstance(own, float) or not isinstance(silent, float) or abs(own - silent) > 0.01 * silent:
        return ""
    data = where.get("data", BUS)
    first, both, scale = (results.mean("thin", fact, data=data) for fact in (FIRST, BOTH, SCALE))
    return (
        f" SafePath as published scores {own:.3g} on non-empty ones and an empty release {silent:.3g}, where the raw "
        "trips score 0: what it keeps answers none of these queries. That is what privacy costs on so few riders: the "
        f"commonest first visit has {first:,.0f} of them and the commonest first two visits {both:,.0f}, where a count "
        f"of the second visit has noise of scale {scale:.2g} at height 2 and epsilon 1."
    )


def empty_nodes_are_free(results: Results) -> str:
    """Why children do not cost time here."""
    slowest = results.rows("taxonomy", figure=SECONDS, mechanism=PUBLISHED)["value"].to_list()
    return (
        "Empty nodes are what the study's time goes into. Here those that noise lifts over a threshold are drawn from "
        "their law, without visiting the others, so that only the levels of the taxonomies cost time: more children "
        f"make fewer levels. The slowest release took {max(slowest):.2g} s."
    )


def children_are_drawn(results: Results) -> str:
    """Why SeqPT is quick here."""
    seconds = {name: results.mean("rivals", SECONDS, mechanism=name, height="5") for name in (SEQPT, OURS)}
    return (
        f"The study's SeqPT visits every empty child; a version that does so with arrays is the line '{EVERY_CHILD}'. "
        "Drawn from their law, empty children cost next to nothing: SeqPT, which has half as many levels, then takes "
        f"{seconds[SEQPT]:.2g} s at height 5 and SafePath {seconds[OURS]:.2g} s."
    )


def moves_are_not_listed(results: Results) -> str:
    """Why n-grams over pairs are quick here."""
    where = {"h or n": "3"}
    seconds = results.mean("ngrams", SECONDS, mechanism=NGRAM, **where)
    visits, kept = (results.mean("ngrams", EACH, mechanism=name, **where) for name in (NGRAM, PUBLISHED))
    return (
        "The study's n-grams took minutes and ran out of memory at n = 3. Ours never list the moves between pairs, and "
        f"take {seconds:.1f} s at n = 3. They walk from pair to pair until an end is drawn, {visits:.3g} visits on "
        f"average at n = 3; SafePath as published keeps what is over its thresholds, {kept:.3g} visits at h = 3."
    )


def week_of(results: Results, data: str) -> str:
    """Return how large the simulated week is."""
    records, longest = (
        results.mean("data", fact, data=data, timestamps="168") for fact in ("records", "longest")
    )
    return (
        f"The simulated week of {data} has {records:,.0f} riders here, {TABLE_3[data]['168'][0]:,} in the study; "
        f"nobody of them taps more than {longest:,.0f} times."
    )
