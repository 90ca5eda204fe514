"""Which ledger a release is booked in when the caller names none."""

import getpass
from pathlib import Path

from wayveil.privacy.ledger import Ledger, Policy, open_ledger

# What one dataset may spend in all until its data holder sets another policy.
DEFAULT_TOTAL_EPSILON = 10


def account_for(place: str | None, data: Path, dataset: str) -> Ledger | None:
    """The ledger at `place`, or the one beside the data; `none` for no ledger.

    A dataset that the ledger does not know yet starts with the default policy, so that even a first run has a limit.
    """
    if place == "none":
        return None
    ledger = open_ledger(data.with_name(data.name + ".ledger") if place is None else place)
    if ledger.policy(dataset) is None:
        ledger.set_policy(dataset, Policy(DEFAULT_TOTAL_EPSILON), actor=getpass.getuser())
    return ledger
