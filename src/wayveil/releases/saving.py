"""`save_release`: the folder of a release, written whole or not at all, signed, and then committed to its ledger."""

import hashlib
import json
from pathlib import Path

import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.errors import InputError, WayveilError
from wayveil.files import whole_folder
from wayveil.privacy.keys import public_text, signing_key
from wayveil.privacy.ledger.terms import Terms
from wayveil.released.datasheet_page import datasheet_page
from wayveil.released.verification import FORMAT, MANIFEST, SIGNATURE, hash_file
from wayveil.releases.store import ACCURACY, DATASHEET, PLAN, TRIPS, WORLD
from wayveil.trips.visits import write_joined, write_visits


def save_release(release: JudgedRelease, folder: Path, key: str | Path | None = None) -> Path:
    """Write, sign and publish the release; commit it to the ledger it was paid from."""
    if not folder.name:
        raise InputError("is no name for the folder of a release", file=folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("already exists; a release is never written over another one", file=folder)
    terms = Terms.of_datasheet(release.datasheet)
    if release.reservation is not None:
        release.reservation.require(terms)
    signer = signing_key(key)
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with whole_folder(folder) as draft:
            if release.drawing is None:
                write_visits(release.trips, draft / TRIPS)
            else:
                write_joined(release.drawing.pieces(), draft / TRIPS, release.drawing.count)
            release.model.save(draft)
            release.world.save(draft / WORLD)
            if release.plan is not None:
                (draft / PLAN).write_text(release.plan, encoding="utf-8")
            (draft / ACCURACY).write_text(json.dumps(release.accuracy.record(), indent=2))
            (draft / DATASHEET).write_text(json.dumps(release.datasheet, indent=2, ensure_ascii=False))
            (draft / "datasheet.html").write_text(datasheet_page(release.datasheet), encoding="utf-8")
            hashes = {path.name: hash_file(path) for path in sorted(draft.iterdir())}
            manifest = json.dumps(
                {"format": FORMAT, "files": hashes, "public_key": public_text(signer)}, indent=2
            ).encode()
            (draft / MANIFEST).write_bytes(manifest)
            (draft / SIGNATURE).write_bytes(signer.sign(manifest))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise WayveilError(f"the release could not be written to {folder}: {error}") from error
    if release.reservation is not None:
        release.reservation.commit(hashlib.sha256(manifest).hexdigest(), {"folder": folder.name}, terms)
    return folder
