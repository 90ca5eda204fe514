"""The summary of docs/results.md says what its tables say."""

from pages.results_summary import PAGE, summarise
from pages.results_words import HEAD


def test_the_summary_is_what_the_tables_say():
    page = PAGE.read_text(encoding="utf-8")
    assert "Weave leads every rival" in page
    assert summarise(page) == page


def test_a_changed_table_changes_the_summary():
    page = PAGE.read_text(encoding="utf-8")
    other = page.replace("| 15 of 15 (+11, -0; 1) |", "| 14 of 15 (+11, -0; 1) |")
    assert other != page
    assert summarise(other) != other


def test_the_words_around_the_tables_are_those_that_the_page_is_written_with():
    page = PAGE.read_text(encoding="utf-8")
    fixed = [words for words in HEAD.split("\n\n") if not {"{", "<"} & set(words)]
    assert len(fixed) > 5
    assert [words for words in fixed if words.strip() not in page] == []
