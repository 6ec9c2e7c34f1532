"""What every test has at hand: the fixtures of `tests/support`, and one event loop library for async tests."""

import gc
import os
import signal
from collections.abc import Generator
from types import FrameType

import pytest
from hypothesis import settings

from tests.support.memory import roomy_folder

pytest_plugins = (
    "tests.support.requirements",
    "tests.support.turns",
    "tests.support.postgres",
    "tests.support.databases",
    "tests.support.storage",
    "tests.support.engines",
    "tests.support.processes",
    "tests.support.remote",
    "tests.support.slurm",
    "tests.support.kubernetes",
    "tests.support.ray",
    "tests.support.browser",
)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests and fixtures run on asyncio; they need no marker (`anyio_mode` is `auto`)."""
    return "asyncio"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two workers more than there are cores: the tests wait as long as they compute, for real nodes and real pages."""
    return (os.cpu_count() or 1) + 2


def pytest_configure() -> None:
    """Have files in memory where there is room: SQLite waits for the disk after each transaction.

    Nothing that tests ask of this machine goes by a proxy, which would answer for servers that are not there.
    """
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(roomy_folder()))
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = ",".join(
        filter(None, ("127.0.0.1,localhost,::1", os.environ.get("no_proxy") or os.environ.get("NO_PROXY")))
    )
    # An example that takes 0.3 s on a busy machine is no fault.
    settings.register_profile("busy machine", settings(deadline=None))
    settings.load_profile("busy machine")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from looking again and again at all that the collection imports, now and afterwards.

    Hardly anything of it is garbage, and to look for that takes a tenth of the collection's processor time. Where no
    byte code is there yet this saves a quarter of it.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        # Tests make much and keep little: to look as often as usual takes a tenth of their processor time.
        gc.set_threshold(50_000, 20, 50)
        gc.enable()


TEARDOWN_LIMIT = 60.0
"""Seconds that the fixtures of a test may take to end when its own time is over."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    """Limit the end of a failed test too: pytest-timeout stops its timer then, and what hung may hang again."""
    if signal.getitimer(signal.ITIMER_REAL)[0]:
        return (yield)
    before = signal.signal(signal.SIGALRM, _end_the_end)
    signal.setitimer(signal.ITIMER_REAL, TEARDOWN_LIMIT)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _end_the_end(_number: int, _frame: FrameType | None) -> None:
    pytest.fail(f"the fixtures of a failed test took more than {TEARDOWN_LIMIT:g} s to end")
