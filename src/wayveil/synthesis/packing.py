"""A model as named arrays and back: what its fields hold, by the types that they declare.

A model is a frozen dataclass of arrays, numbers, exact fractions and smaller dataclasses. Numbers become one text of
JSON, arrays stay arrays, and the public world is left out: whoever loads a model brings the world that it was made for.
Nothing is executed on the way back (no pickle), and whatever does not fit the declared types is refused.
"""

import json
from dataclasses import MISSING, fields, is_dataclass
from datetime import date
from fractions import Fraction
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from wayveil.taps.boardings import Boardings
from wayveil.world.network import Network
from wayveil.world.timebins import TimeBins
from wayveil.world.world import World

FACTS = "facts"
Arrays = dict[str, NDArray[Any]]


def pack(thing: Any) -> Arrays:
    """Every array of a dataclass under the path of its field, and all else as JSON under `facts`."""
    arrays: Arrays = {}
    facts = _pack(thing, type(thing).__name__, arrays)
    return {FACTS: np.array(json.dumps(facts)), **arrays}


def unpack(kind: type, arrays: Arrays, world: World) -> Any:
    """Put together what `pack` took apart. ValueError, KeyError or TypeError if it does not fit `kind`."""
    return _unpack(json.loads(str(arrays[FACTS])), kind, arrays, world)


def _pack(value: Any, path: str, arrays: Arrays) -> Any:
    if isinstance(value, np.ndarray):
        arrays[path] = value
        return path
    if isinstance(value, World):
        return "boardings" if isinstance(value, Boardings) else "world"
    if isinstance(value, TimeBins):
        return {"edges": value.edges.tolist(), "period": value.period}
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value):
        return {
            each.name: _pack(getattr(value, each.name), f"{path}.{each.name}", arrays)
            for each in fields(value)
        }
    if isinstance(value, dict):
        return {key: _pack(part, f"{path}.{key}", arrays) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [_pack(part, f"{path}.{at}", arrays) for at, part in enumerate(value)]
    if isinstance(value, Fraction | date):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value


def _unpack(value: Any, hint: Any, arrays: Arrays, world: World) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        if value is None and NoneType in inner:
            return None
        (only,) = (each for each in inner if each is not NoneType)
        return _unpack(value, only, arrays, world)
    if origin is Literal:
        return _checked(value, value in inner, hint)
    if origin is np.ndarray:
        return _array(arrays[value], hint)
    if origin is tuple:
        kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
        return tuple(_unpack(part, kind, arrays, world) for part, kind in zip(value, kinds, strict=True))
    if origin is dict:
        return {key: _unpack(part, inner[1], arrays, world) for key, part in value.items()}
    return _unpack_plain(value, hint, arrays, world)


def _unpack_plain(value: Any, hint: Any, arrays: Arrays, world: World) -> Any:
    if issubclass(hint, World):
        if value == "boardings" and not isinstance(world, Network):
            raise ValueError("a model of stops and routes needs the network that it was made for")
        return Boardings(world) if value == "boardings" and isinstance(world, Network) else world
    if issubclass(hint, TimeBins):
        return TimeBins(value["edges"], period=value["period"])
    if issubclass(hint, BaseModel):
        try:
            return hint.model_validate(value)
        except ValidationError:
            # Its own words quote the value, and fail where they cut a character in two.
            raise ValueError(f"what stands for {hint.__name__} does not fit it") from None
    if is_dataclass(hint):
        hints, made = get_type_hints(hint), cast(type, hint)
        # A field that has a default may be younger than the model.
        said = [each for each in fields(hint) if each.default is MISSING or each.name in value]
        return made(
            **{each.name: _unpack(value[each.name], hints[each.name], arrays, world) for each in said}
        )
    if hint is Fraction:
        return Fraction(value)
    if hint is date:
        return date.fromisoformat(value)
    if hint is float:
        return _checked(value, isinstance(value, int | float), hint)
    return _checked(value, type(value) is hint, hint)


def _array(array: NDArray[Any], hint: Any) -> NDArray[Any]:
    """Arrays come back with the element type that their field declares."""
    (wanted,) = get_args(get_args(hint)[1])
    return _checked(array, bool(np.issubdtype(array.dtype, wanted)), hint)


def _checked(value: Any, fits: bool, hint: Any) -> Any:
    if not fits:
        raise ValueError(f"{str(value)[:60]} is no {hint}")
    return value
