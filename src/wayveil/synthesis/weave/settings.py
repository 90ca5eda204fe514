"""How trips are made from noisy blocks. Post-processing: nothing here costs privacy, and all of it may be changed."""

from pydantic import BaseModel, ConfigDict, Field

# Without a network: variance allowed per unit of noise variance, by block, where there are many trips per cell.
TRUST = {
    "origin": 0.05,
    "destination": 0.05,
    "pair": 0.02,
    "hour": 0.01,
    "hour at origin": 0.02,
    "hour at destination": 0.02,
    "band of pair": 0.015,
    "length": 0.02,
    "move": 0.05,
    "visit": 0.05,
    "memory": 0.05,
}


class Generation(BaseModel):
    """Constants of the generator, found on simulated cities (bench/weave_tuning.py), with a look at benchmark worlds.

    support          trips in the support per trip wanted
    least, most      and their number at least and at most
    early            trips in the support of all rounds but the last
    sweeps           times per round that the shares of the ways to choose a route are learnt from the fit
    rounds           rounds of routing, fitting and learning costs; one less where the signal is weak
    feedback         exponent with which fitted flows change costs; feedback_weak where the signal is weak
    detours          share of the support that goes via a place near the way, before the first fit
    least_share      of a way to choose a route in the early rounds, so that it can come back
    rare             ways with a smaller share are not drawn in the last round
    anywhere         share of the support whose ends are drawn independently of each other
    least_kinds      ways to choose a route among the trips to one destination, at least
    graphs           perturbed graphs per way of counting costs
    trees            of those, how many are tried for each destination
    lines            log-normal spread of the cost of each line, edges: of each edge, waits: of each wait
    trust            variance allowed per unit of noise variance, by block, where there is no network
    ends_off         share by which the ends of the support are thought to be off at a place
    off              share by which the support is thought to be off in any other cell
    least_trust      and the least variance that is allowed per unit of noise variance
    model_error      variance allowed per trip, beside the noise: what no support can express
    iterations       most steps of the solver
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    support: float = Field(3.0, gt=0)
    least: int = Field(60_000, ge=1)
    most: int = Field(400_000, ge=1)
    early: int = Field(80_000, ge=1)
    sweeps: int = Field(8, ge=0)
    rounds: int = Field(3, ge=1, le=10)
    feedback: float = Field(0.6, ge=0, le=2)
    feedback_weak: float = Field(0.35, ge=0, le=2)
    detours: float = Field(0.08, ge=0, lt=1)
    least_share: float = Field(0.01, ge=0, lt=0.1)
    rare: float = Field(0.15, ge=0, lt=1)
    anywhere: float = Field(0.1, ge=0, lt=1)
    least_kinds: int = Field(64, ge=1)
    graphs: int = Field(6, ge=1)
    trees: int = Field(2, ge=1)
    lines: float = Field(0.2, ge=0)
    edges: float = Field(0.15, ge=0)
    waits: float = Field(0.2, ge=0)
    trust: dict[str, float] = Field(default_factory=lambda: dict(TRUST))
    ends_off: float = Field(0.5, gt=0)
    model_error: float = Field(0.2, ge=0)
    off: float = Field(1.0, ge=0)
    least_trust: float = Field(0.01, gt=0)
    iterations: int = Field(300, ge=1)
