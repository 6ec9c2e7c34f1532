"""``@job``: a function that any node can run, and that can still be called."""

import functools
from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, Unpack, overload

from .context import JobContext
from .registry import JobDefinition, JobOptions, Registry, default_registry, define

F = ParamSpec("F")
"""The parameters of the function."""
P = ParamSpec("P")
"""Those that are arguments: without a ``JobContext`` that comes first."""
R = TypeVar("R")


class Job(Generic[F, P, R]):
    """A function that was made a job. Calling it calls the function, here and now.

    Attributes:
        definition: What was registered.
    """

    def __init__(self, function: Callable[F, R], definition: JobDefinition) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self.definition = definition

    @property
    def name(self) -> str:
        """The job's name."""
        return self.definition.name

    def __call__(self, *args: F.args, **kwargs: F.kwargs) -> R:
        """Call the function itself: no run, no retries."""
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<job '{self.name}': {self.definition.where}>"


class Decorator(Protocol):
    """What ``@job(…)`` is: it takes a function and makes a job of it."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[JobContext, P], R], /
    ) -> Job[Concatenate[JobContext, P], P, R]: ...

    @overload
    def __call__(self, function: Callable[P, R], /) -> Job[P, P, R]: ...


@overload
def job(function: Callable[Concatenate[JobContext, P], R], /) -> Job[Concatenate[JobContext, P], P, R]: ...


@overload
def job(function: Callable[P, R], /) -> Job[P, P, R]: ...


@overload
def job(
    name: str | None = None, /, *, registry: Registry | None = None, **options: Unpack[JobOptions]
) -> Decorator: ...


def job(
    name: str | Callable[..., Any] | None = None,
    /,
    *,
    registry: Registry | None = None,
    **options: Unpack[JobOptions],
) -> Any:
    """Register a function as a job.

    Args:
        name: 1 to 200 characters, unique; the function's name unless given.
        registry: Where to register; the default registry unless given.
        options: Its schedule, where it runs, and its policies: see ``JobOptions``.

    Raises:
        ConfigurationError: something that cannot work (a name, an option, a parameter, a result), naming the place.
    """

    def register(function: Callable[..., Any]) -> Job[..., ..., Any]:
        definition = define(None if callable(name) else name, function, **options)
        (registry if registry is not None else default_registry()).add(definition)
        return Job(function, definition)

    return register(name) if callable(name) else register
