"""Weave: from noisy blocks of counts to trips. Draw many plausible ones, weight them to explain the counts, resample.

what is asked      weave, shares, resolution      what was bought    noisy_blocks, estimates, measurements
what is drawn      demand, routes, drives, driven_support on networks and grids; moves, repeating_walks, list_support
                   on plain lists
how it is fitted   support_fit, weight_fit
how trips come out weaving; expected_error says how far off they will be; settings has every constant
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wayveil.mechanisms.weave.weave import Weave

__all__ = ["Weave"]


def __getattr__(name: str) -> Any:
    """Load the mechanism when it is asked for: whoever only weaves loads neither counts nor noise."""
    if name != "Weave":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from wayveil.mechanisms.weave.weave import Weave

    return Weave
