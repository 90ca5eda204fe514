"""Variable-length n-grams under the study's search, as its future work proposes: grown, scored, and grown again."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from wayveil.arrays import Ints
from wayveil.counting.counter import Counter
from wayveil.mechanisms.mobitrie import MobiTrieSearch
from wayveil.mechanisms.variable_ngrams import VariableNgrams
from wayveil.privacy.budget import Budget, Spend
from wayveil.privacy.gate import Gate
from wayveil.privacy.repeat import Stopping
from wayveil.synthesis.model import Model
from wayveil.synthesis.ngram_model import NgramModel, NgramTable
from wayveil.synthesis.trie_model import Trie
from wayveil.world.marked_ngrams import MarkedNgrams

# Growing takes longer than a trie: about twenty draws at most, where the study makes a hundred.
STOPPING = Stopping(Fraction(1, 20))


@dataclass(frozen=True)
class SearchedNgrams:
    """Draws of `grown` until the noisy F1 of its n-grams, as many symbols long as those of `search`, is high enough.

    A draw costs half of epsilon, as in `search`: most of it buys the tree, the rest how many of its n-grams are true.
    """

    search: MobiTrieSearch
    grown: VariableNgrams

    def measure(self, counter: Counter, gate: Gate) -> Model:
        """Search; what is not `accepted` was not found."""
        universe, exact = self.search.count_grams(counter, gate)

        def draw(inner: Gate) -> tuple[NgramModel, Fraction]:
            counts, quality = inner.budget.split([self.search.count_share, 1 - self.search.count_share])
            inner.budget.spend(Spend("variable-length n-grams", counts, 1, counts, kind="search"))
            model = self.grown.measure(counter, inner.inner(Budget(counts)))
            return model, self.search.score(inner, exact, kept_keys(model, universe), quality)

        found = gate.search(
            "variable-length n-grams", draw, self.search.quality, gate.budget.remaining, STOPPING
        )
        if found is not None:
            return found
        none = NgramTable(
            np.zeros((0, universe.n), np.int64), np.zeros(0, np.int64), np.zeros(0), Fraction(0)
        )
        return Trie(counter.world, none, universe.begins, 0.0, self.search.longest, accepted=False)


def kept_keys(model: NgramModel, universe: MarkedNgrams) -> Ints:
    """Return the ranks of the n-grams that a model takes for at least one trip."""
    found = [table.symbols[table.count >= 1] for table in model.tables if table.n == universe.n]
    ranks = universe.rank(np.concatenate(found)) if found else np.zeros(0, np.int64)
    return np.unique(ranks[ranks >= 0])
