"""A draft for the public registry of differential-privacy deployments."""

import json
from pathlib import Path
from typing import Any

from wayveil.accuracy.judged import JudgedRelease
from wayveil.released.datasheet import NOT_STATED
from wayveil.world.timebins import TimeBins


def registry_record(release: JudgedRelease) -> dict[str, Any]:
    """The release as the registry describes deployments, all three tiers."""
    deployment = release.datasheet["deployment"]
    basic = deployment["basic"]
    slug = "-".join("".join(sign if sign.isalnum() else " " for sign in basic["name"].lower()).split())
    authors = [each["data_curator_name"] for each in basic["data_curators"]]
    administrative = {"sources": NOT_STATED, "registry_authors": authors}
    return {
        "url_slug": slug,
        "status": "Draft",
        "tier": 3,
        "deployment": {**deployment, "administrative": administrative},
    }


def write_registry(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """One file; the registry takes YAML, and JSON is YAML."""
    out.write_text(json.dumps(registry_record(release), indent=2, ensure_ascii=False), encoding="utf-8")
    return [out]
