"""The BC Transit study: prefix trees of riders that were reconstructed from anonymous taps (Bahari 2025)."""

from wayveil.lab.studies.bc_transit.bc_datasets import datasets
from wayveil.lab.studies.bc_transit.bc_exhibits import exhibits
from wayveil.lab.studies.bc_transit.bc_printed import (
    COUNTS,
    EPSILONS,
    HEIGHTS,
    NPT,
    NPT_EQUAL,
    PPDP,
    PPDP_PRESET,
    SEEN,
    STUDY_HEIGHT,
)
from wayveil.lab.studies.bc_transit.bc_trials import LAPLACE, NOTHING, BcTransitTrials
from wayveil.lab.studies.bc_transit.cards import cards_exhibit, cards_part
from wayveil.lab.studies.bc_transit.links import RECONSTRUCTIONS
from wayveil.lab.studies.lab import Lab
from wayveil.lab.studies.study import Part, Study

WAYS = ("cards, NPT", "cards, PPDP", "counts-first", "counts", "study, NPT", "study, PPDP")


def describe(lab: Lab) -> Study:
    """The study, planned for a lab."""
    data = datasets(lab)
    trials = BcTransitTrials(data, queries=lab.pick(tiny=50, quick=1_000, full=2_700))
    repetitions = lab.pick(tiny=1, quick=2, full=5)
    epsilons = lab.pick(tiny=("0.5", "1.25", "2"), quick=("0.5", "1.25", "2"), full=EPSILONS)
    heights = lab.pick(tiny=("3", "9", "12"), quick=HEIGHTS, full=HEIGHTS)
    moved = lab.pick(tiny=("0.25",), quick=("0.25",), full=("0.25", "0.5"))
    candidates = (NPT, NPT_EQUAL, PPDP, PPDP_PRESET, COUNTS)

    def line(setting: dict[str, str]) -> dict[str, str]:
        """With the name of its line in a chart against heights."""
        return {**setting, "epsilon line": f"epsilon {setting['epsilon']}"}

    parts = (
        Part("data", [{"source": "taps"}], trials.facts),
        Part("links", [{"reconstruction": name} for name in RECONSTRUCTIONS], trials.links),
        Part("thin", [{"source": "weeks"}], trials.thin),
        Part(
            "references",
            [{"mechanism": NOTHING, "epsilon": "any"}]
            + [{"mechanism": LAPLACE, "epsilon": epsilon} for epsilon in epsilons],
            trials.references,
            repetitions,
        ),
        Part(
            "queries",
            [
                line({"mechanism": name, "height": height, "epsilon": epsilon})
                for height in heights
                for name in candidates
                if name not in (NPT_EQUAL, PPDP_PRESET) or height == STUDY_HEIGHT
                for epsilon in epsilons
            ],
            trials.queries_of,
            repetitions,
        ),
        Part(
            "leak",
            [
                {"mechanism": name, "height": STUDY_HEIGHT, "epsilon": epsilon}
                for name in SEEN
                for epsilon in epsilons
            ],
            trials.queries_of,
            repetitions,
        ),
        Part(
            "crowding",
            [
                {
                    "moved": share,
                    "mechanism": name,
                    "height": STUDY_HEIGHT,
                    "epsilon": epsilon,
                    "crowd line": f"{name}, epsilon {epsilon}",
                }
                for share in moved
                for name in (NPT, PPDP, COUNTS)
                for epsilon in (epsilons[0], epsilons[-1])
            ],
            trials.queries_of,
            repetitions,
        ),
        Part(
            "ways",
            [{"way": way, "epsilon": epsilon} for way in WAYS for epsilon in (epsilons[0], epsilons[-1])],
            trials.ways,
        ),
        cards_part(lab),
    )
    return Study(
        name="bc-transit",
        title="BC Transit: prefix trees of riders reconstructed from taps",
        source="Bahari Neematabad, A Differential Privacy-Preserving Data Publishing Algorithm for Bus Trajectory "
        "Analysis, master's thesis, University of Victoria, 2025",
        parts=parts,
        exhibits=(*exhibits(), *([cards_exhibit()] if lab.scale == "full" else [])),
        stand_in=data.stand_in,
    )
