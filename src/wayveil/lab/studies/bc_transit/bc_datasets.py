"""The study's six days of taps in Victoria, or what stands in for them: simulated taps whose riders are known."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from wayveil.errors import ParameterError
from wayveil.lab.studies.bc_transit.bc_questions import TAPS
from wayveil.lab.studies.lab import Lab
from wayveil.privacy.ledger.data_time import Days
from wayveil.simulate.fare_boxes import STUDY_CAMPUS, SimulatedTaps, simulate_taps, write_vendor_file
from wayveil.synthesis.riders.reconstruct import Riders, reconstruct_riders
from wayveil.taps.taps import Taps
from wayveil.trips.trips import Trips
from wayveil.world.network import Network

# Monday to Saturday, so that nobody's week is cut in two by the calendar.
FIRST_DAY, DAYS = date(2024, 12, 16), 6
PERIOD = Days(FIRST_DAY, date(2024, 12, 21))
SEED = 1


@dataclass
class BcTransitDatasets:
    """Taps with their riders, taps without, and the riders that a reconstruction makes of those; each made once."""

    lab: Lab
    city: Callable[[], Network]
    count: int
    stand_in: str

    def simulated(self) -> SimulatedTaps:
        """The fare boxes of six days."""
        made: SimulatedTaps = self.lab.once(
            "taps",
            lambda: simulate_taps(
                self.city(), self.count, seed=SEED, first_day=FIRST_DAY, days=DAYS, campus=STUDY_CAMPUS
            ),
        )
        return made

    def taps(self) -> Taps:
        """Return taps as simulated: the card of every tap is its true rider."""
        return self.simulated().taps

    def vendor_file(self) -> pl.DataFrame:
        """Return taps as the agency's file has them: without cards, with gaps."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "taps.parquet"
            write_vendor_file(self.simulated(), path, seed=SEED)
            return pl.read_parquet(path)

    def anonymous(self) -> Taps:
        """Return taps without cards, as the study had them."""
        taps = self.taps()
        return Taps(taps.location, taps.time, taps.world, route=taps.route, history=taps.history)

    def riders(self) -> Riders:
        """Who made the taps, by the study's rules."""
        made: Riders = self.lab.once("riders", lambda: reconstruct_riders(self.anonymous(), seed=SEED))
        return made

    def weeks(self) -> Trips:
        """A trip is a rider's week."""
        made: Trips = self.lab.once("weeks", lambda: self.riders().trips("week"))
        return made


def datasets(lab: Lab) -> BcTransitDatasets:
    """Note the sources; nothing is read or simulated before a cell asks for it."""
    if lab.trips is not None:
        raise ParameterError(
            "this study starts from taps without riders and reconstructs them, so trips of your own have no place "
            "in it: leave --trips out, and name your city with --world"
        )
    feed = None
    if lab.world is None and lab.scale == "full":
        feed = lab.public_file("victoria/gtfs.zip", "the GTFS feed of Victoria (BC Transit)")
    count = lab.pick(tiny=1_500, quick=60_000, full=TAPS)
    lab.note_simulated(
        "taps",
        f"{count:,} simulated taps of six days with {STUDY_CAMPUS:.0%} of the riders going to one campus",
    )
    differs = [
        "The study's taps are not public: these are simulated, Monday to Saturday, with two peaks a day and one "
        "dominant campus."
    ]
    if count < TAPS:
        differs.append(f"They are {count:,} here, {TAPS:,} in the study.")
    if feed is not None:
        path = feed

        def victoria() -> Network:
            from wayveil.world.gtfs import read_gtfs

            return read_gtfs(path, walk_radius_metres=300)

        return BcTransitDatasets(lab, lambda: lab.once("victoria", victoria), count, " ".join(differs))
    stops, lines = lab.pick(tiny=(60, 6), quick=(900, 40), full=(2_300, 66))
    differs.append("The city is invented or yours; --full --data uses Victoria's public feed.")
    return BcTransitDatasets(lab, lab.city(stops=stops, lines=lines), count, " ".join(differs))


def crowded(taps: Taps, share: float, hubs: int = 50, seed: int = 3) -> Taps:
    """Move a share of the taps to the stops with the most departures, to the first of these most often."""
    network = taps.world
    if not isinstance(network, Network):
        return taps
    rng = np.random.default_rng(seed)
    runs = np.bincount(network.sources, network.runs, network.size)
    busiest = np.argsort(-runs, kind="stable")[:hubs]
    weight = 1 / np.arange(1, len(busiest) + 1)
    moved = rng.random(len(taps)) < share
    place = np.where(moved, rng.choice(busiest, len(taps), p=weight / weight.sum()), taps.location)
    return Taps(place.astype(np.int32), taps.time, network, route=taps.route, history=taps.history)
