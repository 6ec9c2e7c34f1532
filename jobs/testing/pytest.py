"""The pytest plugin: fixtures for tests of jobs and of code that enqueues. It comes with Cronograph; import nothing.

- ``cronograph_queue``: a ``Queue``; all that is enqueued in the test goes there. Works in plain and in async tests.
- ``frozen_clock``: its clock, a ``FakeClock``.
- ``cronograph_server``: a real server (``Server``), for behaviour that only the whole can show.

``@pytest.mark.cronograph(registry=…, resources=…, secrets=…, start=…)`` takes the arguments of ``Queue``,
``@pytest.mark.cronograph(jobs=["shop.jobs"], arguments=["--slots", "1"])`` those of ``Server``. The option
``cronograph_jobs`` of pytest's configuration names modules for the servers of all tests.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from .. import testing

if TYPE_CHECKING:
    from .clock import FakeClock
    from .queue import Queue
    from .server import Server

_MARKER: Final = "cronograph"
_INI: Final = "cronograph_jobs"
_OF_QUEUE: Final = frozenset({"registry", "resources", "secrets"})
_OF_CLOCK: Final = frozenset({"start"})
_OF_SERVER: Final = frozenset({"jobs", "arguments", "within"})
_KNOWN: Final = _OF_QUEUE | _OF_CLOCK | _OF_SERVER


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names modules."""
    parser.addini(_INI, "modules whose jobs the fixture cronograph_server runs", type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers", f"{_MARKER}(registry, resources, secrets, start, jobs, arguments): see its fixtures"
    )


def _settings(request: pytest.FixtureRequest, names: frozenset[str]) -> dict[str, Any]:
    """Return the settings in the markers of a test; the nearest marker decides."""
    chosen: dict[str, Any] = {}
    for marker in request.node.iter_markers(_MARKER):
        unknown = sorted(set(marker.kwargs) - _KNOWN)
        if unknown or marker.args:
            known = ", ".join(sorted(_KNOWN))
            wrong = unknown[0] if unknown else repr(marker.args[0])
            raise pytest.UsageError(f"@pytest.mark.{_MARKER} takes {known} by name, got {wrong}")
        chosen = {name: value for name, value in marker.kwargs.items() if name in names} | chosen
    return chosen


@pytest.fixture
def frozen_clock(request: pytest.FixtureRequest) -> "FakeClock":
    """Return a clock that moves only when you move it; 1 January 2026, 00:00 UTC, unless a marker says ``start``."""
    start = _settings(request, _OF_CLOCK).get("start")
    return testing.FakeClock() if start is None else testing.FakeClock(start)


@pytest.fixture
def cronograph_queue(request: pytest.FixtureRequest, frozen_clock: "FakeClock") -> "Iterator[Queue]":
    """A queue of the test's own; see ``cronograph.jobs.testing.Queue``."""
    with testing.Queue(clock=frozen_clock, **_settings(request, _OF_QUEUE)) as queue:
        yield queue


@pytest.fixture
def cronograph_server(request: pytest.FixtureRequest, tmp_path: Path) -> "Iterator[Server]":
    """A real server on a free port; see ``cronograph.jobs.testing.Server``."""
    settings = {"jobs": request.config.getini(_INI), **_settings(request, _OF_SERVER)}
    with testing.Server(tmp_path, **settings) as server:
        yield server
