"""The tables and figures of the study, with what it says about them in words and what ours say to that."""

from math import isnan

import numpy as np
import polars as pl

from wayveil.studies.results import Results
from wayveil.studies.safepath.printed import (
    BELOW,
    BUS,
    FACTS,
    METRO,
    PART_FACTS,
    SECONDS_AT_5,
    SECONDS_IN_ALL,
    TABLE_2,
    TABLE_3,
)
from wayveil.studies.safepath.trials import (
    CROWDS,
    EMPTY,
    EVERY_CHILD,
    NGRAM,
    NONEMPTY,
    OURS,
    PUBLISHED,
    SECONDS,
    SEQPT,
    UNIFORM,
)
from wayveil.studies.study import Claim, Exhibit

ERRORS = (UNIFORM, NONEMPTY)
SETS = (BUS, METRO)
OWN_MACHINE = "Seconds are of one core of this machine, and the study's of its own; read ratios."


def exhibits() -> tuple[Exhibit, ...]:
    """All of them, in the order of the study."""
    return (
        _table_2(),
        *(_figure_3(data) for data in SETS),
        *(_figure_4(data) for data in SETS),
        *(_figure_5(data) for data in SETS),
        *_figure_6(),
        *_figure_7(),
        *(_table_3(data) for data in SETS),
        *(_figure_8(data) for data in SETS),
    )


def _table_2() -> Exhibit:
    return Exhibit(
        label="Table 2",
        title="the datasets",
        part="data",
        down="data",
        columns=FACTS,
        where={"timestamps": "168"},
        printed={
            (data, fact): float(value)
            for data, row in TABLE_2.items()
            for fact, value in zip(FACTS, row, strict=True)
        },
        ours="ours",
        tolerance=0.15,
        note="The study's text gives the mean lengths the other way round; the table is taken.",
        why=lambda results: (
            "Sizes follow from the scale of this run, and nobody simulated taps 121 times a week."
        ),
    )


def _figure_3(data: str) -> Exhibit:
    return Exhibit(
        label=f"Figure 3, {data}",
        title=f"average relative error against the height of the taxonomies, {data}",
        part="taxonomy",
        shape="lines",
        down="taxonomy height",
        series="line",
        columns=ERRORS,
        where={"data": data},
        claims=(
            Claim(
                "the error falls as taxonomies grow taller, with 2 children",
                lambda results: _falls(
                    results,
                    "taxonomy",
                    UNIFORM,
                    "taxonomy height",
                    data=data,
                    line=f"{PUBLISHED}, 2 children",
                ),
            ),
            Claim(
                "2 or 6 children make no significant difference",
                lambda results: _alike(results, data),
            ),
        ),
        why=lambda results: _silence(results, "taxonomy", data=data),
        note="Queries of two (place, hour) pairs, drawn evenly from the universe as in the study; beside them queries "
        "drawn from the trips, and what an empty release scores.",
    )


def _figure_4(data: str) -> Exhibit:
    return Exhibit(
        label=f"Figure 4, {data}",
        title=f"run time against the taxonomies, {data}",
        part="taxonomy",
        shape="lines",
        down="children",
        series="time line",
        columns=(SECONDS,),
        where={"data": data},
        claims=(
            Claim(
                "run time grows with the number of children",
                lambda results: _grows_with_children(results, data),
            ),
        ),
        why=lambda results: (
            "Empty nodes are what the study's time goes into. Here those that noise lifts over a threshold are drawn "
            "from their law, without visiting the others, so that only the levels of the taxonomies cost time."
        ),
        note=OWN_MACHINE,
    )


def _figure_5(data: str) -> Exhibit:
    return Exhibit(
        label=f"Figure 5, {data}",
        title=f"average relative error against the height of the tree, {data}",
        part="height",
        shape="lines",
        down="height",
        series="line",
        columns=ERRORS,
        where={"data": data},
        claims=(
            Claim("the error is below 1 % for some height", lambda results: _below(results, data)),
            Claim(
                "a larger epsilon has less error at every height",
                lambda results: _epsilon_helps(results, data),
            ),
        ),
        why=lambda results: _silence(results, "height", data=data),
        note="Queries are a third as long as the tree is high. Longer queries are contained in fewer trips, so the "
        "error of uniform ones falls with the height whatever is released.",
    )


def _figure_6() -> tuple[Exhibit, ...]:
    shared = {"part": "rivals", "shape": "lines", "down": "height"}
    return (
        Exhibit(
            label="Figure 6 (a)",
            title="SafePath, SeqPT and LK-anonymity: error on 20 stops and 24 hours",
            columns=(NONEMPTY,),
            claims=(Claim("SafePath is comparable to SeqPT and LK-anonymity", _comparable),),
            why=lambda results: _silence(results, "rivals"),
            note="10,000 non-empty queries of size 2 in the study. LK-anonymity has no epsilon: it suppresses pairs of "
            "raw trips and protects nobody who is known better than by L visits.",
            **shared,  # type: ignore[arg-type]
        ),
        Exhibit(
            label="Figure 6 (b)",
            title="SafePath, SeqPT and LK-anonymity: run time",
            columns=(SECONDS,),
            claims=(
                Claim(
                    f"SeqPT takes {SECONDS_AT_5['SeqPT']:,.0f} times as long as SafePath at height 5",
                    _slower,
                ),
            ),
            why=lambda results: (
                "The study's SeqPT visits every empty child; a version that does so with arrays is the line "
                f"'{EVERY_CHILD}'. Drawn from their law, empty children cost next to nothing, and SeqPT, which has "
                "half as many levels, is the quicker one."
            ),
            note=OWN_MACHINE,
            **shared,  # type: ignore[arg-type]
        ),
    )


def _figure_7() -> tuple[Exhibit, ...]:
    return (
        Exhibit(
            label="Figure 7",
            title="SafePath beside n-grams over pairs of place and time, Metro: run time and what comes out",
            part="ngrams",
            shape="lines",
            down="h or n",
            columns=(SECONDS, NONEMPTY, "longest released"),
            claims=(
                Claim("n-grams take longer than SafePath at every depth", _ngrams_slower),
                Claim("both have similar errors on queries of two pairs", _ngrams_alike),
                Claim("SafePath keeps longer sequences than n-grams", _ngrams_shorter),
            ),
            why=lambda results: (
                "The study's n-grams took minutes and ran out of memory at n = 3. Ours never list the moves between "
                "pairs, and take "
                f"{results.mean('ngrams', SECONDS, mechanism=NGRAM, **{'h or n': '3'}):.1f} s at n = 3."
            ),
            note=OWN_MACHINE,
        ),
    )


def _table_3(data: str) -> Exhibit:
    return Exhibit(
        label=f"Table 3, {data}",
        title=f"sub-datasets up to a timestamp, {data}",
        part="data",
        down="timestamps",
        columns=PART_FACTS,
        where={"data": data},
        printed={
            (stamps, fact): float(value)
            for stamps, row in TABLE_3[data].items()
            for fact, value in zip(PART_FACTS, row, strict=True)
        },
        ours="ours",
        tolerance=0.25,
        why=lambda results: (
            f"The simulated week of {data} has {results.mean('data', 'records', data=data, timestamps='168'):,.0f} "
            f"riders here, {TABLE_3[data]['168'][0]:,} in the study; nobody of them taps more than "
            f"{results.mean('data', 'longest', data=data, timestamps='168'):,.0f} times."
        ),
    )


def _figure_8(data: str) -> Exhibit:
    return Exhibit(
        label=f"Figure 8, {data}",
        title=f"run time against timestamps and records, {data}",
        part="scale",
        shape="lines",
        down="timestamps",
        columns=(SECONDS,),
        where={"data": data},
        printed={("168", SECONDS): SECONDS_IN_ALL[data]},
        ours=PUBLISHED,
        better="lower",
        claims=(
            Claim(
                "run time grows with the size of the data",
                lambda results: _grows(
                    results, "scale", SECONDS, "timestamps", data=data, mechanism=PUBLISHED
                ),
            ),
        ),
        note=OWN_MACHINE,
    )


def _values(results: Results, part: str, figure: str, down: str, **where: str) -> dict[float, float]:
    """down -> mean of a figure, ascending."""
    found = results.rows(part, figure=figure, **where)
    if found.is_empty():
        return {}
    means = found.group_by(down).agg(pl.col("value").mean())
    return dict(sorted((float(place), float(value)) for place, value in means.iter_rows()))


def _falls(results: Results, part: str, figure: str, down: str, **where: str) -> tuple[bool, str]:
    values = _values(results, part, figure, down, **where)
    if len(values) < 2:
        return False, "not measured"
    (low, first), *_, (high, last) = values.items()
    return last < first, f"{first:.3g} at {low:g}, {last:.3g} at {high:g}"


def _grows(results: Results, part: str, figure: str, down: str, **where: str) -> tuple[bool, str]:
    falls, words = _falls(results, part, figure, down, **where)
    return not falls and words != "not measured", words


def _alike(results: Results, data: str) -> tuple[bool, str]:
    two, six = (
        _values(
            results,
            "taxonomy",
            UNIFORM,
            "taxonomy height",
            data=data,
            line=f"{PUBLISHED}, {children} children",
        )
        for children in ("2", "6")
    )
    gaps = [abs(two[h] - six[h]) for h in two if h in six]
    if not gaps:
        return False, "not measured"
    return max(gaps) < BELOW, f"they differ by at most {max(gaps):.2g}"


def _grows_with_children(results: Results, data: str) -> tuple[bool, str]:
    found = results.rows("taxonomy", figure=SECONDS, data=data, mechanism=PUBLISHED)
    if found.is_empty():
        return False, "not measured"
    heights = sorted(set(found["taxonomy height"].to_list()), key=float)
    rises = []
    for height in heights:
        values = _values(
            results,
            "taxonomy",
            SECONDS,
            "children",
            data=data,
            mechanism=PUBLISHED,
            **{"taxonomy height": height},
        )
        rises.append(list(values.values())[-1] / max(next(iter(values.values())), 1e-9))
    return min(
        rises
    ) > 1, f"the most children take {min(rises):.2g} to {max(rises):.2g} times as long as the fewest"


def _below(results: Results, data: str) -> tuple[bool, str]:
    least = min(
        (
            value
            for epsilon in ("0.5", "1.25")
            for value in _values(
                results, "height", UNIFORM, "height", data=data, mechanism=PUBLISHED, epsilon=epsilon
            ).values()
        ),
        default=float("nan"),
    )
    silent = min(
        _values(results, "height", UNIFORM, "height", data=data, mechanism=EMPTY).values(),
        default=float("nan"),
    )
    return least < BELOW, f"{100 * least:.2g} % at best, and {100 * silent:.2g} % for an empty release"


def _epsilon_helps(results: Results, data: str) -> tuple[bool, str]:
    small, large = (
        _values(results, "height", NONEMPTY, "height", data=data, mechanism=PUBLISHED, epsilon=epsilon)
        for epsilon in ("0.5", "1.25")
    )
    better = [large[h] <= small[h] for h in small if h in large]
    less = sum(large[h] < small[h] for h in small if h in large)
    return all(better) and less > 0, f"strictly less at {less} of {len(better)} heights, of non-empty queries"


def _silence(results: Results, part: str, **where: str) -> str:
    """What an empty release scores: how much a figure says."""
    uniform = results.rows(part, figure=UNIFORM, mechanism=EMPTY, **where)["value"]
    drawn = results.rows(part, figure=NONEMPTY, mechanism=EMPTY, **where)["value"]
    said = (
        [f"An empty release scores {np.mean(drawn.to_numpy()):.3g} on non-empty queries"]
        if len(drawn)
        else []
    )
    said += [f"{np.mean(uniform.to_numpy()):.3g} on uniform ones"] if len(uniform) else []
    return " and ".join(said) + ("." if said else "")


def _comparable(results: Results) -> tuple[bool, str]:
    own = _values(results, "rivals", NONEMPTY, "height", mechanism=OURS)
    words, near = [], []
    for rival in (SEQPT, CROWDS):
        theirs = _values(results, "rivals", NONEMPTY, "height", mechanism=rival)
        both = [(own[h], theirs[h]) for h in own if h in theirs]
        if both:
            near += [abs(a - b) < 0.1 for a, b in both]
            words.append(f"{rival} {min(b for _, b in both):.3g} to {max(b for _, b in both):.3g}")
    if not near:
        return False, "not measured"
    mine = f"SafePath {min(own.values()):.3g} to {max(own.values()):.3g}"
    silent = min(
        _values(results, "rivals", NONEMPTY, "height", mechanism=EMPTY).values(), default=float("nan")
    )
    useful = min(own.values()) < 0.9 * silent
    return all(near) and useful, (
        f"{mine}; {', '.join(words)}; an empty release {silent:.3g}. Comparable are those within 0.1 of each other, if "
        "they say more than silence"
    )


def _slower(results: Results) -> tuple[bool, str]:
    ratio = {
        name: results.mean("rivals", SECONDS, mechanism=name, height="5")
        / results.mean("rivals", SECONDS, mechanism=OURS, height="5")
        for name in (EVERY_CHILD, SEQPT)
    }
    if isnan(ratio[EVERY_CHILD]):
        return False, "not measured"
    wanted = SECONDS_AT_5["SeqPT"] / SECONDS_AT_5["SafePath"]
    return ratio[EVERY_CHILD] >= wanted, (
        f"{ratio[EVERY_CHILD]:.2g} times if every child is visited, {ratio[SEQPT]:.2g} times if they are drawn"
    )


def _ngrams_slower(results: Results) -> tuple[bool, str]:
    own, theirs = (
        _values(results, "ngrams", SECONDS, "h or n", mechanism=name) for name in (PUBLISHED, NGRAM)
    )
    ratios = [theirs[depth] / max(own[depth], 1e-9) for depth in own if depth in theirs]
    if not ratios:
        return False, "not measured"
    return min(ratios) > 1, f"{min(ratios):.2g} to {max(ratios):.2g} times as long"


def _ngrams_alike(results: Results) -> tuple[bool, str]:
    own, theirs = (
        _values(results, "ngrams", NONEMPTY, "h or n", mechanism=name) for name in (PUBLISHED, NGRAM)
    )
    gaps = [abs(theirs[depth] - own[depth]) for depth in own if depth in theirs]
    if not gaps:
        return False, "not measured"
    return max(gaps) < 0.1, f"they differ by {min(gaps):.2g} to {max(gaps):.2g}"


def _ngrams_shorter(results: Results) -> tuple[bool, str]:
    own, theirs = (
        _values(results, "ngrams", "longest released", "h or n", mechanism=name)
        for name in (PUBLISHED, NGRAM)
    )
    if not own or not theirs:
        return False, "not measured"
    return max(own.values()) > max(theirs.values()), (
        f"up to {max(own.values()):.0f} visits with SafePath, {max(theirs.values()):.0f} with n-grams"
    )
