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
from .base.outcomes import Cancel, PermanentFailure, Rejected, Result, RunFailed, Snooze, Suspend, WaitTimedOut
from .core.admission.holding import Debounce, Expired, Throttle
from .core.base.errors import (
    ConfigurationError,
    CronographError,
    InvalidInput,
    KeyHeld,
    NotFound,
    QueueFull,
    StorageError,
    UserError,
)
from .core.base.resources import Resources
from .core.model import Isolation, MisfirePolicy, OverlapPolicy, Priority, ScheduleSpec
from .core.outcome import Cancellation, Failure
from .core.run_spec import RunSpec
from .core.schedule import Syntax
from .core.states import RunState
from .core.waits import AnswerPage
from .declared import Job, job
from .flow import Flow, FlowRun
from .handle import RunHandle
from .registry import Backoff, Batch, Cap, Rate, Registry, Reuse
from .registry.declaring import around, carries, resource
from .registry.hooks import GIVEN, Scope
from .registry.options import JobOptions
from .registry.policies import Alarm
from .registry.queue import RunOptions
from .schedules import calendar, cron, every, once

if TYPE_CHECKING:
    from .lazy import connect, enqueue, enqueue_many, enqueue_many_sync, enqueue_sync

__all__ = [
    "GIVEN",
    "Alarm",
    "AnswerPage",
    "Backoff",
    "Batch",
    "Cancel",
    "Cancellation",
    "Cap",
    "ConfigurationError",
    "CronographError",
    "Debounce",
    "Expired",
    "Failure",
    "Flow",
    "FlowRun",
    "InvalidInput",
    "Isolation",
    "Job",
    "JobContext",
    "JobOptions",
    "KeyHeld",
    "MisfirePolicy",
    "NotFound",
    "OverlapPolicy",
    "PermanentFailure",
    "Priority",
    "QueueFull",
    "Rate",
    "Registry",
    "Rejected",
    "Resources",
    "Result",
    "Reuse",
    "RunFailed",
    "RunHandle",
    "RunOptions",
    "RunSpec",
    "RunState",
    "ScheduleSpec",
    "Scope",
    "Snooze",
    "StopReason",
    "StorageError",
    "Suspend",
    "Syntax",
    "Throttle",
    "UserError",
    "WaitTimedOut",
    "around",
    "calendar",
    "carries",
    "connect",
    "cron",
    "enqueue",
    "enqueue_many",
    "enqueue_many_sync",
    "enqueue_sync",
    "every",
    "job",
    "once",
    "resource",
]


def __getattr__(name: str) -> object:
    """Import a name for enqueueing at its first use."""
    return getattr(lazy, name)
