"""Methods that protect nobody in the sense of differential privacy. No budget can be spent on them."""

from wayveil.errors import ParameterError

SENTENCE = "No differential privacy."
METHODS = ("glove", "lk-anonymity", "plausible-deniability")


def refuse_without_guarantee(mechanism: str) -> None:
    """A ledger counts what a guarantee costs; a method without one has no place in it."""
    if mechanism in METHODS:
        raise ParameterError(
            f"{SENTENCE} {mechanism} has no epsilon to account for, so the ledger does not book it: its output is as "
            "sensitive as the raw trips"
        )
