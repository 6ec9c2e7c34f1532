"""Errors of jobs in Sentry: each attempt has a scope of its own, with its run as tags.

>>> from cronograph.jobs.integrations import sentry
>>> sentry.report_errors()
"""

from collections.abc import Generator, Sequence

import sentry_sdk

from ..base.context import JobContext
from ..base.outcomes import Cancel, Snooze
from ..registry import Registry
from ..registry.declaring import around
from ..registry.options import NamedJob


def report_errors(
    *, only_final: bool = False, jobs: Sequence[str | NamedJob] | None = None, registry: Registry | None = None
) -> None:
    """Report errors of jobs, except ``Snooze`` and ``Cancel``. Call ``sentry_sdk.init`` yourself.

    Args:
        only_final: Leave out failures that are tried again.
        jobs: As of ``@around``.
        registry: As of ``@around``.
    """

    @around(jobs=jobs, registry=registry)
    def in_sentry(ctx: JobContext) -> Generator[None]:
        with sentry_sdk.isolation_scope() as scope:
            info = ctx.info
            scope.set_transaction_name(f"job {info.job_name}")
            scope.set_tag("cronograph.job", info.job_name)
            scope.set_tag("cronograph.run", str(info.run_id))
            scope.set_context(
                "cronograph",
                {"run": info.run_id, "attempt": info.attempt, "task": info.task_name, "job": info.job_name},
            )
            try:
                yield
            except (Snooze, Cancel):
                raise
            except Exception as error:
                if ctx.is_last_attempt or not only_final:
                    sentry_sdk.capture_exception(error)
                raise
