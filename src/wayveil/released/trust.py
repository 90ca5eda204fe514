"""Whose signatures are believed: one's own key, and keys that were compared with their holder's once and pinned."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wayveil.errors import InputError
from wayveil.files import write_whole
from wayveil.privacy.keys import key_fingerprint, key_path, own_public


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
