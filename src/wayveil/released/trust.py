"""Whose signatures are believed: one's own key, and keys that were compared with their holder's once and pinned."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wayveil.errors import InputError
from wayveil.files import write_whole
from wayveil.released.signing import default_key_path, key_fingerprint, public_text, signing_key


def trust_file() -> Path:
    """Where pinned keys are kept, beside one's own."""
    return default_key_path().with_name("trusted-keys.json")


def is_trusted(fingerprint: str) -> bool:
    """Tell whether it is one's own key or a pinned one."""
    if fingerprint in read_pins():
        return True
    own = default_key_path()
    return own.exists() and key_fingerprint(public_text(signing_key(own))) == fingerprint


def pin(fingerprint: str) -> None:
    """Believe this key from now on."""
    path = trust_file()
    pins = {**read_pins(), fingerprint: {"pinned": datetime.now(UTC).isoformat(timespec="seconds")}}
    write_whole(path, json.dumps(pins, indent=2))


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
