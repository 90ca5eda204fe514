"""Errors that are sentences for the person at the keyboard.

Every `WayveilError` is about what the caller brought: the command line prints its text alone and ends with exit
code 2. Anything else that is raised is a defect of ours and keeps its traceback.
"""

import re
from fractions import Fraction
from pathlib import Path

from wayveil.disclosures import Disclosure


class WayveilError(Exception):
    """Something about the input or the request is wrong; the text says what, where and what to do.

    `tells` is what it discloses about raw rows (see `disclosures`); None: it does not hang on them.

    >>> try:
    ...     wv.open_world("nowhere.zip")
    ... except wv.WayveilError as error:
    ...     print(type(error).__name__)
    InputError
    """

    def __init__(self, *text: object, tells: Disclosure | None = None) -> None:
        super().__init__(*text)
        self.tells = tells


class InputError(WayveilError):
    """A file cannot be used. Names the file and, where they are known, the row (1 = first data row) and value."""

    def __init__(
        self,
        problem: str,
        *,
        file: str | Path | None = None,
        row: int | None = None,
        tells: Disclosure | None = None,
    ) -> None:
        self.file = None if file is None else without_password(str(file))
        place = "" if file is None else f"{self.file}: "
        if row is not None:
            place = f"{self.file or 'input'}, row {row}: "
        super().__init__(place + problem, tells=tells)
        self.row = row


class UnknownStopError(InputError):
    """A trip visits a location that the public world does not have."""


class ParameterError(WayveilError):
    """A parameter has no meaning (a negative epsilon, a height of zero), said before anything is read or spent."""


class RefusedError(ParameterError):
    """A mechanism stops after some noisy answers, because of what they say: a release would be worthless.

    Raise it only where the decision follows from answers already bought, never from exact counts: whoever raises it
    vouches that nothing but what was paid for is revealed by it. A release then books what was bought, and no more.
    """


class BudgetExceededError(WayveilError):
    """More privacy budget was asked for than is left. Nothing was spent."""

    def __init__(
        self,
        what: str,
        *,
        requested: Fraction,
        remaining: Fraction,
        where: str = "the budget",
        currency: str = "epsilon",
        remedy: str = "",
    ) -> None:
        super().__init__(
            f"{what} needs {currency} {decimal(requested)}, but {where} has {decimal(remaining)} left: "
            f"{decimal(requested - remaining)} too much. Nothing was spent.{remedy and ' ' + remedy}"
        )
        self.requested = requested
        self.remaining = remaining


def without_password(text: str) -> str:
    """Return a text without the passwords of the addresses in it.

    >>> without_password("postgresql://anna:secret@host/city?table=taps")
    'postgresql://anna@host/city?table=taps'
    """
    bare = re.sub(r"(://[^:/@\s\"']*):[^\s\"']*@", r"\1@", text)
    return re.sub(r"([?&])password=[^&\s\"']*&?", r"\1", bare)


def decimal(value: Fraction) -> str:
    """A rational for people to read at a glance; exact ones stay as they are where they are short."""
    exact = plain(value)
    return exact if "/" not in exact or len(exact) <= 5 else f"{float(value):.6g}"


def plain(value: Fraction) -> str:
    """An exact rational as people write it: 0.25 where that is exact, else 1/3."""
    value = Fraction(value)
    if value.denominator == 1:
        return str(value.numerator)
    digits = f"{float(value):.10g}"
    return digits if "e" not in digits and Fraction(digits) == value else str(value)
