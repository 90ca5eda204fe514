"""Changes of keys: an officer is appointed, a key is locked, replaced or revoked."""

import os
from pathlib import Path

from wayveil.errors import InputError, ParameterError
from wayveil.privacy.keys import (
    is_public_key,
    key_fingerprint,
    key_path,
    open_key,
    own_public,
    write_key,
)
from wayveil.privacy.ledger import Ledger
from wayveil.released.trust import pin
from wayveil.released.trust import revoke as distrust

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
            public = Path(who).read_text()
        except (OSError, ValueError) as error:
            raise InputError(f"is not a readable public key ({error})", file=Path(who)) from error
        if not is_public_key(public):
            raise InputError("is not the public half of an ed25519 key", file=Path(who))
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
