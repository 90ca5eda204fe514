"""OMX: origin-destination matrices in HDF5, as travel demand models read them.

`trips` has all trips; where trips have times, `trips_08` has those that set out between 8 and 9. Where intervals are
known, `trips_low` and `trips_high` hold them for pairs with released trips. The lookups `zone` (1, 2, ...) and
`stop_id` say which row and column is which stop.
"""

from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.errors import ParameterError
from wayveil.exports.od import od_cells
from wayveil.exports.parts import note_of
from wayveil.world.timebins import TimeBins

VERSION: Final = b"0.2"
# Rows of a matrix that are compressed together: only blocks that hold a trip take room in the file.
CHUNK: Final = 64


def write_omx(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """One file with all matrices of a release."""
    try:
        import h5py
    except ImportError as error:
        raise ParameterError("OMX is HDF5: install h5py (pip install 'wayveil[omx]')") from error
    everything = od_cells(release)
    parts = {"trips": everything.select("origin", "destination", value="trips")}
    if everything["trips_low"].null_count() < len(everything):
        for name in ("trips_low", "trips_high"):
            parts[name] = everything.select("origin", "destination", value=name)
    if release.trips.time is not None:
        by_bin = od_cells(release, bins)
        starts = [label.rsplit("-", 1)[0].replace(":00", "").replace(" ", "_") for label in bins.labels]
        for (bin_,), cells in by_bin.partition_by("bin", as_dict=True, maintain_order=True).items():
            parts[f"trips_{starts[int(bin_)]}"] = cells.select("origin", "destination", value="trips")
    size = release.world.size
    with h5py.File(out, "w") as file:
        file.attrs["OMX_VERSION"] = np.bytes_(VERSION)
        file.attrs["SHAPE"] = np.array([size, size], np.int32)
        file.attrs["note"] = note_of(release, "omx")
        data, lookup = file.create_group("data"), file.create_group("lookup")
        lookup.create_dataset("zone", data=np.arange(1, size + 1, dtype=np.int32))
        lookup.create_dataset("stop_id", data=np.char.encode(release.world.ids, "utf-8"))
        for name, cells in parts.items():
            _write_matrix(data, name, cells, size)
    return [out]


def _write_matrix(group: Any, name: str, cells: pl.DataFrame, size: int) -> None:
    """A matrix, a band of rows at a time, so that a large city never lies in memory as a whole."""
    rows = min(CHUNK, size)
    matrix = group.create_dataset(
        name, (size, size), np.int32, chunks=(rows, min(size, 1024)), compression=1, fillvalue=0
    )
    origin, destination, value = (cells[column].to_numpy() for column in cells.columns)
    for band in np.unique(origin // rows):
        here = origin // rows == band
        start = int(band) * rows
        block = np.zeros((min(rows, size - start), size), np.int32)
        block[origin[here] - start, destination[here]] = value[here]
        matrix[start : start + len(block)] = block
