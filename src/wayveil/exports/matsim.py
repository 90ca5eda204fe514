"""A MATSim population (v6): one person per released trip, who makes that one journey by public transport.

Nobody in it is a rider: a person has one trip because nothing links released trips. Coordinates are WGS 84, and the
population says so.
"""

import gzip
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from wayveil.accuracy.judged import JudgedRelease
from wayveil.exports.parts import journeys_of, network_of_trips, times_of
from wayveil.world.timebins import DAY, TimeBins

HEAD: Final = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE population SYSTEM "http://www.matsim.org/files/dtd/population_v6.dtd">
<population desc="private and synthetic: one person per released trip">
<attributes><attribute name="coordinateReferenceSystem" class="java.lang.String">EPSG:4326</attribute></attributes>
"""
PIECE: Final = 100_000


def write_matsim(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """One gzip file of XML, whatever its name says."""
    trips = journeys_of(release)
    world, time = network_of_trips(trips), times_of(trips)
    departed = time[trips.offsets[:-1]] % DAY
    clock = [departed // 3600, departed // 60 % 60, departed % 60]
    table = pl.DataFrame(
        {
            "number": np.arange(1, len(trips) + 1),
            **{
                f"{axis}{side}": np.round(values[ends], 6)
                for side, ends in enumerate((trips.origins(), trips.destinations()))
                for axis, values in (("x", world.lon), ("y", world.lat))
            },
            **{f"t{at}": part for at, part in enumerate(clock)},
        }
    ).with_columns(pl.col("t0", "t1", "t2").cast(pl.String).str.zfill(2))
    person = pl.format(
        '<person id="synthetic-{}"><plan selected="yes"><activity type="origin" x="{}" y="{}" end_time="{}:{}:{}"/>'
        '<leg mode="pt"/><activity type="destination" x="{}" y="{}"/></plan></person>',
        "number",
        "x0",
        "y0",
        "t0",
        "t1",
        "t2",
        "x1",
        "y1",
    )
    with gzip.open(out, "wt", encoding="utf-8") as file:
        file.write(HEAD)
        for piece in table.iter_slices(PIECE):
            file.write("\n".join(piece.select(person).to_series().to_list()) + "\n")
        file.write("</population>\n")
    return [out]
