"""`Datasheet`: what was guaranteed to whom, at what price, from which public inputs.

Its `deployment` part uses the field names of the public registry of differential-privacy deployments (all three
tiers, as they have been called since July 2026); the other parts say what that registry has no field for. Nothing in it
is computed from raw trips. `datasheet_making` writes it.
"""

from typing import Any

from wayveil.showing import show

NOT_STATED = "not stated"
TUNING = "preprocessing_and_hyperparameter_tuning"
# How many trips were written, where that is not as many as the model stands for.
DRAWN = "drawn_trips"
# The name of an earlier release among the public inputs.
PRIOR = "prior"
NO_LEDGER = "No ledger was kept: nobody adds this release to others of the same people."


class Datasheet(dict[str, Any]):
    """Plain data with the names of `datasheet_making.make_datasheet`, shown to people by its promise."""

    def __repr__(self) -> str:
        return f"<Datasheet: {self.get('guarantee', {}).get('sentence', 'no guarantee is stated')}>"

    def _repr_html_(self) -> str:
        return show(self)


def followed_by(datasheet: Datasheet) -> set[str]:
    """Hashes of the releases that this one follows."""
    return {str(each["sha256"]) for each in datasheet["public_inputs"] if each["name"] == PRIOR}
