"""Who may change what in a ledger: the officer's key, signatures on lines, keys that are believed no more.

A ledger without an officer is one person's: whoever can write to it can set policies. A line of kind `key` appoints an
officer. From then on every line that sets a policy, goes around one (`new_people`), appoints another officer or revokes
a key must carry a signature of the officer in force. It is made over the whole line, with its number and the hash of
the line before, so that no signature fits any other place; a line that lacks it breaks the ledger for every reader,
however it came in.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from wayveil.errors import ParameterError
from wayveil.privacy.keys import (
    key_fingerprint,
    key_path,
    open_key,
    own_public,
    read_public,
    signature_holds,
)
from wayveil.privacy.ledger.lines import LedgerError, Line

# Lines of kind `key` are about no dataset.
EVERY_DATASET = "*"


@dataclass
class Roles:
    """The officer's public key, None if there is no officer, and the signing keys that were revoked, by fingerprint."""

    officer: str | None = None
    revoked: dict[str, Line] = field(default_factory=dict)

    def admit(self, line: Line) -> None:
        """Raise unless whoever has to sign this line did, and what it says about keys makes sense."""
        if line.kind == "key":
            _check_payload(line.payload)
        if self.needs_signature(line) and not self._signed(line):
            raise LedgerError(
                f"only the officer of this ledger (key {key_fingerprint(self.officer or '')}) may do this: set or "
                "change a policy, make a dataset, confirm new people, or revoke a key. Nothing was spent"
            )

    def needs_signature(self, line: Line) -> bool:
        """Tell whether the officer has to sign a line."""
        around = line.kind == "content" and line.payload.get("new_people")
        return self.officer is not None and (line.kind in ("policy", "key") or bool(around))

    def sign(self, line: Line) -> Line:
        """The line with the officer's signature, if it needs one and the officer's key is at hand."""
        path = key_path("officer")
        if not self.needs_signature(line) or own_public(path) != self.officer:
            return line
        return replace(line, signature=open_key(path).sign(line.text.encode()).hex())

    def apply(self, line: Line) -> None:
        """Take over an admitted line about keys."""
        if "officer" in line.payload:
            self.officer = line.payload["officer"]
        else:
            self.revoked[line.payload["revoked"]] = line

    def _signed(self, line: Line) -> bool:
        if self.officer is None or line.signature is None:
            return False
        try:
            signature = bytes.fromhex(line.signature)
        except ValueError:
            return False
        return signature_holds(self.officer, signature, replace(line, signature=None).text.encode())


def _check_payload(payload: Any) -> None:
    if isinstance(payload, Mapping) and payload.keys() == {"officer"}:
        # As keys write themselves: with a blank more she could never sign, and nobody could dismiss her.
        if payload["officer"] is not None and read_public(str(payload["officer"])) != payload["officer"]:
            raise ParameterError("an officer is named by the public half of an ed25519 key, as PEM text")
    elif not isinstance(payload, Mapping) or payload.keys() != {"revoked", "reason"}:
        raise ParameterError("a line about keys appoints an officer or revokes a key")
