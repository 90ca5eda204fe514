"""Signatures: who made a release, and that nobody changed it since.

A data holder has one ed25519 key. It is made at first use and kept outside every release, readable by its owner only.
The public half travels with each release; whoever receives one compares it with the key that the data holder gave out.
"""

import hashlib
import os
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from wayveil.errors import InputError
from wayveil.files import write_first


def default_key_path() -> Path:
    """Where the data holder's key is kept: `WAYVEIL_HOME`, or the folder .wayveil of the user's home."""
    home = os.environ.get("WAYVEIL_HOME")
    return (Path(home) if home else Path.home() / ".wayveil") / "signing-key.pem"


def signing_key(path: str | Path | None = None) -> Ed25519PrivateKey:
    """The key at this place, made if there is none."""
    path = default_key_path() if path is None else Path(path)
    if not path.exists():
        _make_key(path)
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"is not a readable signing key ({error})", file=path) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError("is a key of another kind; an ed25519 key is needed", file=path)
    return key


def _make_key(path: Path) -> None:
    text = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    write_first(path, text)


def public_text(key: Ed25519PrivateKey) -> str:
    """The public half as PEM text."""
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


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
