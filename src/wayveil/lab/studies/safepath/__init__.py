"""The SafePath study: timed prefix trees guided by taxonomies, on weeks of taps in Montreal (Al-Hussaeni 2018)."""

from wayveil.lab.studies.lab import Lab
from wayveil.lab.studies.safepath import safepath_trials as paths
from wayveil.lab.studies.safepath.family import beside, family_parts
from wayveil.lab.studies.safepath.safepath_claims import LESS
from wayveil.lab.studies.safepath.safepath_datasets import BUS, METRO, TABLE_3, datasets
from wayveil.lab.studies.safepath.safepath_exhibits import exhibits
from wayveil.lab.studies.study import Study, StudyPart, crossed


def describe(lab: Lab) -> Study:
    """Plan the study for a lab."""
    data = datasets(lab)
    trials = paths.SafePathTrials(data, queries=lab.pick(tiny=100, quick=5_000, full=40_000))
    repetitions = lab.pick(tiny=1, quick=4, full=5)
    tall = lab.pick(
        tiny=("0", "6"),
        quick=("0", "2", "4", "6", "9"),
        full=("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
    )
    children = lab.pick(tiny=("2", "6"), quick=("2", "4", "6"), full=("2", "3", "4", "5", "6"))
    heights = lab.pick(
        tiny=("6", "9"),
        quick=("6", "10", "14", "18", "22", "26"),
        full=("6", "8", "10", "12", "14", "16", "18", "20", "22", "24", "26"),
    )
    depths = lab.pick(tiny=("3", "4"), quick=("3", "4", "5", "6", "7"), full=("3", "4", "5", "6", "7"))
    rivals = (
        paths.PUBLISHED,
        paths.OURS,
        paths.SEQPT,
        paths.SEQPT_PUBLISHED,
        paths.EVERY_CHILD,
        paths.CROWDS,
        paths.EMPTY,
    )
    sets = (BUS, METRO)
    stamps = [{"data": name, "timestamps": count} for name, printed in TABLE_3.items() for count in printed]
    taxonomy = crossed(data=sets, taxonomy_height=tall, children=children)
    height = crossed(data=sets, epsilon=("0.5", "1.25"), height=heights)
    parts = (
        StudyPart("data", stamps, trials.facts),
        StudyPart("thin", crossed(data=sets), trials.thin),
        StudyPart("theorem", crossed(data=(METRO,), taxonomy_height=("0", "2", "6")), trials.theorem),
        StudyPart("taxonomy", taxonomy, trials.taxonomy, repetitions),
        StudyPart("height", height, trials.height, repetitions),
        StudyPart("less noise", crossed(data=sets, epsilon=LESS, height=("6",)), trials.height),
        StudyPart(
            "rivals", crossed(mechanism=rivals, height=("2", "3", "4", "5")), trials.rivals, repetitions
        ),
        StudyPart(
            "ngrams",
            crossed(data=(METRO,), mechanism=(paths.PUBLISHED, paths.OURS, paths.NGRAM), h_or_n=depths),
            trials.ngrams,
            repetitions,
        ),
        StudyPart("scale", stamps, trials.scale, repetitions),
    )
    return Study(
        name="safepath",
        title="SafePath: timed prefix trees guided by taxonomies",
        source="Al-Hussaeni, Fung, Iqbal, Dagher and Park, SafePath, Computer Networks, 2018",
        parts=(*parts, *family_parts(lab, data)),
        exhibits=(*exhibits(), *beside()),
        stand_in=data.stand_in,
    )
