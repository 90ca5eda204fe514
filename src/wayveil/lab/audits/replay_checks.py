"""Conditions of a replay beside its questions: searches, steps of trainings, models equal to the last bit.

What must hold in a private search, beside its questions.

The proof of a search (see `wayveil.privacy.repeat`) rests on five things that no single question shows:

- a draw, its candidate *and* its score, follows from answers of its own gate;
- every draw is held to its share of the price, and whatever gate it hands on was booked with it;
- after every rejected draw a coin of the public probability falls, and nothing else ends the search;
- threshold, price and coin are the same for both neighbours (`recording.ReplayGate` insists on it);
- nothing of a rejected draw leaves, not even that there was one: the same answers with the rejected draws cut out must
  lead to the same model. A draw that learns from those before it is found by that, too.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from itertools import pairwise
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import chi2

from wayveil.lab.audits.transcript import Exchange, Flip, Search, Transcript
from wayveil.privacy.accounting import SampledSteps, training_epsilon
from wayveil.privacy.gradients import CLIP
from wayveil.privacy.questions import NoisyCounts

_PLAIN = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    Fraction,
    type(None),
    type,
    Enum,
    FunctionType,
    ModuleType,
    range,
    np.generic,
)


def difference(one: Any, other: Any, where: str = "model") -> str | None:
    """The place of the first difference between two objects, or None. What cannot be compared counts as different."""
    return _difference(one, other, where, set())


def _difference(one: Any, other: Any, where: str, seen: set[tuple[int, int]]) -> str | None:
    if one is other or (id(one), id(other)) in seen:
        return None
    if type(one) is not type(other):
        return where
    if isinstance(one, np.ndarray):
        return None if _same_arrays(one, other) else where
    if isinstance(one, _PLAIN):
        return None if one == other else where
    if isinstance(one, pl.DataFrame | pl.Series):
        return None if one.equals(other) else where
    seen.add((id(one), id(other)))
    parts, others = _parts(one), _parts(other)
    if parts is None or others is None or list(parts) != list(others):
        return where
    for name in parts:
        found = _difference(parts[name], others[name], f"{where}.{name}", seen)
        if found is not None:
            return found
    return None


def _same_arrays(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    # Bytes, so that -0.0 and 0.0 or two kinds of nan are not taken for the same.
    return bool(np.array_equal(one, other)) if one.dtype.hasobject else one.tobytes() == other.tobytes()


def _parts(thing: Any) -> dict[str, Any] | None:
    """The named parts of a compound object, caches included: they are derived from the rest or should differ."""
    if isinstance(thing, Mapping):
        return {str(key): value for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return {str(place): value for place, value in enumerate(thing)}
    if isinstance(thing, set | frozenset):
        return {str(place): value for place, value in enumerate(sorted(thing, key=repr))}
    if isinstance(thing, MethodType):
        return {"self": thing.__self__, "function": thing.__func__}
    slots = [
        name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ()) if name != "__dict__"
    ]
    if not hasattr(thing, "__dict__") and not slots:
        return None
    parts = {name: getattr(thing, name) for name in slots if hasattr(thing, name)}
    return parts | dict(getattr(thing, "__dict__", {}))


Say = Callable[[str], None]


def check_searches(transcript: Transcript, say: Say) -> None:
    """Check what must hold on any single dataset: shares and coins."""
    handed = dict.fromkeys(range(len(transcript.budgets)), Fraction(0))
    for scope in transcript.handed_on():
        handed[transcript.parents[scope]] += transcript.budgets[scope].total
    for search in transcript.searches:
        handed[search.scope] += search.price
        share = search.stopping.draw_price(search.price)
        held = max((transcript.budgets[draw.scope].total for draw in search.draws), default=share)
        if held > share:
            say(f"{search.label}: a draw holds {held}, but the price pays for {share}")
        _check_coins(search, transcript.coins, say)
    for scope, budget in enumerate(transcript.budgets):
        booked = sum((spend.price for spend in budget.spends if spend.kind == "search"), Fraction(0))
        if handed[scope] > booked:
            say(f"inner gates hold {handed[scope]}, but {booked} is booked for them")


def _check_coins(search: Search, coins: Sequence[Flip], say: Say) -> None:
    begins = [draw.coins for draw in search.draws] + ([search.coins] if search.nothing else [])
    # Only a cap on the rounds, which has its price, ends a search other than by heads.
    capped = search.stopping.rounds == len(search.draws)
    for place, (begin, end) in enumerate(pairwise(begins)):
        flipped = [coin for coin in coins[begin:end] if coin.scope == search.scope]
        ended = search.nothing and place == len(search.draws) - 1
        if [coin.probability for coin in flipped] != [search.stopping.gamma]:
            wanted = f"not one of {search.stopping.gamma}"
            say(f"{search.label}: {len(flipped)} coins fell after a rejected draw, {wanted}")
        elif flipped[0].heads != ended and not (ended and capped):
            say(f"{search.label}: a search that goes on after heads, or ends after tails")


def compare_searches(one: Transcript, other: Transcript, say: Say) -> None:
    """Check what must be the same on a neighbour that hears the same answers: every draw, also rejected ones."""
    for search, twin in zip(one.searches, other.searches, strict=True):
        drawn, again = ([draw.outcome for draw in each.draws] for each in (search, twin))
        place = difference(drawn, again, "draw")
        if place is not None:
            say(f"{search.label}: with the same answers, {place} differs: it was not read through the gate")


def total_loss(own: dict[int, Fraction], transcript: Transcript) -> Fraction:
    """The loss of the release, when each scope loses `own` and a search twice what its worst draw does."""

    def loss(scope: int) -> Fraction:
        inner = [each for each in transcript.handed_on() if transcript.parents[each] == scope]
        searches = [search for search in transcript.searches if search.scope == scope]
        worst = [max((loss(draw.scope) for draw in search.draws), default=Fraction(0)) for search in searches]
        return own.get(scope, Fraction(0)) + sum(map(loss, inner), Fraction(0)) + 2 * sum(worst, Fraction(0))

    return loss(0)


# A sound step is accused with at most this probability.
ALPHA = 1e-9
# The slack of sigma's search: its epsilon is held against the price, no tighter.
ROOM = 1e-9


def check_steps(transcript: Transcript, say: Callable[[str], object]) -> None:
    """Every training: noise of the booked sigma, enough of it for the steps that were run, on every parameter."""
    for budget in transcript.budgets:
        for spend in budget.spends:
            if spend.kind != "training":
                continue
            steps = [
                e
                for e in transcript.exchanges
                if e.question.kind == "training" and e.question.label == spend.label
            ]
            if not steps:
                say(f"{spend.label}: paid for, but no step was taken")
                continue
            counted: dict[Fraction, int] = {}
            for exchange in steps:
                probability = exchange.question.probability or Fraction(1)
                counted[probability] = counted.get(probability, 0) + 1
                if exchange.question.scale != spend.scale * CLIP:
                    say(f"{spend.label}: the noise is {exchange.question.scale}, not sigma clips")
                _check_noise(spend.label, exchange, say)
            cost = training_epsilon(
                [SampledSteps(*item) for item in counted.items()], spend.scale, spend.delta
            )
            if cost > float(spend.price) + ROOM:
                say(
                    f"{spend.label}: {len(steps)} steps cost {cost:.4f}, but {float(spend.price):.4f} was paid"
                )


def _check_noise(label: str, exchange: Exchange, say: Callable[[str], object]) -> None:
    """The noise of a step: its spread over all parameters, and no parameter without any."""
    answer = exchange.answer
    assert isinstance(answer, NoisyCounts)
    exact = np.zeros(exchange.exact.universe, np.float64)
    exact[exchange.exact.keys] = exchange.exact.counts
    noise = (answer.counts - exact) / float(exchange.question.scale)
    total = float((noise**2).sum())
    tail = min(chi2.cdf(total, len(noise)), chi2.sf(total, len(noise)))
    if tail < ALPHA:
        say(
            f"{label}: the noise of a step has {np.sqrt(total / len(noise)):.3f} times the spread that was booked"
        )
    # A Gaussian of a million units is nearly never zero.
    if np.count_nonzero(noise == 0) > 2 + 0.01 * len(noise):
        say(f"{label}: {np.count_nonzero(noise == 0):,} of {len(noise):,} parameters got no noise")
