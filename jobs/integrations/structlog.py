"""Context variables of structlog: the lines of a job name their job, run and attempt.

>>> from cronograph.jobs.integrations import structlog
>>> structlog.bind_attempts()
"""

from collections.abc import Generator, Sequence

from structlog.contextvars import bound_contextvars

from ..base.context import JobContext
from ..registry import Registry
from ..registry.declaring import around
from ..registry.options import NamedJob


def bind_attempts(*, jobs: Sequence[str | NamedJob] | None = None, registry: Registry | None = None) -> None:
    """Bind ``job``, ``run``, ``attempt`` and, for runs of a task, ``task``; and the values that the run carries.

    Your configuration of structlog needs the processor ``structlog.contextvars.merge_contextvars``.

    Args:
        jobs: As of ``@around``.
        registry: As of ``@around``.
    """

    @around(jobs=jobs, registry=registry)
    def bound(ctx: JobContext) -> Generator[None]:
        info = ctx.info
        own = {"job": info.job_name, "run": info.run_id, "attempt": info.attempt}
        task = {} if info.task_name is None else {"task": info.task_name}
        with bound_contextvars(**{**ctx.carried, **own, **task}):
            yield
