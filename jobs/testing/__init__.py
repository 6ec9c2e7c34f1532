"""Helpers for the tests of your own jobs, and of code that enqueues: no server, no waiting, a clock that you move.

``run_job`` runs one attempt of a job and says how it ended::

    result = await run_job(import_orders, {"source": "web"})
    assert result.outcome == "success" and result.records_processed == 3

``Queue`` is a real queue in a temporary SQLite file. Everything enqueued within its block goes there. ``drain`` works
it off, retries and schedules included, by moving a ``FakeClock`` to the next due time::

    async with Queue() as queue:
        await place_order(basket)  # calls import_orders.enqueue(…)
        queue.assert_enqueued(import_orders, {"source": "web"})
        (run,) = await drain(queue)
        assert [attempt.outcome for attempt in run.attempts] == ["failed", "success"]

A plain test writes ``with Queue() as queue:`` and ``drain_sync(queue)``. pytest knows the fixtures
``cronograph_queue``, ``cronograph_server`` and ``frozen_clock`` without an import. Jobs with ``isolation="process"``
run in this process here, so that debuggers, coverage and patches reach them.

Everything is imported at its first use: pytest loads this package whether or not a test needs it.
"""

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .clock import FakeClock
    from .draining import DrainError, drain, drain_sync
    from .queue import DrainedRun, Queue
    from .results import AttemptResult, LoggedLine
    from .server import Server, ServerError
    from .single import run_job

__all__ = [
    "AttemptResult",
    "DrainError",
    "DrainedRun",
    "FakeClock",
    "LoggedLine",
    "Queue",
    "Server",
    "ServerError",
    "drain",
    "drain_sync",
    "run_job",
]

_HOMES: Final = MappingProxyType(
    {
        "AttemptResult": ".results",
        "DrainError": ".draining",
        "DrainedRun": ".queue",
        "FakeClock": ".clock",
        "LoggedLine": ".results",
        "Queue": ".queue",
        "Server": ".server",
        "ServerError": ".server",
        "drain": ".draining",
        "drain_sync": ".draining",
        "run_job": ".single",
    }
)


def __getattr__(name: str) -> object:
    """Import it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __package__), name)
