"""The jobs that every node brings along."""

from ..registry import JobDefinition, Registry, define
from .cleanup import (
    cleanup_expired_challenges,
    cleanup_expired_device_codes,
    cleanup_expired_refresh_tokens,
    cleanup_expired_sessions,
)
from .graphql_request import graphql_request
from .http_request import http_request
from .prune import prune_history

__all__ = ["builtin_jobs", "register_builtin"]


def builtin_jobs() -> tuple[JobDefinition, ...]:
    """The definitions of all built-in jobs, those with a schedule first."""
    return (
        define("cleanup_expired_sessions", cleanup_expired_sessions, schedule="0 0 * * * *"),
        define("cleanup_expired_refresh_tokens", cleanup_expired_refresh_tokens, schedule="0 30 * * * *"),
        define("cleanup_expired_challenges", cleanup_expired_challenges, schedule="0 */5 * * * *"),
        define("cleanup_expired_device_codes", cleanup_expired_device_codes, schedule="0 45 * * * *"),
        define("prune_history", prune_history, schedule="0 15 3 * * *"),
        define("http_request", http_request),
        define("graphql_request", graphql_request),
    )


def register_builtin(registry: Registry) -> None:
    """Add the built-in jobs to ``registry``; those that it has already stay as they are.

    Raises:
        ConfigurationError: a job of the user has the name of a built-in one; names both places.
    """
    for definition in builtin_jobs():
        present = registry.get(definition.name)
        if present is None or present.handler is not definition.handler:
            registry.add(definition)
