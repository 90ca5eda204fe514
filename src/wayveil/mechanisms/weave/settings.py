"""Settings for making trips from noisy blocks: every constant of the generator, by the part that uses it.

Post-processing: nothing here costs privacy, and all of it may be changed for trips that are drawn again. What defines
the cells of the blocks themselves (kinds of visits, classes of lengths) stands in `world/`, because counting and
fitting must mean the same by it.
"""

from pydantic import BaseModel, ConfigDict, Field

# Without a network: variance allowed per unit of noise variance, by block, where there are many trips per cell.
TRUST = {
    "origin": 0.05,
    "destination": 0.05,
    "pair": 0.02,
    "district pair": 0.02,
    "hour": 0.01,
    "hour at origin": 0.02,
    "hour at destination": 0.02,
    "band of pair": 0.015,
    "length": 0.02,
    "move": 0.05,
    "visit": 0.05,
    "memory": 0.05,
}


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SolverSettings(_Settings):
    """Constants of finding the weights of a support (fit.py, descent.py)."""

    tolerance: float = Field(
        0.3, gt=0, description="the solver stops when two steps gain less log-likelihood"
    )
    early: int = Field(
        4, ge=1, description="early fits of a support take at most `iterations` / `early` steps"
    )
    between: int = Field(
        18,
        ge=1,
        description="where riders choose routes, their shares are learnt after so many steps, at most",
    )
    memory: int = Field(12, ge=1, description="steps that L-BFGS remembers")
    enough: float = Field(1e-4, gt=0, lt=1, description="share of the promised gain that a step must bring")
    shortest: float = Field(1e-8, gt=0, description="the line search gives up below this part of a step")


class ShrinkageSettings(_Settings):
    """Constants of shrinking noisy counts to what they are worth (shrinkage.py)."""

    fewest_alike: int = Field(60, ge=1, description="cells in a group of like cells, at least")
    most_groups: int = Field(24, ge=1, description="groups of like cells, at most")
    nothing_below: float = Field(
        0.6, gt=0, description="a law whose mean is below this many noise scales says that nothing is there"
    )
    doubtful: float = Field(
        0.35,
        gt=0,
        le=1,
        description="a count is taken for nothing if nothing is there with at least this probability; below a half, "
        "because to send people where nobody goes is worse than to send one more to a busy place",
    )
    too_often: float = Field(
        2.0, ge=1, description="how many times too often likely counts may stand for those taken for nothing"
    )
    law: float = Field(
        1.1,
        gt=0,
        description="means of the laws are this many noise scales times powers of two, and none is one",
    )
    lowest_law: int = Field(-3, le=0, description="the lowest of these powers")
    bins: int = Field(500, ge=2, description="bins of noisy values from which weights of laws are learnt")
    rounds: int = Field(60, ge=1, description="rounds of expectation maximisation")


class LengthSettings(_Settings):
    """Constants of reading the noisy table of lengths (lengths.py)."""

    steepness: float = Field(
        3.0,
        ge=0,
        description="power of length by which long trips become rarer where noise hides how many there are",
    )
    bend_up: float = Field(
        0.6,
        gt=0,
        description="how much the law of lengths may bend up, in logarithms, per power of e in length",
    )
    bend_down: float = Field(8.0, gt=0, description="the same for bends down: long trips may end suddenly")
    sure: float = Field(0.1, gt=0, description="share by which the fit may leave a bin of the law")
    flatter: float = Field(
        1.0, gt=0, description="by how much the last slope may be flatter than `steepness`"
    )


class StreetSettings(_Settings):
    """Constants of reading flows on the edges of a grid off those of the edges around (street_flows.py)."""

    spans: tuple[int, ...] = Field(
        (1, 2, 4, 8),
        description="numbers of edges straight ahead and behind that are looked at together, from near to far",
    )
    fewest_alike: int = Field(120, ge=1, description="edges in the group of the busiest ones")
    off: float = Field(0.3, gt=0, description="share by which what is foretold of an edge is off, at least")
    surest: float = Field(
        0.2, gt=0, le=1, description="part of the variance of noise that an edge keeps, at least"
    )


class EndSettings(_Settings):
    """Constants of drawing ends and hours on a network (network_demand.py), and hours on a list (demand.py)."""

    false_cells: float = Field(
        0.5, gt=0, description="cells of a block that noise alone may lift above what is said to stand out"
    )
    differing_from: float = Field(
        2.0,
        ge=0,
        description="places of a zone are thought to differ if their mean square exceeds that of noise by this many "
        "standard deviations",
    )
    everywhere: float = Field(
        0.02,
        gt=0,
        lt=1,
        description="share of all ends spread evenly, to reach every place",
    )
    drawn_per_kept: int = Field(
        2, ge=1, description="pairs of ends drawn per pair kept, so that their distances can be as measured"
    )
    distance_floor: float = Field(
        0.002, gt=0, description="share added to every bin of distance before drawn and measured are compared"
    )
    most_thinning: float = Field(
        10.0,
        ge=1,
        description="a bin of distance is kept at most this many times more or less often than drawn",
    )
    any_hour: float = Field(0.001, gt=0, description="share of all trips that is spread over all hours")
    usual_hours: float = Field(0.05, gt=0, description="share of a zone's trips with the hours of all zones")


class RouteSettings(_Settings):
    """Costs that riders are thought to take into account (routes.py, routed_support.py)."""

    typical_wait: float = Field(300.0, gt=0, description="seconds of waiting for the median line")
    shortest_wait: float = Field(60.0, ge=0, description="seconds of waiting for any line, at least")
    longest_wait: float = Field(1_800.0, gt=0, description="seconds of waiting for any line, at most")
    usual_change: float = Field(300.0, ge=0, description="seconds that boarding costs, if as published")
    change: tuple[float, float] = Field(
        (120.0, 600.0), description="seconds that boarding costs, if perturbed"
    )
    on_foot: tuple[float, float] = Field(
        (0.3, 1.5),
        description="range of the share by which a second on foot costs more than one in a vehicle",
    )
    no_walk: float = Field(
        100.0, ge=1, description="how much longer walks are to riders who do not walk from stop to stop"
    )
    trips_per_tree: int = Field(16, ge=1, description="trips for which a shortest-path tree is worth growing")
    via_along: tuple[float, float] = Field(
        (0.15, 0.85), description="a detour leaves the straight line between these shares of it"
    )
    via_aside: float = Field(0.2, ge=0, description="deviation of a detour, as a share of the straight line")


class DriveSettings(_Settings):
    """Constants of how drivers are thought to get around on a grid (driven_support.py).

    Set on simulated cities, with looks at the taxis of Shenzhen in between (docs/mechanisms/weave-notebook.md).
    """

    sharpenings: int = Field(
        3,
        ge=0,
        description="rounds in which ends at single cells learn from the partition of pairs",
    )
    wavering: tuple[float, ...] = Field(
        (0.12, 0.4, 1.0),
        description="deviations of the heading from move to move, in radians, of drivers of different kinds",
    )
    spent_back: tuple[float, float] = Field(
        (0.3, 0.9),
        description="range of the share of its further moves that a way with detours spends stepping back and forth",
    )
    sure_of_corners: float = Field(
        4.0, gt=0, description="corners of each trip for which the learnt share of corners counts"
    )
    rare: float = Field(
        0.03, ge=0, lt=1, description="ways to drive with a smaller share are not drawn in the last round"
    )
    tries: int = Field(4, ge=1, description="headings among which a driver chooses at each move")
    liked_floor: float = Field(
        0.5,
        gt=0,
        description="mean visits of a cell that are added before fitted and drawn ones are compared",
    )
    most_liked: float = Field(
        8.0, ge=1, description="cells are liked within this factor of others by detours"
    )


class ListSettings(_Settings):
    """Constants of drawing walks without a network (modules whose names begin with list, move, walked, repeating)."""

    marks_off: float = Field(
        0.1, ge=0, description="share by which ends are off when read off the marks in the table of moves"
    )
    visits_off: float = Field(
        0.7,
        gt=0,
        description="share by which ends are off when read off the visits of a place, and the reverse",
    )
    everywhere: float = Field(
        1e-6, gt=0, description="share of all visits spread evenly, to reach every place"
    )
    doubtful_move: float = Field(
        0.6,
        gt=0,
        le=1,
        description="a move counts as known if the probability that nobody makes it is below this",
    )
    unsure_moves: float = Field(
        3.0,
        ge=0,
        description="at every place so many standard deviations of a count are added to its moves, which then go "
        "anywhere and end as they do on average",
    )
    unsure_power: int = Field(
        2,
        ge=0,
        description="power of the share of possible moves that people make, by which `unsure_moves` is multiplied; by "
        "trial: with 1 too many walks went anywhere where people make few moves",
    )
    small_table: int = Field(
        100_000, ge=0, description="cells of a table of moves that is fitted move by move"
    )
    unsure_repeats: float = Field(
        2.0,
        ge=0,
        description="standard deviations of noise that a context must weigh to be believed more than all contexts",
    )
    learning_rounds: int = Field(8, ge=0, description="rounds in which factors of repeated visits are learnt")
    learners: int = Field(20_000, ge=1, description="walks drawn in each of these rounds")
    most_factor: float = Field(1e4, ge=1, description="factors stay between one over this and this")
    end_tries: int = Field(30, ge=1, description="tries to draw a last visit at a place where walks end")
    new_tries: int = Field(200, ge=1, description="tries to draw a visit to a new place")
    first_kinds: tuple[float, float, float] = Field(
        (0.6, 0.2, 0.2),
        description="shares of walks that repeat visits, of a drawn length, and between drawn ends",
    )
    longest_bridge: int = Field(
        16,
        ge=1,
        description="visits of a walk of the last two kinds, at most: longer ones take too long to draw",
    )
    seconds_per_move: int = Field(120, ge=0, description="seconds between visits, as no timetable says more")


class ErrorSettings(_Settings):
    """Constants of estimating the error of a release (expected_error.py)."""

    sanity: float = Field(
        0.001,
        gt=0,
        description="relative errors are taken of at least this share of all trips, as in all figures",
    )
    unseen: float = Field(0.4, gt=0, description="share by which a cell is off where noise hides it")
    half_believed: int = Field(
        20,
        ge=0,
        description="a misfit seen in so many cells is half believed: in few cells much of it is luck",
    )


class Generation(_Settings):
    """Constants of the generator. Those for networks were chosen on simulated cities, some with a look at benchmark
    worlds; those without a network with benchmark worlds in view (docs/mechanisms/weave-notebook.md).
    """

    fewest_trips: int = Field(10, ge=1, description="a noisy number of trips below this counts as this")
    support: float = Field(3.0, gt=0, description="trips in the support per trip wanted")
    least: int = Field(60_000, ge=1, description="trips in the support, at least")
    most: int = Field(400_000, ge=1, description="trips in the support, at most")
    early: int = Field(80_000, ge=1, description="trips in the support of all rounds but the last, at most")
    sweeps: int = Field(
        8,
        ge=0,
        description="times per round that the shares of the ways to choose a route are learnt from the fit",
    )
    rounds: int = Field(
        3,
        ge=1,
        le=10,
        description="rounds of routing, fitting and learning costs; one less if the signal is weak",
    )
    strong_from: float = Field(2.0, ge=0, description="trips per unit of noise and edge of a strong signal")
    feedback: float = Field(0.6, ge=0, le=2, description="exponent with which fitted flows change costs")
    feedback_weak: float = Field(0.35, ge=0, le=2, description="the same where the signal is weak")
    flow_floor: float = Field(
        0.5,
        gt=0,
        description="standard deviations of noise added to flows before fitted and drawn are compared",
    )
    cost_range: float = Field(2.0, ge=1, description="learnt costs are within this factor of published ones")
    detours: float = Field(
        0.08,
        ge=0,
        lt=1,
        description="share of the support that goes via a place near the way, before the first fit",
    )
    least_share: float = Field(
        0.01,
        ge=0,
        lt=0.1,
        description="share of each way to choose a route in the early rounds, at least, so that it can come back",
    )
    rare: float = Field(
        0.15,
        ge=0,
        lt=1,
        description="ways to choose a route with a smaller share are not drawn in the last round",
    )
    anywhere: float = Field(
        0.1,
        ge=0,
        lt=1,
        description="share of the support whose two ends are drawn independently of each other",
    )
    least_kinds: int = Field(
        64, ge=1, description="draws of a way to choose a route that trips to one destination share, at least"
    )
    graphs: int = Field(6, ge=1, description="perturbed graphs per way of counting costs")
    trees: int = Field(2, ge=1, description="perturbed graphs that are tried for each destination")
    lines: float = Field(0.2, ge=0, description="log-normal spread of the cost of each line")
    edges: float = Field(0.15, ge=0, description="log-normal spread of the cost of each edge")
    waits: float = Field(0.2, ge=0, description="log-normal spread of each wait")
    trust: dict[str, float] = Field(
        default_factory=lambda: dict(TRUST),
        description="without a network: variance allowed per unit of noise variance, by block",
    )
    ends_off: float = Field(0.5, gt=0, description="share by which ends of the support are off at a place")
    model_error: float = Field(
        0.2, ge=0, description="variance allowed per trip, beside the noise: what no support can express"
    )
    off: float = Field(
        1.0,
        ge=0,
        description="share by which the support is off in other cells of a network",
    )
    least_trust: float = Field(
        0.01, gt=0, description="variance allowed per noise variance on a network, at least"
    )
    exchanges: int = Field(
        8,
        ge=0,
        description="times that released trips are exchanged for others of the support, to add up as fitted",
    )
    iterations: int = Field(300, ge=1, description="steps of the solver, at most")
    solver: SolverSettings = Field(SolverSettings(), description="how the solver steps and stops")
    shrinkage: ShrinkageSettings = Field(ShrinkageSettings(), description="how noisy counts are shrunk")
    ends: EndSettings = Field(EndSettings(), description="how ends and hours of trips are drawn")
    routes: RouteSettings = Field(RouteSettings(), description="what riders are thought to take into account")
    drives: DriveSettings = Field(DriveSettings(), description="how drivers get around on a grid")
    lengths: LengthSettings = Field(LengthSettings(), description="how the noisy table of lengths is read")
    streets: StreetSettings = Field(
        StreetSettings(), description="how flows on the edges of a grid are read off those around"
    )
    on_list: ListSettings = Field(ListSettings(), description="how walks are drawn without a network")
    errors: ErrorSettings = Field(ErrorSettings(), description="how the error of a release is estimated")
