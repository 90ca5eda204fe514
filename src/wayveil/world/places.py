"""`PlaceList`: places with names and, where known, coordinates, between which every move is possible."""

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wayveil.arrays import Floats
from wayveil.errors import InputError, ParameterError, WayveilError
from wayveil.world.areas import Areas
from wayveil.world.grid import Grid
from wayveil.world.network import Network
from wayveil.world.world import FILE_FORMAT, Stored, World

# How public lists call their columns; the first that is there counts. Capitals do not matter.
IDS = (
    *("stop_id", "location_id", "place_id", "station_id", "zone_id", "locationid", "id", "code", "stop"),
    *("location", "place", "station", "zone", "taz", "stop_name", "station_name", "name"),
)
NAMES = ("stop_name", "location_name", "place_name", "station_name", "name", "title", "station")
LATITUDES = ("lat", "stop_lat", "latitude", "y")
LONGITUDES = ("lon", "stop_lon", "lng", "longitude", "x")
# Columns that only a table of trips has.
OF_TRIPS = ("trip_id", "rider_id", "event_time", "card_id", "journey_id")


class PlaceList(World):
    """A `World` without moves of its own. Its fingerprint is that of its ids: names and coordinates are for people.

    `lat` and `lon` are degrees, or None where the list has none.
    """

    def __init__(
        self,
        ids: NDArray[np.str_],
        names: NDArray[np.str_],
        lat: Floats | None = None,
        lon: Floats | None = None,
    ) -> None:
        super().__init__(ids)
        if len(names) != len(self.ids):
            raise ParameterError("a list of places needs one name per place")
        self.names = np.asarray(names, np.str_)
        self.lat, self.lon = lat, lon
        # Of zones: the areas of the places, in their order.
        self.areas: Areas | None = None

    @classmethod
    def of_network(cls, network: Network) -> "PlaceList":
        """The stations of a network without its moves; platforms are still found by their ids."""
        places = cls(network.ids, network.names, network.lat, network.lon)
        network.index_of([])
        places._lookup = network._lookup
        return places

    def stored(self) -> Stored:
        """Arrays from which `restored` makes an equal list; ids of platforms among them."""
        arrays: Stored = {"PlaceList.ids": self.ids, "PlaceList.names": self.names}
        if self.lat is not None and self.lon is not None:
            arrays |= {"PlaceList.lat": self.lat, "PlaceList.lon": self.lon}
        if self._lookup is not None and len(self._lookup) > self.size:
            known = np.asarray(self._lookup["id"].to_list(), np.str_)
            arrays |= {"PlaceList.known": known, "PlaceList.place": self._lookup["index"].to_numpy()}
        return arrays

    @classmethod
    def restored(cls, stored: Stored) -> "PlaceList":
        """The list behind what `stored` gave."""
        ids, names, lat, lon = (stored.get(f"PlaceList.{part}") for part in ("ids", "names", "lat", "lon"))
        if ids is None or names is None:
            raise KeyError("PlaceList.ids or PlaceList.names")
        places = cls(ids, names, lat, lon)
        if "PlaceList.known" in stored:
            known, place = stored["PlaceList.known"], stored["PlaceList.place"]
            if len(place) and not 0 <= place.min() <= place.max() < places.size:
                raise ValueError("a list of places needs a place for every id")
            places._lookup = pl.DataFrame({"id": known.tolist(), "index": place})
        return places

    @classmethod
    def of_rows(cls, rows: pl.DataFrame, file: Path) -> "PlaceList":
        """Places from the columns `id`, `name`, `lat` and `lon`; an id that comes twice is an error with its row."""
        ids = rows["id"].cast(pl.String).str.strip_chars()
        empty = np.flatnonzero((ids.is_null() | (ids == "").fill_null(False)).to_numpy())
        if len(empty):
            raise InputError("has no id of a place", file=file, row=int(empty[0]) + 1)
        repeated = np.flatnonzero((~ids.is_first_distinct()).to_numpy())
        if len(repeated):
            row = int(repeated[0])
            raise InputError(f"names the place {ids[row]!r} once more", file=file, row=row + 1)
        if ids.len() == 0:
            raise InputError("has no place in it", file=file)
        names = rows["name"].cast(pl.String).fill_null(ids) if "name" in rows.columns else ids
        order = np.argsort(np.asarray(ids.to_list(), np.str_))
        parts: list[Floats | None] = [None, None]
        if {"lat", "lon"} <= set(rows.columns):
            parts = [_degrees(rows[each], file, most)[order] for each, most in (("lat", 90), ("lon", 180))]
        one, other = (np.asarray(column.to_list(), np.str_)[order] for column in (ids, names))
        return cls(one, other, *parts)


def read_places(path: Path) -> World | None:
    """The places of a csv or parquet table with a header that names an id column; None where there is no such header.

    A table of trips is refused: places that were read off somebody's trips are not public.
    """
    table = _read_table(path)
    known = {name.strip().lower(): name for name in table.columns}
    trips = [known[name] for name in OF_TRIPS if name in known]
    if trips or {"origin", "destination"} <= set(known):
        found = " and ".join(repr(name) for name in trips) or "'origin' and 'destination'"
        raise InputError(
            f"looks like trips, not like a world: it has the column {found}. A world is public: give the GTFS feed, a "
            "saved network, or a list of all places",
            file=path,
        )
    named = {
        ours: known[theirs]
        for ours, names in (("id", IDS), ("name", NAMES), ("lat", LATITUDES), ("lon", LONGITUDES))
        if (theirs := next((name for name in names if name in known), None)) is not None
    }
    if "id" not in named:
        if len(table.columns) > 1:
            raise InputError(
                f"has no column with the ids of places; call it 'stop_id'. Its columns are "
                f"{', '.join(map(repr, table.columns))}",
                file=path,
            )
        return None
    return PlaceList.of_rows(table.select(pl.col(their).alias(our) for our, their in named.items()), path)


def is_place_list(header: Sequence[str]) -> bool:
    """Tell whether a table with such columns may be a list of places, and is none of trips."""
    known = {name.strip().lower() for name in header}
    return not known.isdisjoint(IDS) and known.isdisjoint((*OF_TRIPS, "origin", "destination", "seq"))


def read_geojson(path: Path) -> PlaceList:
    """Read the features of a GeoJSON file or a shapefile, each with an `id` (or stop_id) and maybe a name, or the
    stations of GBFS.

    Areas stand at their middle, and coordinates belong to the area that they lie in.
    """
    try:
        told = json.loads(_shapes(path) if is_shapefile(path) else path.read_text(encoding="utf-8-sig"))
        stations = told.get("data", {}).get("stations") if isinstance(told.get("data"), dict) else None
        features = [] if stations else told["features"]
        rows = [_station_row(each) for each in stations] if stations else list(map(_feature_row, features))
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise InputError(
            f"is not a GeoJSON file of features or the stations of GBFS ({error})", file=path
        ) from error
    if not rows:
        raise InputError("has no feature in it", file=path)
    schema = {"id": pl.String, "name": pl.String, "lat": pl.Float64, "lon": pl.Float64}
    places = PlaceList.of_rows(
        pl.DataFrame([{key: row[key] for key in schema} for row in rows], schema=schema), path
    )
    codes = {str(row["code"]): str(row["id"]) for row in rows if row.get("code") is not None}
    places.other_names = {"code": codes} if codes else {}
    areas = {
        str(row["id"]): feature["geometry"]
        for row, feature in zip(rows, features, strict=False)
        if feature["geometry"]["type"] in ("Polygon", "MultiPolygon")
    }
    if len(areas) == places.size:
        places.areas = Areas.of([areas[place] for place in places.ids.tolist()])
    return places


def is_shapefile(path: Path) -> bool:
    """Tell whether a file is a shapefile, or a zip that holds one."""
    if path.suffix.lower() != ".zip":
        return path.suffix.lower() == ".shp"
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.lower().endswith(".shp") for name in archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False


def _shapes(path: Path) -> str:
    """Read a shapefile as GeoJSON, in degrees."""
    try:
        import geopandas  # type: ignore[import-untyped]
    except ImportError as error:
        raise ParameterError("shapefiles are read with geopandas: pip install geopandas") from error
    try:
        frame = geopandas.read_file(path)
        frame = frame if frame.crs is None else frame.to_crs(4326)
        return str(frame.to_json(drop_id=True))
    except Exception as error:  # of many libraries below it
        raise ValueError(error) from error


def _station_row(station: dict[str, Any]) -> dict[str, Any]:
    """Lay out a station of GBFS; names are texts, or lists of them by language as in version 3."""
    name = station.get("name")
    name = name[0]["text"] if isinstance(name, list) else name
    code = station.get("short_name")
    code = code[0]["text"] if isinstance(code, list) and code else code
    place = {"id": str(station["station_id"]), "name": name, "code": code}
    return {**place, "lat": float(station["lat"]), "lon": float(station["lon"])}


def _feature_row(feature: dict[str, Any]) -> dict[str, Any]:
    told = {str(key).lower(): value for key, value in (feature.get("properties") or {}).items()}
    place = feature.get("id", next((told[name] for name in IDS if name in told), None))
    name = next((told[each] for each in NAMES if each in told), None)
    flat = np.asarray(_points(feature["geometry"]["coordinates"]), np.float64)
    lon, lat = flat.mean(axis=0)
    texts = (None if value is None else str(value) for value in (place, name))
    return {**dict(zip(("id", "name"), texts, strict=True)), "lat": float(lat), "lon": float(lon)}


def _points(coordinates: list[Any]) -> list[list[float]]:
    if isinstance(coordinates[0], int | float):
        return [coordinates[:2]]
    return [point for part in coordinates for point in _points(part)]


def _read_table(path: Path) -> pl.DataFrame:
    try:
        if path.suffix.lower() == ".parquet":
            return pl.read_parquet(path)
        separator = "\t" if path.suffix.lower() == ".tsv" else _separator(path)
        return pl.read_csv(path, separator=separator, infer_schema=False)
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"cannot be read as a list of places ({reason})", file=path) from error


def _separator(path: Path) -> str:
    with path.open(encoding="utf-8-sig") as file:
        header = file.readline(1 << 16)
    return max(",;\t|", key=header.count)


def _degrees(column: pl.Series, file: Path, most: int) -> Floats:
    degrees = column.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
    wrong = np.flatnonzero(~(np.abs(degrees) <= most))
    if len(wrong):
        row = int(wrong[0])
        raise InputError(f"{column.name} {column[row]!r} is not a number of degrees", file=file, row=row + 1)
    return degrees


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
