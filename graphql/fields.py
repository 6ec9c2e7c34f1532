"""Decorators of resolvers: Strawberry's own, with types that keep the signature of what they decorate."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import strawberry

from .guard.sizes import KEY, PAGE, Size

F = TypeVar("F", bound=Callable[..., Any])


def resolved(*, description: str, deprecation_reason: str | None = None, size: Size | None = None) -> Callable[[F], F]:
    """Make a method a field.

    Args:
        description: What clients read about it.
        deprecation_reason: What to use instead, if it is on its way out.
        size: How many rows it or the lists directly below it have, and what they cost; None = a single value.
    """
    field = strawberry.field(description=description, deprecation_reason=deprecation_reason, metadata=sized(size))
    return cast("Callable[[F], F]", field)


def listed(*, description: str) -> Callable[[F], F]:
    """Make a method that takes ``FIRST`` and ``LAST`` and answers a connection a field."""
    return resolved(description=description, size=PAGE)


def mutates(*, description: str, size: Size | None = None) -> Callable[[F], F]:
    """Make a method a mutation; ``size`` is that of the lists directly below it."""
    return cast("Callable[[F], F]", strawberry.mutation(description=description, metadata=sized(size)))


def sized(size: Size | None) -> dict[object, object]:
    """The metadata of a field or an input field of this size."""
    return {} if size is None else {KEY: size}


def streams(*, description: str) -> Callable[[F], F]:
    """Make a method that is an asynchronous generator a subscription."""
    return cast("Callable[[F], F]", strawberry.subscription(description=description))
