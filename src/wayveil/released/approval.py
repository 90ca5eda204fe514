"""The officer's decision on a release, signed with her key: the file `approval.json` beside the manifest.

It names the manifest, which vouches for every other file, and the head of the ledger that she saw. The release itself
stays as it was signed; a decision that was changed, or was made about another release, is an error.
"""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from wayveil.errors import InputError
from wayveil.files import write_whole
from wayveil.privacy.keys import key_fingerprint, key_path, own_public, signature_holds
from wayveil.privacy.ledger.lines import canonical

APPROVAL = "approval.json"


@dataclass(frozen=True)
class Approval:
    """Who decided what about which release, having seen which ledger; `key` is the officer's public half."""

    manifest: str
    decision: str
    officer: str
    time: str
    ledger: str
    head: str
    key: str

    @property
    def fingerprint(self) -> str:
        """Return the short name of the officer's key."""
        return key_fingerprint(self.key)

    @property
    def is_own(self) -> bool:
        """Tell whether the officer's key on this machine made it."""
        return own_public(key_path("officer")) == self.key

    def write(self, folder: Path, key: Ed25519PrivateKey) -> None:
        """Sign it and put it into the folder of the release."""
        said = asdict(self)
        record = {**said, "signature": key.sign(canonical(said).encode()).hex()}
        write_whole(folder / APPROVAL, json.dumps(record, indent=2))


def read_approval(folder: Path, manifest: str) -> Approval | None:
    """Return the decision on the release with this manifest (its SHA-256); None if there is none."""
    path = folder / APPROVAL
    if not path.exists() and not path.is_symlink():
        return None
    try:
        if path.is_symlink():
            raise ValueError("it is a link")
        record = json.loads(path.read_text(encoding="utf-8"))
        found = Approval(**{each.name: str(record[each.name]) for each in fields(Approval)})
        signature = bytes.fromhex(record["signature"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"is not an officer's decision ({error})", file=path) from error
    if not signature_holds(found.key, signature, canonical(asdict(found)).encode()):
        raise InputError("was changed after it was signed", file=path)
    if found.manifest != manifest:
        raise InputError("is about another release", file=path)
    return found
