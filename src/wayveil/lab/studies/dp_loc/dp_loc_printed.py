"""What the DP-Loc study prints: tables 1 to 5 over two grids of San Francisco."""

from wayveil.lab.studies.study import Place

FINE, COARSE = "250 m", "500 m"
EPSILONS = ("1", "2")
TOPS = ("10", "20", "50", "100")
DATA_FACTS = ("trips", "cells visited", "longest", "mean length", "deviation of length")
TABLE_1 = {FINE: (121_622, 2_851, 69, 9.07, 5.15), COARSE: (120_561, 848, 55, 7.34, 4.53)}

# Tables 2 and 3: share of the top k that was found, of the study's model and of variable-length n-grams.
OWN, NGRAM = 0, 1
FOUND = {
    (FINE, "1"): ((0.50, 0.60, 0.71, 0.71), (0.80, 0.88, 1.00, 1.00)),
    (FINE, "2"): ((0.20, 0.60, 0.80, 0.80), (0.90, 0.90, 1.00, 1.00)),
    (COARSE, "1"): ((0.40, 0.25, 0.30, 0.22), (0.90, 0.95, 0.76, 1.00)),
    (COARSE, "2"): ((0.40, 0.30, 0.20, 0.15), (0.90, 0.95, 0.78, 0.79)),
}
# Table 4: loss of the network that draws origin, destination and hour.
ENDS = "loss of ends"
TABLE_4 = {(FINE, "1"): 4.22, (FINE, "2"): 3.43, (COARSE, "1"): 2.50, (COARSE, "2"): 1.00}
# Table 5: loss (nats), accuracy and metres of the next hop.
HOPS = ("loss", "accuracy", "metres off")
TABLE_5 = {
    (FINE, "1"): (3.10, 0.2419, 350.40),
    (FINE, "2"): (2.98, 0.2645, 333.19),
    (COARSE, "1"): (1.42, 0.7352, 237.71),
    (COARSE, "2"): (1.28, 0.7528, 220.26),
}


def found(grid: str, epsilon: str, whose: int = OWN) -> dict[Place, float]:
    """(k, figure) -> share of the top k."""
    values = FOUND[grid, epsilon][whose]
    return {(top, "share found"): value for top, value in zip(TOPS, values, strict=True)}


def ends(grid: str) -> dict[Place, float]:
    """(epsilon, figure) -> loss."""
    return {(epsilon, ENDS): TABLE_4[grid, epsilon] for epsilon in EPSILONS}


def hops(grid: str) -> dict[Place, float]:
    """(epsilon, figure) -> value."""
    return {
        (epsilon, figure): value
        for epsilon in EPSILONS
        for figure, value in zip(HOPS, TABLE_5[grid, epsilon], strict=True)
    }
