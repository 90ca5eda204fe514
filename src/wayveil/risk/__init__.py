"""How safe is a release? Attacks on one's own release, STRAP, and audits that try to break the claimed epsilon.

This room sees raw trips and exact counts: its figures are for the data holder's eyes and not for publication. The room
itself can be called: `wayveil.risk(release, raw, holdout)` runs every attack (see `wayveil.risk.attacks.assess`).
"""

import sys
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    """A package that is also the verb it is named after; attacks are loaded when it is called."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from wayveil.risk.attacks.assess import risk

        return risk(*arguments, **options)


sys.modules[__name__].__class__ = _Room
