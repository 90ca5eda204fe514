import numpy as np

from wayveil.world.repeats import (
    AGAIN,
    BACK,
    BEGIN,
    HOME,
    NEW,
    REMEMBERED,
    STAY,
    classify_lengths,
    classify_visits,
    find_contexts,
)


def of(*walks):
    offsets = np.concatenate([[0], np.cumsum([len(walk) for walk in walks])]).astype(np.int64)
    location = np.concatenate([np.array(walk, np.int32) for walk in walks])
    first = np.zeros(len(location), bool)
    first[offsets[:-1]] = True
    return classify_visits(location, offsets, 9), first


def test_visits_are_told_apart_by_what_they_repeat():
    kind, _ = of([1, 2, 2, 1, 2, 3, 1, 2], [2, 1])
    assert kind.tolist() == [BEGIN, NEW, STAY, HOME, BACK, NEW, HOME, AGAIN, BEGIN, NEW]


def test_the_context_is_what_the_last_visits_were():
    kind, first = of([1, 2, 1, 1], [5], [3, 4])
    assert find_contexts(kind, first, 0).tolist() == [0, 0, 0, 0]
    assert find_contexts(kind, first, 1).tolist() == [BEGIN, NEW, BACK, BEGIN]
    begins, back = NEW + REMEMBERED * BEGIN, BACK + REMEMBERED * NEW
    assert find_contexts(kind, first, 2).tolist() == [BEGIN, begins, back, BEGIN]


def test_coarser_classes_of_lengths_are_unions_of_finer_ones():
    lengths = np.arange(1, 200)
    fine = classify_lengths(lengths, 3)
    assert fine.tolist() == sorted(fine.tolist())
    assert set(fine) == set(range(8))
    for bits in range(3):
        assert np.array_equal(classify_lengths(lengths, bits), fine >> (3 - bits))
