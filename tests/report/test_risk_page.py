"""The risk page: what it says, and that nothing published has a byte of it."""

import re
import subprocess
import sys

import numpy as np
import pytest
from report_world import DATASHEET, grid_city, random_trips

from bare_release import bare_release
from wayveil.attacks.assess import risk
from wayveil.lab.strap.strap_study import risk_and_strap
from wayveil.report.report_page import write_report
from wayveil.report.risk_page import write_risk_page
from wayveil.trips.trips import Trips

CITY = grid_city(6)


def trips(seed: int, count: int = 120) -> Trips:
    return random_trips(CITY, count, seed=seed)


@pytest.fixture(scope="module")
def release():
    return bare_release(trips(2), DATASHEET)


@pytest.fixture(scope="module")
def found(release):
    return risk_and_strap(release.trips, trips(1), without_riders(trips(3)))


def without_riders(some):
    rider = None if some.rider is None else some.rider + 10**6
    return Trips(some.location, some.offsets, some.world, some.time, rider)


def test_the_page_answers_one_sentence_each_and_stands_alone(tmp_path, found):
    page = write_risk_page(tmp_path / "risk.html", found).read_text()
    text = re.sub(r"<[^>]+>", " ", page)
    for word in ("Singling out:", "Linkage:", "Inference:", "Membership:", "worst-off 5 %", "SHA-256"):
        assert word in text
    assert "NOT FOR PUBLICATION" in text
    assert "anonym" not in page.lower().replace("k-anonymity", ""), "no claim of it"
    assert all(link.startswith("#") for link in re.findall(r'(?:src|href)="([^"]*)"', page))


def test_without_a_hold_out_the_page_says_so(tmp_path, release):
    page = write_risk_page(tmp_path / "risk.html", risk(release.trips, trips(1))).read_text()
    assert "There is no hold-out" in page
    assert "not known" in page


def test_the_public_report_has_no_byte_from_risk(tmp_path, release, found):
    write_report(tmp_path / "a" / "r.html", release=release)
    write_risk_page(tmp_path / "b" / "r-risk.html", found)
    write_report(tmp_path / "b" / "r.html", release=release)
    (tmp_path / "b" / "r-risk.html").unlink()
    before, after = (
        {path.relative_to(side): path.read_bytes() for path in side.rglob("*.*")}
        for side in (tmp_path / "a", tmp_path / "b")
    )
    assert before == after
    assert all(b"ingling out" not in content for content in before.values())


def test_a_public_report_never_loads_an_attack():
    count = "print(sum(name.startswith('wayveil.attacks') for name in sys.modules))"
    code = f"import sys, wayveil.report.report_page; {count}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


def test_numbers_on_the_page_are_those_of_the_report(tmp_path, found):
    text = re.sub(r"<[^>]+>", "", write_risk_page(tmp_path / "risk.html", found).read_text())
    for one in found.findings:
        assert str(one.rate) in text
    assert np.isfinite(found.further[-1].figures[0].total)
