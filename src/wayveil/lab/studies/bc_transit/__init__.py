"""The BC Transit study: prefix trees of riders that were reconstructed from anonymous taps (Bahari 2025)."""

from wayveil.lab.studies.bc_transit import bc_questions as bc
from wayveil.lab.studies.bc_transit.bc_datasets import datasets
from wayveil.lab.studies.bc_transit.bc_exhibits import exhibits
from wayveil.lab.studies.bc_transit.bc_trials import LAPLACE, NOTHING, BcTransitTrials
from wayveil.lab.studies.bc_transit.cards import cards_exhibit, cards_part
from wayveil.lab.studies.bc_transit.links import RECONSTRUCTIONS
from wayveil.lab.studies.lab import Lab
from wayveil.lab.studies.study import Study, StudyPart, crossed

WAYS = ("cards, NPT", "cards, PPDP", "counts-first", "counts", "study, NPT", "study, PPDP")


def describe(lab: Lab) -> Study:
    """Plan the study for a lab."""
    data = datasets(lab)
    return Study(
        name="bc-transit",
        title="BC Transit: prefix trees of riders reconstructed from taps",
        source="Bahari Neematabad, A Differential Privacy-Preserving Data Publishing Algorithm for Bus Trajectory "
        "Analysis, master's thesis, University of Victoria, 2025",
        parts=_parts(lab, BcTransitTrials(data, queries=lab.pick(tiny=50, quick=1_000, full=2_700))),
        exhibits=(*exhibits(), *([cards_exhibit()] if lab.scale == "full" else [])),
        stand_in=data.stand_in,
    )


def _parts(lab: Lab, trials: BcTransitTrials) -> tuple[StudyPart, ...]:
    repetitions = lab.pick(tiny=1, quick=4, full=5)
    epsilons = lab.pick(tiny=("0.5", "1.25", "2"), quick=("0.5", "1.25", "2"), full=bc.EPSILONS)
    ends = (epsilons[0], epsilons[-1])
    heights = lab.pick(tiny=("3", "9", "12"), quick=bc.HEIGHTS, full=bc.HEIGHTS)
    moved = lab.pick(tiny=("0.25",), quick=("0.25",), full=("0.25", "0.5"))
    candidates = (bc.NPT, bc.PPDP, bc.PPDP_PRESET)
    references = [{"mechanism": NOTHING, "epsilon": "any"}, *crossed(mechanism=(LAPLACE,), epsilon=epsilons)]
    # With the names of their lines in charts.
    queries = [
        {**one, "epsilon line": f"epsilon {one['epsilon']}"}
        for one in crossed(height=heights, mechanism=candidates, epsilon=epsilons)
        if one["mechanism"] != bc.PPDP_PRESET or one["height"] == bc.STUDY_HEIGHT
    ]
    crowding = [
        {**one, "crowd line": f"{one['mechanism']}, epsilon {one['epsilon']}"}
        for one in crossed(moved=moved, mechanism=(bc.NPT, bc.PPDP), height=(bc.STUDY_HEIGHT,), epsilon=ends)
    ]
    bare = [
        one
        for one in crossed(
            mechanism=(*bc.BARE.values(), bc.NPT_EQUAL), height=(bc.STUDY_HEIGHT, "12"), epsilon=epsilons
        )
        if one["mechanism"] != bc.NPT_EQUAL or one["height"] == bc.STUDY_HEIGHT
    ]
    clean = crossed(mechanism=bc.BARE, height=(bc.STUDY_HEIGHT, "12"), epsilon=(bc.NOISELESS,))
    leak = crossed(mechanism=bc.SEEN, height=(bc.STUDY_HEIGHT,), epsilon=epsilons)
    return (
        StudyPart("data", [{"source": "taps"}], trials.facts),
        StudyPart("links", crossed(reconstruction=RECONSTRUCTIONS), trials.links),
        StudyPart("thin", [{"source": "weeks"}], trials.thin),
        StudyPart("references", references, trials.references, repetitions),
        StudyPart("queries", queries, trials.queries_of, repetitions),
        StudyPart("total", crossed(epsilon=epsilons), trials.total),
        StudyPart("bare", bare, trials.queries_of, repetitions),
        StudyPart("noiseless", clean, trials.queries_of),
        StudyPart("leak", leak, trials.queries_of, repetitions),
        StudyPart("crowding", crowding, trials.queries_of, repetitions),
        StudyPart("ways", crossed(way=WAYS, epsilon=ends), trials.ways, apart=True),
        cards_part(lab),
    )
