"""Real cards of one day in Buenos Aires on a grid of cells: from the file to answers, with the rider as unit."""

from pathlib import Path

from wayveil.errors import ParameterError
from wayveil.lab.studies.bc_transit.bc_questions import answer_errors
from wayveil.lab.studies.lab import Lab
from wayveil.lab.studies.study import CellOutcome, Exhibit, Setting, StudyPart, crossed, figures
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.mechanisms.ppdp import PPDP
from wayveil.mechanisms.tap_counts import TapCounts
from wayveil.privacy.bits import SeededBits
from wayveil.run import make_release
from wayveil.taps.chains import sequences
from wayveil.taps.read import read_taps
from wayveil.taps.taps import Taps
from wayveil.trips.trips import Trips
from wayveil.utility.stop_figures import hit_rate, stop_counts
from wayveil.world.grid import Grid

BOX, DEGREES, REACH = "-35.00,-59.00,-34.30,-58.10", 0.02, 1700
FOUND, PER_CELL, TOTAL = "busiest 20 cells found, %", "per cell, %", "total, %"
EPSILONS = ("0.5", "1", "2")


def subjects() -> dict[str, Mechanism]:
    """Trees of three taps, and counts of four."""
    return {
        "NPT, height 3": NoisyPrefixTree(height=3),
        "PPDP, height 3, three-hour bins": PPDP(height=3, time="180"),
        "tap counts, four taps": TapCounts(max_visits=4),
    }


def cards_part(lab: Lab) -> StudyPart:
    """Run at full scale only: the cards are public data."""
    path = None
    if lab.scale == "full":
        path = lab.public_file("buenos-aires/taps.csv", "10,000 public cards of Buenos Aires (SUBE), one day")
    settings = crossed(mechanism=subjects(), epsilon=EPSILONS)
    return StudyPart("cards", settings if lab.scale == "full" else [], Cards(lab, path).trial, 5, apart=True)


def cards_exhibit() -> Exhibit:
    """The table."""
    return Exhibit(
        label="Buenos Aires",
        title="real cards of one day on cells of 0.02 degrees, unit rider: errors in %, plain Laplace beside",
        part="cards",
        down="mechanism",
        series="epsilon",
        columns=(
            FOUND,
            PER_CELL,
            f"{PER_CELL[:-3]}, plain Laplace, %",
            TOTAL,
            f"{TOTAL[:-3]}, plain Laplace, %",
        ),
        published=False,
        note="Most cells are empty, and the sanity bound is 0.1 % of the trips: a mechanism that forgets small cells "
        "errs less per cell, one that counts them all ranks the large ones better. Taps beyond a rider's third or "
        "fourth are not counted, which is most of what the totals lack.",
    )


class Cards:
    """Runs the trials; the file is read once."""

    def __init__(self, lab: Lab, path: Path | None) -> None:
        self.lab, self.path = lab, path

    def taps(self) -> Taps:
        """The taps inside the box, with their cards."""
        path = self.path
        if path is None:
            raise ParameterError("real cards need buenos-aires/taps.csv in the folder that --data names")

        def read() -> Taps:
            return read_taps(path, Grid.of_degrees(BOX, DEGREES), reach_metres=REACH).taps

        return self.lab.once("cards", read)

    def trial(self, setting: Setting, repetition: int) -> CellOutcome:
        """One release, its total and its cells."""
        taps = self.taps()
        raw: Trips = sequences(taps, taps.card, "day")  # type: ignore[arg-type]
        mechanism = subjects()[setting["mechanism"]]
        bits = SeededBits(f"{sorted(setting.items())} {repetition}")
        asked = {"way": "cards", "epsilon": setting["epsilon"], "max_trips": 1}
        made = make_release(taps, mechanism, **asked, seed=repetition, bits=bits)
        values: dict[str, float | None] = {
            FOUND: 100 * hit_rate(stop_counts(raw), stop_counts(made.trips), 20),
        }
        for question, name in (("total", "total"), ("stops", "per cell")):
            values |= answer_errors(name, raw, made, question, bits)
        return CellOutcome(figures(values))
