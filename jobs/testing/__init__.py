"""Helpers for the tests of your own jobs: no server, no waiting, a clock that stands still until you move it.

``run_job`` runs one attempt of a job and says how it ended::

    result = await run_job(import_orders, {"source": "web"})
    assert result.outcome == "success" and result.records_processed == 3

``Queue`` is a real queue in a temporary SQLite file, and ``drain`` works it off, retries and schedules included, by
moving a ``FakeClock`` to whatever is due next::

    async with Queue() as queue:
        await queue.enqueue("import_orders", {"source": "web"}, retries=2)
        (run,) = await drain(queue)
        assert [attempt.outcome for attempt in run.attempts] == ["failed", "success"]

Everything is ``async``; a plain test calls ``asyncio.run(run_job(…))``. Jobs with ``isolation="process"`` run in this
process here, so that debuggers, coverage and patches reach them.
"""

from .clock import FakeClock
from .queue import DrainedRun, DrainError, Queue, drain
from .results import AttemptResult, LoggedLine
from .single import run_job

__all__ = ["AttemptResult", "DrainError", "DrainedRun", "FakeClock", "LoggedLine", "Queue", "drain", "run_job"]
