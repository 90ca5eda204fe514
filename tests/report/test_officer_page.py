"""The officer's page: ten lines that fit on a page, each with what the plan, the ledger and the verdict say."""

import re
from fractions import Fraction

import pytest

from ring_networks import ring_of_stops
from tap_releases import release_taps
from wayveil.exports.write import export
from wayveil.mechanisms.markov import Markov
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.budget import Budget, Spend
from wayveil.privacy.gate import Gate
from wayveil.privacy.ledger import open_ledger
from wayveil.privacy.units import Rider, Trip
from wayveil.released.datasheet_making import spends_with_error_bars
from wayveil.released.datasheet_page import datasheet_page
from wayveil.released.officer import officer_lines
from wayveil.released.released_trips import say_factor
from wayveil.run import make_release
from wayveil.simulate.fare_boxes import simulate_taps
from wayveil.simulate.week import simulate_week

CITY = ring_of_stops(6, seconds=60)
STATED = {
    "curator": "Ring Transit",
    "purpose": "planning",
    "region": "Ring County",
    "contact": "privacy@ring.example",
}
# A stand-in for one A4 page, which only a browser's print can show.
MOST_CHARACTERS = 2_200


def trips(**options):
    raw = simulate_week(CITY, 300, seed=1)
    given = {
        "epsilon": 1,
        "unit": Trip(),
        "rows": "calls",
        "dataset": "May",
        "bits": SeededBits(1),
        **options,
    }
    return make_release(raw, Markov(), **given)


@pytest.mark.parametrize(
    "made",
    [
        lambda: trips(**STATED),
        lambda: trips(unit=Rider(max_trips=2), currency="rho", delta="1e-6"),
        lambda: release_taps(simulate_taps(CITY, 400, seed=5).taps, "cards", epsilon=2, **STATED),
    ],
)
def test_the_first_page_has_ten_lines_and_stays_short(made):
    release = made()
    lines = officer_lines(release.datasheet, release.usefulness)
    assert len(lines) == 10
    assert all(text.strip() for _, text in lines)
    assert sum(len(title) + len(text) for title, text in lines) < MOST_CHARACTERS
    page = datasheet_page(release.datasheet, release.usefulness)
    first, _, annex = page.partition("<h2>Annex</h2>")
    assert "Signature" in first
    assert "Noise scale" in annex
    assert "Noise scale" not in first
    assert re.search(r"\.officer \{ break-after: page", page)
    assert "@page { size: A4; }" in page


@pytest.mark.parametrize(("currency", "said"), [("epsilon", ("2", "3")), ("rho", ("4", "9"))])
def test_no_datasheet_counts_in_parts_of_a_trip(currency, said):
    whole, power = 1 << 20, 2 if currency == "rho" else 1
    gate = Gate(Trip(), Budget(1, currency=currency))
    gate.budget.spend(
        Spend(
            f"trips by edge, {whole:,} parts each",
            Fraction(1),
            (2 * whole) ** power,
            Fraction(3 * whole) ** power,
        )
    )
    (row,) = spends_with_error_bars(gate)
    assert (row["label"], row["sensitivity"], row["scale"]) == ("trips by edge", *said)
    assert row.get("error_95", 9.0) < 10


def test_the_lines_say_what_plan_ledger_and_epsilon_say(tmp_path):
    ledger = open_ledger(tmp_path / "ledger")
    release = trips(**STATED, ledger=ledger, policy_epsilon=10, bits=None)
    said = dict(officer_lines(release.datasheet, release.usefulness))
    assert "Ring Transit" in said["Published by"]
    assert "privacy@ring.example" in said["Published by"]
    assert "Ring County" in said["Whose data"]
    assert said["Spent and allowed"].startswith("1 of 10 allowed")
    assert "73 %" in said["For example"]
    assert said["Fit for"].startswith("planning")


def test_statements_for_the_officers_file_are_made_by_one_command_each(tmp_path):
    release = trips(**STATED)
    (tmp_path / "risk.txt").write_text(
        "Singling out: in 0.7 % of the cases.\nLinkage: 98 %.\n10 or more: keeps 61 %.\n"
    )
    (dpia,) = export(release, "dpia", tmp_path / "dpia.md", stated={"risk": str(tmp_path / "risk.txt")})
    text = dpia.read_text()
    assert "in 0.7 % of the cases." in text
    assert "- 10 or more: keeps 61 %.\n" in text
    assert text.count("not measured") == 3
    (ccpa,) = export(release, "ccpa", tmp_path / "ccpa.md")
    assert "Ring Transit publishes" in ccpa.read_text()


def test_the_factor_of_a_large_epsilon_is_its_own_and_not_that_of_a_smaller_one():
    assert [say_factor(epsilon) for epsilon in (1, 200, 1000)] == ["2.72", "10^87", "10^434"]


@pytest.mark.parametrize("more", ["", "because of much that has to be said about it, " * 40])
def test_page_one_is_a_pdf_of_one_a4_page_by_one_command(tmp_path, more):
    release = trips(**STATED | {"purpose": f"planning {more}", "curator": "Ring & Söhne $1$"})
    (page,) = export(release, "officer", tmp_path / "page.pdf")
    content = page.read_bytes()
    assert content.startswith(b"%PDF")
    assert len(re.findall(rb"/Type /Page\b", content)) == 1
    assert b"/MediaBox [ 0 0 595 842 ]" in content
