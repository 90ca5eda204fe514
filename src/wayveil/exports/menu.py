"""The formats, what each is good for, and what it needs. Light, so that the help of a command can show it."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Entry:
    """Use of a format, and its needs.

    about  the kind of question that its numbers answer, on which the release has a verdict; None: no numbers
    hourly the same of its numbers by hour, where trips have times
    dated  it has dates, so that trips without one have to be put on one
    feed   it names runs of the timetable, so that it needs the feed itself
    stated it repeats what the data holder says of the release, which may be said anew
    ending of its file; none of a folder
    """

    good_for: str
    about: str | None = None
    hourly: str | None = None
    dated: bool = False
    feed: bool = False
    stated: bool = False
    ending: str = ".csv"


MENU: Final = {
    "od": Entry(
        "a table of trips from stop to stop and hour, with intervals, for spreadsheets",
        "journeys",
        "journey-hours",
    ),
    "od-month": Entry(
        "the table that New York publishes: month, weekday, hour, origin, destination, trips, with intervals",
        "journeys",
        "journey-hours",
        dated=True,
    ),
    "omx": Entry(
        "matrices for travel demand models (OMX; needs h5py: pip install 'wayveil[omx]')",
        "journeys",
        ending=".omx",
    ),
    "geoparquet": Entry(
        "flows from stop to stop as lines, for QGIS, DuckDB and geopandas", "journeys", ending=".parquet"
    ),
    "flowmap": Entry("two tables for flowmap.blue: locations and flows", "journeys"),
    "matsim": Entry(
        "a MATSim population (plans.xml.gz): one person with one journey per trip",
        "journeys",
        ending=".xml.gz",
    ),
    "tides": Entry(
        "a TIDES data package (folder): synthetic fare_transactions, station_activities, devices",
        "boardings",
        dated=True,
        ending="",
    ),
    "station-activities": Entry(
        "the one TIDES table with entries and exits per stop and hour", "boardings", dated=True
    ),
    "gtfs-ride": Entry(
        "GTFS-ride (folder): board_alight, ridership, rider_trip, ride_feed_info, to lay beside a feed",
        "boardings",
        dated=True,
        feed=True,
        ending="",
    ),
    "stop-flows": Entry(
        "visits, entries and exits per stop as points on a map (GeoJSON)", "stops", ending=".geojson"
    ),
    "edge-flows": Entry(
        "trips over each step of the network as lines on a map (GeoJSON)", "edges", ending=".geojson"
    ),
    "trajectories": Entry("trips as points for scikit-mobility; points of a grid are drawn in their cells"),
    "passengers": Entry(
        "one row per released trip or rider: stop_1, time_1, stop_2, ..., for spreadsheets and pattern miners"
    ),
    "trie": Entry("the n-grams of a release as nested JSON", ending=".json"),
    "registry": Entry(
        "a draft for the public registry of differential-privacy deployments", stated=True, ending=".json"
    ),
    "officer": Entry(
        "page one of the datasheet, to be signed, as a PDF of one A4 page", stated=True, ending=".pdf"
    ),
    "dpia": Entry(
        "a draft data protection impact assessment (GDPR), as Markdown; `--with risk=risk.txt` adds attacks",
        stated=True,
        ending=".md",
    ),
    "ccpa": Entry("a de-identification statement (California), as Markdown", stated=True, ending=".md"),
}


def menu_text() -> str:
    """List every format and what it is good for, a line each, for the help of `export`."""
    return "\n".join(["The format.", *(f"- {name}: {entry.good_for}" for name, entry in MENU.items())])
