"""Earlier releases as prior: public, so they cost nothing; and releases as lines of a ledger.

A mechanism that follows earlier releases (`Mechanism.follows`) is given their models. Only what each release measured
itself is used, never what it took over from others: so nothing is counted twice, whichever releases are given.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from wayveil.errors import ParameterError, RefusedError
from wayveil.files import hash_file
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.privacy.ledger import Days, Ledger, LedgerError, Line, LineFacts, Reservation
from wayveil.privacy.ledger.conversion import Terms
from wayveil.privacy.units import Unit
from wayveil.released.released_trips import PRIOR, Datasheet, ReleasedTrips
from wayveil.released.verification import ANY_KEY, MANIFEST, verify_release
from wayveil.releases.release import Release, holds_world, load_datasheet
from wayveil.synthesis.model import Model
from wayveil.taps.boardings import Boardings
from wayveil.world.world import World


def problem_of(folder: Path, ledger: Ledger) -> str | None:
    """Say in words why a folder is not a release that this ledger booked; None if it is.

    The hash of its manifest, which vouches for every file in it, must be that of a committed line, and epsilon, delta,
    unit, mechanism, parameters and world on its datasheet must be those of the reservation.
    """
    signer = verify_release(folder, trust=ANY_KEY).key
    if signer in ledger.revoked():
        return f"{folder} was signed by a key that was revoked ({signer})"
    line = ledger.committed(hash_file(folder / MANIFEST))
    if line is None:
        return f"{folder} is no release that was committed in this ledger"
    differing = Terms.of_datasheet(load_datasheet(folder)).differing(line)
    return None if differing is None else f"{folder} states {differing}"


def is_booked(release: ReleasedTrips, ledger: Ledger, dataset: str) -> bool:
    """Tell whether a release was paid for in this ledger, on the terms of its datasheet, and keeps a guarantee.

    One of another dataset counts only if the ledger saw its rows, and so knows that they are of other people: of one
    that was adopted nobody knows that.
    """
    line = _line_of(release, ledger)
    if line is None or not line.private or Terms.of_datasheet(release.datasheet).differing(line) is not None:
        return False
    return line.dataset == dataset or (line.payload or {}).get("content") is not None


def adopt(folder: Path, ledger: Ledger, dataset: str, actor: str) -> Reservation:
    """Book a release that was made without this ledger, or in another one, as if it were made now.

    It is charged by its signed datasheet, and refused where the policy has not so much left.
    """
    signer = verify_release(folder).key
    if signer in ledger.revoked():
        raise RefusedError(f"the release in {folder} was signed by a key that was revoked ({signer})")
    datasheet, print_ = load_datasheet(folder), hash_file(folder / MANIFEST)
    if ledger.committed(print_) is not None:
        raise RefusedError(f"the release in {folder} is booked in {ledger.name} already")
    if ledger.policy(dataset) is None:
        raise LedgerError(f"the ledger {ledger.name} has no dataset {dataset!r} with a policy")
    terms = Terms.of_datasheet(datasheet)
    reservation = ledger.reserve(
        dataset,
        terms.epsilon,
        terms.delta,
        actor=actor,
        mechanism=terms.mechanism,
        unit=terms.unit,
        facts=LineFacts(
            purpose="made without this ledger",
            rho=datasheet["guarantee"].get("rho"),
            private=terms.private,
            days=_days(datasheet),
            asked=terms.asked,
        ),
    )
    reservation.start()
    reservation.commit(print_, {"folder": folder.name}, terms)
    return reservation


def _line_of(release: ReleasedTrips, ledger: Ledger) -> Line | None:
    """The reservation of a release: of one in memory its own, of one from a folder that of its manifest."""
    if release.manifest is not None:
        return ledger.committed(release.manifest)
    try:
        return None if release.reservation is None else ledger.line_of(release.reservation)
    except LedgerError:
        return None


def _days(datasheet: Datasheet) -> Days | None:
    said = (datasheet["ledger"] or {}).get("days")
    return None if said is None else Days.parse(said)


UNSOUND = "not private: a release that it takes as prior is not private"
UNBOOKED = "not private: a release that it takes as prior is not booked in its ledger"
FOLLOWS = (
    "Numbers follow {} (see the public inputs), which cost nothing. Their errors are therefore not independent of "
    "those of the releases that they follow."
)


@dataclass(frozen=True, eq=False)
class Prior:
    """One earlier release and the hash that names its model."""

    title: str
    sha256: str
    release: Release

    @property
    def model(self) -> Model:
        return self.release.model

    def as_public_input(self) -> dict[str, object]:
        """For the datasheet."""
        return {"name": PRIOR, "title": self.title, "sha256": self.sha256}


def read_priors(
    prior: Sequence[Release | str | Path] | Release | str | Path | None,
    world: World,
    mechanism: Mechanism,
    unit: Unit,
) -> tuple[Prior, ...]:
    """Open earlier releases (the oldest first) and refuse those that counted something else."""
    given = [] if prior is None else [prior] if isinstance(prior, Release | str | Path) else list(prior)
    found: list[Prior] = []
    for each in given:
        made = each if isinstance(each, Release) else open_prior(each, world)
        title = str(made.datasheet["deployment"]["basic"]["name"])
        if not isinstance(each, Release):
            title = f"{title} ({Path(each).name})"
        _refuse_other_counts(made.datasheet, mechanism, unit, title)
        print_ = made.model.fingerprint()
        if any(print_ == known.sha256 for known in found):
            raise ParameterError(f"the prior {title} was given twice. Nothing was spent")
        found.append(Prior(title, print_, made))
    return tuple(found)


def open_prior(folder: str | Path, world: World) -> Release:
    """Open an earlier release over its own world; one that holds none over the world of this release."""
    places = world.network if isinstance(world, Boardings) else world
    return Release.load(folder, None if holds_world(Path(folder)) else places)


def unsound_priors(priors: Sequence[Prior], ledger: Ledger | None, dataset: str) -> str | None:
    """Say why following these releases takes the guarantee away; None if it does not.

    Following a release is free because what it tells is paid for. So each must be private and booked in the ledger of
    this release, on the terms of its datasheet; else its epsilon would be in no sum, whatever it is.
    """
    for prior in priors:
        if not prior.release.datasheet["private"]:
            return UNSOUND
        if ledger is None or not is_booked(prior.release, ledger, dataset):
            policy = None if ledger is None else ledger.policy(dataset)
            if ledger is not None and (policy is None or not policy.not_private):
                raise LedgerError(
                    f"the prior {prior.title} is not booked in {ledger.name}, so that following it is not free. Book "
                    f"it with `wayveil ledger adopt FOLDER --dataset {quote(dataset)}`, which charges it, or leave it "
                    f"out. Nothing was spent"
                )
            return f"{UNBOOKED} ({prior.title})"
    return None


def _refuse_other_counts(datasheet: Datasheet, mechanism: Mechanism, unit: Unit, title: str) -> None:
    """Counts of others, or bounded otherwise, are no guess at the counts of this release."""
    stated, wanted = datasheet["guarantee"], unit.describe()
    if (stated["unit"], stated["bounds"]) != (wanted["unit"], wanted["bounds"]):
        raise ParameterError(
            f"the prior {title} counts the unit {_say(stated)}, and this release {_say(wanted)}: their numbers "
            f"cannot be compared. Nothing was spent"
        )
    made_by = datasheet["mechanism"]
    if made_by["name"] != mechanism.name:
        raise ParameterError(
            f"the prior {title} was made by {made_by['name']}, and this release is by {mechanism.name}: only a release "
            f"of the same mechanism can be followed. Nothing was spent"
        )
    now: Any = mechanism.describe()["parameters"]
    for name in mechanism.same_as_prior:
        if made_by["parameters"].get(name) != now.get(name):
            raise ParameterError(
                f"the prior {title} has {name}={made_by['parameters'].get(name)}, and this release {now.get(name)}: "
                f"they count different things. Nothing was spent"
            )


def _say(stated: Any) -> str:
    bounds = ", ".join(f"{key}={value}" for key, value in stated["bounds"].items())
    return f"`{stated['unit']}`" + (f" ({bounds})" if bounds else "")
