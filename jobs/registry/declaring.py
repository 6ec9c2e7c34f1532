"""``@around``, ``@resource`` and ``@carries``: hooks and resources."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast, overload

from ..core.base.errors import ConfigurationError
from ..core.base.unwritable import unstorable
from ..core.model import Json
from .definition import Registry, registry_or_default
from .functions import check_takes, place_of
from .hooks import Generating, Scope, hook_of, resource_of
from .options import NamedJob

G = TypeVar("G", bound=Generating)
C = TypeVar("C", bound=Callable[[], Any])


@overload
def around(function: G, /) -> G: ...


@overload
def around(
    *, jobs: str | NamedJob | Sequence[str | NamedJob] | None = None, registry: Registry | None = None
) -> Callable[[G], G]: ...


def around(
    function: Any = None,
    /,
    *,
    jobs: str | NamedJob | Sequence[str | NamedJob] | None = None,
    registry: Registry | None = None,
) -> Any:
    """Declare a hook around attempts: a generator function that yields once, while the job runs.

    It runs where the job does, in its context: on the event loop (``async def``, or a ``def`` that does not block), in
    the thread of a plain job (``def``; an ``async def`` on the loop, outside of it), in the child of a process job. An
    exception of the job is raised at its ``yield``. A hook that fails is logged and changes nothing.

    Args:
        function: It takes the attempt's ``JobContext``, or nothing.
        jobs: The job that it concerns, or its name, or several of them; all of the registry unless given.
        registry: Whose jobs; those of the default registry unless given.

    Raises:
        ConfigurationError: it is no such function, or ``jobs`` are no jobs.
        TypeError: ``registry`` is none.
    """
    names = None if jobs is None else _names(jobs)
    home = registry_or_default(registry)

    def declare(given: Any) -> Any:  # noqa: ANN401 - typed by the overloads
        home.hooks.around.append(hook_of(given, names))
        return given

    return declare if function is None else declare(function)


@overload
def resource(function: G, /) -> G: ...


@overload
def resource(*, scope: Scope | str = Scope.NODE, registry: Registry | None = None) -> Callable[[G], G]: ...


def resource(function: Any = None, /, *, scope: Scope | str = Scope.NODE, registry: Registry | None = None) -> Any:
    """Declare a resource of jobs: a generator function that opens it, yields it, and closes it.

    Its result names the type of the resource, ``-> AsyncIterator[Pool]``, and a parameter of a job that is annotated
    ``Pool`` gets it; its own parameters get other resources in the same way. One that yields nothing (``->
    AsyncIterator[None]``) begins and ends with the node. A node whose resource cannot be opened does not start.

    Args:
        function: The generator function.
        scope: ``"node"``: opened before the node takes runs, shared by its jobs, closed after the last of them. A
            child process opens its job's resources for itself. ``"attempt"``: of its own for each attempt, of which it
            is a
            part: An exception when it is opened or closed (a commit, say) fails the attempt.
        registry: Whose jobs; those of the default registry unless given.

    Raises:
        ConfigurationError: it is no such function, or another one gives the same.
        TypeError: ``registry`` is none.
    """
    home = registry_or_default(registry)

    def declare(given: Any) -> Any:  # noqa: ANN401 - typed by the overloads
        home.hooks.add(resource_of(given, scope))
        return given

    return declare if function is None else declare(function)


def carries(name: str, /, *, registry: Registry | None = None) -> Callable[[C], C]:
    """Declare a value that runs carry from where they are enqueued to their attempts, as ``ctx.carried[name]``.

    The function is called by every enqueue of a job of this registry, in the process and context that enqueues; it
    returns JSON, or None for nothing. One that fails is logged, and the run carries nothing from it. Runs that are made
    by a schedule, the API, the dashboard or a command carry nothing.

    Args:
        name: The name of the value.
        registry: Whose jobs; those of the default registry unless given.

    Raises:
        ConfigurationError: the name is taken, or the declared object is no such function.
        TypeError: ``registry`` is none.
    """
    home = registry_or_default(registry)

    def declare(function: C) -> C:
        _check_carrier(name, function)
        if name in home.hooks.carriers:
            raise ConfigurationError(f"carried value '{name}': is declared twice; give one of them another name")
        carrier: Callable[[], Json] = function
        home.hooks.carriers[name] = carrier
        return function

    return declare


def _names(jobs: object) -> frozenset[str]:
    """Return the names of the jobs that a hook concerns."""
    several = cast("Sequence[object]", jobs) if isinstance(jobs, list | tuple | set | frozenset) else (jobs,)
    names = [one if isinstance(one, str) else getattr(one, "name", None) for one in several]
    if not names or not all(isinstance(name, str) for name in names):
        raise ConfigurationError(f"@around: jobs must be jobs or their names, e.g. jobs=[mail], got {jobs!r:.60}")
    return frozenset(str(name) for name in names)


def _check_carrier(name: object, function: object) -> None:
    """Check that a carrier can be asked for a value at each enqueue."""
    if not isinstance(name, str) or not name:
        raise ConfigurationError(f"@carries: the name of the value must be a text, got {name!r:.60}")
    wrong = unstorable(name)
    if wrong is not None:
        raise ConfigurationError(f"@carries: the name of the value {wrong.why}, got {name!r:.60}")
    if not callable(function) or inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise ConfigurationError(f"@carries('{name}'): must be on a plain function ('def'), got {function!r:.60}")
    try:
        check_takes(function, f"@carries('{name}') at {place_of(function)}")
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
