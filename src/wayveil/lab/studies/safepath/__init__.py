"""The SafePath study: timed prefix trees guided by taxonomies, on weeks of taps in Montreal (Al-Hussaeni 2018)."""

from wayveil.lab.studies.lab import Lab
from wayveil.lab.studies.safepath.family import family_parts
from wayveil.lab.studies.safepath.safepath_datasets import datasets
from wayveil.lab.studies.safepath.safepath_exhibits import exhibits
from wayveil.lab.studies.safepath.safepath_extra_exhibits import beside
from wayveil.lab.studies.safepath.safepath_printed import BUS, METRO, TABLE_3
from wayveil.lab.studies.safepath.safepath_trials import (
    CROWDS,
    EMPTY,
    EVERY_CHILD,
    NGRAM,
    OURS,
    PUBLISHED,
    SEQPT,
    SEQPT_PUBLISHED,
    SafePathTrials,
)
from wayveil.lab.studies.study import Part, Study


def describe(lab: Lab) -> Study:
    """The study, planned for a lab."""
    data = datasets(lab)
    trials = SafePathTrials(data, queries=lab.pick(tiny=100, quick=5_000, full=40_000))
    repetitions = lab.pick(tiny=1, quick=2, full=5)
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
    rivals = (PUBLISHED, OURS, SEQPT, SEQPT_PUBLISHED, EVERY_CHILD, CROWDS, EMPTY)
    sets = (BUS, METRO)
    parts = (
        Part(
            "data",
            [{"data": name, "timestamps": stamps} for name in sets for stamps in TABLE_3[name]],
            trials.facts,
        ),
        Part(
            "taxonomy",
            [
                {"data": name, "taxonomy height": height, "children": count}
                for name in sets
                for height in tall
                for count in children
            ],
            trials.taxonomy,
            repetitions,
        ),
        Part(
            "height",
            [
                {"data": name, "epsilon": epsilon, "height": height}
                for name in sets
                for epsilon in ("0.5", "1.25")
                for height in heights
            ],
            trials.height,
            repetitions,
        ),
        Part(
            "rivals",
            [{"mechanism": name, "height": height} for name in rivals for height in ("2", "3", "4", "5")],
            trials.rivals,
            repetitions,
        ),
        Part(
            "ngrams",
            [
                {"data": METRO, "mechanism": name, "h or n": depth}
                for name in (PUBLISHED, NGRAM)
                for depth in depths
            ],
            trials.ngrams,
            repetitions,
        ),
        Part(
            "scale",
            [{"data": name, "timestamps": stamps} for name in sets for stamps in TABLE_3[name]],
            trials.scale,
            repetitions,
        ),
    )
    return Study(
        name="safepath",
        title="SafePath: timed prefix trees guided by taxonomies",
        source="Al-Hussaeni, Fung, Iqbal, Dagher and Park, SafePath, Computer Networks, 2018",
        parts=(*parts, *family_parts(lab, data)),
        exhibits=(*exhibits(), *beside()),
        stand_in=data.stand_in,
    )
