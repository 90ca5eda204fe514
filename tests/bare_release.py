"""A release of given trips whose model can do nothing but give them back, for tests of what reads releases."""

from dataclasses import dataclass

import polars as pl

from wayveil.accuracy.accuracy import Accuracy
from wayveil.releases.release import Release
from wayveil.synthesis.model import Model
from wayveil.trips.trips import Trips


@dataclass(frozen=True, eq=False)
class GivenTrips(Model):
    trips: Trips

    def generate(self, seed=None):
        return self.trips

    def table(self):
        return pl.DataFrame({"x": [1]})


def bare_release(trips, datasheet=None, *, taps=False):
    sheet = {"mechanism": {"name": "given", "parameters": {}}, "visits": "taps" if taps else "calls"}
    return Release(trips, GivenTrips(trips), sheet | (datasheet or {}), known_accuracy=Accuracy({}, (), None))
