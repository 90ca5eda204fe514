"""Private trips out of a model: all of them, some, or none. Post-processing: it costs nothing and sees no raw trip."""

import inspect
from typing import Any

import numpy as np

from wayveil.errors import ParameterError
from wayveil.trips.trips import Trips


def trips_wanted(text: str) -> int | None:
    """What `--trips-out` says: none, a number, or all (which is None)."""
    if text == "all":
        return None
    if text == "none":
        return 0
    if not text.isdecimal():
        raise ParameterError(f"--trips-out is none, all or a number of trips, not {text!r}")
    return int(text)


def draw_trips(model: Any, seed: int | None, count: int | None) -> Trips:
    """As many private trips as asked for; None for as many as the model says there are.

    A model that can draw any number draws that many. Of another, trips are taken at random among those it stands for,
    and there cannot be more of them.
    """
    if count is None:
        return model.generate(seed)
    if count == 0:
        return Trips.of_lists([], model.world)
    if "trips" in inspect.signature(model.generate).parameters:
        return model.generate(seed, trips=count)
    drawn: Trips = model.generate(seed)
    if count >= len(drawn):
        return drawn
    return drawn.take(np.sort(np.random.default_rng(seed).choice(len(drawn), count, replace=False)))
