"""Is a release as it was signed, and by whom? Whose signatures are believed, and seals on what waits inside.

Seals on what waits inside the building: only the holder of the signing key could have written it, and nobody else
can read it.

A folder that is not published yet (`.NAME.paid`) is sealed by a list of its files, signed with the data holder's own
key. Without the seal, or with any other file than those on its list, nothing in it is believed.
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Any

from wayveil.errors import InputError
from wayveil.files import hash_file, write_whole
from wayveil.privacy.keys import key_fingerprint, key_path, own_public, signature_holds, signing_key
from wayveil.released.approval import APPROVAL, Approval, read_approval


def trust_file() -> Path:
    """Where pinned keys are kept, beside one's own."""
    return key_path().with_name("trusted-keys.json")


def is_trusted(fingerprint: str) -> bool:
    """Tell whether it is one's own key or a pinned one, and nobody revoked it."""
    entry = read_pins().get(fingerprint)
    if entry is not None:
        return "revoked" not in entry
    own = own_public(key_path())
    return own is not None and key_fingerprint(own) == fingerprint


def is_revoked(fingerprint: str) -> bool:
    """Tell whether somebody said that this key is not to be believed any more."""
    return "revoked" in (read_pins().get(fingerprint) or {})


def pin(fingerprint: str) -> None:
    """Believe this key from now on."""
    _note(fingerprint, "pinned")


def revoke(fingerprint: str) -> None:
    """Never believe this key again, whatever it signed."""
    _note(fingerprint, "revoked")


def _note(fingerprint: str, what: str) -> None:
    noted = {what: datetime.now(UTC).isoformat(timespec="seconds")}
    pins = read_pins()
    pins[fingerprint] = {**(pins.get(fingerprint) or {}), **noted}
    write_whole(trust_file(), json.dumps(pins, indent=2))


def read_pins() -> dict[str, Any]:
    """All pinned keys, by fingerprint."""
    path = trust_file()
    if not path.exists():
        return {}
    try:
        pins = json.loads(path.read_text())
        if not isinstance(pins, dict):
            raise ValueError("it is no list of keys")
    except (OSError, ValueError) as error:
        raise InputError(f"is not a readable list of trusted keys ({error})", file=path) from error
    return pins


MANIFEST, SIGNATURE = "manifest.json", "manifest.sig"
FORMAT = 4
WITHOUT_WORLD = 3  # the format before, whose releases are opened with a world
ANY_KEY = "any"


class UnknownKeyError(InputError):
    """A release is whole, but nobody has said yet that its signer is who it should be."""


@dataclass(frozen=True)
class Verified:
    """Parts of a release that a good signature covers, and the officer's decision if she signed one."""

    folder: Path
    files: dict[str, str]
    key: str
    format: int
    approval: Approval | None = None


def verify_release(folder: str | Path, *, trust: str | None = None) -> Verified:
    """Check signature, files and signer of a release; an error names the first thing that is not as it was signed.

    `trust` is the fingerprint of the data holder's key (or of the officer's, where she signed too) as its owner gave it
    out: a release that fits pins it, so that the next one needs no word. `trust="any"` takes whoever signed. Without it
    the key must be one's own or pinned.

    >>> "datasheet.json" in wv.verify_release(folder / "release").files
    True
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
    extra = {path.name for path in folder.iterdir()} - set(files) - {MANIFEST, SIGNATURE, APPROVAL}
    if extra:
        raise InputError("is not in the signed manifest", file=folder / min(extra))
    approval = read_approval(folder, hashlib.sha256(manifest_bytes).hexdigest())
    found = Verified(folder, files, key_fingerprint(public), written_as, approval)
    _check_signer(found, trust)
    return found


def _read(folder: Path, name: str) -> bytes:
    path = folder / name
    if path.is_symlink():
        raise InputError("is a link; a release holds its own files", file=path)
    if not folder.exists():
        raise InputError("no such folder", file=folder)
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"is not a signed release: {path} cannot be read", file=folder) from error


def _check_file(folder: Path, name: str, expected: Any) -> None:
    path = folder / name
    if Path(name).name != name or name in (MANIFEST, SIGNATURE, APPROVAL) or "\\" in name:
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
    if found.approval is not None and trust == found.approval.fingerprint:
        pin(trust)
        trust = None
    if trust == ANY_KEY or (trust is None and is_trusted(found.key)):
        return
    if trust is None:
        raise UnknownKeyError(
            f"is intact, but signed by an unknown key ({found.key}). Compare this fingerprint with the one that the "
            f"data holder publishes. If they agree, run once: wayveil verify {quote(str(found.folder))} --key "
            f"{found.key}",
            file=found.folder,
        )
    if trust != found.key:
        raise InputError(f"was signed by another key ({found.key}), not by {trust}", file=found.folder)
    if not is_trusted(found.key):
        pin(found.key)


SEAL = "sealed.json"


def seal_folder(folder: Path) -> None:
    """Keep everybody else out of a folder, and sign what is in it. The seal comes last: a folder with it is whole."""
    folder.chmod(0o700)
    files = sorted(path for path in folder.iterdir() if path.name != SEAL)
    for path in files:
        path.chmod(0o600)
    write_whole(folder / SEAL, seal_text({path.name: hash_file(path) for path in files}), secret=True)


def require_seal(folder: Path) -> None:
    """Refuse a folder that was not sealed with one's own key, or was changed since."""
    files = open_seal(_read_sealed(folder / SEAL), folder / SEAL)
    there = {path.name for path in folder.iterdir()} - {SEAL}
    changed = [name for name in {*files, *there} if name not in there or name not in files]
    changed += [name for name in there & files.keys() if hash_file(folder / name) != files[name]]
    if changed:
        raise InputError("was changed after it was sealed", file=folder / min(changed))


def seal_text(content: dict[str, str]) -> str:
    """Sign a few texts with one's own key."""
    body = json.dumps(content, sort_keys=True)
    return json.dumps({"sealed": content, "signature": signing_key().sign(body.encode()).hex()})


def open_seal(text: str, path: Path) -> dict[str, str]:
    """The texts under a seal; refused unless one's own key made it."""
    try:
        record = json.loads(text)
        content = {str(name): str(value) for name, value in record["sealed"].items()}
        signature = bytes.fromhex(record["signature"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"is not a seal ({error})", file=path) from error
    body = json.dumps(content, sort_keys=True).encode()
    if not signature_holds(own_public(key_path()) or "", signature, body):
        raise InputError("was changed, or sealed with another key than the one in use here", file=path)
    return content


def _read_sealed(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError) as error:
        raise InputError("cannot be read; what lies here without a seal is not used", file=path) from error
