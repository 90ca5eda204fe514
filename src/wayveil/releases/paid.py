"""What is paid for is kept: the measured model of a run, on disk before any trip is drawn from it.

Drawing, saving and reporting need no raw trips and no budget. Whatever stops a run in these stages, `resume` finishes
it from here. The folder `.NAME.paid` beside the release holds noisy numbers and the datasheet only.
"""

import json
import shutil
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from wayveil.errors import InputError
from wayveil.privacy.ledger import Head, Reservation, open_ledger
from wayveil.releases.datasheet import Datasheet
from wayveil.releases.release import Release, history_of_release
from wayveil.releases.store import DATASHEET, load_datasheet, load_saved_model, world_of_release
from wayveil.synthesis.drawing import Wanted, draw
from wayveil.synthesis.model import Model
from wayveil.world.world import World

RESERVATION = "reservation.json"


@dataclass
class Paid:
    """Where the model of a release is kept until the release is whole."""

    out: Path

    @property
    def folder(self) -> Path:
        return self.out.with_name(f".{self.out.name}.paid")

    @property
    def kept(self) -> bool:
        """Whether a measured model waits here."""
        return (self.folder / RESERVATION).is_file()

    def require(self) -> None:
        """Refuse where no measured model waits."""
        if not self.kept:
            raise InputError(
                "no measured model waits for this release; nothing was paid for it yet", file=self.out
            )

    def keep(
        self,
        model: Model,
        datasheet: Datasheet,
        reservation: Reservation | None,
        wanted: Wanted,
    ) -> None:
        """Write everything that `resume` needs, the reservation last: a folder with it is whole."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        model.save(self.folder)
        (self.folder / DATASHEET).write_text(json.dumps(datasheet, indent=2, ensure_ascii=False))
        held: dict[str, Any] = {"ledger": None, "wanted": asdict(wanted)}
        if reservation is not None:
            held |= {
                "ledger": reservation.ledger.name,
                "id": reservation.id,
                "dataset": reservation.dataset,
                "epsilon": str(reservation.epsilon),
                "delta": str(reservation.delta),
                "actor": reservation.actor,
                "head": str(reservation.head),
            }
        draft = self.folder / f"{RESERVATION}.part"
        draft.write_text(json.dumps(held))
        draft.replace(self.folder / RESERVATION)

    def forget(self) -> None:
        """Once the release is whole."""
        shutil.rmtree(self.folder, ignore_errors=True)


def resume_release(
    out: Path, world: World, *, ledger: str | Path | None = None, seed: int | None = None
) -> Release:
    """Finish a release whose model was paid for: draw its trips, save and commit it. Spends nothing.

    `ledger` is the place of the ledger it was paid from, where that has moved or needs a password.
    """
    paid = Paid(out)
    paid.require()
    datasheet = load_datasheet(paid.folder)
    world = world_of_release(datasheet, world, paid.folder)
    model = load_saved_model(paid.folder, world, datasheet)
    wanted, reservation = _waiting(paid.folder / RESERVATION, ledger)
    trips, drawing = draw(model, seed, wanted, history_of_release(datasheet))
    made = Release(trips, model, datasheet, reservation, drawing=drawing)
    made.save(out)
    paid.forget()
    return made


def _waiting(path: Path, place: str | Path | None) -> tuple[Wanted, Reservation | None]:
    """How many trips are to be drawn, and what is held for them."""
    try:
        held = json.loads(path.read_text())
        wanted = Wanted(**held["wanted"])
        if held["ledger"] is None:
            return wanted, None
        ledger = open_ledger(place or held["ledger"], create=False)
        return wanted, Reservation(
            held["id"],
            held["dataset"],
            Fraction(held["epsilon"]),
            Fraction(held["delta"]),
            held["actor"],
            Head.parse(held["head"]),
            ledger,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"is not a readable reservation ({error})", file=path) from error
