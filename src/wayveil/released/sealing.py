"""Seals on what waits inside the building: only the holder of the signing key could have written it, and nobody else
can read it.

A folder that is not published yet (`.NAME.paid`) is sealed by a list of its files, signed with the data holder's own
key. Without the seal, or with any other file than those on its list, nothing in it is believed.
"""

import json
from pathlib import Path

from wayveil.errors import InputError
from wayveil.files import write_whole
from wayveil.privacy.keys import key_path, own_public, signature_holds, signing_key
from wayveil.released.verification import hash_file

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
    files = open_seal(_read(folder / SEAL), folder / SEAL)
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


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError) as error:
        raise InputError("cannot be read; what lies here without a seal is not used", file=path) from error
