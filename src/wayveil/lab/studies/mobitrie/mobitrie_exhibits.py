"""The tables and figures of the study, each with what it prints and the sentence about where ours differ."""

from functools import partial
from math import isnan

from wayveil.lab.studies.figure_verdicts import Said, compare, falls, number
from wayveil.lab.studies.mobitrie import mobitrie_datasets as study
from wayveil.lab.studies.mobitrie.mobitrie_trials import AS_CODED, BY_TRIE, LEAK, UNIVERSE
from wayveil.lab.studies.mobitrie.pictured import example_exhibits, map_exhibits, trie_exhibits
from wayveil.lab.studies.study import Better, Claim, Exhibit, tabled
from wayveil.lab.studies.study_results import Results

OURS = "mobitrie-lt"
NUMBERS = {
    study.SMALL: ("7.5", "7.9", "a"),
    study.LARGE: ("7.6", "7.10", "b"),
    study.PAGES: ("7.7", "7.11", "c"),
}
DIRECTIONS: dict[str, Better] = {**dict.fromkeys(study.FIGURES, "higher"), **study.BETTER, "TN": "same"}  # type: ignore[dict-item]
CHARTS = {
    "7.2": ("F1, fitness, precision and recall", (study.F1, study.FITNESS, study.PRECISION, study.RECALL)),
    "7.3": ("accuracy, Jaccard index and false negative rate", ("accuracy", "Jaccard", "FNR")),
    "7.4": ("TP, FP, FN and TN", study.CELLS),
}
BY_LENGTH = "7.8"
# Figure A.9 is labelled 0.0 in the study; its place says 1.
APPENDIX = {"A.5": "0.1", "A.6": "0.2", "A.7": "0.5", "A.8": "0.8", "A.9": "1"}


def exhibits() -> tuple[Exhibit, ...]:
    """All of them, in the order of the study."""
    made = [*example_exhibits(), *map_exhibits(), *trie_exhibits(), _data()]
    for data in NUMBERS:
        made += [_metrics(data), *(_chart(number, data) for number in CHARTS)]
    for data in NUMBERS:
        made += [_errors(data, "table"), _errors(data, "lines")]
    made += [_appendix(label, epsilon) for label, epsilon in APPENDIX.items()]
    for data in NUMBERS:
        made += [_variants(data)]
    return tuple(made)


def _data() -> Exhibit:
    return Exhibit(
        label="Table 7.1",
        title="the datasets",
        part="data",
        down="data",
        columns=study.DATA_FACTS,
        printed=tabled(study.DATA_FACTS, study.TABLE_7_1),
        ours="ours",
        exact=True,
        why=why_data,
    )


def why_data(results: Results) -> str:
    """Say what the datasets of this run have where the study's have something else."""
    words = [
        f"{data}: {results.mean('data', 'trajectories', data=data) * length:,.0f} visits in all, {length:.3g} each"
        for data in NUMBERS
        if not isnan(length := results.mean("data", "mean length", data=data))
    ]
    return f"Counted in this run ({'; '.join(words)}); the riders are simulated on another feed or city."


def _metrics(data: str) -> Exhibit:
    number = NUMBERS[data][0]
    return Exhibit(
        label=f"Table {number}",
        title=f"figures of the tries, {data}",
        part=("lines", "trials", "leak"),
        where={"data": data},
        columns=study.FIGURES,
        printed=study.metrics(data),
        ours=OURS,
        better=DIRECTIONS,
        why=partial(why_metrics, data=data),
        note="Ours are means over the tries that were found; the study's count a run that found none as zeros. "
        "That it does is an inference: its recall and false negative rate do not add up to one. Riders never turn "
        "back at once, and 3-grams that do are left out for them: its universe can hardly have had them.",
    )


def _chart(number: str, data: str) -> Exhibit:
    words, columns = CHARTS[number]
    return Exhibit(
        label=f"Figure {number}{NUMBERS[data][2]}",
        title=f"{words}, {data}",
        part=("lines", "trials", "leak"),
        shape="lines",
        where={"data": data},
        columns=columns,
        printed=study.metrics(data, columns),
        ours=OURS,
        better=DIRECTIONS,
        why=partial(why_metrics, data=data),
    )


def _errors(data: str, shape: str) -> Exhibit:
    table = shape == "table"
    label = f"Table {NUMBERS[data][1]}" if table else f"Figure {BY_LENGTH}{NUMBERS[data][2]}"
    return Exhibit(
        label=label,
        title=f"subsequence error by length, {data}",
        part=("lines", "trials", "leak"),
        shape="table" if table else "lines",
        down="length",
        across="epsilon",
        series="answered",
        columns=study.EPSILONS,
        where={"data": data, "figure": "error"},
        printed=study.errors(data),
        spread=study.errors(data, 1),
        ours=f"{OURS} {BY_TRIE}",
        better="lower",
        why=partial(why_errors, data=data),
        note="A trie of depth 3 has no node for a longer query and answers 0. The study's text has a sanity bound of "
        "0.1 % of the trips; states of its code that are public have 1 %, and no counts above the third level, so that "
        "shorter queries are answered by 0 whatever the noise: that is the line 'asked as in the study's code'. That "
        "its tables were made so is an inference.",
    )


def _appendix(label: str, epsilon: str) -> Exhibit:
    return Exhibit(
        label=f"Figure {label}",
        title=f"subsequence error by length, epsilon {epsilon}, all datasets",
        part=("lines", "trials", "leak"),
        shape="lines",
        down="length",
        across="data",
        series="answered",
        columns=tuple(NUMBERS),
        where={"epsilon": epsilon, "figure": "error"},
        printed={
            (length, data): value
            for data in NUMBERS
            for (length, at), value in study.errors(data).items()
            if at == epsilon
        },
        ours=f"{OURS} {BY_TRIE}",
        better="lower",
        claims=()
        if epsilon in study.ERRORS[study.SMALL]
        else (Claim.of("longer queries have smaller errors", errors_fall, epsilon),),
        why=partial(why_errors, data=study.SMALL),
    )


def errors_fall(results: Results, epsilon: str) -> Said:
    """Test whether the error at length 20 is below that at 4, on every dataset."""
    answered = f"{OURS} {BY_TRIE}"
    found = {
        data: falls(results.curve("trials", "error", "length", data=data, epsilon=epsilon, answered=answered))
        for data in NUMBERS
    }
    words = "; ".join(f"{data}: {said}" for data, (_, said) in found.items())
    return all(holds for holds, _ in found.values()), f"by length, {words}"


def _variants(data: str) -> Exhibit:
    return Exhibit(
        label=f"Variants, {data}",
        title="base count of one, static 3-grams, and other mechanisms",
        part=("lines", "trials", "base count", "static", "others", "varied"),
        where={"data": data},
        columns=study.FIGURES,
        published=False,
        note="Static 3-grams are the first three stops of a trip: a trip counts once, with a twentieth of the noise, "
        "and everything after its third stop is lost. The base count of one is what the study gives to 3-grams that "
        "nobody has: it moves noise over the threshold a little more often, and does not tell who was there. "
        "Variable-length n-grams under the study's search are its future work; a search that found nothing has no row.",
    )


def why_metrics(results: Results, data: str) -> str:
    """Why figures of tries differ: the universe is not the study's, and noise lifts what nobody visited."""
    everything = results.mean("lines", study.PRECISION, data=data, mechanism=UNIVERSE, epsilon="1")
    return (
        f"In the study {study.used_share(data, '1'):.0%} of all possible 3-grams occur in the trips, here "
        f"{everything:.0%}: any choice of 3-grams has that precision on average, with data or without. "
        f"{leak_words(results, data)}"
        f"At epsilon 0.1 the study found a trie in {study.found_share(data, '0.1'):.0%} of its runs, ours in "
        f"{results.mean('trials', 'found', data=data, mechanism=OURS, epsilon='0.1'):.0%}."
    )


def leak_words(results: Results, data: str) -> str:
    """Say what noise on observed 3-grams alone would have reached, counted over the printed F1 and fitness."""
    held = []
    for epsilon in study.EPSILONS:
        for figure in (study.F1, study.FITNESS):
            found = results.value("leak", figure, data=data, mechanism=LEAK, epsilon=epsilon)
            if found is not None:
                share = study.found_share(data, epsilon)
                told = compare(found, study.metrics(data)[epsilon, figure] / share, "higher")
                held.append(told in ("same", "better"))
    if not held:
        return ""
    return (
        f"With noise on observed 3-grams only, which is not private, {sum(held)} of {len(held)} values of F1 and "
        "fitness are reached, per trie found. "
    )


def why_errors(results: Results, data: str) -> str:
    """Why errors differ: what a trie cannot answer at all, and what is left of noise as the study's code asks."""
    least = results.mean(
        "lines", "error", data=data, length="4", epsilon="1", answered=f"baseline (no privacy) {BY_TRIE}"
    )
    coded = {
        epsilon: results.mean(
            "trials", "error", data=data, length="4", epsilon=epsilon, answered=f"{OURS} {AS_CODED}"
        )
        for epsilon in ("0.1", "1")
    }
    theirs = study.errors(data)
    words = "; ".join(
        f"{number(value)} at epsilon {epsilon}, {number(theirs['4', epsilon])} in the study"
        for epsilon, value in coded.items()
        if not isnan(value)
    )
    asked = (
        f" Asked as in public states of the study's code, where only the third level has counts and the bound is 1 % "
        f"of the trips, ours have at length 4: {words}."
        if words
        else ""
    )
    return f"The trie of all 3-grams without any noise has an error of {least:.3f} at length 4 on these trips.{asked}"
