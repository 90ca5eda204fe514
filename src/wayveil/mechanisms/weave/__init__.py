"""Weave: from noisy blocks of counts to trips. Draw many plausible ones, weight them to explain the counts, resample.

what is asked      weave, resolution                what was bought  noisy_blocks, estimates, lengths
what is drawn      demand; routes on networks, drives on grids, moves and walks on plain lists
how it is fitted   weight_fit
how trips come out weaving, measurements; settings has every constant
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
