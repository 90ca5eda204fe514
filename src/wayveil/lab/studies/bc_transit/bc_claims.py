"""Claims of the study in words, tested on our results, and the reasons where ours differ: with numbers, never typed."""

from collections.abc import Sequence

from wayveil.lab.studies.bc_transit import bc_questions as bc
from wayveil.lab.studies.bc_transit.bc_trials import FILLED, LAPLACE, NOTHING
from wayveil.lab.studies.figure_verdicts import Curve, Said, always_less, span
from wayveil.lab.studies.study import Split
from wayveil.lab.studies.study_results import Results
from wayveil.mechanisms.shared_fields import MOST_HEIGHTS, MOST_VISITS


def by_epsilon(results: Results, figure: str, mechanism: str, height: str = bc.STUDY_HEIGHT) -> Curve:
    return results.curve("queries", figure, "epsilon", mechanism=mechanism, height=height)


def by_height(results: Results, tree: str, epsilon: str) -> Curve:
    return results.curve("queries", bc.ARE, "height", mechanism=tree, epsilon=epsilon)


def epsilons(results: Results) -> list[str]:
    return sorted(set(results.rows("queries")["epsilon"].drop_nulls().to_list()), key=float)


def taps_of_the_scale(results: Results) -> str:
    """Why the file has another size."""
    return f"The number of taps follows from the scale: {results.mean('data', 'taps'):,.0f} here."


def days_are_kept(results: Results) -> Said:
    taps = results.mean("data", "full-time taps at weekends")
    return taps == 0, f"{taps:,.0f} of their taps are at weekends"


def longest(results: Results) -> Said:
    over = results.mean("data", "trajectories, %", length="over 15", mechanism="ours")
    return over == 0, f"{over:.2g} % are longer"


def falls_with_epsilon(results: Results, tree: str) -> Said:
    first, *_, last = (by_height(results, tree, epsilon) for epsilon in epsilons(results))
    ends = [(height, before, last[height]) for height, before in first.items() if height in last]
    words = "; ".join(f"{before:.3g} to {after:.3g} % at height {height:g}" for height, before, after in ends)
    return all(after <= before for _, before, after in ends), words


def strictest(results: Results, tree: str) -> Said:
    ours, silent = by_height(results, tree, "0.5")[3], nothing(results, "uniform, up to 3, %")
    return ours < bc.STRICTEST[tree], f"{ours:.3g} %, and {silent:.3g} % with nothing released"


def weighted_wins(results: Results) -> Said:
    return always_less(*_repairs(results))


def _repairs(results: Results) -> list[Curve]:
    """Both repairs of the tree alone: what fills it up would hide them."""
    both = (bc.NPT_BARE, bc.NPT_EQUAL)
    return [
        results.curve("bare", bc.ARE, "epsilon", mechanism=repair, height=bc.STUDY_HEIGHT) for repair in both
    ]


def repairs_differ(results: Results) -> str:
    """Return how far the repairs are apart, beside how far releases of one setting are."""
    weighted, equal = _repairs(results)
    apart = max(abs(weighted[at] - equal[at]) for at in weighted if at in equal)
    spreads = [
        found.deviation
        for epsilon in epsilons(results)
        if (
            found := results.value(
                "bare", bc.ARE, mechanism=bc.NPT_BARE, height=bc.STUDY_HEIGHT, epsilon=epsilon
            )
        )
        and found.deviation is not None
    ]
    chance = (
        f", where releases of one setting have a standard deviation of up to {max(spreads):.2g}"
        if spreads
        else ""
    )
    return (
        f"They differ by at most {apart:.2g} points{chance}. The study has a fixed threshold, which lets more false "
        "children in to be repaired."
    )


def ppdp_wins(results: Results, height: str) -> Said:
    return always_less(*(by_epsilon(results, bc.ARE, tree, height) for tree in (bc.PPDP, bc.NPT)))


def best_height(results: Results, tree: str) -> Said:
    curves = [by_height(results, tree, epsilon) for epsilon in epsilons(results)]
    best = [min(curve, key=curve.__getitem__) for curve in curves]
    near = [abs(height - bc.BEST_HEIGHT[tree]) <= 3 for height in best]
    return all(near), f"least at {', '.join(f'{height:g}' for height in best)} for the epsilons"


def total(results: Results) -> Said:
    errors = results.curve("total", bc.TOTAL, "epsilon").values()
    return max(errors) < bc.TOTAL_BELOW, f"{span(errors)} %"


def hours_below(results: Results) -> Said:
    return always_less(*(by_epsilon(results, figure, bc.PPDP) for figure in (bc.HOURS, bc.ARE)))


def nothing(results: Results, figure: str) -> float:
    return results.mean("references", figure, mechanism=NOTHING)


def queries_grow(results: Results) -> str:
    """Say what the height does to any release."""
    short, long = (nothing(results, f"uniform, up to {most}, %") for most in (3, 15))
    return (
        "Queries grow with the height here as in the study: longer ones are contained in fewer trips, and an empty "
        f"release falls from {short:.2g} to {long:.2g} % between heights 3 and 15 as well."
    )


def patterns_differ(results: Results) -> str:
    """Say what noise on observed prefixes alone would find."""
    found = [
        results.mean("leak", "patterns, %", mechanism=seen, epsilon="1.25", k="40")
        for seen in (bc.NPT_SEEN_LOW, bc.PPDP_SEEN)
    ]
    return (
        f"Of the top 40 patterns at epsilon 1.25, {bc.NPT_SEEN_LOW} would find {found[0]:.3g} %, {bc.PPDP_SEEN} "
        f"{found[1]:.3g} %. {thin(results)}"
    )


HALF = 0.5


def split(
    results: Results,
    figure: str,
    trees: Sequence[str] = (bc.NPT, bc.PPDP),
    height: str = bc.STUDY_HEIGHT,
    k: str = "",
) -> Split:
    """Figure without noise beside ours, and what ours was before visits per stop filled up what thresholds take.

    Mended: at the largest epsilon at least half of the error that every tree had is gone; of shares found, half of
    what was missing.
    """
    where, costs, faults, gone = {"k": k} if k else {}, [], [], []
    for tree in trees:
        at = {**where, "height": height}
        now, before = (
            results.curve(part, figure, "epsilon", mechanism=name, **at)
            for part, name in (("queries", tree), ("bare", bc.BARE[tree]))
        )
        clean = results.mean("noiseless", figure, mechanism=tree, **at)
        if now and before:
            costs.append(f"{tree}: {span(now.values())} %, {clean:.3g} % without noise.")
            last = max(now)
            faults.append(
                f"{tree}: {span(before.values())} % before what thresholds take was filled up; at epsilon {last:g} "
                f"{before[last]:.3g} % then, {now[last]:.3g} % now."
            )
            was, left = ((100 - one[last] if k else one[last]) for one in (before, now))
            gone.append(left <= HALF * was)
    return Split(" ".join(costs), " ".join(faults), bool(gone) and all(gone))


def thin(results: Results) -> str:
    """Trees have nothing to hold on to: the data is too thin for their noise."""
    busiest, two = (
        results.mean("thin", f"riders at the busiest first {what}") for what in ("stop", "two stops")
    )
    return (
        f"The busiest first stop of a week has {busiest:,.0f} riders and the busiest first two stops {two:,.0f}, "
        f"where a level has noise of scale {bc.STUDY_HEIGHT} at epsilon 1 and a threshold of several scales."
    )


def bought_total(results: Results) -> str:
    """Say what the bought number is worth, and what trips alone would say."""
    taps = results.mean("data", "taps")
    share, most = FILLED["size_share"] / 2, max(MOST_VISITS, MOST_HEIGHTS * int(bc.STUDY_HEIGHT))
    low = 100 * most / float(share) / float(epsilons(results)[0]) / taps
    return (
        f"A {float(1 / share):.0f}th of epsilon buys the number of taps, of which one rider has at most {most}: of the "
        f"{taps:,.0f} taps here that is {low:.2g} % off on average at epsilon {epsilons(results)[0]}, and of the "
        f"study's {bc.TAPS:,} {low * taps / bc.TAPS:.2g} %."
    )


def queries_differ(results: Results, tree: str) -> str:
    """Why errors of count queries differ: the bound that is meant, the leak that may be in them, and thin data."""
    ends = ("0.5", "2")
    gentle = [by_epsilon(results, bc.ARE_TAPS, tree)[float(end)] for end in ends]
    seen = bc.NPT_SEEN_LOW if tree == bc.NPT else bc.PPDP_SEEN
    leak = [results.mean("leak", bc.ARE, mechanism=seen, epsilon=end) for end in ends]
    return (
        "The study divides by 0.1 % of 'the dataset size' at least. Taken as riders, as here, nothing released scores "
        f"{nothing(results, 'uniform, up to 9, %'):.3g} %; taken as taps, ours go from {gentle[0]:.3g} to "
        f"{gentle[1]:.3g} % at height {bc.STUDY_HEIGHT}, and nothing released scores "
        f"{nothing(results, bc.ARE_TAPS):.3g} %. "
        f"{seen} would go from {leak[0]:.3g} to {leak[1]:.3g} %, taken as riders. "
        f"{_preset(results) if tree == bc.PPDP else ''}{thin(results)}"
    )


def _preset(results: Results) -> str:
    """Say what thresholds that keep noise out leave of PPDP."""
    errors = by_epsilon(results, bc.ARE, bc.PPDP_PRESET).values()
    missing = by_epsilon(results, bc.TOTAL, bc.PPDP_PRESET).values()
    return f"{bc.PPDP_PRESET}, scores {span(errors)} %, with {span(missing)} % of the taps missing. "


def laplace(results: Results) -> str:
    """The printed error per stop beside what plain noise has."""
    low, high = (
        results.mean("references", bc.PER_STOP_TAPS, mechanism=LAPLACE, epsilon=e) for e in ("0.5", "2")
    )
    return (
        f"Plain Laplace noise on each stop, with all of epsilon and nine taps per rider, has {low:.3g} % at epsilon "
        f"0.5 and {high:.3g} % at 2. Noise falls fourfold from 0.5 to 2; the study's error hardly does. {thin(results)}"
    )
