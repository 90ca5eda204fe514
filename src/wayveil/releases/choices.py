"""What callers leave to us or say in a word: the mechanism and the unit of a release."""

from typing import Any

import numpy as np

from wayveil.errors import ParameterError
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.registry import mechanism as find_mechanism
from wayveil.mechanisms.weave import Weave
from wayveil.privacy.units import Event, Rider, RiderDay, Trip, Unit
from wayveil.trips.files import TripFiles
from wayveil.trips.trips import Trips
from wayveil.world.world import World

# There and back: only where nobody has more than one trip, so that the bound decides nothing but the noise.
DEFAULT_TRIPS_PER_RIDER = 2
UNITS = ("rider", "rider-day", "trip", "event")


def default_mechanism(world: World) -> Mechanism:
    """Weave, as docs/results.md shows it ahead of the others; for lists too long for it, the noisy prefix tree."""
    weave = Weave()
    return weave if weave.fits(world) else NoisyPrefixTree()


def choose_mechanism(given: Mechanism | str | None, world: World) -> Mechanism:
    """The mechanism, found by its name where that is given, or the default one."""
    if given is None:
        return default_mechanism(world)
    return find_mechanism(given)() if isinstance(given, str) else given


def choose_unit(
    given: Unit | str | None, trips: Trips | TripFiles, max_trips: int | None = None, no_rider: str = "refuse"
) -> Unit:
    """The unit, made from its name where that is given; by default a rider where the data knows riders, else a trip.

    How many trips of a rider count has no default where a rider has several: every choice loses trips or adds noise.
    """
    if given is not None and not isinstance(given, str):
        return given
    riders_known = trips.has_riders if isinstance(trips, TripFiles) else trips.rider is not None
    name = given or ("rider" if riders_known else "trip")
    if name not in UNITS:
        raise ParameterError(f"there is no unit {name!r}; there are {', '.join(UNITS)}")
    if name in ("trip", "event"):
        if no_rider != "refuse":
            raise ParameterError(
                f"--no-rider has no meaning for the unit `{name}`, which does not look at riders"
            )
        return Trip() if name == "trip" else Event()
    if max_trips is None:
        if name == "rider" and isinstance(trips, TripFiles):
            raise ParameterError(
                "in files that are counted in pieces it must be said how many of a rider's trips count: --max-trips "
                "(in Python, unit=Rider(max_trips=...)). Fewer lose trips, more add noise. Nothing was spent"
            )
        if name == "rider" and _have_several(trips):
            # Trips without a rider come first: leaving them out may leave one trip each.
            Rider(max_trips=DEFAULT_TRIPS_PER_RIDER, without_id=no_rider).check(trips)  # type: ignore[arg-type]
            raise ParameterError(
                "riders have several trips here, so it must be said how many of a rider's trips count: --max-trips "
                "(in Python, unit=Rider(max_trips=...)). Fewer lose trips, more add noise; `wayveil check` shows what "
                "each bound would keep. Nothing was spent"
            )
        max_trips = DEFAULT_TRIPS_PER_RIDER
    riders: dict[str, Any] = {"max_trips": max_trips, "without_id": no_rider}
    return Rider(**riders) if name == "rider" else RiderDay(**riders)


def _have_several(trips: Trips | TripFiles) -> bool:
    if isinstance(trips, TripFiles) or trips.rider is None:
        return False
    known = trips.rider[trips.rider >= 0]
    return len(known) > 0 and int(np.bincount(known).max()) > 1
