"""The figures of the study. It prints no value, and says in words which way its curves go: that is tested."""

from collections.abc import Callable

from scipy.stats import spearmanr

from wayveil.studies.results import Results
from wayveil.studies.strap.cities import DENSE, SPARSE
from wayveil.studies.strap.trials import CROWDS, EPSILONS, ERROR, KNOWN, STRAP, WITH_K
from wayveil.studies.study import Claim, Exhibit

Test = Callable[[Results], tuple[bool, str]]
LETTERS = {"a": SPARSE, "b": DENSE}  # the study's walkers are sparse, its taxis dense
FEW = 3  # points that a curve needs


def exhibits() -> tuple[Exhibit, ...]:
    """Figures 8 to 11 on both cities, and the lines that belong beside them."""
    made = [
        Exhibit(
            "Figures 1 to 7",
            "cells, junctions, segments and warping",
            missing="Illustrations of the definitions, which `risk/strap` computes.",
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
        made.append(_lines(city))
    return tuple(made)


def _curve(label: str, city: str, name: str, words: str, published: bool = True) -> Exhibit:
    rises = name in WITH_K
    claims = (
        Claim(f"STRAP {'rises' if rises else 'falls'} with the parameter", monotone(city, name, rises)),
        Claim("STRAP falls as the adversary knows more", knowing_more(city, name)),
    )
    return Exhibit(
        label,
        f"STRAP against {words}, {city} city",
        "releases",
        shape="lines",
        down="parameter",
        series="known",
        columns=(STRAP,),
        where={"city": city, "mechanism": name},
        claims=claims if published else (),
        published=published,
    )


def _trade_off(label: str, city: str) -> Exhibit:
    claim = {
        SPARSE: Claim(
            "differential privacy is worse than k-anonymity and plausible deniability", dp_is(city, -1)
        ),
        DENSE: Claim("differential privacy gives more privacy at low utility", dp_is(city, 1)),
    }[city]
    return Exhibit(
        label,
        f"privacy against utility, {city} city",
        ("lines", "releases"),
        down="parameter",
        columns=(ERROR, STRAP),
        where={"city": city},
        claims=(claim,),
        note="STRAP is the mean over the three adversaries. The study reads the trade-off off a picture; compared here "
        "are the releases with an error above that of the median release.",
    )


def _lines(city: str) -> Exhibit:
    return Exhibit(
        f"Lines, {city}",
        "what STRAP is for the raw trips, other riders, public knowledge, another city, and nothing",
        "lines",
        down="known",
        columns=(STRAP,),
        where={"city": city},
        published=False,
    )


def _points(results: Results, city: str, name: str, known: str | None = None) -> list[tuple[float, float]]:
    values = CROWDS if name in WITH_K else EPSILONS[city][name]
    where = {"city": city, "mechanism": name} | ({} if known is None else {"known": known})
    found = [(value, results.value("releases", STRAP, parameter=f"{value:g}", **where)) for value in values]
    return [(value, one.mean) for value, one in found if one is not None]


def monotone(city: str, name: str, rises: bool) -> Test:
    """Rank correlation with the parameter of at least 0.9 in the right direction, for every adversary."""

    def test(results: Results) -> tuple[bool, str]:
        ranks = []
        for p in KNOWN:
            points = _points(results, city, name, f"p = {p:g}")
            if len(points) < FEW:
                return False, "too few releases"
            rank = float(spearmanr(*zip(*points, strict=True)).statistic)
            ranks.append(rank if rank == rank else 0.0)
        words = "Spearman " + ", ".join(f"{rank:.2f}" for rank in ranks) + " at p = .2, .3, .4"
        return all(rank >= 0.9 if rises else rank <= -0.9 for rank in ranks), words

    return test


def knowing_more(city: str, name: str) -> Test:
    """Whether the mean over all settings falls from p = .2 to .3 to .4."""

    def test(results: Results) -> tuple[bool, str]:
        means = [
            results.mean("releases", STRAP, city=city, mechanism=name, known=f"p = {p:g}") for p in KNOWN
        ]
        words = ", ".join(f"{mean:,.0f}" for mean in means) + " at p = .2, .3, .4"
        return means[0] > means[1] > means[2], words

    return test


def dp_is(city: str, sign: int) -> Test:
    """Among the less useful half of the releases: is the mean STRAP of DPT above (1) or below (-1) the others'?"""

    def test(results: Results) -> tuple[bool, str]:
        points = {
            (name, value): (
                results.mean("releases", ERROR, city=city, mechanism=name, parameter=f"{value:g}"),
                results.mean("releases", STRAP, city=city, mechanism=name, parameter=f"{value:g}"),
            )
            for name, values in {"dpt": EPSILONS[city]["dpt"], **dict.fromkeys(WITH_K, CROWDS)}.items()
            for value in values
        }
        known = {place: point for place, point in points.items() if point[0] == point[0]}
        middle = sorted(error for error, _ in known.values())[len(known) // 2] if known else 0.0
        low = {place: strap for place, (error, strap) in known.items() if error >= middle}
        dp = [strap for (name, _), strap in low.items() if name == "dpt"]
        others = [strap for (name, _), strap in low.items() if name != "dpt"]
        if not dp or not others:
            side = "DPT" if not dp else "k-anonymity or plausible deniability"
            return False, f"no release of {side} is among the less useful half"
        means = sum(dp) / len(dp), sum(others) / len(others)
        return sign * (means[0] - means[1]) > 0, f"mean STRAP {means[0]:,.0f}, of the others {means[1]:,.0f}"

    return test
