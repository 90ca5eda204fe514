"""Rates of success with intervals, and what an attack gains by the release."""

from dataclasses import dataclass
from math import sqrt

from wayveil.arrays import Mask

NORMAL_95 = 1.959963984540054  # its 97.5 % quantile


@dataclass(frozen=True)
class Rate:
    """Share of cases in which something happened, with its Wilson 95 % interval."""

    hits: int
    tries: int

    @classmethod
    def of(cls, success: Mask) -> "Rate":
        return cls(int(success.sum()), len(success))

    @property
    def value(self) -> float:
        return self.hits / self.tries if self.tries else float("nan")

    def interval(self, z: float = NORMAL_95) -> tuple[float, float]:
        """Wilson's score interval."""
        n = self.tries
        if n == 0:
            return 0.0, 1.0
        share, square = self.hits / n, z * z
        middle = (share + square / (2 * n)) / (1 + square / n)
        half = z / (1 + square / n) * sqrt(share * (1 - share) / n + square / (4 * n * n))
        low = 0.0 if self.hits == 0 else middle - half
        high = 1.0 if self.hits == n else middle + half
        return max(low, 0.0), min(high, 1.0)

    def describe(self) -> dict[str, float | int]:
        low, high = self.interval()
        return {"rate": self.value, "low": low, "high": high, "hits": self.hits, "tries": self.tries}

    def __str__(self) -> str:
        low, high = self.interval()
        return f"{100 * self.value:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


@dataclass(frozen=True)
class Gain:
    """Success against people in the data beyond the success against people who are not: (a - c) / (1 - c), from 0."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


def gain(attack: Rate, control: Rate) -> Gain:
    """The risk, with the interval of a difference of two rates after Newcombe (1998), from Wilson's intervals."""
    a, c = attack.value, control.value
    (a_low, a_high), (c_low, c_high) = attack.interval(), control.interval()
    low = (a - c) - sqrt((a - a_low) ** 2 + (c_high - c) ** 2)
    high = (a - c) + sqrt((a_high - a) ** 2 + (c - c_low) ** 2)
    if c >= 1:
        return Gain(0.0, 0.0, 0.0)
    value, low, high = (min(max(part / (1 - c), 0.0), 1.0) for part in (a - c, low, high))
    return Gain(value, low, high)
