"""The MobiTrie study: private tries of 3-grams of riders in Berlin and of visits to web pages (Schulze 2025)."""

from wayveil.studies.lab import Lab
from wayveil.studies.mobitrie.datasets import datasets
from wayveil.studies.mobitrie.exhibits import exhibits
from wayveil.studies.mobitrie.printed import EPSILONS, LARGE, PAGES, SMALL
from wayveil.studies.mobitrie.trials import Trials, subjects
from wayveil.studies.study import Part, Study


def describe(lab: Lab) -> Study:
    """The study, planned for a lab."""
    data = datasets(lab)
    trials = Trials(data, queries=lab.pick(tiny=200, quick=2_000, full=10_000))
    names = (SMALL, LARGE, PAGES)
    searched = list(subjects(SMALL))[:2]
    parts = (
        Part("data", [{"data": name} for name in names], trials.facts),
        Part("lines", [{"data": name} for name in names], trials.lines),
        Part(
            "trials",
            [
                {"data": name, "mechanism": mechanism, "epsilon": epsilon}
                for name in names
                for mechanism in searched
                for epsilon in EPSILONS
            ],
            trials.trial,
            repetitions=lab.pick(tiny=2, quick=5, full=100),
        ),
    )
    return Study(
        name="mobitrie",
        title="MobiTrie: private tries of 3-grams",
        source="Schulze, Privacy-Preserving Mobility Estimation, master's thesis, University of Lübeck, 2025",
        parts=parts,
        exhibits=exhibits(),
        stand_in=data.stand_in,
    )
