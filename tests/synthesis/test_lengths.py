"""Lengths of trips from a noisy histogram of classes."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayveil.synthesis.ngram_model import SINGLE, LengthClasses, NoisyLengths


@given(st.integers(1, 500), st.lists(st.integers(0, 600), max_size=20))
def test_every_trip_that_has_a_stop_is_in_one_class(longest, lengths):
    classes = LengthClasses.up_to(longest)
    assert classes.least[0] == 1
    assert classes.least[-1] == longest + 1
    assert (np.diff(classes.least) > 0).all()
    assert np.diff(classes.least)[: SINGLE - 1].max(initial=1) == 1
    found = classes.of(np.array(lengths, np.int64))
    for length, place in zip([length for length in lengths if length], found, strict=True):
        assert classes.least[place] <= min(length, longest) < classes.least[place + 1]


def test_without_noise_as_many_end_as_there_are_and_classes_are_spread_evenly():
    classes = LengthClasses.up_to(40)
    raw = np.concatenate([np.full(100, 2), np.full(300, 5), np.full(600, 30)])
    noisy = NoisyLengths(classes, np.bincount(classes.of(raw), minlength=len(classes)), Fraction(1, 1000))
    hazard = noisy.hazard(1000.0)
    left = np.concatenate([[1.0], np.cumprod(1 - np.nan_to_num(hazard))])
    assert 1000 * (left[2] - left[3]) == pytest.approx(100)
    assert 1000 * (left[5] - left[6]) == pytest.approx(300)
    place = int(classes.of(np.array([30]))[0])
    inside = hazard[classes.least[place] : classes.least[place + 1]]
    assert np.ptp(inside) == 0
    assert left[classes.least[place + 1]] == pytest.approx(0)


def test_a_tail_that_noise_hides_is_left_to_the_model():
    classes = LengthClasses.up_to(200)
    counts = np.zeros(len(classes), np.int64)
    counts[:5] = 1000
    counts[-3] = 40
    hazard = NoisyLengths(classes, counts, Fraction(20)).hazard(5000.0)
    assert not np.isnan(hazard[:6]).any()
    assert np.isnan(hazard[6:]).all()
    assert np.isnan(NoisyLengths(classes, counts, Fraction(5000)).hazard(5000.0)[1:]).all()
