"""The contract that every mechanism keeps. `wayveil.mechanisms.registry` lists those there are."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError

from wayveil.counting.counter import Counter
from wayveil.errors import ParameterError
from wayveil.privacy.gate import Gate
from wayveil.synthesis.model import Model
from wayveil.trips.legality import LegalityRule
from wayveil.world.grid import Grid
from wayveil.world.world import World

# What a release is for where nobody says it: parts of the budget of a stated set of questions. Boardings per stop are
# what everybody asks first and what has the most cells: so much makes their noise 1.5 times that of a histogram of
# their own. The others have few cells, or are read off the same trips.
DEFAULT_PARTS: Mapping[str, Fraction] = MappingProxyType(
    {
        "total": Fraction(2, 100),
        "boardings": Fraction(71, 100),
        "hours": Fraction(8, 100),
        "districts": Fraction(7, 100),
        "edges": Fraction(6, 100),
    }
)
# A law of places by size that no data set was asked for: the r-th busiest has r^-0.8 times the trips of the first.
STEEPNESS = 0.8
USUAL_TOP, HOURS = 50, 24


def typical_cells(places: int, top: int = USUAL_TOP) -> float:
    """Return how many places like the middle one of the busiest make up all trips, by the law of sizes."""
    ranks = [rank**-STEEPNESS for rank in range(1, places + 1)]
    return sum(ranks) / ranks[(min(top, places) - 1) // 2]


class Mechanism(BaseModel):
    """Public parameters of a mechanism, frozen and checked, and the one step that sees counts.

    `measure` is the only method that touches the data, and it touches it only through exact counts that go straight
    into the gate. What it returns is already private; generating trips from it is post-processing.

    >>> isinstance(wv.Markov(), wv.Mechanism)
    True
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str]
    summary: ClassVar[str]
    # The kind of model that it makes, so that a saved one can be loaded.
    makes: ClassVar[type[Model]]
    # The module with the `PLAN` of its audits, for mechanisms outside this package; None: the module of the class.
    plan: ClassVar[str | None] = None
    # Kinds of question (see `synthesis.tallies`) whose intervals held the truth as often as they say, wherever the
    # coverage bench asked (docs/accuracy.md). Of all others none is known.
    holds: ClassVar[frozenset[str]] = frozenset()
    # Those of them whose numbers follow from whole trips: one replica may have more of everything, or less.
    even: ClassVar[frozenset[str]] = frozenset()
    # Further kinds of which replicas show well enough how far off they are to say whether public knowledge is better,
    # though not for an interval; and how many times what they show the truth may be. Both are chosen on simulated
    # towns (`python -m bench.coverage_choice`).
    tells: ClassVar[Mapping[str, float]] = MappingProxyType({})
    # Whether a trip's moves are steps of the network, where there is one. Taps jump; vehicles do not.
    steps: ClassVar[bool] = True
    # Whether it is trained through the gate, which costs (epsilon, delta) instead of pure epsilon.
    trained: ClassVar[bool] = False
    # Whether it can count trips by weights.
    weighs: ClassVar[bool] = True
    # Whether it uses the models of earlier releases; see `following`.
    follows: ClassVar[bool] = False
    # Parameters that a release it follows must share, as they decide what is counted.
    same_as_prior: ClassVar[tuple[str, ...]] = ()

    # Models of earlier releases, the oldest first: public like all parameters, and named on the datasheet by a hash.
    _earlier: tuple[Model, ...] = PrivateAttr(())

    def __init__(self, **parameters: Any) -> None:
        try:
            super().__init__(**parameters)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or "parameters"
            reason = first["msg"].removeprefix("Value error, ")
            raise ParameterError(f"{self.name}: {place}: {reason[:1].lower()}{reason[1:]}") from None

    def cells_told(self, world: World) -> Sequence[tuple[float, Fraction]]:
        """Return the cells that matter: each as how many like it make up all trips, and the part of the budget of their
        histogram. Nothing: nobody knows.
        """
        return ()

    def public_files(self) -> dict[str, Path]:
        """Files that the parameters name, by what they hold: public inputs, which the datasheet states with a hash."""
        return {}

    def following(self, earlier: Sequence[Model]) -> Self:
        """Return this mechanism, also using the models of earlier releases (the oldest first). They cost nothing.

        What `measure` does with them must be a function of them and of noisy answers.
        """
        if not self.follows:
            raise ParameterError(
                f"{self.name} does not use earlier releases: leave the prior out, or choose a mechanism that does "
                f"(`wayveil lab mechanisms` says which). Nothing was spent"
            )
        for model in earlier:
            if not isinstance(model, self.makes):
                raise ParameterError(
                    f"{self.name} can only follow releases of its own kind; a prior holds a {type(model).__name__}. "
                    f"Nothing was spent"
                )
        follower = self.model_copy()
        follower._earlier = tuple(earlier)
        return follower

    def serving(self, parts: Mapping[str, Fraction], districts: str | None = None) -> Self:
        """Return this mechanism with its budget shared for these questions; shares said by hand stay.

        `districts` is the file of those that are asked about. A mechanism that cannot share its budget so is returned
        as it is.
        """
        return self

    @abstractmethod
    def measure(self, counter: Counter, gate: Gate) -> Model:
        """Ask the gate for noisy counts and build the private model from them."""

    @classmethod
    def of_record(cls, parameters: Mapping[str, Any]) -> Self:
        """Make the mechanism of a datasheet, also of one that an earlier version wrote."""
        return cls(**parameters)

    @classmethod
    def model_kinds(cls, described: Mapping[str, Any]) -> tuple[type[Model], ...]:
        """The kinds of models that a mechanism so described can have made."""
        return (cls.makes,)

    def covered(self, world: World) -> bool:
        """Tell whether `holds` and `tells` were measured for such a setting; where not, no interval is known."""
        return True

    def rule(self, world: World) -> LegalityRule:
        """Return what is done to each trip by itself before counting, unless the caller has another rule."""
        stepwise = world.restricts_moves and self.steps and getattr(self, "successors", "auto") != "all"
        if stepwise and isinstance(world, Grid):
            # Nobody jumps over a cell: where points are far apart, the cells between them are filled in.
            return LegalityRule(impossible="route")
        return LegalityRule() if stepwise else LegalityRule(repeats="keep", impossible="keep")

    def describe(self) -> dict[str, object]:
        """Name and public parameters, for the datasheet."""
        return {"name": self.name, "summary": self.summary, "parameters": self.model_dump(mode="json")}
