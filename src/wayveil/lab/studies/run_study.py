"""Runs a study, cell by cell; what is done is kept, and a rerun does what is missing.

A cell is one setting and repetition of a part: a small JSON file in the folder, written whole or not at all. Cells do
not depend on each other, so they are run by several processes, each with a lab of its own.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.resources import files
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from wayveil import __version__
from wayveil.errors import InputError, ParameterError, WayveilError
from wayveil.files import write_whole
from wayveil.lab.cell_pool import examined
from wayveil.lab.studies.lab import Lab
from wayveil.lab.studies.sources import ROOT, Sources, changed, noted, page_sources, sources_of
from wayveil.lab.studies.study import Setting, Study
from wayveil.lab.studies.study_results import Results
from wayveil.progress import track

ROOM = "wayveil.lab.studies"


def studies() -> list[str]:
    """Their names; imports none of them.

    >>> "mobitrie" in studies()
    True
    """
    rooms = [folder for folder in files(ROOM).iterdir() if folder.joinpath("__init__.py").is_file()]
    return sorted(folder.name.replace("_", "-") for folder in rooms)


def find_study(name: str, lab: Lab) -> Study:
    """The study of this name, planned for a lab; an error says which there are."""
    if name not in studies():
        raise ParameterError(f"unknown study {name!r}; choose one of {', '.join(studies())}")
    found: Study = import_module(f"{ROOM}.{name.replace('-', '_')}").describe(lab)
    return found


MEASURED, REFUSED, FAILED = "measured", "refused", "failed"


@dataclass(frozen=True)
class StudyCell:
    """One setting and repetition of a part."""

    part: str
    setting: tuple[tuple[str, str], ...]
    repetition: int

    @property
    def key(self) -> str:
        """A name for its file; the same in every run."""
        parts = [self.part, self.setting, self.repetition]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


def plan(study: Study, at_most: int | None = None, only: Mapping[str, str] | None = None) -> list[StudyCell]:
    """All cells, one repetition of everything after the other: a run that is stopped has something on everything.

    at_most   repetitions
    only      leaves out the settings that do not have these values
    """
    only = only or {}
    known = {name for part in study.parts for setting in part.settings for name in setting}
    if not only.keys() <= known:
        raise ParameterError(
            f"{study.name} has no {', '.join(only.keys() - known)}; it has {', '.join(sorted(known))}"
        )
    most = max((part.repetitions for part in study.parts), default=0)
    most = most if at_most is None else min(most, at_most)
    return [
        StudyCell(part.name, tuple(sorted(setting.items())), repetition)
        for repetition in range(most)
        for part in study.parts
        if repetition < part.repetitions
        for setting in part.settings
        if all(setting.get(name) == value for name, value in only.items())
    ]


def run_study(
    name: str, lab: Lab, *, workers: int | None = None, minutes: float | None = None
) -> tuple[Study, Results]:
    """Run what is missing, and give everything that is there.

    workers   processes (default: one per core); 1 works in this process
    minutes   no cell is begun after so many; None: all of them are run
    """
    if lab.out is None:
        raise ParameterError("a study needs a folder for its results")
    study = find_study(name, lab)
    cells, wanted = plan(study), plan(study, lab.repetitions, lab.only)
    store = Store(lab.out, study, lab)
    done = {cell.key: kept for cell in cells if (kept := store.load(cell)) is not None}
    todo = [cell for cell in wanted if cell.key not in done]
    workers = min(workers or os.cpu_count() or 1, max(len(todo), 1))
    until = inf if minutes is None else time.monotonic() + 60 * minutes
    # Other processes have a lab of their own.
    own = (study, lab) if workers == 1 else (name, replace(lab, sources={}, _made={}))
    results = examined(todo, workers, _examiner, *own, until=until)
    for cell, found in track(results, f"cells of {name}", total=len(todo)):
        store.save(cell, found)
        done[cell.key] = found
    # A tiny run does not keep its code.
    code = {**store.code, **page_sources(own_folder(name))} if store.code else {}
    return study, Results.of([done[cell.key] for cell in cells if cell.key in done], code, store.apart)


def own_folder(name: str) -> Path:
    """Return where the modules of a study are."""
    return ROOT / "lab" / "studies" / name.replace("-", "_")


def code_of(name: str) -> tuple[Sources, Sources]:
    """Return the code that the cells of a study use, as a tiny run of it shows, and what only parts apart use."""
    own = own_folder(name)
    with TemporaryDirectory() as folder, noted() as codes:
        study = find_study(name, Lab(scale="tiny", out=Path(folder)))
        cells = plan(study, 1)
        for cell in cells:
            if not study.part(cell.part).apart:
                examine(study, cell)
        before = set(codes)
        for cell in cells:
            if study.part(cell.part).apart:
                examine(study, cell)
    shared, every = sources_of(before, own), sources_of(codes, own)
    return shared, {file: source for file, source in every.items() if source != shared.get(file)}


def examine(study: Study, cell: StudyCell) -> dict[str, Any]:
    """One cell. A refusal is a result; a failure is a defect, which the page tells and the next run tries again."""
    setting: Setting = dict(cell.setting)
    about = {"part": cell.part, "setting": setting, "repetition": cell.repetition}
    begin = time.process_time()
    try:
        made = study.part(cell.part).measure(setting, cell.repetition)
    except WayveilError as error:
        return {**about, "status": REFUSED, "message": str(error), "rows": [], "pictures": []}
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        return {**about, "status": FAILED, "message": words, "rows": [], "pictures": []}
    pictures = [{**vars(chart), "data": chart.data.write_csv()} for chart in made.pictures]
    seconds = time.process_time() - begin  # of the processor: a busy machine does not count
    rows = [dict(row) for row in made.rows]
    return {
        **about,
        "status": MEASURED,
        "message": "",
        "rows": rows,
        "pictures": pictures,
        "seconds": seconds,
    }


def _examiner(study: Study | str, lab: Lab) -> Callable[[StudyCell], dict[str, Any]]:
    """Examine cells of a study, or of the one that has this name in a lab."""
    return partial(examine, find_study(study, lab) if isinstance(study, str) else study)


class Store:
    """The finished cells of one study, scale, data and code in a folder; `code` is that of its first run."""

    def __init__(self, folder: Path, study: Study, lab: Lab) -> None:
        self.cells = folder / "cells"
        self.cells.mkdir(parents=True, exist_ok=True)
        about = {"study": study.name, "wayveil": __version__, **lab.describe()}
        note = folder / "study.json"
        if not note.exists():
            # Tiny runs say nothing, and what they say is never kept.
            self.code, self.apart = ({}, {}) if lab.scale == "tiny" else code_of(study.name)
            write_whole(note, json.dumps({**about, "code": self.code, "apart": self.apart}, indent=1))
            return
        try:
            before = json.loads(note.read_text())
        except json.JSONDecodeError as error:
            raise InputError(f"is not the note of a study ({error})", file=note) from error
        for part, now in about.items():
            if before.get(part) != now:
                raise ParameterError(
                    f"{folder} holds a study with another {part} ({_short(before.get(part))}, not {_short(now)}); "
                    "choose another folder"
                )
        self.code, self.apart = before.get("code", {}), before.get("apart", {})
        if lab.scale == "tiny":
            return
        if others := changed(self.code):
            raise ParameterError(
                f"{folder} holds cells made with older code (since then changed: {_short(others)}); choose another "
                "folder"
            )
        if self.apart and changed(self.apart):  # cells of these parts alone are made anew
            for cell in plan(study):
                if study.part(cell.part).apart:
                    self._path(cell).unlink(missing_ok=True)
            self.apart = code_of(study.name)[1]
            write_whole(note, json.dumps({**before, "apart": self.apart}, indent=1))

    def _path(self, cell: StudyCell) -> Path:
        return self.cells / f"{cell.key}.json"

    def load(self, cell: StudyCell) -> dict[str, Any] | None:
        """A finished cell, or None; one that failed is not finished."""
        path = self._path(cell)
        if not path.exists():
            return None
        kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return None if kept["status"] == FAILED else kept

    def save(self, cell: StudyCell, found: dict[str, Any]) -> None:
        """Keep a cell."""
        write_whole(self._path(cell), json.dumps(found))


def _short(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, dict | list) else str(value)
    return text if len(text) < 80 else text[:77] + "..."
