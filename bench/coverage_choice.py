"""Which intervals are printed and which verdicts are given: chosen on simulated towns, never on what is judged.

    WAYVEIL_COVERAGE="worlds=town-48,town-240,fast-160,list-60,clicks-20,reruns-12,cards-300,cards-1200,taps-90,\
fast-1500,taps-900,town-600,list-250,clicks-60 releases=8" python -m bench coverage
    python -m bench.coverage_choice

Prints `holds` and `tells` of every mechanism (see `mechanisms/mechanism.py`) from what the first command measured.
A kind of question holds if intervals were found on several worlds and no cell of the coverage table lies outside 92 to
99.5 % by more than luck. A kind is told with a factor on what replicas show, or not at all: the factors that say most
of what is true, at one price for every wrong word. Two things are wanted: that what is true is said in 90 % of cases,
and that at most 5 % of what is not true is said. The price is the one at which the worse of the two is missed by least,
as a ratio, on worlds that were left out, one after the other, when factors were chosen: other worlds differ from these.
"""

from collections.abc import Iterable

import numpy as np

from bench.coverage_cells import SET, is_outside, read_cells
from bench.coverage_page import factor_of, said_share, sides
from wayveil.mechanisms.registry import mechanism

FACTORS = (1.0, 0.7, 0.5, 1.4, 2.0, 3.0, 4.0, 6.0)
PRICES = np.geomspace(0.3, 10, 31)
FEWEST_WORLDS = 3
# Held on every simulated world and missed on a judged one, and so taken back: the one choice that judged worlds made.
TAKEN_BACK = {("markov", "boardings")}
MOST_UNSAID, MOST_WRONG = 0.10, 0.05

Factors = dict[tuple[str, str], float | None]


def main() -> None:
    rows = [row for row in read_cells(SET) if "kind" in row]
    factors = choose_factors(rows)
    said, wrong = right_and_wrong(rows, factors)
    print(f"said {said:.0%} of what is true, wrong in {wrong:.1%}")
    now = {key: factor_of({"mechanism": key[0], "kind": key[1]}) for key in factors}
    said, wrong = right_and_wrong(rows, now)
    print(f"as it is now: said {said:.0%}, wrong in {wrong:.1%}")
    for name in dict.fromkeys(row["mechanism"] for row in rows):
        mine = [row for row in rows if row["mechanism"] == name]
        kinds = dict.fromkeys(row["kind"] for row in mine)
        held = {kind for kind in kinds if holds([row for row in mine if row["kind"] == kind])}
        held -= {kind for owner, kind in TAKEN_BACK if owner == name}
        told = {kind: factors[name, kind] for kind in kinds if factors[name, kind] is not None}
        told = {kind: worst for kind, worst in told.items() if kind not in held or worst != 1}
        chosen = mechanism(name)
        said, wrong = right_and_wrong(mine, factors)
        print(f"{name}: said {said:.0%}, wrong in {wrong:.1%}")
        print("  holds", sorted(held), "" if held == chosen.holds else f"now {sorted(chosen.holds)}")
        print("  tells", told, "" if told == dict(chosen.tells) else f"now {dict(chosen.tells)}")


def holds(rows: list[dict]) -> bool:
    """Whether intervals from replicas hold; those of counted cells need no choice."""
    known = [row for row in rows if row["coverage"] is not None and not row["counted"]]
    worlds = {row["world"] for row in known}
    if known and known[0]["kind"] == "total":
        return True  # bought by itself: the law of its noise
    return len(worlds) >= FEWEST_WORLDS and not any(is_outside(row) for row in known)


def choose_factors(rows: list[dict]) -> Factors:
    """A factor for every mechanism and kind; None: not told."""
    worlds = sorted({row["world"] for row in rows})
    counts = _count_words(rows)
    better, worse = (max(len(side), 1) for side in sides(rows))

    def missed(price: float) -> float:
        said = wrong = 0.0
        for left_out in worlds:
            elsewhere = _best(counts, [world for world in worlds if world != left_out], price)
            for key, worst in elsewhere.items():
                right, not_right = counts[key].get((left_out, worst), (0.0, 0.0))
                said, wrong = said + right, wrong + not_right
        return max((1 - said / better) / MOST_UNSAID, wrong / worse / MOST_WRONG)

    return _best(counts, worlds, min(PRICES, key=missed))


def _best(counts: dict, worlds: Iterable[str], price: float) -> Factors:
    """What says most on these worlds at this price."""
    chosen: Factors = {}
    for key, words in counts.items():
        gains = {
            worst: sum(
                right - price * wrong
                for right, wrong in (words.get((world, worst), (0.0, 0.0)) for world in worlds)
            )
            for worst in FACTORS
        }
        best = max(FACTORS, key=lambda worst: gains[worst])
        chosen[key] = best if gains[best] > 0 else None
    return chosen


def _count_words(rows: list[dict]) -> dict:
    """Right and wrong words of every mechanism and kind, by world and factor."""
    counts: dict = {}
    better, worse = (set(map(id, side)) for side in sides(rows))
    for row in rows:
        words = counts.setdefault((row["mechanism"], row["kind"]), {})
        for worst in FACTORS:
            said = said_share(row, worst) if id(row) in better | worse else 0.0
            right, wrong = words.get((row["world"], worst), (0.0, 0.0))
            words[row["world"], worst] = (
                right + said * (id(row) in better),
                wrong + said * (id(row) in worse),
            )
    return counts


def right_and_wrong(rows: list[dict], factors: Factors) -> tuple[float, float]:
    """The share of cells where all releases are better that are said to be, and of those where none is."""
    right, wrong = (
        float(np.mean([said_share(row, factors[row["mechanism"], row["kind"]]) for row in side] or [0.0]))
        for side in sides(rows)
    )
    return right, wrong


if __name__ == "__main__":
    main()
