"""Decorators of resolvers: Strawberry's own, with types that keep the signature of what they decorate."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import strawberry

F = TypeVar("F", bound=Callable[..., Any])


def resolved(*, description: str, deprecation_reason: str | None = None) -> Callable[[F], F]:
    """Make a method a field.

    Args:
        description: What clients read about it.
        deprecation_reason: What to use instead, if it is on its way out.
    """
    return cast("Callable[[F], F]", strawberry.field(description=description, deprecation_reason=deprecation_reason))


def mutates(*, description: str) -> Callable[[F], F]:
    """Make a method a mutation."""
    return cast("Callable[[F], F]", strawberry.mutation(description=description))


def streams(*, description: str) -> Callable[[F], F]:
    """Make a method that is an asynchronous generator a subscription."""
    return cast("Callable[[F], F]", strawberry.subscription(description=description))
