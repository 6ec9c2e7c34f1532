"""What a machine must have for a test: absent, the test is skipped with instructions; under CI that is a failure."""

import os
from collections.abc import Generator
from typing import NoReturn

import pytest

MARKERS = ("browser", "chaos", "packaging", "postgres")
"""Tests under these markers may be skipped on a bare machine, but never under CI."""

MARKER_OF_FIXTURE = {
    "contexts": "browser",
    "new_page": "browser",
    "postgres_server": "postgres",
    "postgres_url": "postgres",
    "empty_postgres_url": "postgres",
}


def in_ci() -> bool:
    """Return whether this run is the one that decides: `CI=true` in the environment, as `.ci/run` sets it."""
    return os.environ.get("CI", "").lower() in {"1", "true", "yes"}


def unavailable(what: str, remedy: str) -> NoReturn:
    """Skip the test that asked for `what` (under CI: fail it), saying how to get it."""
    reason = f"{what} is not available: {remedy}"
    if in_ci():
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that ask for a fixture of PostgreSQL or of the browser, so that `-m 'not browser'` works."""
    for item in items:
        names: list[str] = getattr(item, "fixturenames", [])
        for marker in {MARKER_OF_FIXTURE[name] for name in names if name in MARKER_OF_FIXTURE}:
            item.add_marker(marker)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip of a marked test into a failure under CI: what is never run there is never known to work."""
    report = yield
    skipped = report.skipped and not hasattr(report, "wasxfail")
    if skipped and in_ci() and any(item.get_closest_marker(name) for name in MARKERS):
        report.outcome = "failed"
        report.longrepr = f"skipped, which is a failure under CI: {report.longrepr}"
    return report
