"""Cronograph's engine, and all that a job author imports.

>>> from cronograph.jobs import job, JobContext
>>> @job(retries=5)
... async def greet(ctx: JobContext, name: str) -> int:
...     ctx.log.info("hello", name=name)
...     return 1
"""

from typing import TYPE_CHECKING

from . import lazy
from .base.context import JobContext, StopReason
from .base.outcomes import Cancel, PermanentFailure, Result, Snooze
from .core.model import Isolation
from .core.outcome import Failure
from .core.run_spec import RunSpec
from .declared import Job, job
from .handle import RunFailed, RunHandle
from .registry import Backoff, Reuse
from .registry.declaring import around, carries, resource
from .registry.hooks import GIVEN, Scope

if TYPE_CHECKING:
    from .lazy import connect, enqueue, enqueue_many, enqueue_many_sync, enqueue_sync

__all__ = [
    "GIVEN",
    "Backoff",
    "Cancel",
    "Failure",
    "Isolation",
    "Job",
    "JobContext",
    "PermanentFailure",
    "Result",
    "Reuse",
    "RunFailed",
    "RunHandle",
    "RunSpec",
    "Scope",
    "Snooze",
    "StopReason",
    "around",
    "carries",
    "connect",
    "enqueue",
    "enqueue_many",
    "enqueue_many_sync",
    "enqueue_sync",
    "job",
    "resource",
]


def __getattr__(name: str) -> object:
    """What enqueues is imported at its first use."""
    return getattr(lazy, name)
