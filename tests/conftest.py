"""What every test has at hand: the fixtures of `tests/support`, and one event loop library for async tests."""

import gc
import os
from collections.abc import Generator

import pytest

from tests.support.memory import roomy_folder

pytest_plugins = (
    "tests.support.requirements",
    "tests.support.postgres",
    "tests.support.databases",
    "tests.support.storage",
    "tests.support.engines",
    "tests.support.processes",
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
    """Have the tests' files in memory where there is room: SQLite waits for the disk after every transaction."""
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(roomy_folder()))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from looking again and again at all that the collection imports, now and afterwards.

    Nothing of it is garbage. Where no byte code is there yet this saves a quarter of the collection's processor time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()
