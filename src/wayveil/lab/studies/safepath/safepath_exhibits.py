"""The tables and figures of the study, with what it says about them in words and what ours say to that."""

from functools import partial

from wayveil.lab.studies.safepath import safepath_claims as claims
from wayveil.lab.studies.safepath import safepath_datasets as study
from wayveil.lab.studies.safepath.safepath_trials import EACH, NONEMPTY, SECONDS, UNIFORM
from wayveil.lab.studies.study import Claim, Exhibit, tabled

ERRORS = (UNIFORM, NONEMPTY)
SETS = (study.BUS, study.METRO)
OWN_MACHINE = "Seconds are of one core of this machine, and the study's of its own; read ratios."
_THEOREM = Exhibit(
    label="Theorem 4.1",
    title="by what factor two taxonomies of binary groups lower the number of false visits, per level",
    part="theorem",
    down="taxonomy height",
    published=False,
    note="A group of F^h leaf groups has |L| / F^h locations in each: F cancels, and the printed factor keeps it. "
    "It also takes every step to have the noise of a whole visit; the shares of the algorithm give steps far more "
    "noise, which lets empty groups pass.",
)
_TABLE_2 = Exhibit(
    label="Table 2",
    title="the datasets",
    part="data",
    down="data",
    columns=study.FACTS,
    where={"timestamps": "168"},
    printed=tabled(study.FACTS, study.TABLE_2),
    ours="ours",
    exact=True,
    note="The study's text gives the mean lengths the other way round; the table is taken.",
    why=lambda results: " ".join(claims.week_of(results, data) for data in SETS),
)
_FIGURE_6A = Exhibit(
    label="Figure 6 (a)",
    title="SafePath, SeqPT and LK-anonymity: error on 20 stops and 24 hours",
    part="rivals",
    shape="lines",
    down="height",
    columns=(NONEMPTY,),
    claims=(Claim("SafePath is comparable to SeqPT and LK-anonymity", claims.comparable),),
    why=partial(claims.silence, part="rivals"),
    note="10,000 non-empty queries of size 2 in the study. LK-anonymity has no epsilon: it suppresses pairs of raw "
    "trips and protects nobody who is known better than by L visits.",
)
_FIGURE_7 = Exhibit(
    label="Figure 7",
    title="SafePath beside n-grams over pairs of place and time, Metro: run time and what comes out",
    part="ngrams",
    shape="lines",
    down="h or n",
    columns=(SECONDS, NONEMPTY, EACH, "longest released"),
    claims=(
        Claim("n-grams take longer than SafePath at every depth", claims.ngrams_slower),
        Claim("both have similar errors on queries of two pairs", claims.ngrams_alike),
        Claim("SafePath keeps longer sequences than n-grams", claims.ngrams_shorter),
    ),
    why=claims.moves_are_not_listed,
    split=partial(claims.split, data=study.METRO),
    note=OWN_MACHINE,
)


def exhibits() -> tuple[Exhibit, ...]:
    """All of them, in the order of the study."""
    return (
        _THEOREM,
        _TABLE_2,
        *map(_figure_3, SETS),
        *map(_figure_4, SETS),
        *map(_figure_5, SETS),
        _FIGURE_6A,
        _figure_6b(),
        _FIGURE_7,
        *map(_table_3, SETS),
        *map(_figure_8, SETS),
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
            Claim.of("the error falls as taxonomies grow taller, with 2 children", claims.error_falls, data),
            Claim.of("2 or 6 children make no significant difference", claims.children_alike, data),
        ),
        why=partial(claims.silence, part="taxonomy", data=data),
        split=partial(claims.split, data=data),
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
        claims=(Claim.of("run time grows with the number of children", claims.children_cost, data),),
        why=claims.empty_nodes_are_free,
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
            Claim.of("the error is below 1 % for some height", claims.small_somewhere, data),
            Claim.of("the error falls as the tree grows higher", claims.height_helps, data),
            Claim.of("a larger epsilon has less error at every height", claims.epsilon_helps, data),
        ),
        why=partial(claims.silence, part="height", data=data),
        split=partial(claims.split, data=data),
        note="Queries are a third as long as the tree is high. Longer queries are contained in fewer trips, so the "
        "error of uniform ones falls with the height whatever is released.",
    )


def _figure_6b() -> Exhibit:
    times = f"SeqPT takes {study.SECONDS_AT_5['SeqPT']:,.0f} times as long as SafePath at height 5"
    return Exhibit(
        label="Figure 6 (b)",
        title="SafePath, SeqPT and LK-anonymity: run time",
        part="rivals",
        shape="lines",
        down="height",
        columns=(SECONDS,),
        claims=(Claim(times, claims.seqpt_is_slow),),
        why=claims.children_are_drawn,
        note=OWN_MACHINE,
    )


def _table_3(data: str) -> Exhibit:
    return Exhibit(
        label=f"Table 3, {data}",
        title=f"sub-datasets up to a timestamp, {data}",
        part="data",
        down="timestamps",
        columns=study.PART_FACTS,
        where={"data": data},
        printed=tabled(study.PART_FACTS, study.TABLE_3[data]),
        ours="ours",
        exact=True,
        why=partial(claims.week_of, data=data),
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
        printed={("168", SECONDS): study.SECONDS_IN_ALL[data]},
        claims=(
            Claim.of(
                f"{study.SECONDS_IN_ALL[data]:g} s are enough for {study.TABLE_3[data]['168'][0]:,} records",
                claims.quick_enough,
                data,
            ),
            Claim.of("run time grows with the size of the data", claims.time_grows, data),
        ),
        why=partial(claims.seconds_each, data=data),
        note=OWN_MACHINE,
    )
