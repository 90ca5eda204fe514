"""What must hold in a private search, beside its questions.

The proof of a search (see `wayveil.privacy.repeat`) rests on five things that no single question shows:

- a draw, its candidate *and* its score, follows from answers of its own gate;
- every draw is held to its share of the price, and whatever gate it hands on was booked with it;
- after every rejected draw a coin of the public probability falls, and nothing else ends the search;
- threshold, price and coin are the same for both neighbours (`recording.ReplayGate` insists on it);
- nothing of a rejected draw leaves, not even that there was one: the same answers with the rejected draws cut out must
  lead to the same model. A draw that learns from those before it is found by that, too.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

from wayveil.lab.audits.likeness import difference
from wayveil.lab.audits.transcript import Flip, Search, Transcript

Say = Callable[[str], None]


def check_searches(transcript: Transcript, say: Say) -> None:
    """What must hold on any single dataset: shares and coins."""
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
    """What must be the same on a neighbour that hears the same answers: every draw, rejected ones included."""
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
