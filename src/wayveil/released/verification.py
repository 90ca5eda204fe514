"""Is a release as it was signed, and by whom? Everything that reads a release asks this first."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from wayveil.errors import InputError
from wayveil.privacy.keys import key_fingerprint, signature_holds
from wayveil.released.trust import is_revoked, is_trusted, pin

MANIFEST, SIGNATURE = "manifest.json", "manifest.sig"
FORMAT = 4
WITHOUT_WORLD = 3  # the format before, whose releases are opened with a world
ANY_KEY = "any"


class UnknownKeyError(InputError):
    """A release is whole, but nobody has said yet that its signer is who it should be."""


@dataclass(frozen=True)
class Verified:
    """What a good signature covers."""

    folder: Path
    files: dict[str, str]
    key: str
    format: int


def verify_release(folder: str | Path, *, trust: str | None = None) -> Verified:
    """Check signature, files and signer of a release; an error names the first thing that is not as it was signed.

    `trust` is the fingerprint of the data holder's key as the data holder gave it out: a release that fits pins it, so
    that the next one needs no word. `trust="any"` takes whoever signed. Without it the key must be one's own or pinned.
    """
    folder = Path(folder)
    manifest_bytes, signature = _read(folder, MANIFEST), _read(folder, SIGNATURE)
    try:
        manifest = json.loads(manifest_bytes)
        files: dict[str, str] = dict(manifest["files"])
        public, written_as = str(manifest["public_key"]), int(manifest["format"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError("was changed: it is not a manifest any more", file=folder / MANIFEST) from error
    if not signature_holds(public, signature, manifest_bytes):
        raise InputError(
            "the signature does not fit; the manifest or the signature was changed", file=folder / MANIFEST
        )
    for name, expected in files.items():
        _check_file(folder, name, expected)
    extra = {path.name for path in folder.iterdir()} - set(files) - {MANIFEST, SIGNATURE}
    if extra:
        raise InputError("is not in the signed manifest", file=folder / min(extra))
    found = Verified(folder, files, key_fingerprint(public), written_as)
    _check_signer(found, trust)
    return found


def hash_file(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(folder: Path, name: str) -> bytes:
    path = folder / name
    if path.is_symlink():
        raise InputError("is a link; a release holds its own files", file=path)
    if not folder.exists():
        raise InputError("there is no such folder", file=folder)
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"is not a signed release: {path} cannot be read", file=folder) from error


def _check_file(folder: Path, name: str, expected: Any) -> None:
    path = folder / name
    if Path(name).name != name or name in (MANIFEST, SIGNATURE) or "\\" in name:
        raise InputError(f"names {name!r}, which is no file of a release", file=folder / MANIFEST)
    if path.is_symlink():
        raise InputError("is a link; a release holds its own files", file=path)
    if not path.is_file():
        raise InputError("is missing, but the signed manifest lists it", file=path)
    if hash_file(path) != expected:
        raise InputError("was changed after it was signed", file=path)


def _check_signer(found: Verified, trust: str | None) -> None:
    if is_revoked(found.key):
        raise InputError(f"was signed by a key that was revoked ({found.key})", file=found.folder)
    if trust == ANY_KEY or (trust is None and is_trusted(found.key)):
        return
    if trust is None:
        raise UnknownKeyError(
            f"is whole, but signed by an unknown key ({found.key}). Compare this fingerprint with the one that the "
            f"data holder gives out; if they agree, say so once: wayveil verify {quote(str(found.folder))} --key "
            f"{found.key}",
            file=found.folder,
        )
    if trust != found.key:
        raise InputError(f"was signed by another key ({found.key}), not by {trust}", file=found.folder)
    if not is_trusted(found.key):
        pin(found.key)
