"""Every study there is: a folder in this room, with `describe(lab)` in it. Found, not listed."""

from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING

from wayveil.errors import ParameterError

if TYPE_CHECKING:
    from wayveil.lab.studies.lab import Lab
    from wayveil.lab.studies.study import Study

ROOM = "wayveil.lab.studies"


def studies() -> list[str]:
    """Their names; imports none of them.

    >>> "mobitrie" in studies()
    True
    """
    rooms = [folder for folder in files(ROOM).iterdir() if folder.joinpath("__init__.py").is_file()]
    return sorted(folder.name.replace("_", "-") for folder in rooms)


def find_study(name: str, lab: "Lab") -> "Study":
    """The study of this name, planned for a lab; an error says which there are."""
    if name not in studies():
        raise ParameterError(f"there is no study {name!r}; there are {', '.join(studies())}")
    found: Study = import_module(f"{ROOM}.{name.replace('-', '_')}").describe(lab)
    return found
