"""Keys of people: who signs releases, and who may change the policies of a ledger.

A key is an ed25519 key in a file of its owner, outside every release and every ledger, readable by the owner only. Its
public half lies beside it and travels with what it signs; whoever receives that compares it with the key that its owner
gave out. A key may be locked by a passphrase, which is asked for once in a run, or read from WAYVEIL_PASSPHRASE.

signing-key.pem   the data holder's: signs releases, and seals what waits inside; made at first use
officer-key.pem   the privacy officer's: signs policies, and whatever goes around them (see docs/threat-model.md)
"""

import getpass
import hashlib
import os
import sys
from pathlib import Path
from typing import Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from wayveil.errors import InputError
from wayveil.files import write_first, write_whole

Role = Literal["signing", "officer"]
PASSPHRASE = "WAYVEIL_PASSPHRASE"
# Keys that were unlocked in this process, by what their files hold.
_unlocked: dict[bytes, Ed25519PrivateKey] = {}


def key_path(role: Role = "signing") -> Path:
    """Where the key of a role is kept: in `WAYVEIL_HOME`, or in the folder .wayveil of the user's home."""
    home = os.environ.get("WAYVEIL_HOME")
    return (Path(home) if home else Path.home() / ".wayveil") / f"{role}-key.pem"


def signing_key(path: str | Path | None = None) -> Ed25519PrivateKey:
    """The signing key at this place, made if there is none."""
    path = key_path() if path is None else Path(path)
    if not path.exists():
        make_key(path)
    return open_key(path)


def open_key(path: Path) -> Ed25519PrivateKey:
    """The key in a file; a locked one needs its passphrase."""
    try:
        data = path.read_bytes()
        if data in _unlocked:
            return _unlocked[data]
        key = load_pem_private_key(data, password=_ask(path).encode() if _is_locked(path) else None)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"is not a readable signing key ({error})", file=path) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError("is a key of another kind; an ed25519 key is needed", file=path)
    _unlocked[data] = key
    return key


def make_key(path: Path) -> None:
    """Make a key, unless there is one: of two first runs at once one keeps its key, and both use it."""
    write_first(path, _pem(Ed25519PrivateKey.generate(), ""))


def write_key(path: Path, key: Ed25519PrivateKey | None, passphrase: str) -> str:
    """Write a key (None: a new one) in the place of any other, and give its public half; an empty passphrase locks
    nothing.
    """
    key = Ed25519PrivateKey.generate() if key is None else key
    write_whole(path, _pem(key, passphrase), secret=True)
    write_whole(_beside(path), public_text(key))
    return public_text(key)


def own_public(path: Path) -> str | None:
    """The public half of the key at this place; None if there is no key. A locked key need not be opened for it."""
    if not path.exists():
        return None
    if _is_locked(path) and _beside(path).is_file():
        return _beside(path).read_text()
    return public_text(open_key(path))


def public_text(key: Ed25519PrivateKey) -> str:
    """The public half as PEM text."""
    return _public_pem(key.public_key())


def key_fingerprint(public: str) -> str:
    """A short name of a public key that people can compare."""
    return hashlib.sha256(public.strip().encode()).hexdigest()[:32]


def signature_holds(public: str, signature: bytes, message: bytes) -> bool:
    """Tell whether the signature was made over this message with the private half of this key."""
    try:
        key = load_pem_public_key(public.encode())
        if not isinstance(key, Ed25519PublicKey):
            return False
        key.verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def read_public(text: str) -> str | None:
    """Return the public half of an ed25519 key as `public_text` writes it, whatever blanks stand around it; None for
    any other text.
    """
    try:
        key = load_pem_public_key(text.strip().encode())
    except ValueError:
        return None
    return _public_pem(key) if isinstance(key, Ed25519PublicKey) else None


def _public_pem(key: Ed25519PublicKey) -> str:
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def _is_locked(path: Path) -> bool:
    return b"ENCRYPTED" in path.read_bytes()


def _ask(path: Path) -> str:
    said = os.environ.get(PASSPHRASE)
    if said is not None:
        return said
    if not sys.stdin.isatty():
        raise InputError(f"is locked: give its passphrase at a terminal or in {PASSPHRASE}", file=path)
    return getpass.getpass(f"Passphrase of {path.name}: ")


def _pem(key: Ed25519PrivateKey, passphrase: str) -> bytes:
    how: KeySerializationEncryption = NoEncryption()
    if passphrase:
        how = BestAvailableEncryption(passphrase.encode())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, how)


def _beside(path: Path) -> Path:
    return path.with_suffix(".pub")
