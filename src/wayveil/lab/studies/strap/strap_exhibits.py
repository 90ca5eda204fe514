"""The figures of the study. It prints no value, and says in words which way its curves go: that is tested."""

from functools import partial
from itertools import pairwise
from math import isnan, nan
from typing import NamedTuple

from scipy.stats import spearmanr

from wayveil.lab.studies.figure_verdicts import Said, pairs
from wayveil.lab.studies.strap import strap_trials as cells
from wayveil.lab.studies.study import Claim, Exhibit, Split
from wayveil.lab.studies.study_results import Results, Value

LETTERS = {"a": cells.SPARSE, "b": cells.DENSE}  # the study's walkers are sparse, its taxis dense
FEW = 3  # points that a curve needs
LINE_WORDS = {cells.RAW: "the raw trips", cells.HOLD_OUT: "other riders of the same demand"}


def exhibits() -> tuple[Exhibit, ...]:
    """Figures 8 to 11 on both cities, and the lines that belong beside them."""
    made = [
        Exhibit(
            "Figures 1 to 7",
            "cells, junctions, segments and warping",
            missing="Illustrations of the definitions, which `lab risk` computes.",
        )
    ]
    for number, name, words in (
        ("8", "dpt", "epsilon of differential privacy (DPT)"),
        ("9", "glove", "k of k-anonymity (GLOVE)"),
        ("10", "plausible-deniability", "k of plausible deniability"),
    ):
        made += [_curve(f"Figure {number}{letter}", city, name, words) for letter, city in LETTERS.items()]
    made += [_trade_off(f"Figure 11{letter}", city) for letter, city in LETTERS.items()]
    for city in LETTERS.values():
        for name in ("markov", "noisy-prefix-tree"):
            made.append(
                _curve(f"Beside figure 8, {city}, {name}", city, name, f"epsilon, {name}", published=False)
            )
        made += [
            _lines(city),
            _table(
                f"Run times, {city}",
                "processor seconds of one release on this machine, and how much it releases",
                city,
                cells.SECONDS,
                cells.VISITS,
            ),
            _table(
                f"With times, {city}",
                "STRAP where a second between riders counts as a metre (p = 0.3), and range counts by hour",
                city,
                cells.TIMED_STRAP,
                cells.TIMED_ERROR,
            ),
        ]
    made += [_day(city) for city in cells.DAYS]
    return tuple(made)


def _day(city: str) -> Exhibit:
    return Exhibit(
        f"Beside figure 11, {city}",
        f"privacy against utility, {city} every five minutes",
        ("lines of days", "days"),
        shape="plane",
        down="setting",
        columns=(cells.ERROR, cells.STRAP),
        where={"city": city},
        published=False,
        note="The same riders in the shape of the study's data: eight hours of a day, looked at every five minutes. "
        "Who does not move is one visit.",
    )


def _curve(label: str, city: str, name: str, words: str, published: bool = True) -> Exhibit:
    claims = (
        Claim.of(
            f"STRAP {'rises' if name in cells.WITH_K else 'falls'} with the parameter", monotone, city, name
        ),
        Claim.of("STRAP falls as the adversary knows more", knowing_more, city, name),
    )
    return Exhibit(
        label,
        f"STRAP against {words}, {city} city",
        "releases",
        shape="lines",
        down="parameter",
        axis=words,
        series="known",
        columns=(cells.STRAP,),
        where={"city": city, "mechanism": name},
        claims=claims if published else (),
        why=partial(why_curve, city=city, name=name),
        split=partial(split, city=city) if name == "plausible-deniability" else None,
        published=published,
    )


def _trade_off(label: str, city: str) -> Exhibit:
    claim = {
        cells.SPARSE: Claim.of(
            "differential privacy is worse than k-anonymity and plausible deniability",
            dp_is_less_private,
            city,
        ),
        cells.DENSE: Claim.of(
            "differential privacy gives more privacy at low utility", dp_is_more_private, city
        ),
    }[city]
    return Exhibit(
        label,
        f"privacy against utility, {city} city",
        ("lines", "releases"),
        shape="plane",
        down="setting",
        columns=(cells.ERROR, cells.STRAP),
        where={"city": city},
        claims=(claim,),
        why=partial(why_lines, city=city),
        split=partial(split, city=city),
        note="Every method releases the same database. STRAP is the mean over the three adversaries; each point is a "
        "setting, with its epsilon or k, and settings that release nothing have none. The study reads the trade-off "
        "off its picture; compared here are the releases with an error above that of the median release.",
    )


def _lines(city: str) -> Exhibit:
    return Exhibit(
        f"Lines, {city}",
        "what STRAP is for the raw trips, other riders, public knowledge and another city",
        "lines",
        down="known",
        columns=(cells.STRAP,),
        where={"city": city},
        published=False,
    )


def _table(label: str, title: str, city: str, *columns: str) -> Exhibit:
    return Exhibit(
        label, title, "releases", down="setting", columns=columns, where={"city": city}, published=False
    )


def monotone(results: Results, city: str, name: str) -> Said:
    """Rank correlation with the parameter of at least 0.9 in the right direction, for every adversary.

    A curve that moves the right way and never the wrong one is monotone too, whatever its ties make of its ranks. One
    whose wrong steps may all be chance cannot be told.
    """
    ranks, sign, steady = [], 1 if name in cells.WITH_K else -1, True
    for p in cells.KNOWN:
        points = results.curve(
            "releases", cells.STRAP, "parameter", city=city, mechanism=name, known=f"p = {p:g}"
        )
        if len(points) < FEW:
            return None, f"only {len(points)} settings release anything"
        flat = len(set(points.values())) == 1
        rank = 0.0 if flat else float(spearmanr(list(points), list(points.values())).statistic)
        ranks.append(round(rank, 9))
        steps = [sign * (after - before) for before, after in pairwise(points.values())]
        steady = steady and min(steps) >= 0 and max(steps) > 0
    words = "Spearman " + ", ".join(f"{rank:.2f}" for rank in ranks) + " at p = .2, .3, .4"
    ties = ", with ties and no step the wrong way" if steady and any(abs(rank) < 1 for rank in ranks) else ""
    if steady or all(sign * rank >= 0.9 for rank in ranks):
        return True, words + ties
    wrong = any(step.relative < 0 and step.apart for step in _steps(results, city, name))
    return False if wrong else None, words


class _Step(NamedTuple):
    """From one setting to the next: STRAP before and after, and how far it goes the right way."""

    relative: float
    known: float
    settings: tuple[str, str]
    before: Value
    after: Value

    @property
    def apart(self) -> bool:
        """Tell whether it is more than chance: the intervals do not overlap."""
        return self.before.high < self.after.low or self.after.high < self.before.low


def _steps(results: Results, city: str, name: str) -> list[_Step]:
    """Every step of every adversary's curve."""
    sign = 1 if name in cells.WITH_K else -1
    steps = []
    for p in cells.KNOWN:
        where = {"city": city, "mechanism": name, "known": f"p = {p:g}"}
        points = results.rows("releases", figure=cells.STRAP, **where)
        ordered = sorted(set(points["parameter"].to_list()), key=float)
        found = [(at, results.value("releases", cells.STRAP, parameter=at, **where)) for at in ordered]
        known = [(at, value) for at, value in found if value is not None]
        steps += [
            _Step(sign * (after.mean - before.mean) / max(before.mean, 1e-9), p, (one, other), before, after)
            for (one, before), (other, after) in pairwise(known)
        ]
    return steps


def why_curve(results: Results, city: str, name: str) -> str:
    """The worst step the wrong way with what chance makes of it, and how far STRAP can go at all."""
    worst = min(_steps(results, city, name), key=lambda step: step.relative, default=None)
    if worst is None:
        return ""
    if worst.relative >= 0:
        return f"No step goes the wrong way. {why_lines(results, city)}"
    return (
        f"The worst step the wrong way is from {worst.before.mean:,.0f} at {worst.settings[0]} to "
        f"{worst.after.mean:,.0f} at {worst.settings[1]} (p = {worst.known:g}, {abs(worst.relative):.1%}); the 95 % "
        f"intervals of {min(worst.before.runs, worst.after.runs)} releases "
        f"{'do not overlap' if worst.apart else 'overlap'}. {why_lines(results, city)}"
    )


def why_lines(results: Results, city: str) -> str:
    """Between which lines STRAP lies in this city."""
    means = {name: results.mean("lines", cells.STRAP, city=city, mechanism=name) for name in LINE_WORDS}
    words = ", ".join(f"{mean:,.0f} for {LINE_WORDS[name]}" for name, mean in means.items())
    return f"In this city STRAP is {words}."


def split(results: Results, city: str) -> Split:
    """Say how much each method's releases hold, and how far their errors lie from those of other riders.

    Mended: every method releases something of the one database at most of its settings.
    """
    kept, most = [], []
    for name in ("dpt", *cells.WITH_K):
        here, there = (
            results.curve("releases", cells.VISITS, "parameter", city=one, mechanism=name)
            for one in (city, cells.DENSE)
        )
        some, dense = (sum(value > 0 for value in visits.values()) for visits in (here, there))
        most.append(2 * some > len(here))
        kept.append(f"{name} releases something at {some} of {len(here)} settings")
        if not most[-1]:
            many, few = cells.STUDY_USERS
            kept[-1] += f" ({few} riders; of {many} in the dense city it does at {dense})"
    off = {name: results.mean("lines", cells.ERROR, city=city, mechanism=name) for name in LINE_WORDS}
    best = min(
        results.curve("releases", cells.ERROR, "parameter", city=city, mechanism="dpt").values(), default=nan
    )
    riders = ", ".join(f"{LINE_WORDS[name]} {error:.3g}" for name, error in off.items())
    return Split(
        f"The error of range counts of so few riders: {riders}, DPT at best {best:.3g}.",
        f"Of one database, {'; '.join(kept)}.",
        all(most),
    )


def knowing_more(results: Results, city: str, name: str) -> Said:
    """Test whether the mean over all settings falls from p = .2 to .3 to .4."""
    means = [
        results.mean("releases", cells.STRAP, city=city, mechanism=name, known=f"p = {p:g}")
        for p in cells.KNOWN
    ]
    if any(map(isnan, means)):
        return None, "no setting releases anything"
    words = ", ".join(f"{mean:,.0f}" for mean in means) + " at p = .2, .3, .4"
    return means[0] > means[1] > means[2], words


def dp_is_less_private(results: Results, city: str) -> Said:
    """Among the less useful half of the releases: is the mean STRAP of DPT below the others'?"""
    dp, others = _less_useful(results, city)
    return None if isnan(dp) or isnan(others) else dp < others, _beside(dp, others)


def dp_is_more_private(results: Results, city: str) -> Said:
    """Test the claim the other way round."""
    less, words = dp_is_less_private(results, city)
    return None if less is None else not less, words


def _less_useful(results: Results, city: str) -> tuple[float, float]:
    """Mean STRAP of DPT and of the others, among releases whose error is not below the median; nan of none."""
    where = {"city": city}
    points = [
        (name, error, strap)
        for name in ("dpt", *cells.WITH_K)
        for error, strap in pairs(
            *(
                results.curve("releases", figure, "parameter", mechanism=name, **where)
                for figure in (cells.ERROR, cells.STRAP)
            )
        )
    ]
    middle = sorted(error for _, error, _ in points)[len(points) // 2] if points else 0.0
    low = [(name, strap) for name, error, strap in points if error >= middle]
    dp = [strap for name, strap in low if name == "dpt"]
    others = [strap for name, strap in low if name != "dpt"]
    return tuple(sum(found) / len(found) if found else nan for found in (dp, others))  # type: ignore[return-value]


def _beside(dp: float, others: float) -> str:
    if isnan(dp) or isnan(others):
        side = "DPT" if isnan(dp) else "k-anonymity or plausible deniability"
        return f"no release of {side} is among the less useful half"
    return f"mean STRAP {dp:,.0f}, of the others {others:,.0f}"
