"""`Release`: what may leave the building, with everything that can be done with it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.answers import Answer
from wayveil.answers.asked import Asked
from wayveil.answers.asking import ask_release
from wayveil.released.verification import MANIFEST, hash_file
from wayveil.releases.store import load_parts
from wayveil.showing import show
from wayveil.world.world import World


@dataclass(frozen=True, eq=False)
class Release(JudgedRelease):
    """Private trips, the private model behind them, and the datasheet. All of it may be published."""

    def ask(self, question: str, *, anyway: bool = True, **additions: Any) -> Answer:
        """Answer a question about trips (`wayveil.answers.trip_questions`) or taps (`.answers`); costs nothing.

        What may be added is what `wayveil.answers.asked.Asked.of` takes: `top`; `by` (hour, day, weekday, or a
        list such as "day,hour"); `between=("07:00", "09:00")`, `weekdays`, `on`, `route`, `stops`, `district` with
        `districts` (csv or frame: stop_id, district; or a GeoJSON of areas); `over` (minutes or kilometres);
        `timetable` and `seats` for load; `delays`. What a question has no use for is refused.
        """
        return ask_release(self, Asked.of(question, **additions), anyway=anyway)

    def save(self, folder: str | Path, *, key: str | Path | None = None) -> Path:
        """Write and sign the release as one folder that appears whole or not at all; then commit to the ledger."""
        from wayveil.releases.saving import save_release  # pages take long to load, and a question needs none

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
        """The flows of the release on its network, as a picture that notebooks show and `save` writes."""
        from wayveil.report.display import draw_map  # drawing takes long to load

        return draw_map(self.whole)

    def __repr__(self) -> str:
        return f"<Release of {self.released_trips:,} trips: {self.datasheet['guarantee']['sentence']}>"

    def _repr_html_(self) -> str:
        return show(self)
