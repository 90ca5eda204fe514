"""Safekeeping of what is paid for: the measured model of a run, on disk before any trip is drawn from it.

Drawing, saving and reporting need no raw trips and no budget. Whatever stops a run in these stages, `resume` finishes
it from here. The folder `.NAME.paid` beside the release holds noisy numbers and the datasheet only. It is sealed with
the signing key and readable by its owner only (`released.sealing`): what is changed in it is not signed later.

Before that, between the first noise and the whole model, a run may also keep the key of its noise (`same_noise`), in
the file `.NAME.noise` that only its owner can read. A second try on the same rows then draws the same noise and is
the same run: it takes up what the first one had reserved. Other rows get another key: the same noise on two sets of
rows would tell exactly how they differ, also where the file comes back from a backup after its answers left. It goes
when the model is kept, so answers under one key leave at most once. Together with the release the key would tell the
exact counts: while it is there, it is as secret as the raw data beside it.
"""

import json
import shutil
from dataclasses import asdict, dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

import wayveil
from wayveil.accuracy.replicas import mechanism_of
from wayveil.counting.local import LocalCounter
from wayveil.errors import InputError
from wayveil.files import hash_file, write_whole
from wayveil.privacy.bits import KeptBits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.ledger import Head, Ledger, Reservation, open_ledger
from wayveil.privacy.ledger.conversion import Terms
from wayveil.privacy.ledger.lines import canonical, digest
from wayveil.privacy.units import Trip
from wayveil.progress import step
from wayveil.released.released_trips import Datasheet, history_of_release
from wayveil.released.verification import (
    MANIFEST,
    SEAL,
    SIGNATURE,
    open_seal,
    require_seal,
    seal_folder,
    seal_text,
)
from wayveil.releases.hold import Price
from wayveil.releases.order import Order
from wayveil.releases.release import DATASHEET, Release, load_datasheet, load_saved_model, world_of_release
from wayveil.releases.tap_orders import ANY_MOVE
from wayveil.synthesis.drawing import Wanted, draw
from wayveil.synthesis.model import Model
from wayveil.trips.trip_files import TripFiles
from wayveil.trips.trips import Trips
from wayveil.world.world import World

REWRITTEN = "rewritten_by"


def draw_release(
    model: Model,
    datasheet: Datasheet,
    wanted: Wanted,
    reservation: Reservation | None = None,
    seed: int | None = None,
) -> Release:
    """Draw the private trips of a model that was paid for."""
    with step("writing private trips"):
        trips, drawing = draw(model, seed, wanted, history_of_release(datasheet))
        if REWRITTEN in datasheet:
            trips = _rewritten(trips, datasheet, seed)
    return Release(trips, model, datasheet, reservation, drawing=drawing)


def _rewritten(trips: Trips, datasheet: Datasheet, seed: int | None) -> Trips:
    """Take private trips once more through a mechanism. They are private already, so its noise buys nothing."""
    mechanism = mechanism_of(Datasheet(mechanism=datasheet[REWRITTEN]))
    gate = Gate(Trip(), Price.of(datasheet["guarantee"]["epsilon"]).budget(mechanism))
    again = mechanism.measure(LocalCounter(gate.bound(trips, ANY_MOVE)), gate)
    return again.generate(seed)


RESERVATION, PLAN = "reservation.json", "wayveil.toml"


@dataclass
class Paid:
    """Where the model of a release is kept until the release is whole."""

    out: Path
    same_noise: bool = False
    plan: str = ""

    @property
    def noise(self) -> Path:
        """Where the key of the noise is kept until the model is."""
        return self.out.with_name(f".{self.out.name}.noise")

    def bits(self, order: Order, budget: Budget, earlier: list[dict[str, Any]]) -> tuple[KeptBits, bool]:
        """The noise of this run, and whether an earlier try had begun with it.

        Only for the same rows and the same question: everything that decides which exact counts meet which noise.
        """
        asked_now = {
            "mechanism": order.mechanism.describe(),
            "steps": repr(order.steps),
            "world": order.world.fingerprint(),
            "budget": [budget.currency, str(budget.total), str(budget.delta)],
            "unit": {name: str(said) for name, said in order.unit.describe().items()},
            "earlier": earlier,
            "version": wayveil.__version__,
        }
        question, rows = digest(canonical(asked_now)), _digest_rows(order.rows)
        if self.noise.is_file():
            try:
                kept = open_seal(self.noise.read_text(), self.noise)
                key, asked, of = bytes.fromhex(kept["key"]), kept["question"], kept.get("rows", "")
            except (OSError, ValueError, KeyError) as error:
                raise InputError(f"is not a readable key ({error})", file=self.noise) from error
            if asked != question:
                raise InputError(
                    "is the noise of a run that was stopped and asked something else (other parameters, another world "
                    "or another version); it must not be used twice. Go back to what it asked, or give that run up by "
                    "removing this file: what it had reserved stays spent",
                    file=self.noise,
                )
            if of == rows:
                return KeptBits(key), True
        key = KeptBits.new_key()
        write_whole(
            self.noise, seal_text({"key": key.hex(), "question": question, "rows": rows}), secret=True
        )
        return KeptBits(key), False

    @property
    def folder(self) -> Path:
        return self.out.with_name(f".{self.out.name}.paid")

    @property
    def kept(self) -> bool:
        """Tell whether a measured model waits here."""
        return (self.folder / SEAL).is_file()

    @property
    def saved(self) -> bool:
        """Tell whether its release is on disk already, and only the ledger may not have been told."""
        return self.kept and (self.out / SIGNATURE).is_file()

    def require(self) -> None:
        """Refuse where no measured model waits, or somebody changed what does."""
        if not self.kept:
            raise InputError(
                "no measured model waits for this release; nothing was paid for it yet", file=self.out
            )
        require_seal(self.folder)

    def refuse_other_plan(self) -> None:
        """Refuse to finish what another plan paid for."""
        kept = self.folder / PLAN
        if kept.is_file() and kept.read_text(encoding="utf-8") != self.plan:
            raise InputError(
                f"a run into this folder was paid for and not finished, with another plan ({kept}): repeat that one, "
                f"or remove {self.folder} to give up what it paid for",
                file=self.out,
            )

    def keep(
        self,
        model: Model,
        datasheet: Datasheet,
        reservation: Reservation | None,
        wanted: Wanted,
    ) -> None:
        """Write everything that `resume` needs, and seal it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        self.folder.mkdir(mode=0o700)
        (self.folder / PLAN).write_text(self.plan, encoding="utf-8")
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
        write_whole(self.folder / RESERVATION, json.dumps(held))
        seal_folder(self.folder)
        self.noise.unlink(missing_ok=True)

    def forget(self) -> None:
        """Once the release is whole."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.noise.unlink(missing_ok=True)


def _digest_rows(rows: Trips | TripFiles) -> str:
    """Name rows by all that is counted of them; rows that are never in memory together are new ones each time."""
    if not isinstance(rows, Trips):
        return uuid4().hex
    columns = (rows.location, rows.offsets, rows.time, rows.rider)
    parts = [b"" if column is None else np.ascontiguousarray(column).tobytes() for column in columns]
    return sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()


def commit_saved(paid: Paid, ledger: Ledger | str | Path | None = None) -> None:
    """Tell the ledger of a release that is on disk, where its run died before it could."""
    if not paid.kept:
        return
    paid.require()
    _, reservation = _waiting(paid.folder / RESERVATION, ledger)
    if reservation is not None and reservation.id in {
        held.id for held in reservation.ledger.open_reservations()
    }:
        terms = Terms.of_datasheet(load_datasheet(paid.out))
        reservation.commit(hash_file(paid.out / MANIFEST), {"folder": paid.out.name}, terms)
    paid.forget()


def resume_release(
    out: Path, world: World, *, ledger: Ledger | str | Path | None = None, seed: int | None = None
) -> Release:
    """Finish a release whose model was paid for: draw its trips, save and commit it. Spends nothing.

    `ledger` is the place of the ledger it was paid from, where that has moved or needs a password.

    >>> wv.resume_release(folder / "stopped", city)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    wayveil.errors.InputError: nothing was paid for there
    """
    paid = Paid(out)
    made = take_up(paid, world, ledger=ledger, seed=seed)
    made.save(out)
    paid.forget()
    return made


def take_up(
    paid: Paid, world: World, *, ledger: Ledger | str | Path | None = None, seed: int | None = None
) -> Release:
    """Draw the trips of a model that was paid for, over its world; the release is not saved yet."""
    paid.require()
    datasheet = load_datasheet(paid.folder)
    world = world_of_release(datasheet, world, paid.folder)
    model = load_saved_model(paid.folder, world, datasheet)
    wanted, reservation = _waiting(paid.folder / RESERVATION, ledger)
    return draw_release(model, datasheet, wanted, reservation, seed)


def _waiting(path: Path, place: Ledger | str | Path | None) -> tuple[Wanted, Reservation | None]:
    """Return how many trips are to be drawn, and what is held for them."""
    try:
        held = json.loads(path.read_text())
        wanted = Wanted(**held["wanted"])
        if held["ledger"] is None:
            return wanted, None
        ledger = place if isinstance(place, Ledger) else open_ledger(place or held["ledger"], create=False)
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
