"""Settings that all tests share."""

import os

import pytest
from hypothesis import HealthCheck, settings

# No deadlines: a compiled kernel's first call is slow, and a test that measures time measures the machine.
# The everyday run is repeatable; `make audit` looks at new examples every time.
quiet = [HealthCheck.too_slow]
settings.register_profile("repeatable", deadline=None, derandomize=True, suppress_health_check=quiet)
settings.register_profile("exploring", deadline=None, suppress_health_check=quiet)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture(autouse=True, scope="session")
def own_signing_key(tmp_path_factory):
    """Tests sign with a key of their own and never touch the user's."""
    home = tmp_path_factory.mktemp("wayveil-home")
    before = os.environ.get("WAYVEIL_HOME")
    os.environ["WAYVEIL_HOME"] = str(home)
    yield
    if before is None:
        del os.environ["WAYVEIL_HOME"]
    else:
        os.environ["WAYVEIL_HOME"] = before


def pytest_terminal_summary(terminalreporter):
    """What long audits counted, said at the end, whichever process did them."""
    for report in terminalreporter.stats.get("passed", ()):
        for name, text in getattr(report, "user_properties", ()):
            if name == "tally" and report.when == "call":
                terminalreporter.write_line(text)
