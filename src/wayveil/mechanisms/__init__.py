"""One module or folder per mechanism. A mechanism is a policy: which counts to ask for, what to pay, what to keep.

The room can be called, because its name and that of the public verb are one: `wayveil.mechanisms()` lists them.

>>> sorted(wv.mechanisms())[:3]
['dp-loc', 'dpt', 'markov']
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from wayveil.mechanisms.registry import mechanisms

if TYPE_CHECKING:
    from wayveil.mechanisms.mechanism import Mechanism


class _Mechanisms(ModuleType):
    def __call__(self) -> "dict[str, type[Mechanism]]":
        """Name every mechanism, with its class."""
        return mechanisms()


sys.modules[__name__].__class__ = _Mechanisms
