"""The tables and figures of the study, with what it prints and says, and what ours say to that."""

from collections.abc import Mapping

from wayveil.studies.bc_transit import claims
from wayveil.studies.bc_transit.beside import beside
from wayveil.studies.bc_transit.printed import (
    BEST_HEIGHT,
    COUNTS,
    NPT,
    NPT_EQUAL,
    PER_STOP,
    PPDP,
    QUERIES,
    ROLE_SHARES,
    STRICTEST,
    STUDY_HEIGHT,
    TABLE_6_1,
    TABLE_6_2,
    TABLE_6_3,
    TAPS,
    TOTAL_BELOW,
)
from wayveil.studies.bc_transit.questions import (
    ARE,
    HOURS,
    LEAST,
    PAIRS,
    PER_STOP_TAPS,
    PER_STOP_TRIPS,
    TOTAL,
)
from wayveil.studies.bc_transit.trials import STUDY_GAPS
from wayveil.studies.study import Claim, Exhibit

TREES = (NPT, PPDP)


def exhibits() -> tuple[Exhibit, ...]:
    """All of them, in the order of the study; then what stands beside them."""
    return (
        _gaps(),
        _roles(),
        _lengths(),
        _against_epsilon("Figure 6.1", NPT),
        _against_epsilon("Figure 6.2", PPDP),
        _repair(),
        _both(),
        _against_height("Figure 6.5", NPT),
        _against_height("Figure 6.6", PPDP),
        _top(
            "Table 6.1",
            "frequent patterns by k, epsilon 1.25",
            "patterns, %",
            TABLE_6_1,
            "k",
            {"epsilon": "1.25"},
        ),
        _top(
            "Table 6.2",
            "frequent patterns by epsilon, k = 40",
            "patterns, %",
            TABLE_6_2,
            "epsilon",
            {"k": "40"},
        ),
        _peaks(),
        _query("Figure 6.7", "query 1: total tap-ins", TOTAL, None),
        _query("Figure 6.8", "query 2: tap-ins per stop", PER_STOP_TAPS, PER_STOP),
        _hours(),
        _top(
            "Table 6.3",
            "query 4: most frequent stops, epsilon 1.25",
            "stops, %",
            TABLE_6_3,
            "k",
            {"epsilon": "1.25"},
        ),
        _operations(),
        *beside(),
    )


def _gaps() -> Exhibit:
    return Exhibit(
        label="Section 5.3",
        title="the tap file: its size and its gaps",
        part="data",
        down="file",
        columns=(
            "taps",
            *STUDY_GAPS,
            "taps per rider",
            "taps at the busiest stop, %",
            "taps at the second busiest, %",
        ),
        printed={("tap file", "taps"): float(TAPS)}
        | {("tap file", name): value for name, value in STUDY_GAPS.items()},
        ours="ours",
        why=lambda results: (
            f"The number of taps follows from the scale: {results.mean('data', 'taps'):,.0f} here."
        ),
        note="1,833 of 312,659 rows had neither route nor stop, 1,010 of them no vehicle either; the campus is ours: "
        "the study says that the university is the largest driver, not how large.",
    )


def _roles() -> Exhibit:
    return Exhibit(
        label="Section 4.2",
        title="roles of the reconstructed riders",
        part="data",
        down="role",
        columns=("share of riders, %",),
        printed={(role, "share of riders, %"): float(share) for role, share in ROLE_SHARES.items()},
        ours="ours",
        claims=(
            Claim(
                "full-time riders travel on working days",
                lambda results: (
                    results.mean("data", "full-time taps at weekends") == 0,
                    f"{results.mean('data', 'full-time taps at weekends'):,.0f} of their taps are at weekends",
                ),
            ),
        ),
    )


def _lengths() -> Exhibit:
    return Exhibit(
        label="Figure 5.2",
        title="how long trajectories are",
        part="data",
        shape="lines",
        down="length",
        columns=("trajectories, %",),
        claims=(
            Claim(
                "trajectories have at most 15 tap-ins",
                lambda results: claims.longest(results),
            ),
        ),
        why=lambda results: "Riders of the reconstruction tap up to three times a day for six days.",
    )


def _against_epsilon(label: str, tree: str) -> Exhibit:
    low, high = QUERIES[tree]
    return Exhibit(
        label=label,
        title=f"average relative error against epsilon, {tree}",
        part="queries",
        shape="lines",
        series="line",
        columns=(ARE,),
        where={"mechanism": tree},
        printed={("0.5", ARE): low, ("2", ARE): high},
        ours=f"height {STUDY_HEIGHT}",
        better="lower",
        claims=(
            Claim(
                "the error falls with epsilon at every height",
                lambda results: claims.falls_with_epsilon(results, tree),
            ),
            Claim(
                f"at epsilon 0.5 with up to 3 stops it is below {STRICTEST[tree]:.0f} %",
                lambda results: claims.strictest(results, tree),
            ),
        ),
        why=claims.thin,
        note="40,000 queries of up to as many stops as the tree is high, every stop drawn evenly. Most of them ask for "
        "what nobody did.",
    )


def _repair() -> Exhibit:
    return Exhibit(
        label="Figure 6.3",
        title="both ways to repair counts: weighted (the study's improvement) and equal, NPT, height 9",
        part="queries",
        shape="lines",
        columns=(ARE, "non-empty, up to 9, %"),
        where={"height": STUDY_HEIGHT},
        claims=(Claim("weighted repair has less error at every epsilon", claims.weighted_wins),),
        why=lambda results: (
            "Equal subtraction takes the children that barely passed the threshold away first; proportions make the "
            "large child pay for them. The study has a fixed threshold, which lets far more of them in."
        ),
    )


def _both() -> Exhibit:
    return Exhibit(
        label="Figure 6.4",
        title="NPT and PPDP at height 12",
        part="queries",
        shape="lines",
        columns=(ARE,),
        where={"height": "12"},
        claims=(
            Claim(
                "PPDP has less error than NPT at every epsilon",
                lambda results: claims.ppdp_wins(results, ARE, height="12"),
            ),
        ),
        why=claims.thin,
    )


def _against_height(label: str, tree: str) -> Exhibit:
    return Exhibit(
        label=label,
        title=f"average relative error against height, {tree}",
        part="queries",
        shape="lines",
        down="height",
        series="epsilon line",
        columns=(ARE,),
        where={"mechanism": tree},
        claims=(
            Claim(
                f"the error is least around height {BEST_HEIGHT[tree]}",
                lambda results: claims.best_height(results, tree),
            ),
        ),
        why=lambda results: (
            "Queries grow with the height here as in the study: longer ones are contained in fewer trips, and an empty "
            f"release falls from {claims.nothing(results, 'uniform, up to 3, %'):.2g} to "
            f"{claims.nothing(results, 'uniform, up to 15, %'):.2g} % between heights 3 and 15 as well."
        ),
    )


def _top(
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
        part="queries",
        down=down,
        across="mechanism",
        series="figure",
        columns=(NPT, PPDP, NPT_EQUAL, COUNTS),
        where={"height": STUDY_HEIGHT, "figure": figure, **where},
        printed={(place, tree): share for place, row in table.items() for tree, share in row.items()},
        ours=figure,
        better="higher",
        why=claims.thin,
        note="In %. PPDP is projected to stops, as in the study.",
    )


def _peaks() -> Exhibit:
    return Exhibit(
        label="Section 6.4 (PPDP-ST-Binned)",
        title="frequent patterns with peak periods, PPDP, height 9",
        part="queries",
        down="epsilon",
        across="k",
        series="mechanism",
        where={"height": STUDY_HEIGHT, "figure": "patterns with peak periods, %"},
        published=False,
        note="The study describes this binning (morning peak, midday, evening peak, night) and reports the projection "
        "only. Here times of the release are binned after it: 07 to 09, 09 to 15, 15 to 18, the rest. NPT has none.",
    )


def _query(label: str, title: str, figure: str, values: Mapping[str, tuple[float, float]] | None) -> Exhibit:
    printed = (
        {}
        if values is None
        else {
            (epsilon, tree): value
            for tree, both in values.items()
            for epsilon, value in zip(("0.5", "2"), both, strict=True)
        }
    )
    said = (
        tuple(
            Claim(
                f"the total of {tree} is below {TOTAL_BELOW:.0f} % off",
                lambda results, tree=tree: claims.total(results, tree),  # type: ignore[misc]
            )
            for tree in TREES
        )
        if values is None
        else ()
    )
    return Exhibit(
        label=label,
        title=f"{title}, height 9",
        part="queries",
        down="epsilon",
        across="mechanism",
        series="figure",
        columns=(NPT, PPDP, NPT_EQUAL, COUNTS),
        where={"height": STUDY_HEIGHT, "figure": figure},
        printed=printed,
        ours=figure,
        better="lower",
        claims=said,
        why=claims.thin if values is None else claims.laplace,
        note="Average relative error in %.",
    )


def _hours() -> Exhibit:
    return Exhibit(
        label="Figure 6.9",
        title="query 3: tap-ins by hour, height 9",
        part="queries",
        shape="lines",
        columns=(HOURS,),
        where={"height": STUDY_HEIGHT},
        claims=(
            Claim(
                "hours of PPDP have less error than its random queries",
                lambda results: claims.hours_below(results),
            ),
        ),
        why=claims.thin,
        note="NPT has no times.",
    )


def _operations() -> Exhibit:
    return Exhibit(
        label="Section 5.5",
        title="the six operational queries at height 9 and epsilon 1.25: errors in %, and shares found",
        part="queries",
        down="mechanism",
        series="line",
        columns=(TOTAL, PER_STOP_TRIPS, PER_STOP_TAPS, HOURS, LEAST, PAIRS),
        where={"height": STUDY_HEIGHT, "epsilon": "1.25"},
        published=False,
        note="1 total, 2 per stop, 3 per hour, 4 most frequent stops (Table 6.3), 5 least frequent, 6 pairs of stops.",
    )
