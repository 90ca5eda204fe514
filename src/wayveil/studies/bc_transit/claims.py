"""What the study says in words, tested on our results, and the reasons where ours differ: with numbers, never typed."""

from wayveil.studies.bc_transit.printed import (
    BEST_HEIGHT,
    NPT,
    NPT_EQUAL,
    PPDP,
    STRICTEST,
    STUDY_HEIGHT,
    TOTAL_BELOW,
)
from wayveil.studies.bc_transit.questions import ARE, HOURS, PER_STOP_TAPS, TOTAL
from wayveil.studies.bc_transit.trials import LAPLACE, NOTHING
from wayveil.studies.results import Results


def mean(results: Results, figure: str, **where: str) -> float:
    return results.mean("queries", figure, **where)


def epsilons(results: Results, **where: str) -> list[str]:
    found = results.rows("queries", **where)
    return sorted(set(found["epsilon"].drop_nulls().to_list()), key=float)


def heights(results: Results) -> list[str]:
    return sorted(set(results.rows("queries")["height"].drop_nulls().to_list()), key=float)


def longest(results: Results) -> tuple[bool, str]:
    over = results.mean("data", "trajectories, %", length="over 15")
    return over == 0, f"{over:.2g} % are longer"


def falls_with_epsilon(results: Results, tree: str) -> tuple[bool, str]:
    falls, words = [], []
    for height in heights(results):
        values = [mean(results, ARE, mechanism=tree, height=height, epsilon=e) for e in epsilons(results)]
        falls.append(values[-1] <= values[0])
        words.append(f"{values[0]:.3g} to {values[-1]:.3g} % at height {height}")
    return all(falls), "; ".join(words)


def strictest(results: Results, tree: str) -> tuple[bool, str]:
    ours = mean(results, ARE, mechanism=tree, height="3", epsilon="0.5")
    return ours < STRICTEST[
        tree
    ], f"{ours:.3g} %, and {nothing(results, 'uniform, up to 3, %'):.3g} % with nothing released"


def weighted_wins(results: Results) -> tuple[bool, str]:
    wins, words = [], []
    for epsilon in epsilons(results, height=STUDY_HEIGHT):
        weighted, equal = (
            mean(results, ARE, mechanism=name, height=STUDY_HEIGHT, epsilon=epsilon)
            for name in (NPT, NPT_EQUAL)
        )
        wins.append(weighted <= equal)
        words.append(f"{weighted:.3g} against {equal:.3g} % at {epsilon}")
    return all(wins), "; ".join(words)


def ppdp_wins(results: Results, figure: str, **where: str) -> tuple[bool, str]:
    pairs = [
        (
            mean(results, figure, mechanism=PPDP, epsilon=e, **where),
            mean(results, figure, mechanism=NPT, epsilon=e, **where),
        )
        for e in epsilons(results, **where)
    ]
    return all(a < b for a, b in pairs), "; ".join(f"{a:.3g} against {b:.3g} %" for a, b in pairs)


def best_height(results: Results, tree: str) -> tuple[bool, str]:
    known, best = heights(results), []
    for epsilon in epsilons(results):
        values = {h: mean(results, ARE, mechanism=tree, height=h, epsilon=epsilon) for h in known}
        best.append(min(values, key=lambda height: values[height]))
    near = [abs(int(height) - BEST_HEIGHT[tree]) <= 3 for height in best]
    return all(near), f"least at {', '.join(best)} for the epsilons"


def total(results: Results, tree: str) -> tuple[bool, str]:
    values = [mean(results, TOTAL, mechanism=tree, height=STUDY_HEIGHT, epsilon=e) for e in epsilons(results)]
    return max(values) < TOTAL_BELOW, f"{min(values):.3g} to {max(values):.3g} %"


def hours_below(results: Results) -> tuple[bool, str]:
    pairs = [
        (
            mean(results, HOURS, mechanism=PPDP, height=STUDY_HEIGHT, epsilon=e),
            mean(results, ARE, mechanism=PPDP, height=STUDY_HEIGHT, epsilon=e),
        )
        for e in epsilons(results)
    ]
    return all(a < b for a, b in pairs), "; ".join(f"{a:.3g} against {b:.3g} %" for a, b in pairs)


def nothing(results: Results, figure: str) -> float:
    return results.mean("references", figure, mechanism=NOTHING)


def thin(results: Results) -> str:
    """Trees have nothing to hold on to: the data is too thin for their noise."""
    busiest, two = (
        results.mean("thin", f"riders at the busiest first {what}") for what in ("stop", "two stops")
    )
    return (
        f"The busiest first stop of a week has {busiest:,.0f} riders and the busiest first two stops {two:,.0f}, "
        f"where a level has noise of scale {STUDY_HEIGHT} at epsilon 1 and a threshold of several scales. Nothing "
        f"released at all scores {nothing(results, 'uniform, up to 9, %'):.3g} %."
    )


def laplace(results: Results) -> str:
    """The printed error per stop beside what plain noise has."""
    low, high = (
        results.mean("references", PER_STOP_TAPS, mechanism=LAPLACE, epsilon=e) for e in ("0.5", "2")
    )
    return (
        f"Plain Laplace noise on each stop, with all of epsilon and nine taps per rider, has {low:.3g} % at epsilon "
        f"0.5 and {high:.3g} % at 2. Noise falls fourfold from 0.5 to 2; the study's error hardly does. {thin(results)}"
    )
