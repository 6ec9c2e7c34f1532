"""``@job``: a function that any node can run, that can be put into the queue, and that can still be called."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, Unpack, overload

from . import handle, lazy
from .base.context import JobContext, current_host
from .core.base.errors import refuse
from .core.base.resources import Resources
from .core.defaults import RUN_POLICIES
from .core.flows import unknown_in
from .core.model import Json
from .core.rules import resource_place_faults
from .core.run_spec import NO_KEY, Cancel, ReplaceArgs, Reschedule, RunSpec, RunTarget
from .core.states import RunState
from .core.waits import RunChange, Signal
from .handle import RunHandle, no_database
from .registry import JobDefinition, JobOptions, Registry, define, registry_or_default
from .registry.names import check_failure_job
from .registry.queue import HOLDS, RunOptions, check_options, check_session, holding, in_seconds

if TYPE_CHECKING:
    from .queue.enqueue.enqueue import AsyncTransaction, Transaction

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
        definition: The registered job.
        registry: Where; says which database is used without a session.
        chosen: The options of the runs to be, from ``options``.
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
        """Return the same job, whose runs are put into the queue with these options: ``mail.options(priority="high")``.

        Raises:
            TypeError: there is no such option.
            UserError: a duration, or how a key holds, is invalid; the rest is judged by the enqueue.
        """
        check_options(options)
        in_seconds({**options})
        return Job(self._function, self.definition, self.registry, {**self._chosen, **options})

    def run(self, *args: P.args, **kwargs: P.kwargs) -> RunSpec:
        """Return a run to be, for ``enqueue_many``.

        Raises:
            UserError: an argument or an option is invalid.
        """
        return self._asked(args, kwargs)

    async def enqueue(
        self, session: "AsyncTransaction | None" = None, /, *args: P.args, **kwargs: P.kwargs
    ) -> RunHandle:
        """Put a run into the queue.

        Args:
            session: An asynchronous session or connection of SQLAlchemy, or an ``AsyncConnection`` of psycopg 3, of
                whose transaction the run is a part (you commit); without one it is committed at once, in the database
                of ``connect``.
            args: Arguments as the function takes them, without its ``JobContext``.
            kwargs: The same by name. The words of ``options`` are taken here too, each behind an underscore
                (``_group``, ``_run_at`` or ``_at``); type checkers, which cannot know these, ask for ``options``.

        Raises:
            TypeError: an argument is missing or unknown, or the first one is no session.
            UserError: an argument or an option is invalid.
            ConfigurationError: neither a session nor a database is known.
        """
        self._check_session(session, "enqueue")
        asked, queue = self._asked(args, kwargs), lazy.queue_of(self.registry)
        if session is not None:
            put = await lazy.in_transaction(session, lambda inner: lazy.put_in_session(self.registry, inner, asked))
            return RunHandle(put.run, queue, put.deduplicated)
        host = current_host.get()
        if queue is None and host is not None:
            return _enqueued_by_node(asked, await host.enqueue([asked]))
        if queue is None:
            raise no_database()
        put = await queue.put_in_loop(asked)
        return RunHandle(put.run, queue, put.deduplicated)

    def enqueue_sync(self, session: "Transaction | None" = None, /, *args: P.args, **kwargs: P.kwargs) -> RunHandle:
        """Do the same as ``enqueue`` without an event loop, and for synchronous sessions and connections."""
        self._check_session(session, "enqueue_sync")
        asked, queue = self._asked(args, kwargs), lazy.queue_of(self.registry)
        if session is not None:
            put = lazy.put_in_session(self.registry, session, asked)
            return RunHandle(put.run, queue, put.deduplicated)
        host = current_host.get()
        if queue is None and host is not None:
            # In a child process: the node puts it there.
            return _enqueued_by_node(asked, host.enqueue_waiting([asked]))
        if queue is None:
            raise no_database()
        put = queue.put(asked)
        return RunHandle(put.run, queue, put.deduplicated)

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
        return await self._change("cancel", session, RunTarget(run_id, unique_key), Cancel(reason))

    def cancel_sync(
        self,
        session: "Transaction | None" = None,
        /,
        *,
        unique_key: str | None = None,
        run_id: int | None = None,
        reason: str | None = None,
    ) -> RunState:
        """Do the same as ``cancel`` without an event loop, and for synchronous sessions and connections."""
        return self._change_sync("cancel_sync", session, RunTarget(run_id, unique_key), Cancel(reason))

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
            payload: The data of the signal, plain JSON.
            reject: It says no, for this reason.
            unique_key: As of ``cancel``.
            run_id: As of ``cancel``.

        Raises:
            NotFound: this job has no such run.
            UserError: the run has ended, or its wait does not accept the payload.
            ConfigurationError: neither a session nor a database is known.
        """
        return await self._change("signal", session, RunTarget(run_id, unique_key), Signal(name, payload, reject))

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
        """Do the same as ``signal`` without an event loop, and for synchronous sessions and connections."""
        sent = Signal(name, payload, reject)
        return self._change_sync("signal_sync", session, RunTarget(run_id, unique_key), sent)

    async def reschedule(
        self,
        session: "AsyncTransaction | None" = None,
        /,
        *,
        run_at: datetime,
        unique_key: str | None = None,
        run_id: int | None = None,
    ) -> RunState:
        """Give a run of this job that waits another time: ``reminder.reschedule(session, unique_key=…, run_at=…)``.

        Args:
            session: As of ``cancel``.
            run_at: Not before this time, with a time zone.
            unique_key: As of ``cancel``.
            run_id: As of ``cancel``.

        Returns:
            Its state, which stays as it is: ``waiting``, or ``stuck`` before a retry.

        Raises:
            NotFound: this job has no such run.
            UserError: the run does not wait, or the time has no zone.
            ConfigurationError: neither a session nor a database is known.
        """
        return await self._change("reschedule", session, RunTarget(run_id, unique_key), Reschedule(run_at))

    def reschedule_sync(
        self,
        session: "Transaction | None" = None,
        /,
        *,
        run_at: datetime,
        unique_key: str | None = None,
        run_id: int | None = None,
    ) -> RunState:
        """Do the same as ``reschedule`` without an event loop, and for synchronous sessions and connections."""
        return self._change_sync("reschedule_sync", session, RunTarget(run_id, unique_key), Reschedule(run_at))

    async def replace_args(
        self,
        session: "AsyncTransaction | None" = None,
        /,
        *,
        by: RunSpec,
        unique_key: str | None = None,
        run_id: int | None = None,
    ) -> RunState:
        """Give a run that has not begun other arguments: ``reminder.replace_args(session, by=reminder.run(…))``.

        Its labels, its unique key and its limits follow if the job makes them of the arguments.

        Args:
            session: As of ``cancel``.
            by: A run to be of this job, of which the arguments are taken, all of them.
            unique_key: As of ``cancel``; unless this or ``run_id`` is given, the key of ``by``.
            run_id: As of ``cancel``.

        Raises:
            NotFound: this job has no such run.
            UserError: the run has begun, or no node has published a form of the job that takes these arguments.
            ConfigurationError: neither a session nor a database is known.
        """
        target, change = self._replacement("replace_args", by, unique_key, run_id)
        return await self._change("replace_args", session, target, change)

    def replace_args_sync(
        self,
        session: "Transaction | None" = None,
        /,
        *,
        by: RunSpec,
        unique_key: str | None = None,
        run_id: int | None = None,
    ) -> RunState:
        """Do the same as ``replace_args`` without an event loop, and for synchronous sessions and connections."""
        target, change = self._replacement("replace_args_sync", by, unique_key, run_id)
        return self._change_sync("replace_args_sync", session, target, change)

    def _replacement(
        self, method: str, by: RunSpec, unique_key: str | None, run_id: int | None
    ) -> tuple[RunTarget, ReplaceArgs]:
        given: Any = by
        if not isinstance(given, RunSpec) or given.job_name != self.name:
            raise TypeError(f"{self.name}.{method}: by must be a run to be, {self.name}.run(…), got {given!r:.60}")
        key = unique_key if unique_key is not None or run_id is not None else given.unique_key or None
        return RunTarget(run_id, key), ReplaceArgs(given.args or {})

    async def _change(
        self, method: str, session: "AsyncTransaction | None", target: RunTarget, change: RunChange
    ) -> RunState:
        check_session(session, f"{self.name}.{method}", asynchronous=True)
        target = self._own(method, target)
        if session is None:
            return await handle.change(lazy.queue_of(self.registry), target, change)
        return (
            await lazy.in_transaction(
                session, lambda inner: lazy.change_in_session(self.registry, inner, target, change)
            )
        ).state

    def _change_sync(
        self, method: str, session: "Transaction | None", target: RunTarget, change: RunChange
    ) -> RunState:
        check_session(session, f"{self.name}.{method}", asynchronous=False)
        target = self._own(method, target)
        if session is None:
            return handle.change_sync(lazy.queue_of(self.registry), target, change)
        return lazy.change_in_session(self.registry, session, target, change).state

    def _own(self, method: str, target: RunTarget) -> RunTarget:
        if (target.unique_key is None) == (target.run_id is None):
            raise TypeError(f"{self.name}.{method}: give either unique_key or run_id")
        return replace(target, job_name=self.name)

    def _check_session(self, session: object, method: str) -> None:
        first = next(iter(self.definition.parameters), None)
        called = f"{getattr(self, '__name__', self.name)}.{method}"
        check_session(session, called, asynchronous=method == "enqueue", first=first)

    def run_with(
        self, results: Mapping[object, Json], args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> RunSpec:
        """Return the same as ``run`` while some arguments are not known yet; called by ``Flow.add``.

        Args:
            results: The placeholder in the stored arguments for each value that is not known yet.
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
        """Return the run that arguments and options of ``enqueue`` speak of."""
        parameters = self.definition.parameters
        behind = {name for name in kwargs if name in _OPTIONS and name not in parameters}
        own = {name: value for name, value in kwargs.items() if name not in behind}
        document, values = (accept or self.definition.accept)(args, own)
        options: dict[str, Any] = {**self._chosen, **{_OPTIONS[name]: kwargs[name] for name in behind}}
        policies = self.definition.policies
        asked = options.get("resources")
        if isinstance(asked, Resources):
            refuse(resource_place_faults(asked.document(), self.name, self.definition.isolation))
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


def _enqueued_by_node(spec: RunSpec, ids: Sequence[int]) -> RunHandle:
    """Return the handle of a run that the node of this attempt has enqueued."""
    known = None if spec.unique_key else False
    return RunHandle(lazy.enqueued_by_node(spec, ids[0]), None, known)


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
        options.setdefault("version", home.code_version)
        definition = define(None if callable(name) else name, function, tuple(home.hooks.resources), **options)
        chosen = definition.policies.defaults.on_failure
        if chosen is not None and home.get(chosen) is not None:
            check_failure_job(definition.name, definition.where, chosen, home)
        home.add(definition)
        return Job(function, definition, home)

    return register(name) if callable(name) else register
