"""The jobs that every node brings along."""

from functools import cache

from ..core.model import Isolation, OverlapPolicy, Priority
from ..registry import JobDefinition, Registry, define
from .bulk import BULK_ACTION, bulk_action, undo_bulk_action
from .foreign_job import FOREIGN_JOB, foreign_job
from .graphql_request import graphql_request
from .http_request import http_request
from .prune import (
    cleanup_expired_challenges,
    cleanup_expired_device_codes,
    cleanup_expired_refresh_tokens,
    cleanup_expired_sessions,
    prune_history,
)
from .shell import shell as run_command

__all__ = ["builtin_jobs", "register_builtin"]


@cache
def builtin_jobs(*, with_shell: bool = False) -> tuple[JobDefinition, ...]:
    """Return the definitions of all built-in jobs, those with a schedule first; made once in a process.

    Args:
        with_shell: Whether the job that runs commands of the operating system is one of them.
    """
    may_be_allowed = (define("shell", run_command, isolation=Isolation.PROCESS),) if with_shell else ()
    return (
        define("cleanup_expired_sessions", cleanup_expired_sessions, schedule="0 0 * * * *"),
        define("cleanup_expired_refresh_tokens", cleanup_expired_refresh_tokens, schedule="0 30 * * * *"),
        define("cleanup_expired_challenges", cleanup_expired_challenges, schedule="0 */5 * * * *"),
        define("cleanup_expired_device_codes", cleanup_expired_device_codes, schedule="0 45 * * * *"),
        define("prune_history", prune_history, schedule="0 15 3 * * *"),
        define("http_request", http_request),
        define("graphql_request", graphql_request),
        define(FOREIGN_JOB, foreign_job, retries=0, overlap=OverlapPolicy.ALLOW),
        define(BULK_ACTION, bulk_action, priority=Priority.HIGH),
        define("undo_bulk_action", undo_bulk_action, priority=Priority.HIGH),
        *may_be_allowed,
    )


def register_builtin(registry: Registry, *, with_shell: bool = False) -> None:
    """Add the built-in jobs to ``registry``; those that it has already stay as they are.

    Args:
        with_shell: Whether ``shell`` comes along; only nodes that have it take its runs.

    Raises:
        ConfigurationError: a job of the user has the name of a built-in one; names both places.
    """
    for definition in builtin_jobs(with_shell=with_shell):
        present = registry.get(definition.name)
        if present is None or present.handler is not definition.handler:
            registry.add(definition)
