"""A TIDES v1.0 data package: synthetic fare transactions, station activities, devices, and what describes them.

Every row of `fare_transactions` is a synthetic tap. Nothing links two of them: there is no token, no card, and they are
numbered by their time. TIDES requires an amount and whether a cap applied; the release knows neither, so every row says
0 and false, and the package says why.
"""

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.answers.spreadsheets import write_csv
from wayveil.exports.parts import date_of, dates_of, moment, note_of, texts
from wayveil.exports.station_activities import station_activities
from wayveil.world.timebins import DAY, TimeBins

SPEC: Final = "https://raw.githubusercontent.com/TIDES-transit/TIDES/v1.0/spec"
FARE_TRANSACTIONS: Final = (
    "transaction_id",
    "service_date",
    "event_timestamp",
    "amount",
    "currency_type",
    "fare_action",
    "trip_id_performed",
    "pattern_id",
    "stop_sequence",
    "vehicle_id",
    "device_id",
    "fare_id",
    "stop_id",
    "num_riders",
    "fare_media_id",
    "rider_category",
    "fare_product",
    "fare_period",
    "fare_capped",
    "token_id",
    "balance",
)
DEVICES: Final = (
    "device_id",
    "stop_id",
    "vehicle_id",
    "device_type",
    "device_vendor",
    "device_model",
    "device_location",
)
SYNTHETIC: Final = "synthetic"
NO_FARES: Final = (
    "Every row is synthetic: drawn from noisy counts, nobody's tap. Fares are not in the release: amount is 0 and "
    "fare_capped false because TIDES requires them. token_id is empty: nothing links two rows."
)


def fare_transactions(release: JudgedRelease) -> pl.DataFrame:
    """TIDES `fare_transactions`: one entry per tap, or per begin of a trip where visits are not taps.

    So the rows are as many as the entries of `station_activities`.
    """
    trips, time = release.trips, dates_of(release.trips)
    entries = np.arange(trips.visits) if release.visits_are_taps else trips.offsets[:-1][trips.lengths > 0]
    # By time and stop: the order of the rows tells nothing of which taps belong to one trip.
    order = np.lexsort((trips.location[entries], time[entries]))
    entries = entries[order]
    stop = texts(trips.world.ids[trips.location[entries]])
    given = pl.DataFrame(
        {
            "transaction_id": _numbered(len(entries)),
            "service_date": date_of(time[entries] // DAY),
            "event_timestamp": moment(time[entries]),
            "device_id": _device_of(stop),
            "stop_id": stop,
        }
    ).with_columns(
        amount=pl.lit(0.0),
        fare_action=pl.lit("Enter"),
        num_riders=pl.lit(1),
        fare_product=pl.lit(SYNTHETIC),
        fare_capped=pl.lit(False),
    )
    return _with_columns(given, FARE_TRANSACTIONS)


def devices(release: JudgedRelease) -> pl.DataFrame:
    """TIDES `devices`: one that stands for all entries of a stop, for every stop of the public world."""
    stop = texts(release.world.ids)
    given = pl.DataFrame({"device_id": _device_of(stop), "stop_id": stop}).with_columns(
        device_type=pl.lit("Other"),
        device_model=pl.lit(SYNTHETIC),
        device_location=pl.lit("Entrance (not located on a vehicle)"),
    )
    return _with_columns(given, DEVICES)


def data_package(release: JudgedRelease) -> dict[str, Any]:
    """`datapackage.json`: title, guarantee and the three tables, after TIDES' own profile."""
    sheet = release.datasheet
    sentence = sheet.get("guarantee", {}).get("sentence", "")
    name = str(sheet.get("deployment", {}).get("basic", {}).get("name", "")) or "release"
    tables = {
        "fare_transactions": ("Synthetic fare transactions", NO_FARES),
        "station_activities": (
            "Entries and exits by stop and hour",
            "Entries are boardings; exits are empty where alightings are not in the data. "
            + note_of(release, "tides"),
        ),
        "devices": (
            "Devices that stand for stops",
            "One per stop of the public network, whether it was used or not.",
        ),
    }
    return {
        "profile": f"{SPEC}/tides-datapackage-profile.json",
        "title": f"{name}, private and synthetic",
        "name": "-".join("".join(sign if sign.isalnum() else " " for sign in name.lower()).split())
        or SYNTHETIC,
        "description": " ".join(part for part in (sentence, NO_FARES) if part),
        "resources": [
            {
                "name": table,
                "tides-table": table,
                "path": f"{table}.csv",
                "profile": "tabular-data-resource",
                "schema": f"{SPEC}/{table}.schema.json",
                "title": title,
                "description": description,
                "format": "csv",
                "mediatype": "text/csv",
                "encoding": "utf-8",
                "sources": [{"title": "Differentially private synthetic data", "product": "Wayveil"}],
            }
            for table, (title, description) in tables.items()
        ],
    }


def write_tides(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """A folder with three tables and `datapackage.json`."""
    tables = {
        "fare_transactions": fare_transactions(release),
        "station_activities": station_activities(release, bins),
        "devices": devices(release),
    }
    out.mkdir(parents=True, exist_ok=True)
    files = [out / f"{name}.csv" for name in tables]
    for table, file in zip(tables.values(), files, strict=True):
        write_csv(table, file)
    package = out / "datapackage.json"
    package.write_text(json.dumps(data_package(release), indent=2, ensure_ascii=False), encoding="utf-8")
    return [*files, package]


def _numbered(count: int) -> pl.Series:
    digits = len(str(count))
    number = pl.Series(np.arange(1, count + 1)).cast(pl.String).str.zfill(digits)
    return pl.select(pl.concat_str(pl.lit(f"{SYNTHETIC}-"), pl.lit(number))).to_series()


def _device_of(stop: pl.Series) -> pl.Series:
    return pl.select(pl.concat_str(pl.lit("stop-"), pl.lit(stop))).to_series()


def _with_columns(given: pl.DataFrame, names: tuple[str, ...]) -> pl.DataFrame:
    """All columns of the table in their order; empty where nothing is known."""
    return given.with_columns(
        pl.lit(None, pl.String).alias(name) for name in names if name not in given.columns
    ).select(names)
