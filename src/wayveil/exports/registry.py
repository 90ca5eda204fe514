"""A record of a release for the public registry of differential-privacy deployments.

Its fields and their places are those of the registry's schema at commit `SCHEMA`; a datasheet keeps its own.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from wayveil.accuracy.judged import JudgedRelease
from wayveil.errors import ParameterError
from wayveil.released.released_trips import NOT_STATED
from wayveil.world.timebins import TimeBins

# Of schemas/deployments-schema.yaml in opendp/deployments-registry-data.
SCHEMA: Final = "057e5d81cf60150dd3307e0cf4504b957802fb3b"


def registry_record(release: JudgedRelease) -> dict[str, Any]:
    """Return the release as the registry describes deployments, all three tiers.

    What the registry demands and only the data holder knows comes from the plan; it is refused if nobody said it.
    """
    deployment = release.datasheet["deployment"]
    basic = deployment["basic"]
    _refuse_unsaid(basic)
    name = str(basic["name"])
    model = deployment["deployment_model"] | {
        "trust_assumptions": "The data holder sees raw rows and is trusted; everybody else sees the release only.",
    }
    return {
        "url_slug": "-".join("".join(sign if sign.isalnum() else " " for sign in name.lower()).split()),
        "deployment": {
            "basic": {**basic, "data_product_sector": "Government"} if _public_body(basic) else basic,
            "dp_variant": deployment["dp_variant"],
            "privacy_loss": deployment["privacy_loss"],
            "deployment_model": model,
            "implementation": {
                **deployment["implementation"],
                **deployment["accounting"],
                "utility": " ".join(release.accuracy.words),
            },
            "administrative": {
                "status": "Draft",
                "registry_authors": [each["data_curator_name"] for each in basic["data_curators"]],
                "tier": 3,
            },
        },
    }


def write_registry(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """Write one file; the registry takes YAML, and JSON is YAML."""
    out.write_text(json.dumps(registry_record(release), indent=2, ensure_ascii=False), encoding="utf-8")
    return [out]


def _public_body(basic: Mapping[str, Any]) -> bool:
    return any(each.get("data_curator_type") == "Government" for each in basic["data_curators"])


def _refuse_unsaid(basic: Mapping[str, Any]) -> None:
    said = {
        "curator": basic["data_curators"][0]["data_curator_name"],
        "curator_type": basic["data_curators"][0].get("data_curator_type", NOT_STATED),
        "purpose": basic["intended_use"],
        "region": basic["data_product_region"],
    }
    unsaid = [key for key, value in said.items() if value in ("", NOT_STATED)]
    if unsaid:
        raise ParameterError(
            f"the registry asks for {', '.join(unsaid)}, and the plan of this release did not say so: write "
            f"{'it' if len(unsaid) == 1 else 'them'} into the plan (wayveil plan --keys explains each), or give "
            f"{' '.join(f'--with {key}=...' for key in unsaid)} for this record"
        )
