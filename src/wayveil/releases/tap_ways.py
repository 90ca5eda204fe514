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
from wayveil.privacy.units import Rider, RiderDay, Trip, Unit, WithoutId
from wayveil.released.datasheet import Datasheet
from wayveil.releases.hidden_stops import declare_hidden, hide_stops
from wayveil.releases.release import Release
from wayveil.releases.tap_units import bounded_by, choose_tap_unit
from wayveil.run import make_release as release
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


def release_taps(
    taps: Taps,
    way: Way,
    *,
    epsilon: Rational,
    mechanism: Mechanism | None = None,
    period: Period | None = None,
    unit: str | None = None,
    max_trips: int | None = None,
    max_taps: int | None = None,
    window_hours: int | None = None,
    without_id: WithoutId = "refuse",
    first_day: date | None = None,
    days: int | None = None,
    alightings: bool = False,
    sensitive: SensitiveStops | None = None,
    sensitive_epsilon: Rational | None = None,
    rules: RiderRules | None = None,
    seed: int | None = None,
    **options: Any,
) -> Release:
    """Release taps in one of the four ways.

    mechanism   `cards`: by default the counts of a rider's first four taps a day, which answer questions about taps
                best; `study` and alightings: a noisy prefix tree of height 4. With `counts-first`, an optional second
                step that rewrites the already private trips
    period      a trip is a rider's `day` (if nothing is said) or `week`; `counts` has no trips
    unit        who is protected: `event` (default of counts), `rider` (default of cards), `rider-day`, `window`, `trip`
    max_trips   trips of one rider (`cards`, `study`) that are counted; 2 if nothing is said
    max_taps    taps that are counted of a rider, a rider's day or window (`counts`, `counts-first`)
    without_id  taps without a card, for units of riders: refused, left out (`drop`), or each a rider of its own (`own`)
    first_day, days   the public period, needed by `counts-first`
    alightings  `cards` only: trips with the stops where riders get off
    sensitive   a public list of stops: merged into their surroundings, or, with `sensitive_epsilon`, kept with a chance
                that protects what a unit did there with that epsilon
    rules, seed how riders are reconstructed
    options     go to `release`: ledger, dataset, curator, purpose, prior, bits, ...
    """
    if way not in get_args(Way):
        raise ParameterError(f"there is no way {way!r}; there are {', '.join(get_args(Way))}")
    protected = choose_tap_unit(
        way, unit, max_trips=max_trips, max_taps=max_taps, window_hours=window_hours, without_id=without_id
    )
    unused = {
        "alightings": alightings and way != "cards",
        "first_day": first_day is not None and way != "counts-first",
        "days": days is not None and way != "counts-first",
        "sensitive_epsilon": sensitive_epsilon is not None and sensitive is None,
        "period": period is not None and way == "counts",
        "rules": rules is not None and way in ("cards", "counts"),
    }
    for option in (name for name, given in unused.items() if given):
        raise ParameterError(f"{option} has no meaning for the way {way!r}")
    if period == "week" and isinstance(protected, RiderDay):
        raise ParameterError(
            "a rider's week is more than a rider's day: leave --period away, or take the unit rider"
        )
    span: Period = "day" if period is None else period
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
    said = None
    if sensitive is not None:
        taps, said = hide_stops(taps, sensitive, sensitive_epsilon, protected, epsilon, options)

    def count(trips: Trips, by: Mechanism, **more: Any) -> Release:
        made = release(
            trips, by, epsilon=epsilon, unit=protected, rule=ANY_MOVE, seed=seed, **options, **more
        )
        return made if said is None else replace(made, datasheet=declare_hidden(made.datasheet, said))

    if way == "cards":
        return count(card_trips(taps, span, alightings=alightings), tree)
    if way == "counts":
        counts = _for_unit(TapCounts() if mechanism is None else mechanism, protected)
        return count(bounded_by(protected, taps.as_single_visits(), taps), counts)
    if way == "counts-first":
        margins = _for_unit(_margins(taps, span, first_day, days, rules), protected)
        assert isinstance(taps.world, Network)  # or the margins were refused
        made = count(bounded_by(protected, Boardings(taps.world).of(taps), taps), margins)
        return made if mechanism is None else _rewritten(made, tree, epsilon, seed)
    riders = reconstruct_riders(taps, rules, seed=0 if seed is None else seed)
    return count(riders.trips(span), tree, not_private=REASON)


def _for_unit(mechanism: Mechanism, unit: Unit) -> Mechanism:
    """Every tap is a trip of one visit: for units of trips the mechanism has to know that one visit is all it has."""
    if (
        isinstance(mechanism, TapCounts | TapMargins)
        and isinstance(unit, Rider)
        and mechanism.max_visits is None
    ):
        return mechanism.model_copy(update={"max_visits": 1})
    return mechanism


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


def _margins(
    taps: Taps, period: Period, first_day: date | None, days: int | None, rules: RiderRules | None
) -> TapMargins:
    if not isinstance(taps.world, Network):
        raise ParameterError("counts by route need a network; read the taps over a GTFS feed")
    if first_day is None or days is None:
        raise ParameterError(
            "counts-first needs the public period: first_day and days (--first-day and --days). Taken from the taps, "
            "it would tell when the first and the last one was"
        )
    chosen = RiderRules() if rules is None else rules
    return TapMargins(first_day=first_day, days=days, rules=chosen, period=period)


def _rewritten(made: Release, tree: Mechanism, epsilon: Rational, seed: int | None) -> Release:
    """The private trips once more through a tree. They are private already, so its noise buys nothing."""
    again = release(made.trips, tree, epsilon=epsilon, unit=Trip(), rule=ANY_MOVE, seed=seed)
    sheet = Datasheet({**made.datasheet, "rewritten_by": tree.describe()})
    return replace(made, trips=again.trips, datasheet=sheet)
