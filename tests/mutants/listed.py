"""Mistakes that could be made in the code that guards people, each as a change of one text; tests must notice them.

A `Mutant` is a file of the package, a text that stands in it once, the text that takes its place, and the tests that
should fail then. `python -m mutants` (see `__main__`) makes one after the other in a copy of the package.
"""

from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "wayveil"


@dataclass(frozen=True)
class Mutant:
    """One mistake: `old` in `file` becomes `new`, and one of `tests` must fail."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def broken(self, text: str) -> str:
        """Return the text of the file with the mistake; it must fit there, and in one place."""
        if text.count(self.old) != 1:
            raise ValueError(
                f"{self.file} has {text.count(self.old)} times, and should have once: {self.old!r}. Write the mistake "
                "for the text that is there now (tests/mutants), or remove it with the code that it broke"
            )
        return text.replace(self.old, self.new)


def _of(file: str, tests: str, *changes: tuple[str, str]) -> list[Mutant]:
    return [Mutant(file, old, new, tuple(tests.split())) for old, new in changes]


NOISE = [
    *_of(
        "privacy/gate.py",
        "privacy/test_prices.py privacy/test_gate.py",
        ("return sensitivity.l1 * self.factor / price", "return sensitivity.linf * self.factor / price"),
        ("self.factor**2 / (2 * price)", "self.factor**2 / (4 * price)"),
        (
            "return 2 * self.unit.utility_sensitivity(contribution)",
            "return self.unit.utility_sensitivity(contribution)",
        ),
        ("return COST * self.unit", "return self.unit"),
        ("over = noisy >= question.threshold", "over = noisy > question.threshold"),
        ("empty = exact.universe - len(exact.keys)", "empty = exact.universe"),
        ('np.searchsorted(before, position, side="right")', 'np.searchsorted(before, position, side="left")'),
    ),
    *_of(
        "privacy/gate.py",
        "privacy/test_release_faults.py privacy/test_repeat.py privacy/test_training.py",
        ("        self.open()\n        if parts == 1 == factor", "        if parts == 1 == factor"),
        ("Gate(self.unit, budget, self.bits, memory", "Gate(self.unit, Budget(10**6), self.bits, memory"),
        ("delta=self.budget.delta - self.budget.spent_delta", "delta=Fraction(0)"),
    ),
    *_of(
        "privacy/gate.py",
        "privacy/test_rule_stability.py privacy/test_point_stability.py",
        ("before if rule is None else before.then(rule.stability(trips.world))", "before"),
        ("before = trips.history.stability", "before = Stability()"),
    ),
    *_of(
        "privacy/noise.py",
        "privacy/test_noise.py privacy/test_noise_laws.py privacy/test_noise_enumerated.py",
        ("Coin(Negative(exact))", "Coin(Rational(Fraction(1, 2)))"),
        ("negative & (magnitude == 0)", "negative & (magnitude < 0)"),
        ("Fraction(math.nextafter(value, math.inf))", "Fraction(value)"),
        ("Exp(Fraction(1 << j, denominator))", "Exp(Fraction(1, denominator))"),
        ("math.log(2 / (1 - confidence))", "math.log(1 / (1 - confidence))"),
    ),
    *_of(
        "privacy/survivors.py",
        "privacy/test_survivors.py privacy/test_memory_limit.py",
        ("return positions, threshold + geometric(", "return positions, threshold + 1 + geometric("),
        ("start = gaps[i] + 1", "start = gaps[i]"),
        ("mean + 10 * math.sqrt(mean)", "mean"),
    ),
    *_of(
        "privacy/selection.py",
        "privacy/test_prices.py privacy/test_quantiles.py",
        ("step = max(a, b - a)", "step = min(a, b - a)"),
        ("per_cell=per_trip or 0", "per_cell=step"),
    ),
    *_of(
        "privacy/selection.py",
        "privacy/test_selection.py",
        ("price / (2 * sensitivity)", "price / sensitivity"),
    ),
    *_of(
        "privacy/selection.py",
        "privacy/test_secure_sampling.py",
        ("np.flatnonzero(words > last)", "np.flatnonzero(words < 0)"),
    ),
    *_of(
        "privacy/bits.py",
        "privacy/test_bits.py",
        ('word = b"wayveil kept bits %d" % self._streams', 'word = b"wayveil kept bits"'),
        ("if self._owner != (_forks, os.getpid()):", "if False:"),
        ("if os.getpid() != self._process:", "if False:"),
        ("self._stream.read + 8 * count > BYTES_PER_KEY:\n            self", "False:\n            self"),
    ),
    *_of(
        "privacy/zcdp.py",
        "privacy/test_zcdp.py",
        ("isqrt(2 * rho.numerator", "isqrt(4 * rho.numerator"),
        ("_DOWN.create_decimal(rho * (1 - _MARGIN))", "_UP.create_decimal(rho * (1 + _MARGIN))"),
        (
            "_UP.create_decimal(max(epsilon * (1 + _MARGIN)",
            "_DOWN.create_decimal(max(epsilon * (1 - _MARGIN)",
        ),
    ),
    *_of(
        "privacy/repeat.py",
        "privacy/test_repeat.py",
        ("return (price - self.slack) / 2", "return price - self.slack"),
        ("if score >= threshold:", "if score > threshold:"),
        ("_decimal(2 / slack).ln()", "_decimal(1 / slack).ln()"),
    ),
    *_of(
        "privacy/privtree.py",
        "privacy/test_privtree.py",
        ("return max(ceil(scale * _LN_FANOUT_UP), sensitivity)", "return ceil(scale * _LN_FANOUT_UP)"),
        ("COST = Fraction(2 * FANOUT - 1, FANOUT - 1)", "COST = Fraction(FANOUT, FANOUT - 1)"),
        ("np.maximum(inside - level * step, -step)", "inside - level * step"),
    ),
    *_of(
        "privacy/thinning.py",
        "privacy/test_thinning.py",
        ("expm1(stronger) / expm1(distance) * SLACK", "stronger / distance * SLACK"),
        ("np.where(units < 0, -1 - np.arange(len(units)), units)", "units"),
    ),
    *_of(
        "privacy/gradients.py",
        "privacy/test_gradients.py",
        ("np.minimum(1.0, clip", "np.minimum(2.0, clip"),
        ("squares[i] += norms * norms", "squares[i] += norms * norms / errors.shape[1]"),
        ("out[i, j] = np.trunc(", "out[i, j] = np.ceil("),
    ),
    *_of(
        "privacy/training.py",
        "privacy/test_training.py privacy/test_point_stability.py",
        ("if unit.stability.trips != 1:", "if False:"),
        ("owner.max(initial=-1) + 1 + np.arange(len(alone))", "owner.max(initial=-1) + 1"),
        ("if self.done == len(self.plans):", "if False:"),
    ),
    *_of(
        "privacy/accounting.py",
        "privacy/test_training.py privacy/test_rounded.py",
        ("GaussianDpEvent(float(sigma))", "GaussianDpEvent(float(2 * sigma))"),
        ("float(training.probability), step", "float(training.probability) / 2, step"),
    ),
]

UNITS = [
    *_of(
        "privacy/units.py",
        "privacy/test_prices.py privacy/test_units.py",
        ("of_trips(self.max_trips, cells=self.max_trips)", "of_trips(self.max_trips, cells=1)"),
        ("kept &= groups >= 0", "kept &= groups >= -1"),
        ("trips.time[trips.offsets[:-1][begun]] // DAY", "trips.time[trips.offsets[1:][begun] - 1] // DAY"),
        ("return contribution.of_trips(2, cells=1)", "return contribution.of_trips(1, cells=1)"),
        ("distance = self.length * contribution.per_visit", "distance = contribution.per_visit"),
        ("visits, contribution = 4 * self.max_visits", "visits, contribution = 2 * self.max_visits"),
        ("np.where(owner >= 0, owner, -2 - np.arange(len(trips)))", "owner"),
        ("    return trips if full.all() else trips.take(full)", "    return trips"),
        ('if without_id == "refuse" and', 'if without_id == "never" and'),
        ("per_trip=contribution.per_cell or None", "per_trip=1"),
    ),
    *_of(
        "privacy/units.py",
        "privacy/test_prices.py trips/test_visits.py privacy/test_rule_stability.py privacy/test_point_stability.py",
        ("if trips.history.half_named:", "if False:"),
        ("if trips.history.stability != UNMOVED:", "if False:"),
        ("if stability.trips != 1:", "if False:"),
        ("if stability.trips is None:", "if False:"),
    ),
    *_of(
        "privacy/contributions.py",
        "privacy/test_prices.py",
        ("else self.per_trip * stability.trips", "else self.per_trip"),
        ("per_cell=self.per_cell * stability.trips", "per_cell=self.per_cell"),
        ("else self.per_visit * stability.visits", "else self.per_visit"),
        ("(self.distance if self.euclidean else self.linf)", "1"),
        ("        if self.euclidean:\n", "        if False:\n"),
    ),
    *_of(
        "privacy/choosing.py",
        "privacy/test_prices.py privacy/test_units.py",
        ("trips.name[trip[first]], clock[first])", "trips.name[trip[first]], np.arange(len(first)))"),
        ("np.arange(len(trip)) - np.repeat(first, lengths)", "np.arange(len(trip))"),
        ("(position < limit)", "(position <= limit)"),
        ("order = np.lexsort((words, groups))", 'order = np.argsort(groups, kind="stable")'),
        ("left_code * max(len(names), 1) + right_code", "left_code + right_code"),
        ("max(initial=0)) <= limit", "max(initial=0)) <= limit + 1"),
    ),
    *_of(
        "privacy/budget.py",
        "privacy/test_budget.py privacy/test_training.py",
        ("extra = max(part - dearest, Fraction(0))", "extra = Fraction(0) if parts else part"),
        ("if extra > self.remaining:", "if extra > self.total:"),
        ("if spend.delta > self.delta - self.spent_delta:", "if spend.delta > self.delta:"),
        ("Fraction(repr(float(value)))", "Fraction(float(value))"),
    ),
]

LEDGER = [
    *_of(
        "privacy/ledger/admission.py",
        "privacy/test_ledger.py privacy/test_ledger_data_time.py privacy/test_ledger_units.py releases/test_marks.py",
        (', ("delta", loss.delta, left.delta)]', "]"),
        (
            "if remaining is not None and requested > remaining:",
            "if remaining is not None and requested > 2 * remaining:",
        ),
        ("line.actor not in policy.actors:", "not policy.actors:"),
        ("if policy is not None and not policy.not_private:", "if False:"),
        ("if limit.rho is not None and line.delta and line.rho is None:", "if False:"),
    ),
    *_of(
        "privacy/ledger/account.py",
        "privacy/test_prices.py privacy/test_ledger.py privacy/test_ledger_units.py privacy/test_ledger_data_time.py",
        ("return times if times == 1 or not (line.delta or line.rho) else None", "return times"),
        (
            "self._give_back(held, held.epsilon - (line.epsilon or ZERO))",
            "self._give_back(held, held.epsilon)",
        ),
        ("            if held.at > moment:", "            if held.at >= moment:"),
        ("rho = charge**2 / 2 if", "rho = charge**2 / 4 if"),
        ("self.expired_spent -= given", "self.expired_spent -= 0"),
    ),
    *_of(
        "privacy/ledger/conversion.py",
        "privacy/test_prices.py privacy/test_ledger_units.py privacy/test_ledger_trained.py",
        ("drawn = not trained and ", "drawn = "),
        ('("rider", "rider-day"): 2', '("rider", "rider-day"): 1'),
        ("1 if most >= 4 else 2 * swap", "swap"),
        ("swap = 1 if most >= 2 else 2", "swap = 1"),
        ('("trip", "event"): 2', '("trip", "event"): 1'),
    ),
    *_of(
        "privacy/ledger/data_limit.py",
        "privacy/test_ledger_data_time.py",
        ("worst = worst.largest(self.by_day.get(day, Loss()))", "worst = self.by_day.get(day, Loss())"),
        ("self.undated = self.undated.plus(loss, sign)", "pass"),
        ("if span >= here:", "if span == here:"),
    ),
    *_of(
        "privacy/ledger/book.py",
        "privacy/test_ledger.py privacy/test_ledger_chain.py",
        ('if line.kind == "cancel" and held.started is not None:', "if False:"),
        ('if line.kind == "start" and held.started is not None:', "if False:"),
        ("not 0 < line.epsilon <= held.epsilon", "not line.epsilon <= held.epsilon"),
        ("return max(self.time, now)", "return now"),
        ("if line.previous != self.head.hash:", "if False:"),
        ("if held.committed is not None:", "if False:"),
    ),
    *_of(
        "privacy/ledger/roles.py",
        "privacy/test_ledger_roles.py",
        ('line.kind in ("policy", "key") or bool(around)', 'line.kind in ("policy", "key")'),
        ("return signature_holds(", "return True or signature_holds("),
        ('line.kind in ("policy", "key")', 'line.kind == "policy"'),
    ),
    *_of(
        "privacy/ledger/conversion.py",
        "releases/test_sealed.py releases/test_booked.py",
        ('            ("epsilon", self.epsilon, line.epsilon),\n', ""),
        ('            ("mechanism", self.mechanism, line.mechanism),\n', ""),
        ("pairs += [(name, self.asked.get(name), value)", "pairs += [(name, value, value)"),
    ),
    *_of(
        "privacy/ledger/fingerprint.py",
        "releases/test_own_days.py privacy/test_ledger_content.py privacy/test_ledger_points.py",
        ("if not days.covers(self.days):", "if not days.meets(self.days):"),
        (
            "(trips.time[begun].min(), trips.time[begun].max())",
            "(trips.time[begun].min(), trips.time[begun].min())",
        ),
        ("            riders = trips.source.owners\n", ""),
        ("if riders is not None and riders.common:", "if False:"),
    ),
    *_of(
        "privacy/ledger/samples.py",
        "privacy/test_ledger_content.py",
        ("min(known.reach, new.reach)", "max(known.reach, new.reach)"),
    ),
    *_of(
        "privacy/ledger/traits.py",
        "risk/test_disguises.py",
        ('.str.strip_chars_start("0")', ""),
        ("max(1 - chance, 0.05)", "max(1 - chance, 5)"),
    ),
]

COUNTS = [
    *_of(
        "counting/counter.py",
        "counting/test_small_counts.py counting/test_alike.py counting/test_local.py mechanisms/test_markov.py",
        ("np.array([np.count_nonzero(trips.lengths)])", "np.array([len(trips)])"),
        ("trips if most is None else trips.cut(most)", "trips"),
    ),
    *_of(
        "trips/windows.py",
        "counting/test_alike.py counting/test_local.py utility/test_sequence_figures.py",
        ("for back in range(1, n):", "for back in range(1, n - 1):"),
    ),
    *_of(
        "counting/hops.py",
        "mechanisms/test_od_hops.py",
        ("np.repeat(whole // np.maximum(count, 1), count)", "np.repeat(whole + 0 * count, count)"),
    ),
    *_of(
        "counting/ngram_counts.py",
        "privacy/test_prices.py counting/test_ngram_counts.py",
        ("whole // np.maximum(sizes, 1)", "whole + 0 * sizes"),
        ("        if size > most:\n", "        if size > most + 1:\n"),
        ("place = first + i + np.int64(product", "place = first + np.int64(product"),
    ),
    *_of(
        "counting/counter.py",
        "counting/test_blocks.py",
        ("return cells[inside], ONE * whole", "return cells[inside], ONE"),
    ),
    *_of(
        "counting/steps.py",
        "counting/test_small_counts.py counting/test_stream_promises.py counting/test_stream.py counting/test_alike.py",
        ('PER_TRIP if self.ways == "routed" else UNMOVED', "UNMOVED"),
        ("stability=self.stability.joined(other.stability)", "stability=self.stability"),
        ("lacking=self.lacking + other.lacking", "lacking=self.lacking"),
    ),
    *_of(
        "counting/file_pieces.py",
        "counting/test_small_counts.py counting/test_stream_promises.py counting/test_stream.py trips/test_ids.py",
        ('starts = trip if unit == "trip_id" else trip &', "starts = trip if True else trip &"),
        (
            "isinstance(first, str) != isinstance(last, str) or first < last",
            "isinstance(first, str) != isinstance(last, str)",
        ),
        (
            "    return bool((_changed(table[unit].is_not_null())",
            "    return False and bool((_changed(table[unit].is_not_null())",
        ),
    ),
    *_of(
        "counting/tally.py",
        "counting/test_small_counts.py counting/test_alike.py counting/test_local.py",
        ("for other in tallies[1:]:", "for other in tallies[2:]:"),
    ),
]

READERS = [
    *_of(
        "trips/history.py",
        "privacy/test_rule_stability.py privacy/test_point_stability.py releases/test_marks.py "
        "counting/test_stream_promises.py counting/test_small_counts.py",
        ("MERGED = Stability(trips=1, visits=2)", "MERGED = Stability(trips=1, visits=1)"),
        ("UNTOLD = History(stability=PER_TRIP)", "UNTOLD = History()"),
        ("else one * other", "else max(one, other)"),
        ("else max(one, other)", "else min(one, other)"),
        ("GOOD.intersection(*each)", "GOOD.intersection(frozenset().union(*each))"),
        ("if mark != SIMULATED]", "if mark not in (SIMULATED, FILLED)]"),
    ),
    *_of(
        "trips/points.py",
        "privacy/test_point_stability.py privacy/test_ledger_points.py trips/test_points.py",
        ("Stability(None, None) if parts or self.gap_seconds is not None else PER_TRIP", "PER_TRIP"),
        ("trips=5 if parts else 3", "trips=3"),
        ("trips=5 if parts else 3", "trips=5 if parts else 1"),
        ("moments, rider, history, points.unit_ids)", "moments, rider, rider_ids=points.unit_ids)"),
        ("return replace(trips, source=source), tracks", "return trips, tracks"),
        ("] = 0.0\n    bad = rules.fast(", "] += 0.0\n    bad = rules.fast("),
    ),
    *_of(
        "trips/source_points.py",
        "privacy/test_ledger_points.py",
        ("return cls(minutes, moves, owners)", "return cls(minutes, moves, None)"),
    ),
    *_of(
        "trips/point_rules.py",
        "privacy/test_prices.py trips/test_points.py",
        ("metres / seconds > self.fastest_kmh / 3.6", "metres / seconds > self.fastest_kmh"),
        ("if votes[place[k]] > most:", "if votes[place[k]] >= most:"),
        ("if gap >= limit:", "if gap > limit:"),
    ),
    *_of(
        "trips/visits.py",
        "trips/test_visits.py trips/test_edge_holes.py privacy/test_rule_stability.py",
        ("half_named = bool(((visit < 0) & (whole != nobody)).any())", "half_named = False"),
        ("np.where(rider == nobody, -1, rider)", "rider"),
        ("history.then(PER_TRIP) if times.expected == Form.ZONED else history", "history"),
        ("other = (visit >= 0) & (visit != whole)", "other = (visit < 0) & (visit != whole)"),
    ),
    *_of(
        "trips/matching.py",
        "privacy/test_rule_stability.py trips/test_visits.py",
        ('history.then(PER_TRIP) if on_unknown == "drop-trip" else history', "history"),
        ('return history.then(MERGED) if repeats == "merge" else history', "return history"),
    ),
    *_of(
        "trips/legality.py",
        "privacy/test_rule_stability.py trips/test_legality.py",
        ("return merged.then(PER_TRIP) if checked else merged", "return merged"),
        ("broken[first[first < trips.visits]] = False", "pass"),
    ),
    *_of(
        "trips/legs.py",
        "trips/test_legs.py",
        ("history = trips.history.then(PER_TRIP)", "history = trips.history"),
    ),
    *_of(
        "trips/ids.py",
        "trips/test_ids.py",
        ("bare = text.str.strip_chars(BLANKS)", "bare = text.str.strip_chars()"),
        ("trim({text}, '{BLANKS}')", "trim({text})"),
        ('    "<NA>",\n', ""),
    ),
    *_of(
        "trips/identity.py",
        "trips/test_identity.py",
        ("return keyed_words(PUBLIC_KEY, alike, earlier)", "return alike"),
        ("np.append(_hash_texts(ids.cast(pl.String)), np.uint64(0))[rider]", "rider.astype(np.uint64)"),
    ),
    *_of(
        "taps/cleaning.py",
        "taps/test_read_taps.py releases/test_tap_units.py releases/test_marks.py",
        ('({FILLED} if self.fill == "same-bus" else frozenset())', "frozenset()"),
        ('self.text["opt_out"].str.to_lowercase()', 'self.text["opt_out"]'),
        ("outside = (day < first) | (day > last)", "outside = day < first"),
        ('self.layout.clock != "hour"', "True"),
        ("if other_rows:\n            self.filled |= empty", "if False:\n            self.filled |= empty"),
    ),
    *_of(
        "taps/chains.py",
        "releases/test_tap_release.py releases/test_tap_units.py",
        ("return taps.history.then(PER_TRIP)", "return taps.history"),
        (" | (who[1:] < 0)", ""),
    ),
    *_of(
        "taps/moments.py",
        "taps/test_read_taps.py",
        ("made.wall - made.offset", "made.wall + made.offset"),
        ("usable & ~np.isin(times.form, FORMS[columns.form])", "usable & False"),
    ),
    *_of(
        "taps/sensitive.py",
        "releases/test_tap_units.py",
        ("moved[self.stop] = self.into", "moved[self.stop] = self.stop"),
        ("np.setdiff1d(np.arange(world.size), sensitive)", "np.arange(world.size)"),
    ),
]

SOURCES = [
    *_of(
        "sources/bad_rows.py",
        "sources/test_bad_rows.py",
        ("elif of_trips and RULES[kind].per_trip", "elif RULES[kind].per_trip"),
        ("pl.concat_str([trip, rider, rider.str.len_chars()]", "pl.concat_str([trip, rider]"),
        ('own = [name for name in ("trip_id", "rider_id")', 'own = [name for name in ("trip_id",)'),
    ),
    *_of(
        "sources/opening.py",
        "sources/test_bad_rows.py",
        ("if given and self.parts[0].uneven is not None:", "if False:"),
        ("        if uneven:\n", "        if False:\n"),
    ),
    *_of(
        "trips/tables.py",
        "sources/test_bad_rows.py",
        ('if "duplicate" in rules and "seq" not in source.columns:', "if False:"),
        ("return history.then(PER_TRIP) if changes_trips(rules) else history", "return history"),
    ),
]

WEIGHTS = [
    *_of(
        "privacy/weights.py",
        "privacy/test_weights.py privacy/test_units.py",
        ("PARTS * most // np.maximum(trips, most)", "PARTS * most // np.maximum(trips - 1, most)"),
        ("np.where(groups == -1, 1, sizes[place])", "sizes[place]"),
        ("parts[place - 1] = weight - parts[place]", "parts[place - 1] = weight"),
    ),
    *_of(
        "privacy/gate.py",
        "privacy/test_weights.py risk/test_front_door.py",
        ("scale=asked.scale * (ratio**2 if squared else ratio)", "scale=asked.scale"),
        ("if parts is None and self.unit.weighs:", "if False:"),
    ),
    *_of(
        "counting/tally.py",
        "privacy/test_weights.py risk/test_front_door.py",
        ("split_weight(weight, steps)", "split_weight(PARTS, steps)"),
    ),
    *_of(
        "privacy/units.py",
        "privacy/test_weights.py",
        ("self._weighed(trips) if self.weighs else self._drawn(trips, key)", "self._drawn(trips, key)"),
    ),
]

MUTANTS = [*NOISE, *UNITS, *WEIGHTS, *LEDGER, *COUNTS, *READERS, *SOURCES]
# Mutants that no test can notice, and why: they change nothing that is promised.
EXPLAINED: dict[tuple[str, str], str] = {
    ("privacy/zcdp.py", "_UP.create_decimal(rho * (1 + _MARGIN))"): "rho moves by one part in 10^15",
    (
        "counting/counter.py",
        "return cells[inside], ONE",
    ): "every block that trips do not spread over has a whole of 1",
}
