"""Whether two models are the same to the last bit, and where they first differ."""

from collections.abc import Mapping
from enum import Enum
from fractions import Fraction
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import polars as pl

_PLAIN = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    Fraction,
    type(None),
    type,
    Enum,
    FunctionType,
    ModuleType,
    range,
    np.generic,
)


def difference(one: Any, other: Any, where: str = "model") -> str | None:
    """The place of the first difference between two objects, or None. What cannot be compared counts as different."""
    return _difference(one, other, where, set())


def _difference(one: Any, other: Any, where: str, seen: set[tuple[int, int]]) -> str | None:
    if one is other or (id(one), id(other)) in seen:
        return None
    if type(one) is not type(other):
        return where
    if isinstance(one, np.ndarray):
        return None if _same_arrays(one, other) else where
    if isinstance(one, _PLAIN):
        return None if one == other else where
    if isinstance(one, pl.DataFrame | pl.Series):
        return None if one.equals(other) else where
    seen.add((id(one), id(other)))
    parts, others = _parts(one), _parts(other)
    if parts is None or others is None or list(parts) != list(others):
        return where
    for name in parts:
        found = _difference(parts[name], others[name], f"{where}.{name}", seen)
        if found is not None:
            return found
    return None


def _same_arrays(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    # Bytes, so that -0.0 and 0.0 or two kinds of nan are not taken for the same.
    return bool(np.array_equal(one, other)) if one.dtype.hasobject else one.tobytes() == other.tobytes()


def _parts(thing: Any) -> dict[str, Any] | None:
    """The named parts of a compound object, caches included: they are derived from the rest or should differ."""
    if isinstance(thing, Mapping):
        return {str(key): value for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return {str(place): value for place, value in enumerate(thing)}
    if isinstance(thing, set | frozenset):
        return {str(place): value for place, value in enumerate(sorted(thing, key=repr))}
    if isinstance(thing, MethodType):
        return {"self": thing.__self__, "function": thing.__func__}
    slots = [
        name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ()) if name != "__dict__"
    ]
    if not hasattr(thing, "__dict__") and not slots:
        return None
    parts = {name: getattr(thing, name) for name in slots if hasattr(thing, name)}
    return parts | dict(getattr(thing, "__dict__", {}))
