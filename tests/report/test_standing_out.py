"""Journeys at the top of a list are shown only if noise alone would not have put them there."""

from wayveil.accuracy.verdicts import give_verdict
from wayveil.report.rankings import Row, standing_out

JOURNEYS = 5_000


def rows(*counts, low=None):
    return [
        Row(rank, f"{rank}", count, 0.0, rank, None, None, low=low) for rank, count in enumerate(counts, 1)
    ]


def verdict(error, *, cells=2_500):
    return give_verdict("journeys", cells, 1.0, error, None, sure=False)


def test_nothing_stands_out_of_a_release_that_is_noise():
    assert standing_out(rows(28, 20, 12), verdict(0.9), JOURNEYS) == []


def test_only_journeys_above_the_largest_of_the_noise_are_shown():
    shown = standing_out(rows(400, 28, 3), verdict(0.5), JOURNEYS)
    # One trip of noise in a cell on average: about five in the noisiest of 2,500 cells.
    assert [row.private for row in shown] == [400, 28]


def test_an_interval_decides_where_there_is_one():
    assert standing_out(rows(28, low=0.4), verdict(0.1), JOURNEYS) == []
    assert len(standing_out(rows(28, low=5.0), verdict(0.1), JOURNEYS)) == 1


def test_all_are_shown_where_nothing_is_known():
    assert len(standing_out(rows(28, 3), None, JOURNEYS)) == 2
