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

from dataclasses import replace
from datetime import date
from typing import Any, Literal, get_args

from wayveil.errors import ParameterError
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.mechanisms.tap_margins import TapMargins
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.budget import Rational
from wayveil.privacy.units import Event, Rider, Trip, Unit, WithoutId
from wayveil.releases.datasheet import Datasheet
from wayveil.releases.release import Release, release
from wayveil.synthesis.riders.reconstruct import reconstruct_riders
from wayveil.synthesis.riders.roles import RiderRules
from wayveil.taps.boardings import Boardings
from wayveil.taps.chains import Period, chain_cards, sequences
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
DEFAULT_TRIPS = 2


def release_taps(
    taps: Taps,
    way: Way,
    *,
    epsilon: Rational,
    mechanism: Mechanism | None = None,
    period: Period | None = None,
    max_trips: int | None = None,
    without_id: WithoutId = "refuse",
    first_day: date | None = None,
    days: int | None = None,
    alightings: bool = False,
    rules: RiderRules | None = None,
    seed: int | None = None,
    **options: Any,
) -> Release:
    """Release taps in one of the four ways.

    mechanism   `cards`: by default the counts of a rider's first four taps a day, which answer questions about taps
                best; `study` and alightings: a noisy prefix tree of height 4. With `counts-first`, an optional second
                step that rewrites the already private trips
    period      a trip is a rider's `day` (if nothing is said) or `week`; `counts` has no trips
    max_trips   trips of one rider (`cards`, `study`) that are counted; 2 if nothing is said
    without_id  taps without a card (`cards`): refused, left out (`drop`), or each a rider of its own (`own`)
    first_day, days   the public period, needed by `counts-first`
    alightings  `cards` only: trips with the stops where riders get off
    rules, seed how riders are reconstructed
    options     go to `release`: ledger, dataset, curator, purpose, prior, bits, ...
    """
    if way not in get_args(Way):
        raise ParameterError(f"there is no way {way!r}; there are {', '.join(get_args(Way))}")
    if without_id != "refuse" and way != "cards":
        raise ParameterError(f"what becomes of taps without a card has no meaning for the way {way!r}")
    unused = {
        "alightings": alightings and way != "cards",
        "first_day": first_day is not None and way != "counts-first",
        "days": days is not None and way != "counts-first",
        "max_trips": max_trips is not None and way in ("counts", "counts-first"),
        "period": period is not None and way == "counts",
        "rules": rules is not None and way in ("cards", "counts"),
    }
    for option in (name for name, given in unused.items() if given):
        raise ParameterError(f"{option} has no meaning for the way {way!r}")
    span: Period = "day" if period is None else period
    bound = DEFAULT_TRIPS if max_trips is None else max_trips
    if way != "study":
        taps.history.refuse_unsound()
    if isinstance(mechanism, Weave) and isinstance(taps.world, Network):
        raise ParameterError(ON_STEPS)
    options["visits"] = "taps"
    if mechanism is None and way == "cards" and not alightings:
        # Noise is the same for the first taps of a trip; counted straight, more of the busiest stops are right.
        mechanism = TapCounts(max_visits=DEFAULT_HEIGHT)
    tree = _for_taps(NoisyPrefixTree(height=DEFAULT_HEIGHT) if mechanism is None else mechanism)
    # Whatever is made of the taps, the ledger knows them by the taps themselves.
    options = {"rows": taps.as_single_visits(), **options}
    if way == "cards":
        trips = card_trips(taps, span, alightings=alightings)
        unit = Rider(max_trips=bound, without_id=without_id)
        return release(trips, tree, epsilon=epsilon, unit=unit, rule=ANY_MOVE, seed=seed, **options)
    if way == "counts":
        counts = TapCounts() if mechanism is None else mechanism
        single = replace(taps.as_single_visits(), rider=None)
        return release(single, counts, epsilon=epsilon, unit=Event(), rule=ANY_MOVE, seed=seed, **options)
    if way == "counts-first":
        made = _counts_first(taps, epsilon, span, first_day, days, rules, seed, options)
        return made if mechanism is None else _rewritten(made, tree, epsilon, seed)
    riders = reconstruct_riders(taps, rules, seed=0 if seed is None else seed)
    unit = Rider(max_trips=bound)
    return release(
        riders.trips(span),
        tree,
        epsilon=epsilon,
        unit=unit,
        rule=ANY_MOVE,
        not_private=REASON,
        seed=seed,
        **options,
    )


def unit_of_way(way: str, max_trips: int | None, without_id: WithoutId = "refuse") -> Unit:
    """Whom a way from taps to a release counts for."""
    if way in ("counts", "counts-first"):
        return Event()
    return Rider(max_trips=DEFAULT_TRIPS if max_trips is None else max_trips, without_id=without_id)


def card_trips(taps: Taps, period: Period, *, alightings: bool = False) -> Trips:
    """Each card's boardings (or boardings and alightings) as trips; taps without a card are trips of their own."""
    if taps.card is None:
        raise ParameterError(
            "these taps have no cards; release them as `counts-first` or `counts`, which protect single taps"
        )
    return chain_cards(taps, period) if alightings else sequences(taps, taps.card, period)


def _for_taps(mechanism: Mechanism) -> Mechanism:
    """Boardings jump across the network, so a prefix tree must allow any next stop."""
    if isinstance(mechanism, NoisyPrefixTree) and mechanism.successors == "auto":
        return mechanism.model_copy(update={"successors": "all"})
    return mechanism


def _counts_first(
    taps: Taps,
    epsilon: Rational,
    period: Period,
    first_day: date | None,
    days: int | None,
    rules: RiderRules | None,
    seed: int | None,
    options: dict[str, Any],
) -> Release:
    if not isinstance(taps.world, Network):
        raise ParameterError("counts by route need a network; read the taps over a GTFS feed")
    if first_day is None or days is None:
        raise ParameterError(
            "counts-first needs the public period: first_day and days (--first-day and --days). Taken from the taps, "
            "it would tell when the first and the last one was"
        )
    chosen = RiderRules() if rules is None else rules
    margins = TapMargins(first_day=first_day, days=days, rules=chosen, period=period)
    places = Boardings(taps.world).of(taps)
    return release(places, margins, epsilon=epsilon, unit=Event(), rule=ANY_MOVE, seed=seed, **options)


def _rewritten(made: Release, tree: Mechanism, epsilon: Rational, seed: int | None) -> Release:
    """The private trips once more through a tree. They are private already, so its noise buys nothing."""
    again = release(made.trips, tree, epsilon=epsilon, unit=Trip(), rule=ANY_MOVE, seed=seed)
    sheet = Datasheet({**made.datasheet, "rewritten_by": tree.describe()})
    return replace(made, trips=again.trips, datasheet=sheet)
