"""`Release`: what may leave the building, with everything that can be done with it, and how it is saved."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.answers import Answer
from wayveil.answers.asked import Asked
from wayveil.answers.asking import ask_release
from wayveil.errors import InputError, WayveilError
from wayveil.files import whole_folder
from wayveil.privacy.keys import public_text, signing_key
from wayveil.privacy.ledger.conversion import Terms
from wayveil.released.datasheet_page import datasheet_page
from wayveil.released.officer import Usefulness
from wayveil.released.verification import FORMAT, MANIFEST, SIGNATURE, hash_file
from wayveil.releases.store import ACCURACY, AGAIN, DATASHEET, PLAN, TRIPS, WORLD, load_parts
from wayveil.showing import show
from wayveil.trips.visits import write_joined, write_visits
from wayveil.world.world import World


def usefulness(release: JudgedRelease) -> Usefulness:
    """Return what the first page of the datasheet says of the release's numbers."""
    verdicts = release.accuracy.verdicts
    return Usefulness(
        [each.what for each in verdicts if each.useful],
        [each.what for each in verdicts if not each.useful],
        release.released_trips,
    )


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
            if release.accuracy.again is not None:
                write_visits(release.accuracy.again, draft / AGAIN)
            (draft / ACCURACY).write_text(json.dumps(release.accuracy.record(), indent=2))
            (draft / DATASHEET).write_text(json.dumps(release.datasheet, indent=2, ensure_ascii=False))
            (draft / "datasheet.html").write_text(
                datasheet_page(release.datasheet, usefulness(release)), encoding="utf-8"
            )
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


@dataclass(frozen=True, eq=False)
class Release(JudgedRelease):
    """Private trips, the private model behind them, and the datasheet. All of it may be published.

    >>> made.trips.world is city
    True
    >>> made.ask("most-used", top=3).table.columns
    ['stop_id', 'stop', 'answer', 'low', 'high']
    """

    def ask(self, question: str, *, anyway: bool = False, **additions: Any) -> Answer:
        """Answer a question about trips (`wayveil.answers.trip_questions`) or taps (`.answers`); costs nothing.

        Numbers of which nothing is worth having are refused (`RefusedError`), unless they are wanted `anyway`.

        What may be added is what `wayveil.answers.asked.Asked.of` takes: `top`; `by` (hour, day, weekday, or a
        list such as "day,hour"); `between=("07:00", "09:00")`, `weekdays`, `on`, `route`, `stops`, `district` with
        `districts` (csv or frame: stop_id, district; or a GeoJSON of areas); `over` (minutes or kilometres);
        `timetable` and `seats` for load; `delays`. What a question has no use for is refused.
        """
        return ask_release(self, Asked.of(question, **additions), anyway=anyway)

    def save(self, folder: str | Path, *, key: str | Path | None = None) -> Path:
        """Write and sign the release as one folder that appears whole or not at all; then commit to the ledger."""
        from wayveil.releases.release import (
            save_release,  # pages take long to load, and a question needs none
        )

        return save_release(self, Path(folder), key)

    @classmethod
    def load(cls, folder: str | Path, world: World | None = None, *, trust: str | None = None) -> "Release":
        """Open a saved release over the world that its folder holds, after its signature and its files were checked.

        The signer must be known: oneself, a key pinned before, or the one whose fingerprint `trust` is. Releases of the
        format before hold no world and are opened with the one that they were made for; another one is refused.
        """
        trips, model, datasheet, accuracy = load_parts(Path(folder), world, trust)
        manifest = hash_file(Path(folder) / MANIFEST)
        return cls(trips, model, datasheet, known_accuracy=accuracy, manifest=manifest)

    def map(self) -> Any:
        """Draw the flows of the release on its network: a picture that notebooks show and `save` writes."""
        from wayveil.report.display import draw_map  # drawing takes long to load

        return draw_map(self.whole)

    def plot(self) -> Any:
        """Return the picture of `map`, by the name that people look for first."""
        return self.map()

    def to_pandas(self) -> Any:
        """Return the released trips, a row per visit, for pandas, which has to be installed."""
        return self.trips.to_pandas()

    def __repr__(self) -> str:
        return f"<Release of {self.released_trips:,} trips: {self.datasheet['guarantee']['sentence']}>"

    def _repr_html_(self) -> str:
        return show(self)
