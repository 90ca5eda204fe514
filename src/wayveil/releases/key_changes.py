"""Changes of keys (an officer is appointed, a key is locked, replaced or revoked), her signature, noted heads.

Heads of a ledger, countersigned and kept elsewhere: they give away somebody who rewrites all of it.

A file of noted heads has one JSON record per line: which ledger, its head, when, and by whom. It is only ever added to.
Whoever can rewrite the ledger should not be able to write to that file.
"""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

from wayveil.errors import InputError, ParameterError
from wayveil.files import hash_file
from wayveil.privacy.keys import (
    key_fingerprint,
    key_path,
    open_key,
    own_public,
    public_text,
    read_public,
    signature_holds,
    signing_key,
    write_key,
)
from wayveil.privacy.ledger import Head, Ledger
from wayveil.privacy.ledger.lines import canonical
from wayveil.released.approval import Approval
from wayveil.released.verification import MANIFEST, is_revoked, is_trusted, pin
from wayveil.released.verification import revoke as distrust
from wayveil.releases.priors import problem_of

ME = "me"


def appoint_officer(ledger: Ledger, who: str, actor: str, passphrase: str = "") -> str:
    """Appoint the officer of a ledger, by a file with her public key or oneself (`me`); gives her fingerprint.

    One's own officer's key is made if there is none, locked by the passphrase.
    """
    if who == ME:
        path = key_path("officer")
        public = own_public(path) or write_key(path, None, passphrase)
    else:
        try:
            known = read_public(Path(who).read_text())
        except (OSError, ValueError) as error:
            raise InputError(f"is not a readable public key ({error})", file=Path(who)) from error
        if known is None:
            raise InputError("is not the public half of an ed25519 key", file=Path(who))
        public = known
    ledger.appoint(public, actor)
    return key_fingerprint(public)


def lock_key(path: Path, passphrase: str) -> None:
    """Lock a key with another passphrase; an empty one unlocks it for good."""
    if not path.exists():
        raise InputError("there is no such key", file=path)
    write_key(path, open_key(path), passphrase)


def rotate_signing_key(passphrase: str = "") -> str:
    """Put a new signing key in the place of the old one, which stays trusted for what it signed; its fingerprint.

    What waits under a seal of the old key must be finished before.
    """
    path = key_path()
    former = own_public(path)
    if former is not None:
        pin(key_fingerprint(former))
    return key_fingerprint(write_key(path, None, passphrase))


def rotate_officer_key(ledger: Ledger, actor: str, passphrase: str = "") -> str:
    """Put a new officer's key in the place of the old one, which signs for it; its fingerprint.

    The new one is on disk before the ledger names it: nobody is locked out by a power cut.
    """
    path = key_path("officer")
    if ledger.officer is None or own_public(path) != ledger.officer:
        raise ParameterError("only the officer of a ledger can replace her key, with the old one at hand")
    coming = path.with_name("officer-key-new.pem")
    public = write_key(coming, None, passphrase)
    ledger.appoint(public, actor)
    for suffix in (".pem", ".pub"):
        os.replace(coming.with_suffix(suffix), path.with_suffix(suffix))
    return key_fingerprint(public)


def revoke_key(ledger: Ledger, fingerprint: str, reason: str, actor: str) -> None:
    """Say in the ledger, and here, that a signing key is not to be believed any more."""
    if ledger.officer is not None and key_fingerprint(ledger.officer) == fingerprint:
        raise ParameterError("this is the officer's key: let her replace it, or appoint another officer")
    ledger.revoke(fingerprint, reason, actor)
    distrust(fingerprint)


def sign_release(folder: Path, ledger: Ledger, decision: str, actor: str) -> Approval:
    """Sign a decision on a release with the officer's key, if its files and the ledger that booked it are whole."""
    path = key_path("officer")
    if ledger.officer is None or own_public(path) != ledger.officer:
        raise ParameterError(
            "only the officer of this ledger can sign, with her key at hand: wayveil ledger officer --appoint me"
        )
    problem = ledger.verify().problem or problem_of(folder, ledger)
    if problem is not None:
        raise InputError(f"not signed: {problem}", file=folder)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    manifest, head = hash_file(folder / MANIFEST), str(ledger.head())
    made = Approval(manifest, decision, actor, now, ledger.id, head, ledger.officer)
    made.write(folder, open_key(path))
    return made


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
