"""Four ways from taps to a release, and what each one promises.

cards         The taps have cards. Each card's taps are chained by a rule per card, and their first taps are counted, or
              the trips released with another mechanism. Protects riders.
counts-first  No cards. Noisy counts of (stop, route, time) come first; taps are drawn from them and given to riders
              afterwards, which is post-processing. Protects single taps.
counts        Plain noisy counts of taps, without riders. Protects single taps. The baseline.
study         Riders are reconstructed from the raw taps and then released. One tap more can re-route everybody else's,
              so this protects *no passenger behind the taps*, whatever epsilon says. For simulated taps, and for
              reproducing the study that did it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal, get_args

from wayveil.counting.steps import Steps
from wayveil.errors import ParameterError
from wayveil.mechanisms.mechanism import DEFAULT_PARTS, Mechanism
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.mechanisms.tap_margins import TapMargins
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.bits import Bits
from wayveil.privacy.budget import Rational
from wayveil.privacy.ledger.data_time import Days
from wayveil.privacy.units import Event, Rider, RiderDay, Unit
from wayveil.releases.hidden_stops import hide_stops
from wayveil.releases.hold import Price
from wayveil.releases.order import Order, UnitChoice, choose_mechanism, choose_tap_unit
from wayveil.synthesis.riders.reconstruct import reconstruct_riders
from wayveil.synthesis.riders.roles import RiderRules
from wayveil.taps.boardings import Boardings
from wayveil.taps.chains import Period, chain_cards, sequences
from wayveil.taps.sensitive import SensitiveStops
from wayveil.taps.taps import Taps
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips
from wayveil.world.network import Network

Way = Literal["cards", "counts-first", "counts", "study"]
# The next boarding is rarely a neighbour of the last one, so moves are not held against the network's edges.
ANY_MOVE = LegalityRule(repeats="keep", impossible="keep")
REASON = (
    "not private: riders were reconstructed from the raw taps before the noise; one tap more or less can change every "
    "reconstructed rider, so the passengers behind the taps are not protected"
)
ON_STEPS = (
    "weave makes trips of steps of the network, and every stop on the way would pass for a boarding; release taps with "
    "tap-counts (--way counts) or, with cards, with noisy-prefix-tree"
)
DEFAULT_HEIGHT = 4


@dataclass(frozen=True, eq=False)
class TapTreatment:
    """Steps by which taps become what is counted.

    way          see above; None: `cards` where the taps have cards, else `counts`
    chain        a trip is a rider's `day` (if nothing is said) or `week`; `counts` has no trips
    days         the public period, needed by `counts-first`
    alightings   `cards` only: trips with the stops where riders get off
    sensitive    a public list of stops: merged into their surroundings, or, with `sensitive_epsilon`, kept with a
                 chance that protects what a unit did there with that epsilon
    rules, seed  how riders are reconstructed
    parts        the part of epsilon of each question that the release is for
    """

    way: Way | None = None
    chain: Period | None = None
    days: Days | None = None
    alightings: bool = False
    sensitive: SensitiveStops | None = None
    sensitive_epsilon: Rational | None = None
    rules: RiderRules | None = None
    seed: int | None = None
    parts: Mapping[str, Fraction] = field(default_factory=lambda: DEFAULT_PARTS)

    def __post_init__(self) -> None:
        if self.way is not None and self.way not in get_args(Way):
            raise ParameterError(f"unknown way {self.way!r}; choose one of {', '.join(get_args(Way))}")

    def of(self, taps: Taps) -> Way:
        """The way that was said, or the one that the columns of the taps allow."""
        return self.way or ("counts" if taps.card is None else "cards")

    def refuse_unused(self, way: Way, unit: Unit) -> None:
        """Refuse what the way has no use for."""
        unused = {
            "alightings": self.alightings and way != "cards",
            "sensitive_epsilon": self.sensitive_epsilon is not None and self.sensitive is None,
            "chain": self.chain is not None and way == "counts",
            "rules": self.rules is not None and way in ("cards", "counts"),
        }
        for option in (name for name, given in unused.items() if given):
            raise ParameterError(f"{option} has no meaning for the way {way!r}")
        if self.chain == "week" and isinstance(unit, RiderDay):
            raise ParameterError(
                "a rider's week is more than a rider's day: omit chain, or take the unit rider"
            )

    def margins(self, taps: Taps) -> TapMargins:
        """The mechanism of `counts-first`."""
        if not isinstance(taps.world, Network):
            raise ParameterError("counts by route need a network; read the taps over a GTFS feed")
        if self.days is None:
            raise ParameterError(
                "counts-first needs the days of the data, a public period (--days 2026-01-05/2026-01-11). Taken from "
                "the taps, it would tell when the first and the last one was"
            )
        rules = RiderRules() if self.rules is None else self.rules
        return TapMargins(
            first_day=self.days.first, days=len(self.days), rules=rules, period=self.chain or "day"
        )


def order_taps(
    taps: Taps,
    mechanism: Mechanism | str | None,
    unit: UnitChoice,
    how: TapTreatment,
    price: Price,
    bits: Bits | None = None,
) -> Order:
    """Order a release of taps in one of the four ways.

    By default `cards` counts a rider's first four taps a day, which answers questions about taps best; `study` and
    alightings take a noisy prefix tree of height 4. With `counts-first`, a mechanism is a second step that rewrites the
    already private trips. The ledger knows the people by the taps, whatever is made of them.
    """
    way = how.of(taps)
    chosen = None if mechanism is None else choose_mechanism(mechanism, taps.world)
    weighs = chosen is None or chosen.weighs or way == "counts-first"
    protected = choose_tap_unit(way, unit, weighs=weighs)
    how.refuse_unused(way, protected)
    if isinstance(chosen, Weave) and isinstance(taps.world, Network):
        raise ParameterError(ON_STEPS)
    if way != "study":
        taps.history.refuse_unsound()
    singles, hidden = taps.as_single_visits(), None
    if how.sensitive is not None:
        taps, hidden = hide_stops(taps, how.sensitive, how.sensitive_epsilon, protected, price, bits)
    rows, counted_by = _counted(taps, way, chosen, protected, how)
    return Order(
        rows,
        Steps(ANY_MOVE),
        counted_by,
        protected,
        said="taps",
        known_by=singles,
        hidden=hidden,
        rewritten=_for_taps(chosen) if chosen is not None and way == "counts-first" else None,
        not_private=REASON if way == "study" else None,
    )


def _counted(
    taps: Taps, way: Way, mechanism: Mechanism | None, unit: Unit, how: TapTreatment
) -> tuple[Trips, Mechanism]:
    """Return what is counted, and by which mechanism."""
    span: Period = how.chain or "day"
    if way == "counts":
        counts = _for_unit(TapCounts().serving(how.parts) if mechanism is None else mechanism, unit)
        return bounded_by(unit, taps.as_single_visits(), taps), counts
    if way == "counts-first":
        margins = _for_unit(how.margins(taps).serving(how.parts), unit)
        assert isinstance(taps.world, Network)  # or the margins were refused
        return bounded_by(unit, Boardings(taps.world).of(taps), taps), margins
    if way == "cards":
        if mechanism is None and not how.alightings:
            # Noise is the same for the first taps of a trip; counted straight, more of the busiest stops are right.
            mechanism = TapCounts(max_visits=DEFAULT_HEIGHT).serving(how.parts)
        return card_trips(taps, span, alightings=how.alightings), _tree(mechanism)
    riders = reconstruct_riders(taps, how.rules, seed=0 if how.seed is None else how.seed)
    return riders.trips(span), _tree(mechanism)


def card_trips(taps: Taps, period: Period, *, alightings: bool = False) -> Trips:
    """Make each card's boardings (or boardings and alightings) trips; taps without a card are trips of their own."""
    if taps.card is None:
        raise ParameterError(
            "these taps have no cards; release them as `counts-first` or `counts`, which protect single taps"
        )
    return chain_cards(taps, period) if alightings else sequences(taps, taps.card, period)


def bounded_by(unit: Unit, singles: Trips, taps: Taps) -> Trips:
    """Give single taps their cards, as the unit looks at them; `event` does not look."""
    if isinstance(unit, Event):
        return replace(singles, rider=None, rider_ids=None)
    if taps.card is None:
        raise ParameterError(
            f"these taps have no cards, which the unit `{unit.name}` needs; the unit event does not"
        )
    return replace(singles, rider=taps.card, rider_ids=taps.card_ids)


def _tree(mechanism: Mechanism | None) -> Mechanism:
    return _for_taps(NoisyPrefixTree(height=DEFAULT_HEIGHT) if mechanism is None else mechanism)


def _for_taps(mechanism: Mechanism) -> Mechanism:
    """Let a prefix tree allow any next stop: boardings jump across the network."""
    if isinstance(mechanism, NoisyPrefixTree) and mechanism.successors == "auto":
        return mechanism.model_copy(update={"successors": "all"})
    return mechanism


def _for_unit(mechanism: Mechanism, unit: Unit) -> Mechanism:
    """Tell the mechanism that every trip is one tap: for units of trips one visit is all it has."""
    if (
        isinstance(mechanism, TapCounts | TapMargins)
        and isinstance(unit, Rider)
        and mechanism.max_visits is None
    ):
        return mechanism.model_copy(update={"max_visits": 1})
    return mechanism
