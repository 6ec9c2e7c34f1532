"""Cronograph's engine, and all that a job author imports.

>>> from cronograph.jobs import job, JobContext
>>> @job(retries=5)
... async def greet(ctx: JobContext, name: str) -> int:
...     ctx.log.info("hello", name=name)
...     return 1
"""

from .actions.enqueue import enqueue, enqueue_sync
from .actions.enqueue_many import RunSpec, enqueue_many, enqueue_many_sync
from .connection import connect
from .context import JobContext
from .core.model import Isolation
from .declared import Job, job
from .handle import RunFailed, RunHandle
from .outcomes import Cancel, PermanentFailure, Result, Snooze
from .registry import Backoff

__all__ = [
    "Backoff",
    "Cancel",
    "Isolation",
    "Job",
    "JobContext",
    "PermanentFailure",
    "Result",
    "RunFailed",
    "RunHandle",
    "RunSpec",
    "Snooze",
    "connect",
    "enqueue",
    "enqueue_many",
    "enqueue_many_sync",
    "enqueue_sync",
    "job",
]
