"""The MobiTrie study: private tries of 3-grams of riders in Berlin and of visits to web pages (Schulze 2025)."""

from functools import partial

from wayveil.lab.studies.lab import Lab
from wayveil.lab.studies.mobitrie.mobitrie_datasets import city_of, datasets
from wayveil.lab.studies.mobitrie.mobitrie_exhibits import exhibits
from wayveil.lab.studies.mobitrie.mobitrie_printed import EPSILONS, LARGE, PAGES, SMALL
from wayveil.lab.studies.mobitrie.mobitrie_trials import BASE_COUNT, BASELINE, LEAK, MobiTrieTrials
from wayveil.lab.studies.mobitrie.rider_maps import HOTSPOTS, NO_HOTSPOTS, MobiTrieMaps
from wayveil.lab.studies.mobitrie.tries import NO_EPSILON, ROLLING, STATIC, Tries
from wayveil.lab.studies.mobitrie.variants import VARIANTS, static_trial
from wayveil.lab.studies.study import Part, Setting, Study

DATA = (SMALL, LARGE, PAGES)
SEARCHED = ("mobitrie-lt", "mobitrie")
BESIDE = ("markov", "variable-ngrams")


def describe(lab: Lab) -> Study:
    """The study, planned for a lab."""
    data = datasets(lab)
    trials = MobiTrieTrials(data, queries=lab.pick(tiny=200, quick=2_000, full=10_000))
    tries = Tries(trials)
    maps = MobiTrieMaps(city_of(lab)[0], lab.pick(tiny=300, quick=20_000, full=100_000))
    few = lab.pick(tiny=1, quick=2, full=20)
    parts = (
        Part("data", [{"data": name} for name in DATA], trials.facts),
        Part("lines", [{"data": name} for name in DATA], trials.lines),
        Part("trials", crossed(SEARCHED), trials.trial, lab.pick(tiny=2, quick=5, full=100)),
        Part("leak", crossed((LEAK,)), trials.trial, few),
        Part("base count", crossed((BASE_COUNT,)), trials.trial, few),
        Part("static", crossed(VARIANTS), partial(static_trial, trials), few),
        Part("others", crossed(BESIDE, ("0.1", "1")), trials.trial, few),
        Part("example", [{"kind": ROLLING, "n": "3"}, *_static_examples()], tries.example),
        Part(
            "tries",
            [
                {"data": PAGES, "mechanism": BASELINE, "epsilon": NO_EPSILON},
                *({"data": PAGES, "mechanism": "mobitrie-lt", "epsilon": one} for one in ("0.1", "0.5", "1")),
            ],
            tries.private,
        ),
        Part("maps", [{"kind": HOTSPOTS}, {"kind": NO_HOTSPOTS}], maps.draw),
    )
    return Study(
        name="mobitrie",
        title="MobiTrie: private tries of 3-grams",
        source="Schulze, Privacy-Preserving Mobility Estimation, master's thesis, University of Lübeck, 2025",
        parts=parts,
        exhibits=exhibits(),
        stand_in=data.stand_in,
    )


def crossed(mechanisms: tuple[str, ...], epsilons: tuple[str, ...] = EPSILONS) -> list[Setting]:
    """Every dataset, mechanism and epsilon; one dataset after the other, because each is prepared once."""
    return [
        {"data": name, "mechanism": mechanism, "epsilon": epsilon}
        for name in DATA
        for mechanism in mechanisms
        for epsilon in epsilons
    ]


def _static_examples() -> list[Setting]:
    return [{"kind": STATIC, "n": n} for n in ("2", "3", "4")]
