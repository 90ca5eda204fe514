"""Settings that all tests share."""

import hashlib
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from wayveil.privacy import bits

# No deadlines: a compiled kernel's first call is slow, and a test that measures time measures the machine.
# The everyday run is repeatable; `make audit` looks at new examples every time.
quiet = [HealthCheck.too_slow]
settings.register_profile("repeatable", deadline=None, derandomize=True, suppress_health_check=quiet)
settings.register_profile("exploring", deadline=None, suppress_health_check=quiet)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "repeatable")
settings.load_profile(PROFILE)


class RepeatableEntropy:
    """Keys for the secure bits of a test, a function of the test's name: what passes today passes tomorrow.

    Only this process is served. Forks get real entropy, as they must not repeat their parent's noise.
    """

    def __init__(self) -> None:
        self.process, self.real = os.getpid(), bits._entropy
        self.restart("")

    def restart(self, name: str) -> None:
        self.name, self.asked = name, 0
        bits._count_fork()  # every source takes a new key

    def __call__(self, count: int) -> bytes:
        if os.getpid() != self.process:
            return self.real(count)
        self.asked += 1
        return hashlib.shake_256(f"{self.name} {self.asked}".encode()).digest(count)


ENTROPY = RepeatableEntropy()
SEEDED = np.random.default_rng


def repeatable_rng(seed=None):
    """A generator nobody gave a seed: trips drawn from a release are those of the test's name too."""
    if seed is None and os.getpid() == ENTROPY.process:
        seed = int.from_bytes(ENTROPY(16), "little")
    return SEEDED(seed)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """What several tests share is drawn under a name of its own, whichever of them comes first."""
    if fixturedef.scope == "function":
        return (yield)
    test = ENTROPY.name
    ENTROPY.restart(f"{fixturedef.baseid} {fixturedef.argname} {getattr(request, 'param_index', 0)}")
    try:
        return (yield)
    finally:
        ENTROPY.restart(test)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """The everyday run is repeatable in its noise too, but for tests of the bits themselves."""
    ENTROPY.restart(item.nodeid)
    if PROFILE == "repeatable" and not item.get_closest_marker("system_bits"):
        bits._entropy, np.random.default_rng = ENTROPY, repeatable_rng
    try:
        return (yield)
    finally:
        bits._entropy, np.random.default_rng = ENTROPY.real, SEEDED


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
