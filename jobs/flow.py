"""``Flow``: runs of jobs that are enqueued together, of which some start after others have ended."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar, cast

from . import lazy
from .base.context import current_host
from .core.base.errors import refuse
from .core.base.lazy import LazyModule
from .core.flows import REFERENCE, Ending, FlowSpec, MemberSpec, When, check_flow
from .core.rules import MAX_UNIQUE_KEY, text_faults
from .core.run_spec import RunSpec, Seconds, seconds_of
from .declared import Job
from .handle import no_database
from .registry import Registry, registry_or_default
from .registry.queue import check_session

if TYPE_CHECKING:
    from .core.model import Json
    from .own import threads as own_threads
    from .queue.enqueue.enqueue import AsyncTransaction, Transaction
else:
    own_threads = LazyModule(f"{__package__}.own.threads")

F = ParamSpec("F")
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(eq=False, slots=True)
class FlowRun:
    """A run of a flow that is being put together.

    Attributes:
        key: Its name in the flow.
        spec: The run.
        result: Stands for the value that its job returns (that of its ``Result``): give it as an argument to a run that
            comes after it.
    """

    key: str
    spec: RunSpec
    result: Any = None
    _after: dict[str, None] = field(default_factory=dict[str, None])
    _when: When = When.SUCCESS

    def after(self, *runs: "FlowRun | str", when: When | str = When.SUCCESS) -> Self:
        """Start it when these runs are over.

        Args:
            runs: Those runs, or their keys.
            when: ``"success"``: all that it comes after succeeded. ``"failure"``: at least one failed for good.
                ``"always"``: however they ended.

        Raises:
            ValueError: ``when`` is none of these words.
            TypeError: one of the runs is neither a run of a flow nor a key.
        """
        given = cast("tuple[object, ...]", runs)
        for wrong in (one for one in given if not isinstance(one, FlowRun | str)):
            raise TypeError(f"after: must be runs that flow.add has given, or their keys, got {wrong!r:.60}")
        words = [one.value for one in When]
        if when not in words:
            raise ValueError(f"when: must be one of {', '.join(words)}, got {when!r}")
        self._when = When(when)
        self._after |= dict.fromkeys(run if isinstance(run, str) else run.key for run in runs)
        return self

    @property
    def place(self) -> tuple[tuple[str, ...], When]:
        """The keys that it comes after, and when it starts."""
        return tuple(self._after), self._when

    def __repr__(self) -> str:
        return f"<run '{self.key}' of a flow>"


class _Result:
    """Stands for the result of a run."""

    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        self.key = key

    def __repr__(self) -> str:
        return f"<result of '{self.key}'>"


class Flow:
    """Runs of jobs that are enqueued together, all or none.

    >>> flow = Flow("orders of March")
    >>> orders = flow.add("fetch", fetch_orders, month="2026-03")
    >>> flow.add("sum", total, orders=orders.result)
    >>> flow.add("alarm", tell_operator).after(orders, when="failure")
    >>> flow_id = await flow.enqueue()

    Args:
        name: Its purpose, 1 to 200 characters; several flows may have one name.
        unique_key: While a flow with this key is unfinished, a second one is refused.
        labels: Words by which its runs are found: ``{"customer": "42"}``; each run has its own first.
        max_concurrent: How many of its runs run at once, on all nodes together; any number unless given. Their jobs
            have no ``max_concurrent`` of their own then.
        deadline: Seconds, a ``timedelta`` or a text such as ``"6h"``; the flow's unfinished runs are cancelled so long
            after it was enqueued. Never unless given.
        open: Whether runs can be added later, by ``addFlowRuns`` of the API, until ``closeFlow``.
        registry: Whose database is used without a session.

    Raises:
        UserError: the name, the key or the labels are invalid.
        TypeError: ``registry`` is none.
    """

    def __init__(
        self,
        name: str,
        *,
        unique_key: str | None = None,
        labels: Mapping[str, str] | None = None,
        open: bool = False,  # noqa: A002 - the word of the API
        max_concurrent: int | None = None,
        deadline: Seconds | None = None,
        registry: Registry | None = None,
    ) -> None:
        seconds = seconds_of("deadline", deadline)
        check_flow(name, unique_key, labels, is_open=open, max_concurrent=max_concurrent, deadline=seconds)
        self.name = name
        self.unique_key = unique_key
        self.labels = labels
        self.open = open
        self.max_concurrent = max_concurrent
        self.deadline = cast("float | None", seconds)
        self._registry = None if registry is None else registry_or_default(registry)
        self._runs: list[FlowRun] = []
        self._results: dict[object, Json] = {}
        self._callbacks: dict[Ending, RunSpec] = {}

    @property
    def runs(self) -> tuple[FlowRun, ...]:
        """The runs, in the order in which they were added."""
        return tuple(self._runs)

    def add(self, key: str, job: "Job[F, P, R]", /, *args: P.args, **kwargs: P.kwargs) -> FlowRun:
        """Add a run. It comes after each run whose ``result`` is among its arguments, and those named by ``after``.

        Args:
            key: Its name in the flow, 1 to 200 characters.
            job: Its job; ``job.options(…)`` says more about the run.
            args: Arguments as the function takes them, without its ``JobContext``.
            kwargs: The same by name.

        Raises:
            TypeError: an argument is missing or unknown, or ``job`` is no job.
            UserError: the key, an argument or an option is invalid.
            ValueError: a result is of another flow.
        """
        place = "runs", str(len(self._runs))
        refuse(fault.with_prefix(*place) for fault in text_faults(key, "key", least=1, most=MAX_UNIQUE_KEY))
        given = cast("object", job)
        if not isinstance(given, Job):
            raise TypeError(f"run '{key}': the second argument must be a job, a function with @job, got {given!r:.60}")
        used = dict.fromkeys(_results_in([args, dict(kwargs)]))
        foreign = next((one for one in used if one not in self._results), None)
        if foreign is not None:
            raise ValueError(f"run '{key}': {foreign!r} is of another flow; use results of runs of this one")
        spec = job.run_with(self._results, args, kwargs) if used else job.run(*args, **kwargs)
        result = _Result(key)
        run = FlowRun(key, replace(spec, unique_key=None), result)
        run.after(*(one.key for one in used))
        self._results[result] = {REFERENCE: key}
        self._runs.append(run)
        self._registry = self._registry or job.registry
        return run

    def on_success(self, run: RunSpec) -> Self:
        """Enqueue this run (``job.run(…)``) when the flow ends and no run failed or was cancelled."""
        return self._with_callback(Ending.SUCCESS, run)

    def on_failure(self, run: RunSpec) -> Self:
        """Enqueue this run when the flow ends and a run failed or was cancelled."""
        return self._with_callback(Ending.FAILURE, run)

    def on_end(self, run: RunSpec) -> Self:
        """Enqueue this run when the flow ends, however it does."""
        return self._with_callback(Ending.END, run)

    def _with_callback(self, end: Ending, run: RunSpec) -> Self:
        given = cast("object", run)
        if not isinstance(given, RunSpec):
            raise TypeError(f"{end.value}: must be a run to be, got {given!r:.60}; write flow.{end.value}(job.run(…))")
        self._callbacks[end] = run
        return self

    async def enqueue(self, session: "AsyncTransaction | None" = None, /) -> int:
        """Put the flow into the queue; return its id.

        Args:
            session: An asynchronous SQLAlchemy session or connection, of whose transaction the flow is a part (you
                commit); without one it is committed at once, in the database of ``connect``. Within a job of a process
                that has not called ``connect``: in that of its node.

        Raises:
            UserError: a circle, a key that does not exist or is used twice, each with its path.
            ConfigurationError: neither a session nor a database is known.
        """
        check_session(session, "Flow.enqueue", asynchronous=True)
        if session is not None:
            return await lazy.in_transaction(session, self._put_in)
        host = current_host.get()
        if host is not None and lazy.queue_of(self._home) is None:
            return await host.enqueue_flow(self._described())
        return await own_threads.briefly_in_thread(self.enqueue_sync)

    def enqueue_sync(self, session: "Transaction | None" = None, /) -> int:
        """Do the same as ``enqueue`` without an event loop, and for synchronous sessions and connections."""
        check_session(session, "Flow.enqueue_sync", asynchronous=False)
        if session is not None:
            return self._put_in(session)
        queue, host = lazy.queue_of(self._home), current_host.get()
        if queue is None and host is not None:
            return host.enqueue_flow_waiting(self._described())
        if queue is None:
            raise no_database()
        return queue.put_flow(self._described())

    def _put_in(self, session: "Transaction") -> int:
        return lazy.put_flow_in_session(self._home, session, self._described())

    @property
    def _home(self) -> Registry:
        return registry_or_default(self._registry)

    def _described(self) -> FlowSpec:
        members = tuple(MemberSpec(run.key, run.spec, *run.place) for run in self._runs)
        callbacks, host = dict(self._callbacks), current_host.get()
        return FlowSpec(
            self.name,
            members,
            self.open,
            self.unique_key,
            callbacks,
            self.labels,
            self.max_concurrent,
            self.deadline,
            None if host is None else host.maker,
        )

    def __repr__(self) -> str:
        return f"<flow '{self.name}' of {len(self._runs)} runs>"


def _results_in(value: object) -> Iterator[_Result]:
    """Yield the placeholders of results within arguments."""
    if isinstance(value, _Result):
        yield value
    elif isinstance(value, dict):
        for one in cast("dict[object, object]", value).values():
            yield from _results_in(one)
    elif isinstance(value, list | tuple):
        for one in cast("list[object]", value):
            yield from _results_in(one)
