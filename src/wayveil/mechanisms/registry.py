"""Every mechanism there is, found once: the public API, the command line, audits, docs and comparisons ask here.

A mechanism of this package is a class that says `name: ClassVar[str] = "..."`, in a module of `wayveil.mechanisms` or
in the module of a folder there that bears the folder's name. That line is read, not run: listing names imports nothing,
and one mechanism is loaded without the others. Those that live elsewhere are added by `register`, or by an entry point
in the group `wayveil.mechanisms` (`my-tree = "my_package.my_tree:MyTree"`).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, TypeVar

from wayveil.errors import ParameterError

if TYPE_CHECKING:
    from wayveil.mechanisms.mechanism import Mechanism

ROOM = "wayveil.mechanisms"
_CLASS = re.compile(r"class (\w+)\b")
_NAME = re.compile(r' +name: ClassVar\[str\] = "([\w-]+)"')

Kind = TypeVar("Kind", bound="type[Mechanism]")
_registered: dict[str, "type[Mechanism]"] = {}


@dataclass(frozen=True)
class Home:
    """Where a mechanism lives."""

    name: str
    module: str
    class_name: str

    @property
    def ours(self) -> bool:
        """Tell whether it is one of this package."""
        return self.module.startswith(f"{ROOM}.")

    def load(self) -> "type[Mechanism]":
        """The class; imports its module and no other mechanism's."""
        if self.name in _registered:
            return _registered[self.name]
        try:
            kind: type[Mechanism] = getattr(import_module(self.module), self.class_name)
        except (ImportError, AttributeError) as error:
            raise ParameterError(
                f"the mechanism {self.name!r} of {self.module} cannot be loaded: {error}"
            ) from error
        return kind


def homes() -> dict[str, Home]:
    """Where every mechanism lives, by name. Imports none of them."""
    added = (Home(name, kind.__module__, kind.__name__) for name, kind in _registered.items())
    # What is installed cannot take the name of one of ours.
    return {**_installed(), **_own(), **{home.name: home for home in added}}


def mechanism(name: str) -> "type[Mechanism]":
    """The mechanism of this name; an error says which there are."""
    home = _own().get(name) or homes().get(name)
    if home is None:
        raise ParameterError(f"unknown mechanism {name!r}; choose one of {', '.join(sorted(homes()))}")
    return home.load()


def mechanisms() -> "dict[str, type[Mechanism]]":
    """Every mechanism by the name that the command line uses."""
    return {name: home.load() for name, home in sorted(homes().items())}


def ready_mechanisms() -> "dict[str, type[Mechanism]]":
    """Those that can be made without naming a parameter."""
    return {
        name: kind
        for name, kind in mechanisms().items()
        if not any(field.is_required() for field in kind.model_fields.values())
    }


def register(kind: Kind) -> Kind:
    """Add a mechanism that lives outside this package; may decorate its class.

    Its audit plan is the `PLAN` of the module that the class is in, or of the module that its `plan` names.

    >>> wv.register(wv.Markov) is wv.Markov
    True
    """
    from wayveil.mechanisms.mechanism import Mechanism

    if not (isinstance(kind, type) and issubclass(kind, Mechanism)):
        raise ParameterError(f"only a subclass of Mechanism can be registered, not {kind!r}")
    missing = [word for word in ("name", "summary") if not isinstance(getattr(kind, word, None), str)]
    if not (hasattr(kind, "makes") or "model_kinds" in vars(kind)):
        missing.append("kind of model (`makes`)")
    if missing:
        raise ParameterError(f"the mechanism {kind.__name__} must say its {', its '.join(missing)}")
    known = homes().get(kind.name)
    if known is not None and (known.module, known.class_name) != (kind.__module__, kind.__name__):
        raise ParameterError(
            f"there is a mechanism {kind.name!r} already, in {known.module}; choose another name"
        )
    _registered[kind.name] = kind
    return kind


def unregister(name: str) -> None:
    """Take back a `register`."""
    _registered.pop(name, None)


def registered() -> "tuple[type[Mechanism], ...]":
    """Return what was registered in this process, for handing it to another one."""
    return tuple(_registered.values())


def adopt(kinds: "Iterable[type[Mechanism]]") -> None:
    """Register what another process had registered."""
    for kind in kinds:
        register(kind)


@cache
def _own() -> dict[str, Home]:
    found = {}
    for module, file in _modules():
        class_name = ""
        for line in file.read_text(encoding="utf-8").splitlines():
            if said := _CLASS.match(line):
                class_name = said[1]
            elif said := _NAME.match(line):
                found[said[1]] = Home(said[1], module, class_name)
    return found


def _modules() -> "Iterator[tuple[str, Traversable]]":
    """Every module of this room, and of a folder in it the one that bears its name."""
    for place in sorted(files(ROOM).iterdir(), key=lambda place: place.name):
        if place.name.endswith(".py"):
            yield f"{ROOM}.{place.name.removesuffix('.py')}", place
        elif (main := place.joinpath(f"{place.name}.py")).is_file():
            yield f"{ROOM}.{place.name}.{place.name}", main


@cache
def _installed() -> dict[str, Home]:
    """Mechanisms of other packages."""
    return {entry.name: Home(entry.name, entry.module, entry.attr) for entry in entry_points(group=ROOM)}
