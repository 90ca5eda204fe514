"""The MobiTrie study: private tries of 3-grams of riders in Berlin and of visits to web pages (Schulze 2025)."""

from functools import partial

from wayveil.lab.studies.lab import Lab
from wayveil.lab.studies.mobitrie import tries as drawn_tries
from wayveil.lab.studies.mobitrie.mobitrie_datasets import EPSILONS, LARGE, PAGES, SMALL, city_of, datasets
from wayveil.lab.studies.mobitrie.mobitrie_exhibits import exhibits
from wayveil.lab.studies.mobitrie.mobitrie_trials import (
    BASE_COUNT,
    BASELINE,
    LEAK,
    RETURNS,
    VARIED,
    MobiTrieTrials,
)
from wayveil.lab.studies.study import Setting, Study, StudyPart, crossed

DATA = (SMALL, LARGE, PAGES)
SEARCHED = ("mobitrie-lt", "mobitrie")
BESIDE = (RETURNS, "markov", "variable-ngrams")


def describe(lab: Lab) -> Study:
    """Plan the study for a lab."""
    data = datasets(lab)
    trials = MobiTrieTrials(data, queries=lab.pick(tiny=200, quick=2_000, full=10_000))
    tries = drawn_tries.Tries(trials)
    maps = drawn_tries.MobiTrieMaps(city_of(lab)[0], lab.pick(tiny=300, quick=20_000, full=100_000))
    few = lab.pick(tiny=1, quick=2, full=20)
    example = [
        {"kind": drawn_tries.ROLLING, "n": "3"},
        *crossed(kind=(drawn_tries.STATIC,), n=("2", "3", "4")),
    ]
    drawn = [
        {"data": PAGES, "mechanism": BASELINE, "epsilon": drawn_tries.NO_EPSILON},
        *crossed(data=(PAGES,), mechanism=("mobitrie-lt",), epsilon=("0.1", "0.5", "1")),
    ]
    parts = (
        StudyPart("data", crossed(data=DATA), trials.facts),
        StudyPart("lines", crossed(data=DATA), trials.lines),
        StudyPart("trials", _settings(SEARCHED), trials.trial, lab.pick(tiny=2, quick=5, full=100)),
        StudyPart("leak", _settings((LEAK,)), trials.trial, few),
        StudyPart("base count", _settings((BASE_COUNT,)), trials.trial, few),
        StudyPart("static", _settings(drawn_tries.VARIANTS), partial(drawn_tries.static_trial, trials), few),
        StudyPart("others", _settings(BESIDE, ("0.1", "1")), trials.trial, few),
        # Every draw grows a tree: of a million riders that would take longer than all else.
        StudyPart(
            "varied", crossed(data=(SMALL, PAGES), mechanism=(VARIED,), epsilon=("1",)), trials.trial, 2
        ),
        StudyPart("example", example, tries.example),
        StudyPart("tries", drawn, tries.private),
        StudyPart("maps", crossed(kind=(drawn_tries.HOTSPOTS, drawn_tries.NO_HOTSPOTS)), maps.draw),
    )
    return Study(
        name="mobitrie",
        title="MobiTrie: private tries of 3-grams",
        source="Schulze, Privacy-Preserving Mobility Estimation, master's thesis, University of Lübeck, 2025",
        parts=parts,
        exhibits=exhibits(),
        stand_in=data.stand_in,
    )


def _settings(mechanisms: tuple[str, ...], epsilons: tuple[str, ...] = EPSILONS) -> list[Setting]:
    """Every dataset, mechanism and epsilon; one dataset after the other, because each is prepared once."""
    return crossed(data=DATA, mechanism=mechanisms, epsilon=epsilons)
