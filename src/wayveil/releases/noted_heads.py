"""Heads of a ledger, countersigned and kept elsewhere: they give away somebody who rewrites all of it.

A file of noted heads has one JSON record per line: which ledger, its head, when, and by whom. It is only ever added to.
Whoever can rewrite the ledger should not be able to write to that file.
"""

import json
from datetime import UTC, datetime
from pathlib import Path

from wayveil.errors import InputError
from wayveil.privacy.keys import (
    key_fingerprint,
    key_path,
    open_key,
    own_public,
    public_text,
    signature_holds,
    signing_key,
)
from wayveil.privacy.ledger import Head, Ledger
from wayveil.privacy.ledger.lines import canonical
from wayveil.released.trust import is_revoked, is_trusted


def note_head(ledger: Ledger, file: Path) -> Head:
    """Add the head of now to a file, signed with the officer's key where it is at hand, else with the signing key."""
    officer, head = key_path("officer"), ledger.head()
    key = open_key(officer) if officer.exists() else signing_key()
    said = {
        "ledger": ledger.id,
        "head": str(head),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "key": public_text(key),
    }
    record = {**said, "signature": key.sign(canonical(said).encode()).hex()}
    try:
        with file.open("a", encoding="utf-8") as out:
            out.write(canonical(record) + "\n")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=file) from error
    return head


def read_heads(ledger: Ledger, file: Path) -> list[Head]:
    """The heads of this ledger in a file; refused where one was changed, or signed by somebody who is not known."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise InputError(f"is not a readable file of noted heads ({error})", file=file) from error
    found = [_head(ledger, line, file, row) for row, line in enumerate(lines, 1) if line.strip()]
    heads = [head for head in found if head is not None]
    if not heads:
        raise InputError("has no head of this ledger", file=file)
    return heads


def _head(ledger: Ledger, line: str, file: Path, row: int) -> Head | None:
    try:
        record = json.loads(line)
        said = {name: str(record[name]) for name in ("ledger", "head", "time", "key")}
        signature = bytes.fromhex(record["signature"])
        head = Head.parse(said["head"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"line {row} is not a noted head ({error})", file=file) from error
    if not signature_holds(said["key"], signature, canonical(said).encode()):
        raise InputError(f"line {row} was changed after it was signed", file=file)
    signer = key_fingerprint(said["key"])
    known = {ledger.officer, own_public(key_path()), own_public(key_path("officer"))}
    if is_revoked(signer) or not (said["key"] in known or is_trusted(signer)):
        raise InputError(f"line {row} was signed by a key that is not known here ({signer})", file=file)
    return head if said["ledger"] == ledger.id else None
