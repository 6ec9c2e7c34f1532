"""Declare hooks around the attempts of jobs, and resources for jobs."""

import inspect
import json
import logging
import typing
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from ..base.context import JobContext
from ..core.base.errors import ConfigurationError
from ..core.model import Json
from .functions import place_of

log = logging.getLogger(__name__)

Generating = Callable[..., AsyncIterator[Any] | Iterator[Any]]
"""A generator function that yields once; code before the ``yield`` begins it, code after it ends it."""
Manager = AbstractContextManager[Any] | AbstractAsyncContextManager[Any]


class _Given:
    """The class of ``GIVEN``."""

    def __repr__(self) -> str:
        return "GIVEN"


GIVEN: Final[Any] = _Given()
"""The default of a parameter that the node gives: ``client: AsyncClient = GIVEN``. Nobody enqueues it."""

_ITERATORS: Final = (AsyncIterator, AsyncGenerator, Iterator, Generator)


class Scope(StrEnum):
    """Say for how long a resource is kept: as long as its node takes runs, or for one attempt."""

    NODE = "node"
    ATTEMPT = "attempt"


@dataclass(frozen=True, slots=True)
class Hook:
    """A generator function around attempts.

    Attributes:
        function: It yields once, while the job runs; an exception of the job is raised there.
        jobs: The names of the jobs that it concerns; None = all.
        is_async: Whether it is asynchronous.
        takes_context: Whether it takes the attempt's ``JobContext``.
        where: ``module.function`` (file:line).
    """

    function: Generating
    jobs: frozenset[str] | None
    is_async: bool
    takes_context: bool
    where: str

    def concerns(self, job_name: str) -> bool:
        """Return whether the hook wraps attempts of this job."""
        return self.jobs is None or job_name in self.jobs

    def manager(self, context: JobContext) -> Manager:
        """Return the context that is entered before an attempt and left after it."""
        return _manager(self.function, self.is_async, (context,) if self.takes_context else (), {})


@dataclass(frozen=True, slots=True)
class Resource:
    """A generator function that yields the resource.

    Attributes:
        function: It yields once, for as long as the resource is kept.
        kind: The annotation of the parameters that get it; None = it gives nothing, and begins and ends with the node.
        scope: How long it is kept.
        is_async: Whether it is asynchronous.
        needs: Its own parameters and the annotations of the resources that these get.
        where: ``module.function`` (file:line).
    """

    function: Generating
    kind: Any
    scope: Scope
    is_async: bool
    needs: Mapping[str, Any]
    where: str

    def manager(self, opened: Mapping[Any, object]) -> Manager:
        """Return the context that opens it and closes it."""
        given = {name: opened[kind] for name, kind in self.needs.items()}
        return _manager(self.function, self.is_async, (), given)


def _manager(function: Any, is_async: bool, args: Sequence[object], given: Mapping[str, object]) -> Manager:  # noqa: ANN401 - a generator function of either kind
    make = asynccontextmanager(function) if is_async else contextmanager(function)
    manager: Manager = make(*args, **given)
    return manager


class Hooks:
    """The hooks, resources and carriers of a registry, in the order of their declaration.

    Attributes:
        around: Hooks around attempts.
        resources: By the type of the resource.
        lifespans: Those that give nothing.
        carriers: Functions asked at an enqueue for values that the run carries to its attempts, by name.
    """

    def __init__(self) -> None:
        self.around: list[Hook] = []
        self.resources: dict[Any, Resource] = {}
        self.lifespans: list[Resource] = []
        self.carriers: dict[str, Callable[[], Json]] = {}

    def add(self, resource: Resource) -> None:
        """Keep a resource.

        Raises:
            ConfigurationError: another one gives the same.
        """
        if resource.kind is None:
            self.lifespans.append(resource)
            return
        other = self.resources.get(resource.kind)
        if other is not None:
            raise ConfigurationError(
                f"resource {resource.where}: {name_of(resource.kind)} is given by {other.where} already; give one of "
                "them a type of its own, e.g. a subclass or NewType"
            )
        self.resources[resource.kind] = resource

    def carried(self) -> dict[str, Json]:
        """Return the values that a run enqueued here and now carries."""
        values: dict[str, Json] = {}
        for name, carrier in self.carriers.items():
            try:
                value = carrier()
                json.dumps(value, allow_nan=False)
            except (Exception, SystemExit):
                log.exception("carried value '%s' (%s) is left out", name, place_of(carrier))
            else:
                if value is not None:
                    values[name] = value
        return values

    def of_job(self, job_name: str) -> tuple[Hook, ...]:
        """Return the hooks around attempts of this job."""
        return tuple(hook for hook in self.around if hook.concerns(job_name))

    def needed(self, kinds: Collection[Any], opened: Collection[Any] = ()) -> list[Resource]:
        """Return the resources to open to have these, each after those that it needs.

        Args:
            kinds: The resources, by their types.

        Raises:
            ConfigurationError: nobody gives one of them, or they need each other in a circle.
        """
        order: dict[Any, Resource] = {}
        for kind in kinds:
            self._collect(kind, opened, order, ())
        return list(order.values())

    def _collect(self, kind: Any, opened: Collection[Any], order: dict[Any, Resource], path: tuple[Any, ...]) -> None:  # noqa: ANN401 - any annotation
        if kind in opened or kind in order:
            return
        resource = self.resources.get(kind)
        if resource is None:
            known = ", ".join(map(name_of, self.resources)) or "none"
            raise ConfigurationError(
                f"nobody gives {name_of(kind)}: declare a @resource whose function yields it (there are: {known})"
            )
        if kind in path:
            raise ConfigurationError(f"resource {resource.where}: {name_of(kind)} needs itself, by way of others")
        for one in resource.needs.values():
            needed = self.resources.get(one)
            if resource.scope is Scope.NODE and needed is not None and needed.scope is Scope.ATTEMPT:
                raise ConfigurationError(
                    f"resource {resource.where}: is kept with the node, but needs {name_of(one)}, which an attempt "
                    'has; give it scope="attempt" too'
                )
            self._collect(one, opened, order, (*path, kind))
        order[kind] = resource

    def of_node(self) -> list[Resource]:
        """Return the resources that a node opens before it takes runs, in order.

        Raises:
            ConfigurationError: see ``needed``.
        """
        kinds = [kind for kind, one in self.resources.items() if one.scope is Scope.NODE]
        opened = self.needed(kinds)
        self.needed([kind for one in self.lifespans for kind in one.needs.values()], kinds)
        return [*opened, *self.lifespans]


def hook_of(function: Generating, jobs: frozenset[str] | None) -> Hook:
    """Return the hook that a function is.

    Raises:
        ConfigurationError: it cannot be one.
    """
    where = place_of(function)
    is_async = _checked(function, "hook", where)
    parameters = inspect.signature(function).parameters
    if len(parameters) > 1:
        raise ConfigurationError(f"hook {where}: takes the JobContext or nothing, got {', '.join(parameters)}")
    return Hook(function, jobs, is_async, bool(parameters), where)


def resource_of(function: Generating, scope: Scope | str) -> Resource:
    """Return the resource that a function gives.

    Raises:
        ConfigurationError: it cannot be one.
    """
    where = place_of(function)
    is_async = _checked(function, "resource", where)
    try:
        kept = Scope(scope)
    except ValueError:
        raise ConfigurationError(f"resource {where}: scope must be 'node' or 'attempt', got {scope!r}") from None
    hints = typing.get_type_hints(function, include_extras=True)
    result = hints.pop("return", None)
    if typing.get_origin(result) not in _ITERATORS:
        kind = "AsyncIterator" if is_async else "Iterator"
        raise ConfigurationError(f"resource {where}: must say what it yields, e.g. -> {kind}[Pool]; got {result}")
    given = typing.get_args(result)[0]
    if given in (None, type(None)):
        given = None
        if kept is Scope.ATTEMPT:
            raise ConfigurationError(f"resource {where}: gives nothing to an attempt; make it a hook by @around")
    untyped = next((name for name in inspect.signature(function).parameters if name not in hints), None)
    if untyped is not None:
        raise ConfigurationError(f"resource {where}: parameter '{untyped}' must say by its type which resource it is")
    return Resource(function, given, kept, is_async, hints, where)


def _checked(function: object, what: str, where: str) -> bool:
    """Check that it is a generator function; return whether it is asynchronous."""
    if inspect.isasyncgenfunction(function):
        return True
    if inspect.isgeneratorfunction(function):
        return False
    raise ConfigurationError(
        f"{what} {where}: must be a function that yields once, 'def' or 'async def' (without @contextmanager)"
    )


def name_of(kind: object) -> str:
    """Return an annotation in messages."""
    if typing.get_origin(kind) is not None:
        return str(kind).replace("collections.abc.", "").replace("typing.", "")
    return getattr(kind, "__qualname__", None) or str(kind)
