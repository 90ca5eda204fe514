"""The tables and figures of the study, each with what it prints and what it says in words."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import exp, isnan
from typing import Any

from wayveil.lab.studies.dp_loc import dp_loc_trials as taxis
from wayveil.lab.studies.figure_verdicts import MARGIN, Said, hold, pairs
from wayveil.lab.studies.study import Claim, Exhibit, Split, tabled
from wayveil.lab.studies.study_results import Results

LOSS = (
    "Ours is the mean over raw trips, in nats: the cross-entropies of origin, destination and hour, and the divergence "
    "of the code. Guessed at random they cost 20.4 nats on the 5,452 cells of 250 m and 17.6 on the 1,363 of 500 m. "
    "The study does not say what its loss adds up or averages; on its 2,851 and 848 cells it would be 19.1 and 16.7."
)
_DATA = Exhibit(
    "Table 1",
    "the datasets",
    "data",
    down="grid",
    columns=taxis.DATA_FACTS,
    printed=tabled(taxis.DATA_FACTS, taxis.TABLE_1),
    ours="ours",
    exact=True,
    why=lambda results: (
        f"The study's taxis are not public; {results.mean('data', 'trips', grid=taxis.FINE):,.0f} simulated trips "
        "in the same box stand for them."
    ),
)


def exhibits() -> tuple[Exhibit, ...]:
    """All of them, in the order of the study."""
    made = [_DATA, Exhibit("Figures 1, 2", "the two networks", missing="Drawings of the networks.")]
    for number, figure, test in (("3", taxis.JSD, lower_mean), ("4", taxis.EMD, lower_mostly)):
        made += [_curves(f"Figure {number}{letter}", grid, figure, test) for letter, grid in _grids()]
    for number, grid in (("2", taxis.FINE), ("3", taxis.COARSE)):
        made += [_patterns(f"Table {number}{letter}", grid, epsilon) for letter, epsilon in _epsilons()]
        made += [
            _rivals(f"Table {number}{letter}, n-grams", grid, epsilon) for letter, epsilon in _epsilons()
        ]
    made += [_ends(f"Table 4{letter}", grid) for letter, grid in _grids()]
    made += [_hops(f"Table 5{letter}", grid) for letter, grid in _grids()]
    made += [_INPUTS, _MEMORY]
    made += [_woven(f"Beside tables 2 and 3, {grid}", grid) for _, grid in _grids()]
    return tuple(made)


def _grids() -> tuple[tuple[str, str], ...]:
    return ("a", taxis.FINE), ("b", taxis.COARSE)


def _epsilons() -> tuple[tuple[str, str], ...]:
    return tuple(zip("ab", taxis.EPSILONS, strict=True))


def _curves(label: str, grid: str, figure: str, test: Callable[..., Said]) -> Exhibit:
    words = {
        taxis.JSD: "lengths are nearer to the raw ones than those of n-grams",
        taxis.EMD: "ends are nearer than those of n-grams in most hours",
    }[figure]
    return Exhibit(
        label,
        f"{figure} by hour, {grid}",
        ("lines", "releases"),
        shape="lines",
        down="hour",
        across="epsilon",
        where={"grid": grid, "figure": figure},
        columns=taxis.EPSILONS,
        claims=(Claim.of(words, test, grid, figure),),
        why=partial(why_published, grid=grid),
        split=lambda results: split(results, grid, test(results, grid, figure, taxis.OURS)[0] is True),
    )


def _patterns(label: str, grid: str, epsilon: str) -> Exhibit:
    return _split_by_ours(
        grid,
        label,
        f"top-k patterns, {grid}, epsilon {epsilon}",
        ("lines", "releases", "unnoised"),
        down="top",
        columns=(taxis.SHARE,),
        where={"grid": grid, "epsilon": epsilon},
        printed=taxis.found(grid, epsilon),
        ours=taxis.PUBLISHED,
        better="higher",
        why=partial(why_patterns, grid=grid, epsilon=epsilon),
    )


def _rivals(label: str, grid: str, epsilon: str) -> Exhibit:
    return Exhibit(
        label,
        f"top-k patterns that the study's rival finds, {grid}, epsilon {epsilon}",
        "releases",
        down="top",
        columns=(taxis.SHARE,),
        only=(taxis.NGRAMS, taxis.OURS),
        where={"grid": grid, "epsilon": epsilon},
        printed=taxis.found(grid, epsilon, taxis.NGRAM),
        ours=taxis.NGRAMS,
        better="higher",
        why=partial(why_rivals, grid=grid, epsilon=epsilon),
    )


def _ends(label: str, grid: str) -> Exhibit:
    return Exhibit(
        label,
        f"training of the trajectory initializer, {grid}",
        ("releases", "unnoised", "histograms"),
        columns=(taxis.ENDS,),
        where={"grid": grid},
        printed=taxis.ends(grid),
        ours=taxis.PUBLISHED,
        better="lower",
        claims=(Claim.of("the network knows ends better than three histograms", beats_histograms, grid),),
        why=partial(why_ends, grid=grid),
        split=partial(split_ends, grid=grid),
        note=LOSS,
    )


def _hops(label: str, grid: str) -> Exhibit:
    return _split_by_ours(
        grid,
        label,
        f"the next hop, {grid}",
        ("releases", "unnoised"),
        columns=taxis.HOPS,
        where={"grid": grid},
        printed=taxis.hops(grid),
        ours=taxis.PUBLISHED,
        better={"loss": "lower", "accuracy": "higher", "metres off": "lower"},
        why=partial(why_published, grid=grid),
    )


def _woven(label: str, grid: str) -> Exhibit:
    return Exhibit(
        label,
        f"top-k patterns that Weave finds, {grid}",
        "weave",
        down="top",
        across="epsilon",
        where={"grid": grid, "figure": taxis.SHARE},
        columns=taxis.EPSILONS,
        published=False,
    )


def _split_by_ours(grid: str, label: str, title: str, *parts: Any, **about: Any) -> Exhibit:
    """An exhibit of the published preset, whose fault is gone where the means of ours reach every printed value."""
    exhibit = Exhibit(label, title, *parts, **about)

    def told(results: Results) -> Split:
        held = hold(replace(exhibit, ours=taxis.OURS), results)
        signs = {"lower": 1, "higher": -1}
        short = [
            signs[str(exhibit.direction(one.across))] * (one.ours.mean - one.theirs) > MARGIN * one.theirs
            for one in held
        ]
        return split(results, grid, bool(held) and not any(short))

    return replace(exhibit, split=told)


def _mean(results: Results, grid: str, name: str, figure: str, **where: str) -> float:
    return results.mean("releases", figure, grid=grid, mechanism=name, **where)


def lower_mean(results: Results, grid: str, figure: str, preset: str = taxis.PUBLISHED) -> Said:
    """Test whether a preset's mean over the hours is below that of n-grams, at both epsilons."""
    both = [
        [_mean(results, grid, name, figure, epsilon=epsilon) for name in (preset, taxis.NGRAMS)]
        for epsilon in taxis.EPSILONS
    ]
    words = "; ".join(f"{own:.3g}, n-grams {rival:.3g}" for own, rival in both)
    return all(own < rival for own, rival in both), f"means at epsilon 1; 2: {words}"


def lower_mostly(results: Results, grid: str, figure: str, preset: str = taxis.PUBLISHED) -> Said:
    """Test whether a preset is below n-grams in more than half of the hours."""
    below = []
    for epsilon in taxis.EPSILONS:
        own, rival = (
            results.curve("releases", figure, "hour", grid=grid, mechanism=name, epsilon=epsilon)
            for name in (preset, taxis.NGRAMS)
        )
        below += [ours < theirs for ours, theirs in pairs(own, rival)]
    if not below:
        return (
            False,
            "not measured: the earth mover's distance needs the package POT, `pip install 'wayveil[metrics]'`",
        )
    return 2 * sum(below) > len(below), f"in {sum(below)} of {len(below)} hours"


def beats_histograms(results: Results, grid: str) -> Said:
    """Test whether the published preset's loss is below theirs, at both epsilons."""
    both = [
        [
            _mean(results, grid, taxis.PUBLISHED, taxis.ENDS, epsilon=epsilon),
            _by_histograms(results, grid, epsilon),
        ]
        for epsilon in taxis.EPSILONS
    ]
    words = "; ".join(f"{own:.2f} against {theirs:.2f} nats" for own, theirs in both)
    return all(own < theirs for own, theirs in both), f"at epsilon 1; 2: {words}"


def _by_histograms(results: Results, grid: str, epsilon: str) -> float:
    return results.mean("histograms", taxis.ENDS, grid=grid, epsilon=epsilon)


def why_ends(results: Results, grid: str) -> str:
    """Say what no model of these trips can be below, what the network does without noise, and what that leaves."""
    least, hour, apart = (
        results.mean("data", figure, grid=grid)
        for figure in (taxis.LEAST, taxis.LEAST_HOUR, taxis.LEAST_APART)
    )
    printed = taxis.TABLE_4[grid, "2"]
    free = results.mean("unnoised", taxis.ENDS, grid=grid, mechanism=taxis.UNNOISED, epsilon="2")
    return (
        f"The printed losses cannot be had as this sum: with any model whatever, noisy or not, origin, destination and "
        f"hour of these trips cost at least {least:.2f} nats on average, their entropy, and the hour alone "
        f"{hour:.2f}. {printed:.2f} nats would mean that all three are guessed right once in "
        f"{exp(printed):.1f} times. Without noise, with the study's batches, steps and rates of epsilon 2, the network "
        f"has {free:.2f} nats; three histograms without noise have {apart:.2f}: what it does not learn in so many "
        "steps is no price of privacy."
    )


def split_ends(results: Results, grid: str) -> Split:
    """Tell apart what noise costs and what the network does not know without any. Mended: it beats histograms."""
    costs, faults = [], []
    for epsilon in taxis.EPSILONS:
        free = results.mean("unnoised", taxis.ENDS, grid=grid, mechanism=taxis.UNNOISED, epsilon=epsilon)
        noisy = _mean(results, grid, taxis.PUBLISHED, taxis.ENDS, epsilon=epsilon)
        ours, counted = (
            _mean(results, grid, taxis.OURS, taxis.ENDS, epsilon=epsilon),
            _by_histograms(results, grid, epsilon),
        )
        costs.append(f"At epsilon {epsilon} {noisy - free:.2f} nats, in so few steps.")
        faults.append(
            f"At epsilon {epsilon} the network without noise, with the study's batches and rates, has {free:.2f} nats, "
            f"three noisy histograms {counted:.2f}, our preset's tree of pairs {ours:.2f}."
        )
    return Split(" ".join(costs), " ".join(faults), beats_histograms(results, grid)[0] is True)


def _tops(results: Results, part: str, grid: str, epsilon: str, name: str) -> str:
    where = {"grid": grid, "epsilon": epsilon, "mechanism": name}
    found = [results.mean(part, taxis.SHARE, top=top, **where) for top in taxis.TOPS]
    return ", ".join("-" if isnan(one) else f"{one:.0%}" for one in found)


def why_patterns(results: Results, grid: str, epsilon: str) -> str:
    """Say what the same networks find without any noise, and better designs with it."""
    printed = ", ".join(f"{value:.0%}" for value in taxis.FOUND[grid, epsilon][taxis.OWN])
    return (
        "Of the top 10, 20, 50 and 100 the same networks, trained without any noise in the study's batches, steps and "
        f"rates, find {_tops(results, 'unnoised', grid, epsilon, taxis.UNNOISED)} of these trips' patterns, where the "
        f"study printed {printed} with noise; our preset finds "
        f"{_tops(results, 'releases', grid, epsilon, taxis.OURS)} with noise. " + why_published(results, grid)
    )


def why_rivals(results: Results, grid: str, epsilon: str) -> str:
    """Say how far repetitions are apart."""
    found = results.value(
        "releases", taxis.SHARE, mechanism=taxis.NGRAMS, grid=grid, epsilon=epsilon, top="100"
    )
    apart = "" if found is None or found.deviation is None else f" (standard deviation {found.deviation:.2g})"
    return (
        f"Of the top 100, n-grams find {found.mean:.0%}{apart} here: a cell is bought wherever somebody could be, not "
        "only where somebody was, and thresholds grow with the cells."
        if found
        else "Not measured."
    )


def knows_more(results: Results) -> Said:
    """Test whether destination and hour raise the accuracy by more than 20 % in some case, and in no case lower it."""
    gains = []
    for _, grid in _grids():
        whole, *less = (
            results.mean("unnoised", "accuracy", grid=grid, mechanism=name, epsilon="2")
            for name in (taxis.UNNOISED, taxis.NO_DESTINATION, taxis.NO_HOUR)
        )
        gains.append([whole / one - 1 for one in less])
    (to, at), (coarse_to, coarse_at) = gains
    words = f"destination {to:+.1%} at 250 m, {coarse_to:+.1%} at 500 m; hour {at:+.1%}, {coarse_at:+.1%}"
    return max(to, at, coarse_to, coarse_at) > 0.2 and min(to, coarse_to) > 0, words


def remembers_little(results: Results) -> Said:
    """Test whether a recurrent network is at most two points more accurate than the study's, on both grids."""
    more = [
        results.mean("unnoised", "accuracy", grid=grid, mechanism=taxis.RECURRENT, epsilon="2")
        - results.mean("unnoised", "accuracy", grid=grid, mechanism=taxis.UNNOISED, epsilon="2")
        for _, grid in _grids()
    ]
    words = " and ".join(
        f"{100 * one:+.1f} points at {grid}" for one, (_, grid) in zip(more, _grids(), strict=True)
    )
    return max(more) <= 0.02, words


def why_published(results: Results, grid: str) -> str:
    """Say how the training differs."""
    return "The taxis are simulated, and the published networks are trained through the gate with fewer, larger steps."


def split(results: Results, grid: str, mended: bool) -> Split:
    """Patterns that the published networks find with noise and without any, and those of better designs."""
    where = {"grid": grid, "epsilon": "2", "top": "100"}
    published, ours, rival = (
        f"{results.mean('releases', taxis.SHARE, mechanism=name, **where):.0%}"
        for name in (taxis.PUBLISHED, taxis.OURS, "od-hops")
    )
    free = results.mean("unnoised", taxis.SHARE, mechanism=taxis.UNNOISED, **where)
    hops = {
        name: results.mean("releases", "loss", mechanism=name, grid=grid, epsilon="2")
        for name in (taxis.PUBLISHED, taxis.OURS)
    }
    return Split(
        f"Of the top 100 patterns at epsilon 2 the published networks find {published}, {free:.0%} without noise.",
        f"Of the same patterns our preset finds {ours}, od-hops {rival}; its loss of the next hop is "
        f"{hops[taxis.OURS]:.2f} nats where the published networks have {hops[taxis.PUBLISHED]:.2f}.",
        mended,
    )


_BESIDE: dict[str, Any] = {
    "part": "unnoised",
    "down": "grid",
    "where": {"epsilon": "2"},
    "columns": taxis.HOPS,
}
_INPUTS = Exhibit(
    "Section 7.3.2",
    "the next hop without the destination or the hour, no noise",
    only=(taxis.UNNOISED, taxis.NO_DESTINATION, taxis.NO_HOUR),
    claims=(Claim("destination and hour raise accuracy by a large margin", knows_more),),
    note="The study says: in certain cases by more than 20 %.",
    **_BESIDE,
)
_MEMORY = Exhibit(
    "Section 8.3.2",
    "the next hop by a recurrent network, no noise",
    only=(taxis.UNNOISED, taxis.RECURRENT),
    claims=(Claim("an LSTM is hardly more accurate", remembers_little),),
    note="The study says: by one or two percent. Here one layer of 100 units takes as many steps of the same size, "
    "over about as many hops.",
    **_BESIDE,
)
