"""``@around``, ``@resource`` and ``@carries``: what is declared beside jobs."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

from ..core.base.errors import ConfigurationError
from ..core.model import Json
from .definition import Registry, default_registry
from .hooks import Generating, Scope, hook_of, resource_of
from .options import NamedJob

G = TypeVar("G", bound=Generating)
C = TypeVar("C", bound=Callable[[], Any])


@overload
def around(function: G, /) -> G: ...


@overload
def around(*, jobs: Sequence[str | NamedJob] | None = None, registry: Registry | None = None) -> Callable[[G], G]: ...


def around(
    function: Any = None,
    /,
    *,
    jobs: Sequence[str | NamedJob] | None = None,
    registry: Registry | None = None,
) -> Any:
    """Declare a hook around attempts: a generator function that yields once, while the job runs.

    It runs where the job does, in its context: on the event loop (``async def``, or a ``def`` that does not block), in
    the thread of a plain job (``def``; an ``async def`` on the loop, outside of it), in the child of a process job. An
    exception of the job is raised at its ``yield``. A hook that fails is logged and changes nothing.

    Args:
        function: It takes the attempt's ``JobContext``, or nothing.
        jobs: The jobs that it concerns, or their names; all of the registry unless given.
        registry: Whose jobs; those of the default registry unless given.

    Raises:
        ConfigurationError: it is no such function.
    """
    names = None if jobs is None else frozenset(one if isinstance(one, str) else one.name for one in jobs)
    home = registry if registry is not None else default_registry()

    def declare(given: Any) -> Any:  # noqa: ANN401 - typed by the overloads
        home.hooks.around.append(hook_of(given, names))
        return given

    return declare if function is None else declare(function)


@overload
def resource(function: G, /) -> G: ...


@overload
def resource(*, scope: Scope | str = Scope.NODE, registry: Registry | None = None) -> Callable[[G], G]: ...


def resource(function: Any = None, /, *, scope: Scope | str = Scope.NODE, registry: Registry | None = None) -> Any:
    """Declare what jobs are given: a generator function that opens it, yields it, and closes it.

    Its result says what it gives, ``-> AsyncIterator[Pool]``, and a parameter of a job that is annotated ``Pool`` gets
    it; its own parameters get other resources in the same way. What yields nothing (``-> AsyncIterator[None]``) begins
    and ends with the node. A node whose resource cannot be opened does not start.

    Args:
        function: The generator function.
        scope: ``"node"``: opened before the node takes runs, shared by its jobs, closed after the last of them. A child
            process opens what its job takes for itself. ``"attempt"``: of its own for each attempt, of which it is a
            part: An exception when it is opened or closed (a commit, say) fails the attempt.
        registry: Whose jobs; those of the default registry unless given.

    Raises:
        ConfigurationError: it is no such function, or another one gives the same.
    """
    home = registry if registry is not None else default_registry()

    def declare(given: Any) -> Any:  # noqa: ANN401 - typed by the overloads
        home.hooks.add(resource_of(given, scope))
        return given

    return declare if function is None else declare(function)


def carries(name: str, /, *, registry: Registry | None = None) -> Callable[[C], C]:
    """Declare a value that runs carry from where they are enqueued to their attempts, as ``ctx.carried[name]``.

    The function is called by every enqueue of a job of this registry, in the process and context that enqueues; it
    returns JSON, or None for nothing. One that fails is logged, and the run carries nothing from it.

    Args:
        name: What the value is called.
        registry: Whose jobs; those of the default registry unless given.

    Raises:
        ConfigurationError: the name is taken.
    """
    home = registry if registry is not None else default_registry()

    def declare(function: C) -> C:
        if name in home.hooks.carriers:
            raise ConfigurationError(f"carried value '{name}': is declared twice; give one of them another name")
        carrier: Callable[[], Json] = function
        home.hooks.carriers[name] = carrier
        return function

    return declare
