"""What the grey box asks of private searches, beyond their questions: each mistake that breaks their proof is found."""

from fractions import Fraction

from one_function import VISITS, Asks, visits_of

from wayveil.lab.audits.grey_box import grey_box
from wayveil.lab.audits.tiny_worlds import canary_pairs, pair_named, plain_world
from wayveil.privacy.budget import Budget, Spend
from wayveil.privacy.gate import Gate
from wayveil.privacy.repeat import Stopping, repeat_until
from wayveil.privacy.units import Trip

BUSY = pair_named(canary_pairs(plain_world()), "one more on the busy path")
STOP = Stopping(Fraction(1, 3))
ROUNDS = range(12)


def noisy_visits(counter, gate):
    """An honest draw: noisy visits, scored by the first of them."""
    counts = gate.histogram("draw", visits_of(counter), VISITS, gate.budget.total).counts
    return counts, int(counts[0])


def search_problems(search, **kind):
    """What is found in any of some runs of a search."""
    found = [
        grey_box(Asks(search), BUSY.without, BUSY.within, Trip(), 1, seed=s, **kind).problems for s in ROUNDS
    ]
    return [problem for problems in found for problem in problems]


def search_with(draw, stopping=STOP, threshold=22):
    return lambda counter, gate: gate.search(
        "search", lambda inner: draw(counter, inner), threshold, Fraction(1), stopping
    )


def test_honest_searches_pass_with_and_without_a_cap_and_inside_each_other():
    def nested(counter, gate):
        gate.budget.spend(Spend("inner search", gate.budget.total, 1, gate.budget.total, kind="search"))
        inner = gate.inner(Budget(gate.budget.total))
        found = inner.search("inner", lambda g: noisy_visits(counter, g), 20, inner.budget.total, STOP)
        return (found, 0) if found is None or not gate.flip(Fraction(1, 2)) else (found, 1)

    capped = Stopping(Fraction(1, 3), 5, Fraction(4, 5))
    assert search_problems(search_with(noisy_visits)) == []
    assert search_problems(search_with(nested, threshold=1)) == []
    for seed in range(60):  # enough for some that end by their cap
        found = grey_box(
            Asks(search_with(noisy_visits, capped, 40)), BUSY.without, BUSY.within, Trip(), 1, seed=seed
        )
        assert found.ok, str(found)


def test_the_loss_of_a_search_is_twice_that_of_a_draw():
    found = grey_box(Asks(search_with(noisy_visits)), BUSY.without, BUSY.within, Trip(), 1)
    assert found.loss == 1


def test_a_score_that_was_not_bought_is_found():
    def silent(counter, gate):
        return noisy_visits(counter, gate)[0], int(counter.lengths(1).counts.sum())

    assert any("draw.0.1 differs" in problem for problem in search_problems(search_with(silent, threshold=1)))


def test_a_threshold_or_a_coin_from_the_data_is_found():
    def threshold(counter, gate):
        return search_with(noisy_visits, threshold=int(counter.lengths(1).counts.sum()))(counter, gate)

    def coin(counter, gate):
        return search_with(noisy_visits, Stopping(Fraction(1, int(counter.lengths(1).counts.sum()))))(
            counter, gate
        )

    def public_chance(counter, gate):
        gate.flip(Fraction(1, int(counter.lengths(1).counts.sum())))
        return gate.histogram("visits", visits_of(counter), VISITS, Fraction(1)).counts

    assert "the neighbour searches by other rules: `search`" in search_problems(threshold)
    assert "the neighbour searches by other rules: `search`" in search_problems(coin)
    assert "the neighbour flips a coin of 1/21 in place of 1/20" in search_problems(public_chance)


def test_the_number_of_draws_in_the_model_is_found():
    def counted(counter, gate):
        rounds = []
        found = search_with(lambda c, g: rounds.append(0) or noisy_visits(c, g))(counter, gate)
        return found, len(rounds)

    assert "without the rejected draws of a search, model.1 differs" in search_problems(counted)


def test_a_draw_that_learns_from_those_before_it_is_found():
    def learning(counter, gate):
        heard = []

        def draw(c, inner):
            label = f"after {len(heard)}"
            heard.append(inner.histogram(label, visits_of(c), VISITS, inner.budget.total).counts)
            return heard[-1], int(heard[-1][0])

        return search_with(draw)(counter, gate)

    assert any("the course of the run" in problem for problem in search_problems(learning))


def test_a_rejected_draw_that_leaves_is_found():
    def consoled(counter, gate):
        seen = []
        found = search_with(lambda c, g: seen.append(noisy_visits(c, g)) or seen[-1], threshold=99)(
            counter, gate
        )
        return seen[-1] if found is None else found

    assert any("the end of the run (IndexError" in problem for problem in search_problems(consoled))


def test_a_budget_that_is_handed_on_without_being_booked_is_found():
    def generous(counter, gate):
        beside = gate.inner(Budget(gate.budget.total))
        return noisy_visits(counter, beside)[0], noisy_visits(counter, gate)[1]

    assert "inner gates hold 1/2, but 0 is booked for them" in search_problems(search_with(generous))


class DearDraws(Gate):
    """Every draw at the price of the search."""

    def search(self, label, draw, threshold, price, stopping):
        self.budget.spend(Spend(label, price, 1, price, kind="search"))
        return repeat_until(lambda: draw(self.inner(Budget(price))), threshold, stopping, self.flip)


class DeafSearch(Gate):
    """Flips its coin and does not listen, four times."""

    def search(self, label, draw, threshold, price, stopping):
        self.budget.spend(Spend(label, price, 1, price / 2, kind="search"))
        for _ in range(4):
            draw(self.inner(Budget(price / 2)))
            self.flip(stopping.gamma)


def test_draws_at_the_whole_price_and_coins_that_nobody_heeds_are_found():
    dear = search_problems(search_with(noisy_visits), gate=DearDraws)
    assert "search: a draw holds 1, but the price pays for 1/2" in dear
    deaf = search_problems(search_with(noisy_visits), gate=DeafSearch)
    assert "search: a search that goes on after heads, or ends after tails" in deaf
