"""Turns every constant of Weave off, to half and to double, and prints what moves beyond its spread.

    python -m tuning.weave_ablation [name of a constant, or a part of it] ... [--seeds 4] [--beyond 3] [--epsilon 1]

The worlds are its own: nothing is judged on them. For every variant those figures (logarithms of errors) are printed
whose mean over worlds and seeds moves by more than `beyond` standard errors; `-` where none does. A constant whose
every row is `-` moves nothing and can go.
"""

import argparse
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import numpy as np
from bench.weave import RIDERS, city
from pydantic import BaseModel

from tuning.weave_lengths import describe, measure, read_world
from wayveil.mechanisms.weave import Weave
from wayveil.trips.trips import Trips
from wayveil.utility.stop_figures import jensen_shannon
from wayveil.world.world import World

FIGURES = ("visits", "lengths", "cells", "edges", "pairs")
Number = int | float | Fraction


@cache
def worlds() -> dict[str, Trips]:
    """Return trips over grids, a network and a list, all simulated."""
    lines = RIDERS["habit"](city(120, 8, 31), 6_000, 31)
    return {
        "sessions": read_world("sessions", 3_000, 31),
        "wandering": read_world("wandering", 3_000, 31),
        "streets": read_world("streets", 3_000, 31),
        "lines": lines,
        "list": Trips(lines.location, lines.offsets, World(lines.world.ids)),
    }


def find_leaves(model: BaseModel, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield every constant with the way to it."""
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from find_leaves(value, (*path, name))
        else:
            yield (*path, name), value


def scale(value: object, factor: Fraction) -> object:
    """Return a constant times a factor, all of its numbers alike; None where that means nothing."""
    if isinstance(value, tuple):
        return tuple(scale(part, factor) for part in value)
    if isinstance(value, dict):
        return {name: scale(part, factor) for name, part in value.items()}
    if isinstance(value, bool) or not isinstance(value, Number):
        return None
    return type(value)(value * (float(factor) if isinstance(value, float) else factor))


def put(model: BaseModel, path: tuple[str, ...], value: object) -> BaseModel:
    """Return the settings with one constant changed, as far as its bounds allow."""
    new = value if len(path) == 1 else put(getattr(model, path[0]), path[1:], value)
    given = {name: getattr(model, name) for name in type(model).model_fields}
    return type(model)(**(given | {path[0]: new}))


def _count_pairs(trips: Trips) -> np.ndarray:
    """Return trips by groups of pairs of ends."""
    origin, destination = trips.location[trips.offsets[:-1]], trips.location[trips.offsets[1:] - 1]
    return np.bincount(
        origin.astype(np.int64) // 4 * trips.world.size + destination // 4, minlength=trips.world.size**2
    )


def score(raw: Trips, made: Trips) -> list[float]:
    """Return the logarithms of the errors, each at least a thousandth."""
    true, found = describe(raw), describe(made)
    most = max(true["lengths"].max(), found["lengths"].max()) + 1
    laws = [np.bincount(side["lengths"], minlength=most) for side in (true, found)]
    pairs = [_count_pairs(trips) for trips in (raw, made)]
    errors = [
        abs(found["lengths"].sum() / true["lengths"].sum() - 1),
        jensen_shannon(*laws),
        *(np.abs(true[key] - found[key]).sum() / true[key].sum() for key in ("cells", "edges")),
        np.abs(pairs[0] - pairs[1]).sum() / len(raw),
    ]
    return np.log(np.maximum(errors, 1e-3)).tolist()


def try_out(weave: Weave, epsilon: str, seeds: int) -> np.ndarray:
    """Return the figures by world and seed."""
    found = []
    for raw in worlds().values():
        legal = weave.rule(raw.world).apply(raw)
        found.append(
            [score(legal, measure(raw, epsilon, seed, weave).generate(seed)) for seed in range(seeds)]
        )
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--beyond", type=float, default=3.0)
    parser.add_argument("--epsilon", default="1")
    chosen = parser.parse_args()
    weave = Weave(weakest=0)
    base = try_out(weave, chosen.epsilon, chosen.seeds)
    for path, value in find_leaves(weave):
        name = ".".join(path)
        if chosen.names and not any(part in name for part in chosen.names):
            continue
        for label, factor in (("off", Fraction(0)), ("half", Fraction(1, 2)), ("double", Fraction(2))):
            try:
                variant = put(weave, path, scale(value, factor))
                change = try_out(variant, chosen.epsilon, chosen.seeds) - base
            except (ValueError, ArithmeticError, IndexError):
                print(f"{name:40} {label:7} not possible", flush=True)
                continue
            mean = change.mean(axis=(0, 1))
            error = np.maximum(change.std(axis=(0, 1), ddof=1) / np.sqrt(change[..., 0].size), 1e-6)
            moved = [
                f"{key} {by:+.2f}"
                for key, by, sure in zip(FIGURES, mean, error, strict=True)
                if abs(by) > chosen.beyond * sure
            ]
            print(f"{name:40} {label:7} {', '.join(moved) or '-'}", flush=True)


if __name__ == "__main__":
    main()
