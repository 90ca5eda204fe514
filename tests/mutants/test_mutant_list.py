"""The list of mistakes is kept: each fits the code once, changes it, and names tests that are there."""

import ast
from pathlib import Path

import pytest

from mutants.listed import EXPLAINED, MUTANTS, PACKAGE

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("file", sorted({mutant.file for mutant in MUTANTS}))
def test_every_mutant_fits_its_file_once_and_is_still_python(file):
    text = (PACKAGE / file).read_text()
    for mutant in (mutant for mutant in MUTANTS if mutant.file == file):
        assert mutant.old != mutant.new
        ast.parse(mutant.broken(text))


def test_the_list_is_long_and_its_tests_are_there():
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS) >= 60
    assert all((TESTS / test).is_file() for mutant in MUTANTS for test in mutant.tests)
    assert len(EXPLAINED) <= 3
    assert EXPLAINED.keys() <= {(mutant.file, mutant.new) for mutant in MUTANTS}


def test_a_text_that_is_gone_or_not_alone_is_said():
    with pytest.raises(ValueError, match="has 2 times, and should have once"):
        MUTANTS[0].broken(2 * MUTANTS[0].old)
    with pytest.raises(ValueError, match="remove it with the code that it broke"):
        MUTANTS[0].broken("")
