"""What is made of a release before it is published: exports, a report, and the record of its period."""

import json
import shutil
from dataclasses import replace

from wayveil.answers.trip_periods import is_dated
from wayveil.errors import WayveilError
from wayveil.exports.menu import MENU
from wayveil.exports.write import export
from wayveil.files import move_folder
from wayveil.plan.plan import Plan
from wayveil.privacy.ledger.data_time import Days
from wayveil.releases.release import Release
from wayveil.report.report_page import write_report
from wayveil.series.folder import EXPORTS, PERIOD, REPORT, SeriesFolder

ENDINGS = {
    "tides": "",
    "gtfs-ride": "",
    "omx": ".omx",
    "geoparquet": ".parquet",
    "matsim": ".xml.gz",
    "stop-flows": ".geojson",
    "edge-flows": ".geojson",
    "trie": ".json",
    "registry": ".json",
}


def publish(plan: Plan, folder: SeriesFolder, made: Release, label: str, days: Days) -> None:
    """Write everything beside the release, and move the folder to its public place with one rename."""
    making = folder.making(label)
    made = replace(
        made, known_accuracy=made.accuracy
    )  # found once, also for exports that put trips on a date
    shutil.rmtree(making / EXPORTS, ignore_errors=True)
    left_out = {}
    for kind in plan.output.exports:
        try:
            _export(plan, folder, made, kind, label, days)
        except WayveilError as error:  # what the verdict calls noise, or what this release does not have
            left_out[kind] = str(error)
    if plan.output.report:
        write_report(making / REPORT, release=made, title=f"{plan.name}, {label}", figures=False)
    record = {
        "series": plan.name,
        "label": label,
        "days": str(days),
        "world": plan.world_of(days).place,
        "guarantee": made.datasheet["guarantee"]["sentence"],
        "follows": sum(each["name"] == "prior" for each in made.datasheet["public_inputs"]),
        "verdict": made.accuracy.words,
        "exports": [kind for kind in plan.output.exports if kind not in left_out],
        "left_out": left_out,
    }
    (making / PERIOD).write_text(json.dumps(record, indent=2, ensure_ascii=False), encoding="utf-8")
    move_folder(making, folder.published(label))


def _export(plan: Plan, folder: SeriesFolder, made: Release, kind: str, label: str, days: Days) -> None:
    entry, place = MENU[kind], folder.making(label) / EXPORTS
    place.mkdir(exist_ok=True)
    feed = plan.beside(plan.world_of(days).place) if entry.feed else None
    put_on = days.first if entry.dated and not is_dated(made.trips) else None
    name = f"{plan.name}_{label}_{kind}{ENDINGS.get(kind, '.csv')}"
    export(made, kind, place / name, put_on=put_on, feed=feed)
