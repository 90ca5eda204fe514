"""The contract that every mechanism keeps, and the list of those there are."""

from abc import abstractmethod
from importlib import import_module
from typing import Any, ClassVar, Protocol

import polars as pl
from pydantic import BaseModel, ConfigDict, ValidationError

from wayveil.counting.protocol import Counter
from wayveil.errors import ParameterError
from wayveil.privacy.gate import Gate
from wayveil.trips.legality import LegalityRule
from wayveil.trips.trips import Trips
from wayveil.world.grid import Grid
from wayveil.world.world import World


class Model(Protocol):
    """What a mechanism measured: noisy numbers and public facts, nothing else. Free to publish and to use again."""

    def generate(self, seed: int | None = None) -> Trips:
        """Draw private trips. Has no way to the raw ones, so a seed here protects or endangers nobody."""

    def table(self) -> pl.DataFrame:
        """The model as a table."""


class Mechanism(BaseModel):
    """Public parameters of a mechanism, frozen and checked, and the one step that sees counts.

    `measure` is the only method that touches the data, and it touches it only through exact counts that go straight
    into the gate. What it returns is already private; generating trips from it is post-processing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str]
    summary: ClassVar[str]
    # Whether a trip's moves are steps of the network, where there is one. Taps jump; vehicles do not.
    steps: ClassVar[bool] = True
    # Whether it is trained through the gate, which costs (epsilon, delta) instead of pure epsilon.
    trained: ClassVar[bool] = False

    def __init__(self, **parameters: Any) -> None:
        try:
            super().__init__(**parameters)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or "parameters"
            reason = first["msg"].removeprefix("Value error, ")
            raise ParameterError(f"{self.name}: {place}: {reason[:1].lower()}{reason[1:]}") from None

    @abstractmethod
    def measure(self, counter: Counter, gate: Gate) -> Model:
        """Ask the gate for noisy counts and build the private model from them."""

    def rule(self, world: World) -> LegalityRule:
        """What is done to each trip by itself before counting, unless the caller has another rule."""
        stepwise = world.has_network and self.steps and getattr(self, "successors", "auto") != "all"
        if stepwise and isinstance(world, Grid):
            # Nobody jumps over a cell: where points are far apart, the cells between them are filled in.
            return LegalityRule(impossible="route")
        return LegalityRule() if stepwise else LegalityRule(repeats="keep", impossible="keep")

    def describe(self) -> dict[str, object]:
        """Name and public parameters, for the datasheet."""
        return {"name": self.name, "summary": self.summary, "parameters": self.model_dump(mode="json")}


# Every mechanism: its class and where it lives. Loaded on demand, so that one is not slowed down by the others.
_HOMES = {
    "NoisyPrefixTree": "noisy_prefix_tree",
    "Markov": "markov",
    "MobiTrie": "mobitrie",
    "MobiTrieSearch": "mobitrie",
    "VariableNgrams": "variable_ngrams",
    "ExhaustiveTimeTree": "exhaustive_time_tree",
    "SafePath": "safepath",
    "PPDP": "ppdp",
    "TapCounts": "tap_counts",
    "TapMargins": "tap_margins",
    "OdHops": "od_hops",
    "DpLoc": "dp_loc",
    "Weave": "weave",
}


def mechanisms() -> dict[str, type[Mechanism]]:
    """Every mechanism by the name that the command line uses."""
    kinds = (getattr(import_module(f"wayveil.mechanisms.{home}"), name) for name, home in _HOMES.items())
    return {kind.name: kind for kind in kinds}
