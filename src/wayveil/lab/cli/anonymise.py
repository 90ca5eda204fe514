"""`wayveil lab anonymise`: methods without differential privacy, for comparison."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from wayveil.cli.nouns import Spoken, grouped
from wayveil.cli.options import BoundingBox, WorldFile, present
from wayveil.errors import ParameterError
from wayveil.progress import shown


@dataclass(frozen=True, kw_only=True)
class AnonymiseOptions:
    """What `anonymise` takes."""

    trips: Annotated[Path, typer.Argument(help="The raw trips (parquet or csv).")]
    world: WorldFile
    method: Annotated[
        str, typer.Option("--method", "-m", help="glove, lk-anonymity or plausible-deniability.")
    ]
    out: Annotated[Path, typer.Option("--out", "-o", help="A new folder for trips, table and datasheet.")]
    parameters: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the method, name=value; repeatable.")
    ] = None
    bbox: BoundingBox = None


@grouped
def anonymise(options: AnonymiseOptions, spoken: Spoken) -> None:
    """No differential privacy. Make k-anonymous or deniable trips, to compare with private releases.

    What comes out is as sensitive as the raw trips. No ledger books it; `wayveil lab risk` shows what attacks
    reach on it.

        wayveil lab anonymise trips.csv --world city.zip --method glove --set k=5 --out glove/
    """
    from wayveil.lab.syntactic.method import anonymise as run
    from wayveil.lab.syntactic.method import methods
    from wayveil.trips.read import read_trips
    from wayveil.world.opening import open_world

    known = methods()
    if options.method not in known:
        raise ParameterError(f"unknown method {options.method!r}; choose one of {', '.join(sorted(known))}")
    settings: dict[str, Any] = {}
    for setting in options.parameters or []:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ParameterError(f"--set takes name=value, not {setting!r}")
        settings[key.strip().replace("-", "_")] = value.strip()
    chosen = known[options.method](**settings)
    if options.out.exists() and any(options.out.iterdir() if options.out.is_dir() else [options.out]):
        raise ParameterError(f"{options.out} already exists; nothing is written over it")
    with shown(not spoken.silent):
        made = run(read_trips(options.trips, open_world(options.world, bbox=options.bbox)), chosen)
        folder = made.save(options.out)
    facts = {"statement": made.datasheet["statement"], **made.datasheet["facts"], "trips": len(made.trips)}
    present({**facts, "written_to": str(folder)}, as_json=spoken.as_json)
