"""When people set out: a weekday with a morning and an afternoon peak."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

HOUR: Final = 3_600

# Departures by hour of the day, in parts per thousand: the shape that ridership of cities has on a working day, with
# peaks at 7-9 and 16-18 and few people at night.
WEEKDAY: Final = (3, 2, 1, 1, 6, 22, 52, 98, 92, 56, 44, 45, 48, 50, 56, 72, 92, 90, 62, 40, 26, 20, 14, 8)


def draw_departures(rng: np.random.Generator, shape: int | tuple[int, ...]) -> NDArray[np.int64]:
    """Seconds of the day at which trips begin, drawn from the weekday profile and evenly within each hour."""
    weights = np.asarray(WEEKDAY, np.float64)
    hour = rng.choice(len(WEEKDAY), size=shape, p=weights / weights.sum())
    return hour.astype(np.int64) * HOUR + rng.integers(0, HOUR, size=shape)


def one_after_the_other(
    departure: NDArray[np.int64], duration: NDArray[np.int64], pause: int = 300
) -> NDArray[np.int64]:
    """Departures of each rider's trips (rows: riders, columns: trips) such that no trip begins before the last ended.

    The given departures are taken in order of time; a rider who is still on the way sets out `pause` seconds after
    arriving, which may be past midnight.
    """
    start = np.sort(departure, axis=1)
    for trip in range(1, start.shape[1]):
        arrival = start[:, trip - 1] + duration[:, trip - 1]
        start[:, trip] = np.maximum(start[:, trip], arrival + pause)
    return start
