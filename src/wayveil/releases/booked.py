"""Releases as lines of a ledger: whether one is booked there as its datasheet says, and how one comes in later."""

from pathlib import Path

from wayveil.errors import RefusedError
from wayveil.privacy.ledger import Days, Ledger, LedgerError, Line, LineFacts, Reservation
from wayveil.privacy.ledger.terms import Terms
from wayveil.released.datasheet import Datasheet
from wayveil.released.released_trips import ReleasedTrips
from wayveil.released.verification import ANY_KEY, MANIFEST, hash_file, verify_release
from wayveil.releases.store import load_datasheet


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


def is_booked(release: ReleasedTrips, ledger: Ledger) -> bool:
    """Tell whether a release was paid for in this ledger, on the terms of its datasheet, and keeps a guarantee."""
    line = _line_of(release, ledger)
    return line is not None and line.private and Terms.of_datasheet(release.datasheet).differing(line) is None


def adopt(folder: Path, ledger: Ledger, dataset: str, actor: str) -> Reservation:
    """Book a release that was made without this ledger, or in another one, as if it were made now.

    It is charged by its signed datasheet, and refused where the policy has not so much left.
    """
    verify_release(folder)
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
