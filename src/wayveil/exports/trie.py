"""The n-grams of a release as nodes within nodes."""

import json
from pathlib import Path
from typing import Any

from wayveil.accuracy.judged import JudgedRelease
from wayveil.errors import ParameterError
from wayveil.synthesis.model import Nests
from wayveil.world.timebins import TimeBins


def write_trie(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """One JSON file: `n` and the `root`."""
    if not isinstance(release.model, Nests):
        raise ParameterError(
            "this release was not made from n-grams, so it has no trie; `mobitrie` makes one"
        )
    root = release.model.nested()
    out.write_text(json.dumps({"n": _depth(root) - 1, "root": root}, ensure_ascii=False), encoding="utf-8")
    return [out]


def _depth(node: dict[str, Any]) -> int:
    return 1 + max((_depth(child) for child in node["children"]), default=0)
