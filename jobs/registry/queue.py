"""Choose the queue for the runs of a registry's jobs, unless they are given a session."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from inspect import iscoroutinefunction
from typing import Any, Final, Protocol, TypeAlias, TypedDict

from ..core.admission.holding import Debounce, Hold, OnConflict, Throttle, hold_of
from ..core.base.errors import python_names
from ..core.base.resources import Resources
from ..core.flows import FlowSpec
from ..core.model import Enqueued, Execution, Priority, Run
from ..core.run_spec import DURATIONS, RunSpec, RunTarget, Seconds, seconds_of
from ..core.waits import RunChange

AnySession: TypeAlias = Any
"""A synchronous session or connection; this module must not need SQLAlchemy to say so."""
HOLDS: Final = ("unique_for", "unique_among", "debounce", "throttle")
"""The options that say how a unique key holds."""


class RunOptions(TypedDict, total=False):
    """Hold the options of one run; a missing one is the job's, or else the product's default.

    Attributes:
        run_at: Not before this time, with a time zone.
        unique_key: If an unfinished run has this key, that run is returned and nothing is added; unless given, as the
            job declares. ``job.options(unique_key=None)`` asks for no key; by name, ``unique_key=""`` does.
        group: The unit of fairness and limits.
        priority: ``"high"`` or ``"low"``.
        retries: How many failures the run survives.
        retry_delay: Before the first retry; seconds, a ``timedelta``, or a text such as ``"5m"``.
        timeout: Of each attempt; likewise.
        max_duration: Of the whole run from its first start, sleeping and waiting included; likewise.
        unique_for: The unique key holds so long after the enqueueing, or until the run is finished, whichever is later.
        unique_among: ``("waiting",)``: the key is free once the run has begun.
        debounce: One run for many enqueues of a key, with the last arguments: ``Debounce(delay="5s", max_wait="1m")``.
        throttle: At most one run of a key in a period: ``Throttle(period="1m")``.
        expires_at: A run that has not started by then is skipped, with the reason ``expired``.
        ttl: The same as a duration from when it may start; as ``retry_delay``. Give one of the two.
        on_conflict: If an unfinished run holds the key with other arguments: ``"keep"`` returns it, as it is;
            ``"replace"`` gives it these arguments, and ``run_at`` if given, unless it has begun; ``"raise"`` refuses.
        resources: Of a job at an engine: the needs of this run there, over that of its job: ``Resources(gpus=4)``.
        labels: Words by which the run is found, in addition to those that its job gives it: ``{"customer": "42"}``.
    """

    run_at: datetime | None
    unique_key: str | None
    group: str | None
    priority: Priority | str | None
    retries: int | None
    retry_delay: Seconds | None
    timeout: Seconds | None
    max_duration: Seconds | None
    labels: Mapping[str, str] | None
    resources: Resources | None
    unique_for: Seconds | None
    unique_among: Sequence[str] | None
    debounce: Debounce | None
    throttle: Throttle | None
    expires_at: datetime | None
    ttl: Seconds | None
    on_conflict: OnConflict | str | None


class RunQueue(Protocol):
    """A queue that any thread may use; every call is a transaction of its own."""

    @property
    def schema(self) -> str:
        """The schema of its tables on PostgreSQL; ``main`` in a SQLite file."""
        ...

    def put(self, spec: RunSpec) -> Enqueued:
        """Put a run into the queue."""
        ...

    async def put_in_loop(self, spec: RunSpec) -> Enqueued:
        """Do the same as ``put`` in a task of an event loop."""
        ...

    def put_in(self, session: AnySession, spec: RunSpec) -> Enqueued:
        """Put a run into the queue as part of the transaction of ``session``, which its owner commits."""
        ...

    def put_many_in(self, session: AnySession, runs: Iterable[RunSpec]) -> list[int]:
        """Put runs into the queue as part of the transaction of ``session``, all or none; return their ids in order."""
        ...

    def put_flow(self, flow: FlowSpec) -> int:
        """Put a flow into the queue, all of its runs or none; return its id."""
        ...

    def put_flow_in(self, session: AnySession, flow: FlowSpec) -> int:
        """Put a flow into the queue as part of the transaction of ``session``; return its id."""
        ...

    def find(self, target: RunTarget) -> Run | None:
        """Return the run as it is now; None if there is none, or it has been pruned."""
        ...

    def history(self, run_id: int) -> tuple[Run, Sequence[Execution]] | None:
        """Return the run as it is now, and its attempts in order; None if there is none, or it has been pruned."""
        ...

    def change(self, target: RunTarget, change: RunChange, session: AnySession | None = None) -> Run:
        """Change a run, as part of the transaction of ``session`` if given; return the run then."""
        ...


def check_options(options: Mapping[str, object]) -> None:
    """Check that all options of a run exist.

    Raises:
        TypeError: there is no such option.
    """
    unknown = options.keys() - RunOptions.__annotations__.keys()
    if unknown:
        raise TypeError(f"a run has no option '{min(unknown)}'; there are {', '.join(RunOptions.__annotations__)}")


def in_seconds(options: Mapping[str, object]) -> dict[str, Any]:
    """Return the options of a run, with durations as numbers.

    Raises:
        InvalidInput: a text that says no duration.
    """
    found: dict[str, Any] = {
        name: seconds_of(name, value) if name in DURATIONS else value for name, value in options.items()
    }
    given: dict[str, Any] = {name: found.pop(name) for name in HOLDS if name in found}
    hold = holding(given)
    return found if hold is None else {**found, "hold": hold}


def holding(given: Mapping[str, Any]) -> Hold | None:
    """Return how a unique key holds, from the options of a run or a job.

    Raises:
        InvalidInput: one is wrong, or two contradict each other.
    """
    debounce, throttle = given.get("debounce"), given.get("throttle")
    if isinstance(debounce, Debounce):
        delay: Any = seconds_of("debounce.delay", debounce.delay)
        most: Any = seconds_of("debounce.max_wait", debounce.max_wait)
        debounce = Debounce(delay, most)
    if isinstance(throttle, Throttle):
        period: Any = seconds_of("throttle.period", throttle.period)
        throttle = Throttle(period, throttle.last)
    unique_for: Any = seconds_of("unique_for", given.get("unique_for"))
    with python_names():
        return hold_of(unique_for, given.get("unique_among"), debounce, throttle)


def check_session(
    session: object, called: str, *, asynchronous: bool, first: str | None = None, needed: bool = False
) -> None:
    """Check that the function can use a session or connection.

    Args:
        session: The first argument.
        called: The called function: ``import_orders.enqueue``.
        asynchronous: Whether one that is awaited is wanted.
        first: The name of the function's own first argument, for the suggestion.
        needed: Whether None is no session either.

    Raises:
        TypeError: it is none, or of the other kind.
    """
    is_asynchronous = hasattr(session, "run_sync") or iscoroutinefunction(getattr(session, "execute", None))
    if (session is None and not needed) or (is_asynchronous == asynchronous and hasattr(session, "execute")):
        return
    if is_asynchronous:
        raise TypeError(f"{called}: the session is asynchronous; await {called.removesuffix('_sync')}(session, …)")
    if hasattr(session, "execute"):
        raise TypeError(f"{called}: the session is synchronous; call {called}_sync(session, …)")
    shown = f"{session!r:.60}"
    hint = f"connect to the database, and call {called}(session, …), or the job's own enqueue"
    if not needed:
        hint = f"write {f'{called}({first}={shown}), or ' if first else ''}{called}(None, {shown})"
    wanted = "a session or connection of SQLAlchemy, or a connection of psycopg 3"
    raise TypeError(f"{called}: the first argument is {wanted}, got {shown}; {hint}")
