"""Figures without numbers: the study says in words what they show, and that is looked at in ours."""

from wayveil.lab.studies.figure_verdicts import Said
from wayveil.lab.studies.mobitrie.mobitrie_datasets import PAGES, used_grams
from wayveil.lab.studies.mobitrie.mobitrie_trials import BASELINE
from wayveil.lab.studies.mobitrie.tries import HOTSPOTS, NO_EPSILON, NO_HOTSPOTS, ROLLING, STATIC, TOP
from wayveil.lab.studies.study import Claim, Exhibit
from wayveil.lab.studies.study_results import Results

CONCENTRATED = "share of trips that end at the 30 busiest ends"


def example_exhibits() -> list[Exhibit]:
    """Chapter 3 and figure 6.1: the example dataset as tries."""
    made = [
        Exhibit(
            "Figure 3.2",
            "prefix tree of the example's whole trajectories",
            missing="An illustration of a prefix tree without n-grams, which the study does not use.",
        )
    ]
    for letter, n in zip("abc", ("2", "3", "4"), strict=True):
        claim = Claim.of("static n-grams keep one n-gram of each trajectory at most", _at_most_nine, n)
        made.append(
            Exhibit(
                f"Figure 3.3{letter}",
                f"{n}-grams of the example, first stops of each trajectory",
                "example",
                shape="pictures",
                where={"kind": STATIC, "n": n},
                claims=(claim,),
            )
        )
    made.append(
        Exhibit(
            "Figure 3.4",
            "the Laplace distribution",
            missing="An illustration of a formula; docs/promise.md says which noise is drawn here.",
        )
    )
    claim = Claim("rolling 3-grams add two branches at the root, and leaves", _added_branches)
    made.append(
        Exhibit(
            "Figure 6.1",
            "rolling and static 3-grams of the example",
            "example",
            shape="pictures",
            where={"n": "3"},
            claims=(claim,),
        )
    )
    return made


def map_exhibits() -> list[Exhibit]:
    """Maps of the simulation."""
    drawn = Claim.of("most trips end at few places", _concentrated, HOTSPOTS)
    apart = Claim("hotspots concentrate travel, without them it is spread", _apart)
    made = [
        Exhibit(
            "Figures 4.1, 5.1, 5.3, A.1 to A.4",
            "simulated riders as a heat map, with hotspots (stars) and without",
            "maps",
            shape="pictures",
            claims=(drawn, apart),
        )
    ]
    made.append(
        Exhibit(
            "Figure 5.2",
            "great-circle distance",
            missing="An illustration of a formula (`wayveil.world.geo` computes it).",
        )
    )
    return made


def trie_exhibits() -> list[Exhibit]:
    """Private tries, each beside the baseline, and the baseline alone."""
    labels = {"0.1": "Figures 6.2, B.1", "0.5": "Figure B.2", "1": "Figures 6.3, B.3"}
    made = [
        Exhibit(
            label,
            f"trie of the page visits, epsilon {epsilon} beside the baseline",
            "tries",
            shape="pictures",
            down="data",
            series="epsilon",
            only=(epsilon, NO_EPSILON),
            claims=(
                Claim.of(
                    f"the private trie at epsilon {epsilon} has most of the baseline's {TOP} most frequent 3-grams",
                    _shares,
                    epsilon,
                ),
            ),
        )
        for epsilon, label in labels.items()
    ]
    made.append(
        Exhibit(
            "Figures 6.4, B.4",
            "trie of the page visits, baseline",
            "tries",
            shape="pictures",
            where={"epsilon": NO_EPSILON},
            printed={(NO_EPSILON, "n-grams"): used_grams(PAGES, "1")},
            ours=BASELINE,
            exact=True,
            note="How many 3-grams the study's baseline has follows from TP and FN of its table 7.7.",
        )
    )
    return made


def _at_most_nine(results: Results, n: str) -> Said:
    found = results.mean("example", "n-grams", kind=STATIC, n=n)
    return found <= 9, f"{found:.0f} of nine trajectories"


def _added_branches(results: Results) -> Said:
    found = {
        kind: [
            results.mean("example", figure, kind=kind, n="3")
            for figure in ("branches at the root", "n-grams")
        ]
        for kind in (ROLLING, STATIC)
    }
    (branches, leaves), (fewer, static) = found[ROLLING], found[STATIC]
    words = f"{branches:.0f} branches with {leaves:.0f} leaves, static {fewer:.0f} with {static:.0f}"
    return branches == fewer + 2 and leaves > static, words


def _concentrated(results: Results, kind: str) -> Said:
    share = results.mean("maps", CONCENTRATED, kind=kind)
    return share > 0.5, f"{share:.0%} end at 30 stops"


def _apart(results: Results) -> Said:
    shares = [results.mean("maps", CONCENTRATED, kind=kind) for kind in (HOTSPOTS, NO_HOTSPOTS)]
    return shares[0] > 2 * shares[
        1
    ], f"{shares[0]:.0%} of trips end at 30 stops, without hotspots {shares[1]:.0%}"


def _shares(results: Results, epsilon: str) -> Said:
    shared = results.mean("tries", f"of the {TOP} most frequent", epsilon=epsilon)
    return shared > TOP / 2, f"{shared:.0f} of {TOP}" if shared == shared else "no trie was found"
