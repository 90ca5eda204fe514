"""The report in a real browser, from a file, with the network off."""

import os
import shutil
import subprocess

import pytest
from report_world import DATASHEET, grid_city, random_trips

from bare_release import bare_release
from wayveil.report.report_page import write_report
from wayveil.utility.scorecard import score

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-sync", "--disable-component-update", "--disable-extensions"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9"),
    *("--enable-logging=stderr", "--log-level=0"),
]


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("audience", ["public", "internal"])
def test_the_report_opens_from_a_file_without_a_console_message(tmp_path, audience):
    city = grid_city(5)
    raw, private = random_trips(city, 200, seed=1), random_trips(city, 200, seed=2)
    release = bare_release(private, DATASHEET)
    card = score(raw, release, queries=100)
    page = write_report(tmp_path / "report.html", raw=raw, release=release, scorecard=card, audience=audience)
    shown = open_in_browser(page, tmp_path)
    assert "</footer>" in shown.stdout
    assert "CONSOLE" not in shown.stderr


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_a_console_error_would_be_noticed(tmp_path):
    page = tmp_path / "broken.html"
    page.write_text("<script>nonsense()</script></footer>")
    assert "CONSOLE" in open_in_browser(page, tmp_path).stderr


def open_in_browser(page, folder):
    return subprocess.run(
        [BROWSER, *FLAGS, f"--user-data-dir={folder / 'profile'}", "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "HOME": str(folder)},
    )
