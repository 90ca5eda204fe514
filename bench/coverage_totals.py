"""The interval of the number of trips, many times: it is one number a release, and twenty of them are soon unlucky.

    python -m bench.coverage_totals buenos-aires weave 2 300

Measures so often, without drawing trips where these do not change their number, and puts the row of totals of this cell
in the place of the one that was measured with whole releases. docs/accuracy.md says how many there were.
"""

import sys

import numpy as np

from bench.coverage import JUDGING, MECHANISMS, world
from bench.coverage_cells import JUDGED, keep_cells, key_of, read_cells
from bench.coverage_page import write_page
from wayveil.accuracy.paid_sizes import paid_total
from wayveil.counting.local import LocalCounter
from wayveil.mechanisms.registry import mechanism
from wayveil.privacy.bits import secure_bits
from wayveil.privacy.budget import Budget
from wayveil.privacy.gate import Gate
from wayveil.privacy.units import Trip
from wayveil.releases.release import Release
from wayveil.run import make_release as release
from wayveil.synthesis.counted import CountsCells


def _paid(made: Release) -> tuple[float, float]:
    """The interval of a number of trips that was bought; of such a mechanism a whole release is made."""
    known = paid_total(made)
    if known is None:
        raise SystemExit("this mechanism does not count trips by themselves")
    low, high = known.ends(np.array([float(len(made.trips))]))
    return float(low[0]), float(high[0])


def measure_totals(place: str, name: str, epsilon: str, many: int) -> dict:
    """How often the interval by the law of the noise holds the number of trips, and how far off that is."""
    raw, chosen = world(place), mechanism(name)()
    unit = Trip().after(chosen.rule(raw.world).stability(raw.world))
    off, inside, halves = [], [], []
    for _ in range(many):
        model = chosen.measure(LocalCounter(raw), Gate(unit, Budget(epsilon), secure_bits()))
        counted = model.counted("total") if isinstance(model, CountsCells) else None
        if counted is None:
            low, high = _paid(release(raw, chosen, epsilon=epsilon, unit=Trip()))
        else:
            low, high = (float(end[0]) for end in counted.ends(np.zeros(1, np.int64)))
        inside.append(np.floor(low) <= len(raw) <= np.ceil(high))
        off.append(abs((low + high) / 2 - len(raw)))
        halves.append((high - low) / 2)
    return {
        "coverage": float(np.mean(inside)),
        "intervals": many,
        "releases": many,
        "half_width": float(np.median(halves)),
        "error": float(np.median(off)),
    }


if __name__ == "__main__":
    place, name, epsilon, many = sys.argv[1:]
    found = measure_totals(place, name, epsilon, int(many))
    rows = [row for row in read_cells(JUDGED) if key_of(row) == (place, name, epsilon)]
    # What is counted by cells of verdicts stays that of whole releases.
    total = [row | {"totals": found} if row.get("kind") == "total" else row for row in rows]
    keep_cells(JUDGED, total)
    write_page(read_cells(JUDGED), JUDGING, MECHANISMS)
    print(found)
