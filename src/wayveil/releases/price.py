"""What a release may spend: pure epsilon; rho for (epsilon, delta); or epsilon with a delta, for training."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from wayveil.errors import ParameterError
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.privacy.accounting import require_accounting
from wayveil.privacy.budget import Budget, Rational, exact, release_epsilon
from wayveil.privacy.zcdp import rho_for

Currency = Literal["epsilon", "rho"]
DEFAULT_DELTA = Fraction(1, 1_000_000)


@dataclass(frozen=True)
class Price:
    """Epsilon from 0.001 to 1000, its delta (None: the default, where one is needed), and the currency of the sum.

    In rho (zCDP, Gaussian noise) the same epsilon holds at the delta; this suits mechanisms with many small counts.

    >>> Price.of("1/2").epsilon
    Fraction(1, 2)
    """

    epsilon: Fraction
    delta: Fraction | None = None
    currency: Currency = "epsilon"

    @classmethod
    def of(cls, epsilon: Rational, delta: Rational | None = None, currency: str = "epsilon") -> "Price":
        """Check and keep exactly what was said."""
        if currency not in get_args(Currency):
            raise ParameterError(f"a release is counted in epsilon or rho, not in {currency!r}")
        said = None if delta is None else exact(delta, "delta")
        return cls(release_epsilon(epsilon), said, currency)  # type: ignore[arg-type]

    def budget(self, mechanism: Mechanism) -> Budget:
        """Make the budget of one run of this mechanism."""
        if self.currency == "epsilon" and not mechanism.trained:
            if self.delta is not None:
                raise ParameterError(
                    f"{mechanism.name} satisfies pure epsilon and needs no delta; omit it, or count in rho"
                )
            return Budget(self.epsilon)
        if self.currency == "rho" and mechanism.trained:
            raise ParameterError(f"{mechanism.name} is trained and counted in epsilon and delta, not in rho")
        delta = DEFAULT_DELTA if self.delta is None else self.delta
        if self.currency == "rho":
            return Budget(rho_for(self.epsilon, delta), currency="rho", delta=delta)
        require_accounting()
        return Budget(self.epsilon, delta=delta)
