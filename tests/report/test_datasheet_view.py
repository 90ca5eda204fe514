"""The words of the datasheet, on its own page and in the report."""

from report_world import DATASHEET, grid_city, random_trips

from bare_release import bare_release
from wayveil.released import datasheet_page as view_of_page
from wayveil.released.datasheet_page import datasheet_page
from wayveil.report.report_page import report_html


def test_the_promise_is_explained_in_plain_words():
    promise = view_of_page.promise(DATASHEET)
    assert promise.holds
    assert promise.amount == "1"
    assert "any one rider" in promise.meaning
    assert "2.72" in promise.meaning
    assert "`" not in promise.sentence
    small = view_of_page.promise({"guarantee": {"epsilon": "1/10", "unit": "trip"}})
    assert "1.11" in small.meaning


def test_no_stated_guarantee_is_no_promise():
    promise = view_of_page.promise({})
    assert not promise.holds
    assert "without a stated privacy guarantee" in promise.sentence
    rho = view_of_page.promise({"guarantee": {"rho": "1/2", "unit": "rider"}})
    assert (rho.currency, rho.amount, rho.meaning) == ("rho", "0.5", "")


def test_spends_become_a_table_with_shares_of_the_whole():
    table = view_of_page.spends(DATASHEET)
    assert table.titles == ("Bought", "Price", "Sensitivity", "Noise scale", "95 % of noise within ±")
    assert table.shares == (25, 75)
    assert view_of_page.spends({}) is None
    odd = view_of_page.spends({"spends": [{"label": "x", "price": "?", "new_field": 3}]})
    assert odd.titles[-1] == "New field"


def test_fields_that_nobody_foresaw_are_shown_as_they_stand():
    view = view_of_page.DatasheetView.of({**DATASHEET, "novelty": {"a": 1}, "nothing": []})
    assert view.rest == (("Novelty", {"a": 1}),)
    titles = [title for title, _ in view.parts]
    assert titles[0] == "Who is protected"
    assert "Limitations" in titles
    assert "Ledger" not in titles


def test_the_page_of_the_datasheet_and_the_report_show_the_same_parts(tmp_path):
    sheet = {
        **DATASHEET,
        "deployment": {
            "basic": {
                "name": "A <b>",
                "data_curators": [{"data_curator_name": "not stated"}],
                "publication_date": "2026-11-16",
            },
            "implementation": {"preprocessing_and_hyperparameter_tuning": "Nothing was looked at."},
        },
    }
    page = datasheet_page(sheet)
    assert "A &lt;b&gt;" in page
    assert "Nothing was looked at." in page
    assert "<script" not in page
    city = grid_city(3)
    release = bare_release(random_trips(city, 20, seed=1), sheet)
    report = report_html(release=release)
    for part in ("What was paid for", "Who is protected", "Before counting", "Several releases add up."):
        assert part in page
        assert part in report
