"""Checkers of what syntactic methods promise; they share no code with the makers."""

from itertools import combinations, pairwise
from math import prod


def lk_violations(sequences, most, k):
    """Every sequence of at most `most` pairs that fewer than k of the sequences hold, by brute force."""
    support = {}
    for number, sequence in enumerate(sequences):
        for length in range(1, most + 1):
            for part in combinations(sequence, length):
                support.setdefault(part, set()).add(number)
    return {part for part, holders in support.items() if len(holders) < k}


def glove_faults(network, riders, group_of, table, made, k):
    """Sentences about what is wrong: small groups, raw points outside their group's boxes, drawn ones too.

    riders    raw (stop, time) points of each rider; group_of: the group of each rider
    table     rows of boxes (dictionaries); made: lists of (stop, time) of the drawn trips
    """
    faults = []
    boxes = {}
    for row in table:
        boxes.setdefault(row["group"], []).append(row)
    members = {}
    for rider, group in enumerate(group_of):
        members.setdefault(group, []).append(rider)
    slack = 1e-6

    def inside(point, row):
        stop, time = point
        return (
            row["west"] - slack <= network.lon[stop] <= row["east"] + slack
            and row["south"] - slack <= network.lat[stop] <= row["north"] + slack
            and row["begin"] <= time <= row["end"]
        )

    if sorted(members) != sorted(boxes):
        faults.append("groups without boxes, or boxes without groups")
    for group, mine in members.items():
        if len(mine) < k:
            faults.append(f"group {group} has {len(mine)} riders")
        if any(row["riders"] != len(mine) for row in boxes.get(group, [])):
            faults.append(f"group {group} states another size")
        faults += [
            f"rider {rider} lies outside"
            for rider in mine
            if not all(any(inside(point, row) for row in boxes.get(group, [])) for point in riders[rider])
        ]
        ordered = sorted(boxes.get(group, []), key=lambda row: row["begin"])
        if any(a["end"] > b["begin"] for a, b in pairwise(ordered)):
            faults.append(f"intervals of group {group} overlap")
    if len(made) != len(riders):
        faults.append("not one drawn trip per rider")
    every = [boxes[group] for group in boxes]
    return faults + [
        "a drawn trip fits no group"
        for trip in made
        if not any(len(trip) == len(rows) and all(map(inside, trip, rows)) for rows in every)
    ]


def seeds_alike(trip, own, seeds, cluster, visits, blur, gamma):
    """Recount: seeds that give the trip a probability within the factor of its own seed's."""
    everything = sum(visits)
    of_cluster = {c: sum(v for v, d in zip(visits, cluster, strict=True) if c == d) for c in set(cluster)}

    def chance(seed):
        return prod(
            (1 - blur) * (cluster[y] == cluster[d]) * visits[y] / max(of_cluster[cluster[y]], 1)
            + blur * visits[y] / everything
            for y, d in zip(trip, seed, strict=True)
        )

    mine = chance(own)
    near = [chance(seed) for seed in seeds if len(seed) == len(trip)]
    return sum(mine / gamma * (1 - 1e-9) <= other <= mine * gamma * (1 + 1e-9) for other in near)
