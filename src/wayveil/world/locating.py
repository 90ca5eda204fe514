"""Places of a world by something else than their id: a code, a name, or coordinates. All of it is public."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl
import scipy

from wayveil.arrays import Floats, Int32s
from wayveil.errors import ParameterError
from wayveil.world.geo import haversine, project
from wayveil.world.grid import Grid
from wayveil.world.world import World

# How far from a place coordinates may be, in metres, where nobody says.
REACH_METRES = 500.0


@dataclass(frozen=True, eq=False)
class PlaceNames:
    """Other texts for the places of a world, and the id of each. `shared` are texts of several places: the first by id
    is meant.
    """

    ids: pl.DataFrame
    shared: int

    @classmethod
    def of(cls, world: World, texts: Iterable[str], ids: Iterable[str]) -> "PlaceNames":
        """Make the list of pairs of a text and an id that the world knows."""
        place = world.index_of(list(ids))
        found = np.where(place >= 0, world.ids[place], "")
        pairs = pl.DataFrame(
            {"text": list(texts), "id": found.tolist()}, schema={"text": pl.String, "id": pl.String}
        )
        pairs = pairs.filter(pl.col("id") != "")
        pairs = (
            pairs.with_columns(text=plain_text(pairs["text"])).filter(pl.col("text") != "").sort("text", "id")
        )
        several = pairs.group_by("text").agg(pl.col("id").n_unique()).filter(pl.col("id") > 1).height
        return cls(pairs.unique("text", keep="first", maintain_order=True), several)

    def find(self, texts: pl.Series) -> pl.Series:
        """Return the id of each text, null for none."""
        asked = pl.DataFrame({"text": plain_text(texts)})
        return asked.join(self.ids, on="text", how="left", maintain_order="left")["id"]


def plain_text(text: pl.Series) -> pl.Series:
    """Return names without capitals, accents, punctuation and repeated blanks."""
    plain = text.cast(pl.String).str.normalize("NFKD").str.replace_all(r"\p{M}", "").str.to_lowercase()
    plain = plain.str.replace_all("ß", "ss").str.replace_all(r"[^\p{L}\p{N}]+", " ")
    return plain.str.strip_chars()


def ids_by_name(world: World) -> PlaceNames:
    """Return the ids of places by what people call them, alone or beside the id; stops of a station by their own names
    too.
    """
    below, ids, names = world.other_names.get("name", {}), world.ids.tolist(), world.names.tolist()
    both = [f"{one} {other}" for one, other in zip([*ids, *names], [*names, *ids], strict=True)]
    return PlaceNames.of(world, [*names, *below, *both], [*ids, *below.values(), *ids, *ids])


def ids_by_code(world: World) -> PlaceNames:
    """Return the ids of places by the short codes that are printed at them."""
    codes = world.other_names.get("code", {})
    if not codes:
        raise ParameterError(
            "this world knows no codes of its places; give the feed, whose stops have stop_code"
        )
    return PlaceNames.of(world, codes, codes.values())


def find_places(ids: pl.Series, world: World) -> Int32s:
    """Return the place of each id, -1 for none. Where the world has no ` 0025.0` or `="25"`, it is 25, and 25 is 0025
    where all its ids have four characters: spreadsheets and other tools write ids so.
    """
    index = world.index_of(ids)
    lost = index < 0
    if lost.any():
        bare = ids.cast(pl.String).filter(pl.Series(lost)).str.strip_chars(" \t\r='\"")
        number = bare.str.replace(r"^0*(\d+?)(\.0+)?$", "$1")
        widths = np.unique(np.char.str_len(world.ids))
        for other in (bare, number, number.str.zfill(int(widths[0]))) if len(widths) == 1 else (bare, number):
            index[lost] = np.where(index[lost] < 0, world.index_of(other), index[lost])
    return index


def reach_of(world: World) -> float:
    """Return how far from a place coordinates may be; on a grid, as far as the corner of a cell and a little more."""
    return 0.75 * world.layout.longer_side if isinstance(world, Grid) else REACH_METRES


def locate(world: World, lat: Floats, lon: Floats, reach: float | None = None) -> Int32s:
    """Return the place that coordinates lie in, or the nearest one within `reach` metres; -1 for none."""
    areas = getattr(world, "areas", None)
    if areas is not None:
        return np.asarray(areas.containing(lat, lon), np.int32)
    places = getattr(world, "lat", None), getattr(world, "lon", None)
    if places[0] is None or places[1] is None:
        raise ParameterError(
            "rows with coordinates need a world that has coordinates: a feed, zones or a grid of cells"
        )
    missing = ~(np.isfinite(lat) & np.isfinite(lon)) | ((lat == 0) & (lon == 0))
    origin = (float(places[0].mean()), float(places[1].mean()))
    tree = scipy.spatial.cKDTree(np.column_stack(project(places[0], places[1], origin=origin)))
    points = project(np.where(missing, origin[0], lat), np.where(missing, origin[1], lon), origin=origin)
    nearest = np.asarray(tree.query(np.column_stack(points))[1], np.int32)
    away = haversine(lat, lon, places[0][nearest], places[1][nearest])
    near = ~missing & (away <= (reach_of(world) if reach is None else reach))
    return np.where(near, nearest, -1).astype(np.int32)
