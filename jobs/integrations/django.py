"""Django's connections around jobs: stale ones are closed before, and those of the job's own thread after each attempt.

>>> from cronograph.jobs.integrations import django
>>> django.close_connections()
"""

from collections.abc import Generator, Sequence

from django.db import close_old_connections, connections  # pyright: ignore[reportUnknownVariableType]

from ..registry import Registry
from ..registry.declaring import around
from ..registry.options import NamedJob


def close_connections(*, jobs: Sequence[str | NamedJob] | None = None, registry: Registry | None = None) -> None:
    """Do for plain functions, in threads and child processes, as Django does around a request.

    A thread job has a thread of its own, so its connections are closed with it. Call ``django.setup()`` before.

    Args:
        jobs: As of ``@around``.
        registry: As of ``@around``.
    """

    @around(jobs=jobs, registry=registry)
    def in_django() -> Generator[None]:
        close_old_connections()
        try:
            yield
        finally:
            connections.close_all()
