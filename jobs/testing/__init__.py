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

from typing import TYPE_CHECKING

from ..core.base.lazy import lazy_exports

if TYPE_CHECKING:
    from .clock import FakeClock
    from .queue import DrainedRun, DrainError, Queue, drain, drain_sync
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

__getattr__ = lazy_exports(
    __package__,
    {
        ".clock": ("FakeClock",),
        ".queue": ("DrainedRun", "DrainError", "Queue", "drain", "drain_sync"),
        ".results": ("AttemptResult", "LoggedLine"),
        ".server": ("Server", "ServerError"),
        ".single": ("run_job",),
    },
)
