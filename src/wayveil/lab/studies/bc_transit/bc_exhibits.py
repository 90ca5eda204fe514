"""The tables and figures of the study, with what it prints and says, and what ours say to that."""

from collections.abc import Mapping
from functools import partial

from wayveil.lab.studies.bc_transit import bc_claims as claims
from wayveil.lab.studies.bc_transit import bc_questions as bc
from wayveil.lab.studies.bc_transit.bc_extra_exhibits import BESIDE, about_data
from wayveil.lab.studies.study import Claim, Exhibit

MECHANISMS = (bc.NPT, bc.PPDP, bc.NPT_EQUAL, *bc.BARE.values(), bc.PPDP_PRESET)
_REPAIR = Exhibit(
    label="Figure 6.3",
    title="both ways to repair counts: weighted (the study's improvement) and equal, NPT, height 9",
    part="bare",
    shape="lines",
    columns=(bc.ARE, "non-empty, up to 9, %"),
    only=(bc.NPT_BARE, bc.NPT_EQUAL),
    where={"height": bc.STUDY_HEIGHT},
    claims=(Claim("weighted repair has less error at every epsilon", claims.weighted_wins),),
    why=claims.repairs_differ,
)
_BOTH = Exhibit(
    label="Figure 6.4",
    title="NPT and PPDP at height 12",
    part="queries",
    shape="lines",
    columns=(bc.ARE,),
    where={"height": "12"},
    claims=(Claim.of("PPDP has less error than NPT at every epsilon", claims.ppdp_wins, "12"),),
    why=claims.thin,
    split=partial(claims.split, figure=bc.ARE, height="12"),
)
_PEAKS = Exhibit(
    label="Section 6.4 (PPDP-ST-Binned)",
    title="frequent patterns with peak periods, PPDP, height 9",
    part="queries",
    down="epsilon",
    across="k",
    series="mechanism",
    where={"height": bc.STUDY_HEIGHT, "figure": "patterns with peak periods, %"},
    published=False,
    note="The study describes this binning (morning peak, midday, evening peak, night) and reports the projection "
    "only. Here times of the release are binned after it: 07 to 09, 09 to 15, 15 to 18, the rest. NPT has none.",
)
_TOTAL = Exhibit(
    label="Figure 6.7",
    title="query 1: total tap-ins, height 9",
    part=("queries", "bare"),
    across="mechanism",
    series="figure",
    columns=MECHANISMS,
    where={"height": bc.STUDY_HEIGHT, "figure": bc.TOTAL},
    claims=(Claim(f"the total is below {bc.TOTAL_BELOW:.0f} % off", claims.total),),
    why=claims.bought_total,
    split=partial(claims.split, figure=bc.TOTAL_OF_TRIPS),
    note="Average relative error in %, of the number of taps that was bought; of the trips where none was.",
)
_HOURS = Exhibit(
    label="Figure 6.9",
    title="query 3: tap-ins by hour, height 9",
    part="queries",
    shape="lines",
    columns=(bc.HOURS,),
    where={"height": bc.STUDY_HEIGHT},
    claims=(Claim("hours of PPDP have less error than its random queries", claims.hours_below),),
    why=claims.thin,
    split=partial(claims.split, figure=bc.HOURS),
    note="NPT has no times.",
)
_OPERATIONS = Exhibit(
    label="Section 5.5",
    title="the six operational queries at height 9 and epsilon 1.25: errors in %, and shares found",
    part="queries",
    down="mechanism",
    series="line",
    columns=(
        bc.TOTAL,
        bc.TOTAL_OF_TRIPS,
        bc.PER_STOP_TRIPS,
        bc.PER_STOP_TAPS,
        bc.HOURS,
        bc.MOST,
        bc.LEAST,
        bc.PAIRS,
    ),
    where={"height": bc.STUDY_HEIGHT, "epsilon": "1.25"},
    published=False,
    note="1 total, 2 per stop, 3 per hour, 4 most frequent stops, 5 least frequent, 6 pairs of stops.",
)


def exhibits() -> tuple[Exhibit, ...]:
    """All of them, in the order of the study; then what stands beside them."""
    at_epsilon = {"epsilon": "1.25"}
    return (
        *about_data(),
        _against_epsilon("Figure 6.1", bc.NPT),
        _against_epsilon("Figure 6.2", bc.PPDP),
        _REPAIR,
        _BOTH,
        _against_height("Figure 6.5", bc.NPT),
        _against_height("Figure 6.6", bc.PPDP),
        _found(
            "Table 6.1", "frequent patterns by k, epsilon 1.25", "patterns, %", bc.TABLE_6_1, "k", at_epsilon
        ),
        _found(
            "Table 6.2",
            "frequent patterns by epsilon, k = 40",
            "patterns, %",
            bc.TABLE_6_2,
            "epsilon",
            {"k": "40"},
        ),
        _PEAKS,
        _TOTAL,
        _per_stop(),
        _HOURS,
        _found(
            "Table 6.3",
            "query 4: most frequent stops, epsilon 1.25",
            "stops, %",
            bc.TABLE_6_3,
            "k",
            at_epsilon,
        ),
        _OPERATIONS,
        *BESIDE,
    )


def _against_epsilon(label: str, tree: str) -> Exhibit:
    low, high = bc.QUERIES[tree]
    strict = f"at epsilon 0.5 with up to 3 stops it is below {bc.STRICTEST[tree]:.0f} %"
    return Exhibit(
        label=label,
        title=f"average relative error against epsilon, {tree}",
        part="queries",
        shape="lines",
        series="line",
        columns=(bc.ARE, bc.ARE_TAPS),
        where={"mechanism": tree},
        printed={("0.5", bc.ARE): low, ("2", bc.ARE): high},
        ours=f"height {bc.STUDY_HEIGHT}",
        better="lower",
        claims=(
            Claim.of("the error falls with epsilon at every height", claims.falls_with_epsilon, tree),
            Claim.of(strict, claims.strictest, tree),
        ),
        why=partial(claims.queries_differ, tree=tree),
        split=partial(claims.split, figure=bc.ARE, trees=(tree,)),
        note="40,000 queries of up to as many stops as the tree is high, every stop drawn evenly. Most of them ask for "
        "what nobody did.",
    )


def _against_height(label: str, tree: str) -> Exhibit:
    least = f"the error is least around height {bc.BEST_HEIGHT[tree]}"
    return Exhibit(
        label=label,
        title=f"average relative error against height, {tree}",
        part="queries",
        shape="lines",
        down="height",
        series="epsilon line",
        columns=(bc.ARE,),
        where={"mechanism": tree},
        claims=(Claim.of(least, claims.best_height, tree),),
        why=claims.queries_grow,
    )


def _found(
    label: str,
    title: str,
    figure: str,
    table: Mapping[str, Mapping[str, float]],
    down: str,
    where: Mapping[str, str],
) -> Exhibit:
    return Exhibit(
        label=label,
        title=f"{title}: share of the true ones found",
        part=("queries", "bare"),
        down=down,
        across="mechanism",
        series="figure",
        columns=MECHANISMS,
        where={"height": bc.STUDY_HEIGHT, "figure": figure, **where},
        printed={(place, tree): share for place, row in table.items() for tree, share in row.items()},
        ours=figure,
        better="higher",
        why=claims.patterns_differ,
        split=partial(claims.split, figure=figure, k="40"),
        note="In %. PPDP is projected to stops, as in the study.",
    )


def _per_stop() -> Exhibit:
    ends = ("0.5", "2")
    return Exhibit(
        label="Figure 6.8",
        title="query 2: tap-ins per stop, height 9",
        part=("queries", "bare"),
        across="mechanism",
        series="figure",
        columns=MECHANISMS,
        where={"height": bc.STUDY_HEIGHT, "figure": bc.PER_STOP_TAPS},
        printed={(end, tree): both[at] for at, end in enumerate(ends) for tree, both in bc.PER_STOP.items()},
        ours=bc.PER_STOP_TAPS,
        better="lower",
        why=claims.laplace,
        split=partial(claims.split, figure=bc.PER_STOP_TAPS),
        note="Average relative error in %.",
    )
