"""Figures that the study does not have: the trees beside each other on rides. Judged by nothing that was printed."""

from wayveil.lab.studies.curves import NOT_MEASURED, Said, always_less, pairs
from wayveil.lab.studies.safepath.family import AS_PUBLISHED, EQUAL, LENGTHS, PREFIX_TREE, WEIGHTED
from wayveil.lab.studies.safepath.safepath_trials import NONEMPTY, UNIFORM
from wayveil.lab.studies.study import Claim, Exhibit
from wayveil.lab.studies.study_results import Results

RELEASED = "trips released per ride"


def beside() -> tuple[Exhibit, ...]:
    """Epsilon, height, repair, and times of half an hour."""
    return (
        Exhibit(
            label="Trees against epsilon",
            title="rides along the stations of the metro, heights 20 (prefix tree) and 16",
            part="trees",
            shape="lines",
            columns=(NONEMPTY, UNIFORM),
            claims=(Claim("the error of every tree falls with epsilon", errors_fall),),
            published=False,
            note="Count queries of one to three visits. The prefix tree has no times; the others have hours.",
        ),
        Exhibit(
            label="Trees against height",
            title="the noisy prefix tree on the same rides",
            part="tree height",
            shape="lines",
            down="height",
            series="line",
            columns=(NONEMPTY,),
            claims=(Claim("the best height grows with epsilon", best_height_grows),),
            published=False,
            note="A higher tree sees more of each trip and spreads epsilon thinner. A height that is read off the "
            "average length of trips is a leak, and a poor rule: the best one depends on epsilon.",
        ),
        Exhibit(
            label="Repairs",
            title="four ways to make children fit their parents, noisy prefix tree, height 20",
            part="repair",
            series="repair",
            columns=(NONEMPTY, RELEASED),
            claims=(
                Claim("equal repair has less error than weighted repair at every epsilon", equal_wins),
                Claim(
                    "the rule as published releases more trips than where the other children pay", adds_trips
                ),
            ),
            published=False,
            note="As published, what falls below zero is left out without being taken from anybody. Never below zero, "
            "it is taken from the other children; this is the default here.",
        ),
        Exhibit(
            label="Trees with half hours",
            title="timed trees on three times as many rides, height 8",
            part="fine times",
            shape="lines",
            columns=(NONEMPTY, LENGTHS),
            claims=(Claim("PPDP has less error than SeqPT at every epsilon", ppdp_beats_seqpt),),
            published=False,
            note="What speaks for PPDP is fewer candidates, and so lower thresholds; what speaks against it is that "
            "the first level, on which all others stand, gets the smallest share of epsilon.",
        ),
    )


def errors_fall(results: Results) -> Said:
    """From the smallest epsilon to the largest, by tree."""
    words, holds = [], []
    for name in (PREFIX_TREE, "SafePath", "PPDP", "SeqPT"):
        curve = results.curve("trees", NONEMPTY, "epsilon", mechanism=name)
        if len(curve) < 2:
            return NOT_MEASURED
        first, *_, last = curve.values()
        holds.append(last < first)
        words.append(f"{name} from {first:.3g} to {last:.3g}")
    return all(holds), "; ".join(words)


def best_height_grows(results: Results) -> Said:
    """The height of the least error, by epsilon."""
    best = {}
    for epsilon in ("0.02", "0.05", "1"):
        curve = results.curve("tree height", NONEMPTY, "height", epsilon=epsilon)
        if not curve:
            return NOT_MEASURED
        best[epsilon] = min(curve, key=curve.__getitem__)
    small, middle, large = best.values()
    return small <= middle <= large and small < large, "; ".join(
        f"{height:g} at epsilon {epsilon}" for epsilon, height in best.items()
    )


def equal_wins(results: Results) -> Said:
    """At every epsilon."""
    both = pairs(*(results.curve("repair", NONEMPTY, "epsilon", repair=one) for one in (EQUAL, WEIGHTED)))
    if not both:
        return NOT_MEASURED
    wins = sum(equal < weighted for equal, weighted in both)
    less = [100 * (1 - equal / weighted) for equal, weighted in both]
    return wins == len(both), f"at {wins} of {len(both)}, by {min(less):.1f} to {max(less):.1f} %"


def adds_trips(results: Results) -> Said:
    """Trips per ride, at every epsilon."""
    return always_less(
        *(results.curve("repair", RELEASED, "epsilon", repair=one) for one in (EQUAL, AS_PUBLISHED))
    )


def ppdp_beats_seqpt(results: Results) -> Said:
    """At every epsilon, with the trip lengths beside."""
    both = pairs(
        *(results.curve("fine times", NONEMPTY, "epsilon", mechanism=one) for one in ("PPDP", "SeqPT"))
    )
    lengths = pairs(
        *(results.curve("fine times", LENGTHS, "epsilon", mechanism=one) for one in ("PPDP", "SeqPT"))
    )
    if not both:
        return NOT_MEASURED
    wins, worse = sum(a < b for a, b in both), sum(a > b for a, b in lengths)
    return wins == len(both), f"at {wins} of {len(both)}; its trip lengths are worse at {worse}"
