"""`wayveil ledger officer|sign|passphrase|rotate|revoke|head`: who may change a ledger, and who saw it last."""

import getpass
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from wayveil.cli.ledger import Place, existing_ledger
from wayveil.cli.options import AsJson, present
from wayveil.errors import ParameterError

Officer = Annotated[bool, typer.Option("--officer", help="The officer's key instead of the signing key.")]


def add_key_commands(app: typer.Typer) -> None:
    """Put the commands about keys beside the others of a ledger."""
    for command in (officer, sign, passphrase, rotate, revoke, head):
        app.command()(command)


def officer(
    ledger: Place = None,
    appoint: Annotated[
        str | None,
        typer.Option(help="Name the officer: a file with her public key, or `me`. Later only she can do it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show or appoint the officer, without whose signature no policy is set, changed or gone around.

    wayveil ledger officer --appoint me
    """
    from wayveil.privacy.keys import key_fingerprint, key_path
    from wayveil.releases.key_changes import ME, appoint_officer

    opened = existing_ledger(ledger)
    if appoint is not None:
        new = appoint == ME and not key_path("officer").exists()
        appoint_officer(opened, appoint, getpass.getuser(), _new_passphrase() if new else "")
    known = opened.officer
    said = (
        "nobody: whoever can write to the ledger can set policies"
        if known is None
        else key_fingerprint(known)
    )
    present({"ledger": opened.name, "officer": said}, as_json=as_json)


def sign(
    release: Annotated[Path, typer.Argument(help="Folder of a release that this ledger booked.")],
    decision: Annotated[
        str,
        typer.Argument(help="The decision in your words, such as `publish`, or `refuse: too few riders`."),
    ],
    ledger: Place = None,
    name: Annotated[str | None, typer.Option(help="Your name on the page. Default: your login.")] = None,
    as_json: AsJson = False,
) -> None:
    """Sign a release as its privacy officer: checks its files and the ledger, then adds your decision to its folder.

    `wayveil verify` shows the decision.

    wayveil ledger sign release/ publish
    """
    from wayveil.releases.key_changes import sign_release

    made = sign_release(release, existing_ledger(ledger), decision, name or getpass.getuser())
    facts = {"decision": made.decision, "officer": made.officer, "time": made.time, "head": made.head}
    present({"release": str(release), **facts, "key": made.fingerprint}, as_json=as_json)


def passphrase(officer: Officer = False) -> None:
    """Lock a key of yours with a passphrase, or change it; an empty one unlocks the key for good.

    wayveil ledger passphrase --officer
    """
    from wayveil.privacy.keys import key_path, open_key
    from wayveil.releases.key_changes import lock_key

    path = key_path("officer" if officer else "signing")
    if path.exists():
        open_key(path)  # asks for the old one first
    said = _new_passphrase()
    lock_key(path, said)
    typer.echo(f"{path} is {'locked' if said else 'not locked'}")


def rotate(ledger: Place = None, officer: Officer = False) -> None:
    """Put a new key in the place of yours; what the old one signed stays good.

    wayveil ledger rotate
    """
    from wayveil.releases.key_changes import rotate_officer_key, rotate_signing_key

    if officer:
        opened = existing_ledger(ledger)
        made = rotate_officer_key(opened, getpass.getuser(), _new_passphrase())
    else:
        made = rotate_signing_key(_new_passphrase())
    typer.echo(f"new key {made}: give out its fingerprint")


def revoke(
    fingerprint: Annotated[str, typer.Argument(help="Fingerprint of a signing key.")],
    ledger: Place = None,
    reason: Annotated[str, typer.Option(help="Why it is not to be believed any more.")] = "not said",
) -> None:
    """Believe a signing key no more: `verify` refuses what it signed, here and in `ledger verify --release`.

    wayveil ledger revoke 0123456789abcdef0123456789abcdef --reason stolen
    """
    from wayveil.releases.key_changes import revoke_key

    revoke_key(existing_ledger(ledger), fingerprint, reason, getpass.getuser())
    typer.echo(f"{fingerprint} is revoked")


def head(
    ledger: Place = None,
    sign: Annotated[
        Path | None, typer.Option(help="Also sign it and add it to this file, kept elsewhere.")
    ] = None,
) -> None:
    """Show the head of the ledger: how many lines it has, and the hash of the last one.

    wayveil ledger head --sign /mnt/officer/heads.jsonl
    """
    from wayveil.releases.key_changes import note_head

    opened = existing_ledger(ledger)
    typer.echo(str(opened.head() if sign is None else note_head(opened, sign)))


def _new_passphrase() -> str:
    """Ask twice at a terminal; elsewhere take the one of WAYVEIL_PASSPHRASE, or none."""
    from wayveil.privacy.keys import PASSPHRASE

    if not sys.stdin.isatty():
        return os.environ.get(PASSPHRASE, "")
    first = getpass.getpass("New passphrase (empty for none): ")
    if first != getpass.getpass("Once more: "):
        raise ParameterError("the two passphrases differ. Nothing was changed")
    return first
