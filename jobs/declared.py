"""``@job``: a function that any node can run, that can be put into the queue, and that can still be called."""

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, Unpack, overload

from . import lazy
from .base.context import JobContext, current_host
from .core.base.lazy import LazyModule
from .core.defaults import RUN_POLICIES
from .core.flows import unknown_in
from .core.model import Json
from .core.run_spec import NO_KEY, RunSpec, RunTarget
from .core.states import RunState
from .core.waits import Signal
from .handle import RunHandle, no_database
from .registry import JobDefinition, JobOptions, Registry, define, registry_or_default
from .registry.names import check_failure_job
from .registry.queue import HOLDS, RunOptions, RunQueue, check_options, check_session, holding, in_seconds

if TYPE_CHECKING:
    from .own import threads as own_threads
    from .queue.enqueue.enqueue import AsyncTransaction, Transaction
else:
    own_threads = LazyModule(f"{__package__}.own.threads")

F = ParamSpec("F")
"""The parameters of the function."""
P = ParamSpec("P")
"""Parameters that are arguments: without a leading ``JobContext``."""
R = TypeVar("R")
_OPTIONS = {"_at": "run_at", **{f"_{name}": name for name in RunOptions.__annotations__}}


class Job(Generic[F, P, R]):
    """A function that was made a job. Calling it calls the function, here and now.

    Args:
        function: The function.
        definition: What was registered.
        registry: Where; says which database is used without a session.
        chosen: What ``options`` said about the runs to be.
    """

    def __init__(
        self,
        function: Callable[F, R],
        definition: JobDefinition,
        registry: Registry,
        chosen: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self.definition = definition
        self.registry = registry
        self._chosen = chosen

    @property
    def name(self) -> str:
        """The job's name."""
        return self.definition.name

    def __call__(self, *args: F.args, **kwargs: F.kwargs) -> R:
        """Call the function itself: no run, no retries."""
        return self._function(*args, **kwargs)

    def options(self, **options: Unpack[RunOptions]) -> "Job[F, P, R]":
        """The same job, whose runs are put into the queue with these options: ``mail.options(priority="high")``.

        Raises:
            TypeError: there is no such option.
            UserError: a duration, or how a key holds, is not what it must be; the rest is judged by the enqueue.
        """
        check_options(options)
        in_seconds({**options})
        return Job(self._function, self.definition, self.registry, {**self._chosen, **options})

    def run(self, *args: P.args, **kwargs: P.kwargs) -> RunSpec:
        """A run to be, for ``enqueue_many``.

        Raises:
            UserError: an argument or an option is not what it must be.
        """
        return self._asked(args, kwargs)

    async def enqueue(
        self, session: "AsyncTransaction | None" = None, /, *args: P.args, **kwargs: P.kwargs
    ) -> RunHandle:
        """Put a run into the queue.

        Args:
            session: An asynchronous SQLAlchemy session or connection, of whose transaction the run is a part (you
                commit); without one it is committed at once, in the database of ``connect``.
            args: Arguments as the function takes them, without its ``JobContext``.
            kwargs: The same by name. The words of ``options`` are taken here too, each behind an underscore
                (``_group``, ``_run_at`` or ``_at``); type checkers, which cannot know these, ask for ``options``.

        Raises:
            TypeError: an argument is missing or unknown, or the first one is no session.
            UserError: an argument or an option is not what it must be.
            ConfigurationError: neither a session nor a database is known.
        """
        self._check_session(session, "enqueue")
        asked, queue = self._asked(args, kwargs), lazy.queue_of(self.registry)
        if session is not None:
            run = await session.run_sync(lambda inner: lazy.put_in_session(self.registry, inner, asked))
            return RunHandle(run, queue)
        host = current_host.get()
        if queue is None and host is not None:
            return RunHandle(lazy.run_of(asked, (await host.enqueue([asked]))[0]), queue)
        if queue is None:
            raise no_database()
        return RunHandle(await queue.put_in_loop(asked), queue)

    def enqueue_sync(self, session: "Transaction | None" = None, /, *args: P.args, **kwargs: P.kwargs) -> RunHandle:
        """``enqueue`` for code without an event loop, and for synchronous sessions and connections."""
        self._check_session(session, "enqueue_sync")
        asked, queue = self._asked(args, kwargs), lazy.queue_of(self.registry)
        if session is not None:
            return RunHandle(lazy.put_in_session(self.registry, session, asked), queue)
        host = current_host.get()
        if queue is None and host is not None:
            # In a child process: the node puts it there.
            return RunHandle(lazy.run_of(asked, host.enqueue_waiting([asked])[0]), queue)
        if queue is None:
            raise no_database()
        return RunHandle(queue.put(asked), queue)

    async def cancel(
        self,
        session: "AsyncTransaction | None" = None,
        /,
        *,
        unique_key: str | None = None,
        run_id: int | None = None,
        reason: str | None = None,
    ) -> RunState:
        """Cancel an unfinished run of this job: ``await reminder.cancel(session, unique_key="trial-7")``.

        Args:
            session: As of ``enqueue``: the run is cancelled if, and only if, you commit; without one at once. A refusal
                leaves the session as it was.
            unique_key: Of the unfinished run; give this or ``run_id``.
            run_id: Its id; a finished run stays as it is.
            reason: Why, shown with the run.

        Returns:
            The state then: ``cancelled``, or ``running`` while its job is asked to stop.

        Raises:
            NotFound: this job has no such run.
            ConfigurationError: neither a session nor a database is known.
        """
        check_session(session, f"{self.name}.cancel", asynchronous=True)
        target = self._target("cancel", unique_key, run_id)
        if session is None:
            return (await own_threads.briefly_in_thread(lambda: self._queue().cancel(target, reason))).state
        return (await session.run_sync(lambda it: lazy.cancel_in_session(self.registry, it, target, reason))).state

    def cancel_sync(
        self,
        session: "Transaction | None" = None,
        /,
        *,
        unique_key: str | None = None,
        run_id: int | None = None,
        reason: str | None = None,
    ) -> RunState:
        """``cancel`` for code without an event loop, and for synchronous sessions and connections."""
        check_session(session, f"{self.name}.cancel_sync", asynchronous=False)
        target = self._target("cancel", unique_key, run_id)
        if session is not None:
            return lazy.cancel_in_session(self.registry, session, target, reason).state
        return self._queue().cancel(target, reason).state

    async def signal(
        self,
        session: "AsyncTransaction | None" = None,
        /,
        *,
        name: str,
        payload: Json = None,
        reject: str | None = None,
        unique_key: str | None = None,
        run_id: int | None = None,
    ) -> RunState:
        """Send a signal to an unfinished run of this job, for ``ctx.wait_for``; the run's state then.

        Args:
            session: As of ``cancel``.
            name: Of the wait; of one with a key ``name[key]``.
            payload: What it brings along, plain JSON.
            reject: It says no, for this reason.
            unique_key: As of ``cancel``.
            run_id: As of ``cancel``.

        Raises:
            NotFound: this job has no such run.
            UserError: the run has ended, or what the signal brings along is not what it waits for.
            ConfigurationError: neither a session nor a database is known.
        """
        check_session(session, f"{self.name}.signal", asynchronous=True)
        target, sent = self._target("signal", unique_key, run_id), Signal(name, payload, reject)
        if session is None:
            return (await own_threads.briefly_in_thread(lambda: self._queue().signal(target, sent))).state
        return (await session.run_sync(lambda inner: lazy.signal_in_session(self.registry, inner, target, sent))).state

    def signal_sync(
        self,
        session: "Transaction | None" = None,
        /,
        *,
        name: str,
        payload: Json = None,
        reject: str | None = None,
        unique_key: str | None = None,
        run_id: int | None = None,
    ) -> RunState:
        """``signal`` for code without an event loop, and for synchronous sessions and connections."""
        check_session(session, f"{self.name}.signal_sync", asynchronous=False)
        target, sent = self._target("signal", unique_key, run_id), Signal(name, payload, reject)
        if session is not None:
            return lazy.signal_in_session(self.registry, session, target, sent).state
        return self._queue().signal(target, sent).state

    def _target(self, method: str, unique_key: str | None, run_id: int | None) -> RunTarget:
        if (unique_key is None) == (run_id is None):
            raise TypeError(f"{self.name}.{method}: give either unique_key or run_id")
        return RunTarget(run_id, unique_key, self.name)

    def _queue(self) -> RunQueue:
        queue = lazy.queue_of(self.registry)
        if queue is None:
            raise no_database()
        return queue

    def _check_session(self, session: object, method: str) -> None:
        first = next(iter(self.definition.parameters), None)
        called = f"{getattr(self, '__name__', self.name)}.{method}"
        check_session(session, called, asynchronous=method == "enqueue", first=first)

    def run_with(
        self, results: Mapping[object, Json], args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> RunSpec:
        """``run``, where some arguments are not known yet; ``Flow.add`` asks for it.

        Args:
            results: What stands in the stored arguments for each value that is not known yet.
            args: As the function takes them.
            kwargs: The same by name.
        """
        accept = functools.partial(self.definition.accept_partly, results)
        return self._asked(args, kwargs, accept)

    def _asked(
        self,
        args: tuple[object, ...],
        kwargs: Mapping[str, object],
        accept: Callable[..., tuple[dict[str, Json], dict[str, Any]]] | None = None,
    ) -> RunSpec:
        """The run that arguments and options of ``enqueue`` speak of."""
        parameters = self.definition.parameters
        behind = {name for name in kwargs if name in _OPTIONS and name not in parameters}
        own = {name: value for name, value in kwargs.items() if name not in behind}
        document, values = (accept or self.definition.accept)(args, own)
        options: dict[str, Any] = {**self._chosen, **{_OPTIONS[name]: kwargs[name] for name in behind}}
        policies = self.definition.policies
        if policies.defaults.unique_key is not None and "unique_key" in options:
            options["unique_key"] = NO_KEY if options["unique_key"] is None else options["unique_key"]
        elif policies.defaults.unique_key is not None and accept is None:
            options["unique_key"] = self.definition.key_of(document, values)
        if policies.defaults.labels is not None:
            unknown = () if accept is None else unknown_in(document)
            options["labels"] = policies.defaults.labels.of(document, options.get("labels"), unknown)
        options["hold"] = holding(options) or options.get("hold") or policies.defaults.hold
        for name in HOLDS:
            options.pop(name, None)
        if options["hold"] is not None and options.get("unique_key") in (None, NO_KEY):
            options["unique_key"] = self.name
        if options.get("ttl") is None and options.get("expires_at") is None:
            options["ttl"] = policies.defaults.ttl
        for name in RUN_POLICIES:
            # No node may have published this version of the job yet.
            options.setdefault(name, getattr(policies.defaults, name))
        carried = self.registry.hooks.carried()
        if carried:
            options["carried"] = carried
        return RunSpec(self.name, document, settled=True, signature=self.definition.signature, **in_seconds(options))

    def __repr__(self) -> str:
        return f"<job '{self.name}': {self.definition.where}>"


class Decorator(Protocol):
    """Make a job of a function, as ``@job(…)`` does."""

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
        TypeError: ``registry`` is none.
    """
    home = registry_or_default(registry)

    def register(function: Callable[..., Any]) -> Job[..., ..., Any]:
        definition = define(None if callable(name) else name, function, tuple(home.hooks.resources), **options)
        chosen = definition.policies.defaults.on_failure
        if chosen is not None and home.get(chosen) is not None:
            check_failure_job(definition.name, definition.where, chosen, home)
        home.add(definition)
        return Job(function, definition, home)

    return register(name) if callable(name) else register
