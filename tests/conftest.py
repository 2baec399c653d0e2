"""Fixtures and settings of all tests: an environment without the developer's own shop, and the number of examples."""

import gc
import os
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings

from daemon import wire
from daemon.runtime import words as _words  # noqa: F401 -- the English of `Text`, also for the tests of pure packages
from tests.fakes import kept_files, new_database, postgresql, statement_rules
from tests.fakes.measured import MEASURED
from tests.fakes.seed import OTHER
from tests.fakes.tiers import share

if TYPE_CHECKING:
    from playwright.async_api import Browser

# Quick by default: `make test` has three minutes. `make test-slow` tries more, `make test-long` the full number.
# The examples are the same in each run, unless MOMO_TEST_SEED is set.
for profile, examples in (("default", 25), ("slow", share(1_000))):
    settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        derandomize=not OTHER,
        suppress_health_check=[HealthCheck.too_slow],
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose the profile; hide the developer's shop and settings."""
    settings.load_profile("slow" if config.getoption("-m") == "slow" else "default")
    for name in list(os.environ):
        if name.startswith("MOMO_TEST_"):
            continue  # settings of the tests themselves: seed, tier
        if name.startswith(("MOMO_", "XDG_")) or name in {"NO_COLOR", "FORCE_COLOR"}:
            del os.environ[name]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while the tests are collected, and never look at them afterwards: they all stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


BROWSER_FOLDERS = ("dash", "pages")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of the pages in one loop, because a browser belongs to the loop that started it; a test that opens it is slow."""
    one_loop = pytest.mark.asyncio(loop_scope="session")
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
        if item.path.parent.name in BROWSER_FOLDERS and item.get_closest_marker("asyncio"):
            item.add_marker(one_loop, append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator["Browser"]:
    """One Chromium for all tests of a worker, which takes a second to start; each test opens windows of its own."""
    from tests.fakes.browser import chromium

    async with chromium() as started:
        yield started


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the times that tests measured."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, text in getattr(report, "user_properties", ()):
                if name == MEASURED and getattr(report, "when", "") == "call":
                    terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {text}")


_BROKEN_RULES: list[str] = []
_UNPLANNED: list[tuple[str, Any]] = []
statement_rules.record(_BROKEN_RULES, _UNPLANNED)


@pytest.fixture(autouse=True)
def _statements_keep_the_rules() -> Iterator[None]:
    """Each statement that a test makes the store run gives the same page each time, and PostgreSQL takes it."""
    yield
    broken = [*_BROKEN_RULES]
    if _UNPLANNED and postgresql.is_installed():
        broken += postgresql.refused(_UNPLANNED)
    _BROKEN_RULES.clear()
    _UNPLANNED.clear()
    assert broken == []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let a test use the databases that the tests before it opened, unless it does something to the file itself."""
    new_database.use_own_files(on=item.get_closest_marker("file") is not None)
    try:
        return (yield)
    finally:
        kept_files.give_back()


@pytest.fixture(autouse=True, scope="session")
def _own_home() -> Iterator[None]:
    """Hide the developer's own shop from a test that does not set a folder."""
    before = os.environ.get("HOME")
    with tempfile.TemporaryDirectory(prefix="momo-tests-") as home:
        os.environ["HOME"] = home
        yield
    if before is None:
        del os.environ["HOME"]
    else:
        os.environ["HOME"] = before


@pytest.fixture(autouse=True, scope="session")
def _cheap_password_hashes() -> Iterator[None]:
    """Hash passwords at the least cost; `tests/daemon/test_secrets.py` has the real one."""
    from argon2 import PasswordHasher

    from daemon.runtime import secrets

    with pytest.MonkeyPatch.context() as patch:
        cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
        patch.setattr(secrets, "_hash", cheap.hash)
        yield


@pytest.fixture(autouse=True)
def _own_umask() -> Iterator[None]:
    """The daemon's program makes the umask strict; a test that calls it must not do so for the next one."""
    before = os.umask(0o022)
    os.umask(before)
    yield
    os.umask(before)


@pytest.fixture
def places(tmp_path: Path) -> wire.Places:
    """The places of a shop that does not exist yet."""
    return wire.places({"MOMO_HOME": str(tmp_path / "shop")}, os.getuid(), tempfile.gettempdir())
