"""A release as a folder: written whole or not at all, signed, and checked file by file.

trips.parquet    the private trips (trip_id, seq, stop_id)
model.parquet    the private model behind them
datasheet.json   the guarantee, for machines; datasheet.html the same for people
manifest.json    the hash of every file and the public key; manifest.sig its ed25519 signature
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from wayveil.errors import InputError, ParameterError, WayveilError
from wayveil.releases.datasheet import Datasheet
from wayveil.releases.datasheet_page import datasheet_page
from wayveil.releases.signing import key_fingerprint, public_text, signature_holds, signing_key
from wayveil.trips.trips import Trips
from wayveil.trips.visits import read_visits, write_joined, write_visits
from wayveil.world.world import World

if TYPE_CHECKING:
    from wayveil.releases.release import Release

MANIFEST, SIGNATURE = "manifest.json", "manifest.sig"


def save_release(release: "Release", folder: Path, key: str | Path | None = None) -> Path:
    """Write, sign and publish the release; commit it to the ledger it was paid from."""
    if release.model is None:
        raise ParameterError("this release was loaded from a folder; copy the folder to have it twice")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("already exists; a release is never written over another one", file=folder)
    signer = signing_key(key)
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = folder.with_name(f".{folder.name}.partial-{os.getpid()}")
    _sweep(folder)
    draft.mkdir()
    try:
        if release.drawing is None:
            write_visits(release.trips, draft / "trips.parquet")
        else:
            write_joined(release.drawing.pieces(), draft / "trips.parquet", release.drawing.count)
        release.model.table().write_parquet(draft / "model.parquet")
        (draft / "datasheet.json").write_text(json.dumps(release.datasheet, indent=2, ensure_ascii=False))
        (draft / "datasheet.html").write_text(datasheet_page(release.datasheet), encoding="utf-8")
        hashes = {path.name: _hash(path) for path in sorted(draft.iterdir())}
        manifest = json.dumps(
            {"format": 1, "files": hashes, "public_key": public_text(signer)}, indent=2
        ).encode()
        (draft / MANIFEST).write_bytes(manifest)
        (draft / SIGNATURE).write_bytes(signer.sign(manifest))
        for path in [*draft.iterdir(), draft]:
            _flush(path)
        if folder.exists():
            folder.rmdir()
        draft.rename(folder)
        _flush(folder.parent)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise WayveilError(f"the release could not be written to {folder}: {error}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    if release.reservation is not None:
        release.reservation.commit(hashlib.sha256(manifest).hexdigest(), {"folder": folder.name})
    return folder


def load_release_trips(folder: str | Path, world: World) -> Trips:
    """The private trips of a saved release."""
    return read_visits(Path(folder) / "trips.parquet", world)


def load_datasheet(folder: str | Path) -> Datasheet:
    """The datasheet of a saved release."""
    path = Path(folder) / "datasheet.json"
    try:
        datasheet: Datasheet = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise InputError(f"is not a readable datasheet ({error})", file=path) from error
    return datasheet


def verify_release(folder: str | Path, *, key_fingerprint_expected: str | None = None) -> dict[str, Any]:
    """Check signature and files of a release; an error names the first file that is not as it was signed."""
    folder = Path(folder)
    try:
        manifest_bytes = (folder / MANIFEST).read_bytes()
        signature = (folder / SIGNATURE).read_bytes()
    except OSError as error:
        raise InputError(f"is not a signed release: {error.filename} cannot be read", file=folder) from error
    try:
        manifest = json.loads(manifest_bytes)
        files: Mapping[str, str] = manifest["files"]
        public: str = manifest["public_key"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError("was changed: it is not a manifest any more", file=folder / MANIFEST) from error
    if not signature_holds(public, signature, manifest_bytes):
        raise InputError(
            "the signature does not fit; the manifest or the signature was changed", file=folder / MANIFEST
        )
    for name, expected in files.items():
        path = folder / name
        if not path.is_file():
            raise InputError("is missing, but the signed manifest lists it", file=path)
        if _hash(path) != expected:
            raise InputError("was changed after it was signed", file=path)
    extra = {path.name for path in folder.iterdir()} - set(files) - {MANIFEST, SIGNATURE}
    if extra:
        raise InputError("is not in the signed manifest", file=folder / min(extra))
    fingerprint = key_fingerprint(public)
    if key_fingerprint_expected is not None and fingerprint != key_fingerprint_expected:
        raise InputError(
            f"was signed by another key ({fingerprint}), not by {key_fingerprint_expected}", file=folder
        )
    return {"folder": str(folder), "files": len(files), "key": fingerprint}


def _sweep(folder: Path) -> None:
    """Remove drafts of this release whose writers died; a living writer's draft is its own."""
    for draft in folder.parent.glob(f".{folder.name}.partial-*"):
        writer = draft.name.rpartition("-")[2]
        if writer == str(os.getpid()) or not _alive(int(writer)):
            shutil.rmtree(draft, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _flush(path: Path) -> None:
    """Have the file or folder on the disk before the release becomes visible."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
