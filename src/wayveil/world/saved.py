"""`load_world`: a world that was saved to one file, with the fingerprint that it had."""

import zipfile
from pathlib import Path

import numpy as np

from wayveil.errors import InputError, WayveilError
from wayveil.world.grid import Grid
from wayveil.world.network import Network
from wayveil.world.places import PlaceList
from wayveil.world.world import FILE_FORMAT, Stored, World

KINDS: tuple[type[World], ...] = (World, PlaceList, Network, Grid)


def load_world(path: str | Path, kinds: tuple[type[World], ...] = KINDS) -> World:
    """Read what `World.save` wrote; a file that is not a whole, consistent world of these kinds is refused."""
    stored = _read(path)
    try:
        if int(stored["format"]) != FILE_FORMAT:
            raise InputError("was saved by another version; read the feed again", file=path)
        # Older files hold networks and grids only, and do not say which.
        kind = str(stored.get("kind", "Grid" if "Grid.box" in stored else "Network"))
        found = next((each for each in kinds if each.__name__ == kind), None)
        if found is None:
            raise InputError(f"holds a world of an unknown kind, {kind!r}", file=path)
        return found.restored(stored)
    except KeyError as error:
        raise InputError(f"is not a saved network: {error} is missing", file=path) from error
    except (ValueError, TypeError, IndexError, AttributeError, WayveilError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"holds a network that contradicts itself ({error})", file=path) from error


def _read(path: str | Path) -> Stored:
    try:
        with Path(path).open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            return {key: file[key] for key in file.files}
    except FileNotFoundError as error:
        raise InputError("no such file", file=path) from error
    except (OSError, ValueError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"is not a saved network, or is damaged ({error})", file=path) from error
