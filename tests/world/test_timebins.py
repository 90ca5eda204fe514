from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayveil.errors import ParameterError
from wayveil.world.timebins import DAY, HOUR, WEEK, TimeBins

EPOCH = datetime(1970, 1, 1)
moments = st.integers(-10 * 365 * DAY, 100 * 365 * DAY)


@given(moments)
def test_hours_are_those_of_the_calendar(seconds):
    moment = EPOCH + timedelta(seconds=seconds)
    assert TimeBins.hour_of_day().bin_of(seconds) == moment.hour
    assert TimeBins.hour_of_week().bin_of(seconds) == moment.weekday() * 24 + moment.hour


def test_day_zero_is_a_thursday():
    bins = TimeBins.hour_of_week()
    assert bins.labels[bins.bin_of(0)] == "Thu 00:00-01:00"
    assert bins.labels[bins.bin_of(-1)] == "Wed 23:00-24:00"
    assert bins.count == 168


@given(st.lists(st.integers(1, DAY - 1), unique=True, max_size=8).map(sorted), moments)
def test_every_moment_lies_between_the_edges_of_its_bin(inner, seconds):
    bins = TimeBins([0, *inner, DAY])
    at = int(bins.bin_of(seconds))
    assert bins.start[at] <= seconds % DAY < bins.end[at]


def test_bins_come_as_small_integers_in_the_shape_of_the_question():
    found = TimeBins.every(900).bin_of(np.asarray([[0, 899], [900, DAY]]))
    assert found.dtype == np.int32
    assert found.tolist() == [[0, 0], [1, 0]]


def test_bins_that_do_not_repeat_leave_the_rest_out():
    bins = TimeBins([100, 200, 350], period=None)
    assert bins.bin_of([99, 100, 199, 200, 349, 350]).tolist() == [-1, 0, 0, 1, 1, -1]
    assert bins.labels == ["100-200 s", "200-350 s"]


def test_labels_say_day_and_time():
    assert TimeBins([0, 7 * HOUR + 1_800, DAY]).labels == ["00:00-07:30", "07:30-24:00"]
    assert TimeBins([0, 5 * DAY, WEEK], period=WEEK).labels == ["Mon 00:00-Fri 24:00", "Sat 00:00-Sun 24:00"]
    assert TimeBins([0, 45, DAY]).labels[0] == "00:00-00:00:45"


def test_equal_bins_are_equal():
    assert TimeBins.every(HOUR) == TimeBins.hour_of_day()
    assert hash(TimeBins.every(HOUR)) == hash(TimeBins.hour_of_day())
    assert TimeBins.every(HOUR) != TimeBins.every(HOUR, period=WEEK)
    assert "24 bins" in repr(TimeBins.hour_of_day())


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: TimeBins([0]), "at least two edges"),
        (lambda: TimeBins([0, 50, 50, DAY]), "each later than the one before"),
        (lambda: TimeBins([0, DAY - 1]), "must go from 0 to 86400"),
        (lambda: TimeBins([0, 10], period=10), "not 10"),
        (lambda: TimeBins.every(7_000), "do not divide"),
        (lambda: TimeBins.every(0), "do not divide"),
    ],
)
def test_bins_with_gaps_are_refused(make, sentence):
    with pytest.raises(ParameterError, match=sentence):
        make()
