"""Every distribution that an installation brings, with its licence, and a bill of materials of them."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from uuid import NAMESPACE_URL, uuid5

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# Licences that put no condition on whoever uses or ships Wayveil.
PERMISSIVE = re.compile(
    r"MIT|BSD|Apache|PSF|Python Software Foundation|ISC|HPND|Zlib|Unlicense|0BSD|CC0|MPL-2|Mozilla|Public Domain",
    re.I,
)


@dataclass(frozen=True)
class Dependency:
    """An installed distribution; `extra` says which extra brings it, empty for what everybody gets."""

    name: str
    version: str
    licence: str
    extra: str

    @property
    def verdict(self) -> str:
        """Say whether the licence is permissive or not allowed."""
        return "permissive" if PERMISSIVE.search(self.licence) else "not allowed"

    @property
    def purl(self) -> str:
        """The address of a package as bills of materials write it."""
        return f"pkg:pypi/{canonicalize_name(self.name)}@{self.version}"


def dependencies(wanted: dict[str, list[str]]) -> tuple[list[Dependency], list[str]]:
    """Return what these requirements bring (by extra; the empty one first), and names that are not installed here."""
    found: dict[str, Dependency] = {}
    missing: set[str] = set()
    for extra, requirements in wanted.items():
        for name in _closure(requirements, {""}, set()):
            try:
                made = distribution(name)
            except PackageNotFoundError:
                missing.add(name)
                continue
            found.setdefault(name, Dependency(name, made.version, licence_of(made), extra))
    return sorted(found.values(), key=lambda each: each.name), sorted(missing)


def _closure(requirements: list[str], extras: set[str], seen: set[str]) -> Iterator[str]:
    for line in requirements:
        wanted = Requirement(line)
        name = canonicalize_name(wanted.name)
        applies = wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in extras)
        if not applies or name == "wayveil" or line in seen:
            continue
        seen.add(line)
        yield name
        with suppress(PackageNotFoundError):
            yield from _closure(distribution(name).requires or [], {*wanted.extras, ""}, seen)


def licence_of(made: Distribution) -> str:
    """Return the licence that a distribution states: expression, classifiers, or the first line of its text."""
    said = made.metadata
    if said.get("License-Expression"):
        return str(said["License-Expression"])
    classifiers = [
        each.rsplit(" :: ", 1)[-1] for each in said.get_all("Classifier", []) if each.startswith("License ::")
    ]
    kept = [each for each in classifiers if each != "OSI Approved"]
    text = str(said.get("License") or "").strip().splitlines()
    return " AND ".join(kept) or (text[0] if text else "") or "not stated"


def bill_of_materials(version: str, parts: list[Dependency], when: str) -> str:
    """Return a CycloneDX 1.6 document of Wayveil and what it needs."""
    own = f"pkg:pypi/wayveil@{version}"
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, own + ''.join(part.purl for part in parts))}",
        "version": 1,
        "metadata": {
            "timestamp": when,
            "component": {
                "type": "library",
                "bom-ref": own,
                "name": "wayveil",
                "version": version,
                "purl": own,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            },
        },
        "components": [
            {
                "type": "library",
                "bom-ref": part.purl,
                "name": part.name,
                "version": part.version,
                "purl": part.purl,
                "scope": "optional" if part.extra else "required",
                "licenses": [{"license": {"name": part.licence}}],
            }
            for part in parts
        ],
        "dependencies": [{"ref": own, "dependsOn": [part.purl for part in parts]}],
    }
    return json.dumps(document, indent=2) + "\n"
