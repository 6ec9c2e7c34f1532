"""Where the jobs of a registry put their runs, unless they are given a session."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, Protocol, TypeAlias, TypedDict

from ..core.durable.waits import Signal
from ..core.model import Json, Priority, Run
from ..core.run_spec import RunSpec
from .seconds import Seconds, seconds_of

AnySession: TypeAlias = Any
"""A synchronous SQLAlchemy session or connection; this module must not need SQLAlchemy to say so."""
_SECONDS: Final = frozenset({"retry_delay", "timeout"})


class RunOptions(TypedDict, total=False):
    """What can be said about one run; what is not said is as the job says, or else the product's default.

    Attributes:
        run_at: Not before this time, with a time zone.
        unique_key: If an unfinished run has this key, that run is returned and nothing is added; unless given (None),
            as the job declares.
        group: The unit of fairness and limits.
        priority: ``"high"`` or ``"low"``.
        retries: How many failures the run survives.
        retry_delay: Before the first retry; seconds, a ``timedelta``, or a text such as ``"5m"``.
        timeout: Of each attempt; likewise.
        labels: Words by which the run is found, beside those that its job gives it: ``{"customer": "42"}``.
    """

    run_at: datetime | None
    unique_key: str | None
    group: str | None
    priority: Priority | str | None
    retries: int | None
    retry_delay: Seconds | None
    timeout: Seconds | None
    labels: Mapping[str, str] | None


class RunQueue(Protocol):
    """A queue that any thread may use; every call is a transaction of its own."""

    @property
    def schema(self) -> str:
        """The schema of its tables on PostgreSQL; ``main`` in a SQLite file."""
        ...

    def put(self, job_name: str, args: Mapping[str, Json], options: Mapping[str, Any]) -> Run:
        """Put a run into the queue."""
        ...

    def put_in(
        self,
        session: AnySession,
        job_name: str,
        args: Mapping[str, Json] | None,
        options: Mapping[str, Any],
    ) -> Run:
        """Put a run into the queue as part of the transaction of ``session``, which its owner commits."""
        ...

    def put_many_in(self, session: AnySession, runs: Iterable[RunSpec]) -> list[int]:
        """Put runs into the queue as part of the transaction of ``session``, all or none; their ids, in order."""
        ...

    def find(self, run_id: int) -> Run | None:
        """The run as it is now; None if it has been pruned."""
        ...

    def cancel(self, run_id: int, reason: str | None) -> Run:
        """Cancel a run as far as it is unfinished; the run afterwards."""
        ...

    def signal(self, run_id: int, signal: Signal) -> Run:
        """Send a signal to an unfinished run; the run afterwards."""
        ...


def in_seconds(options: Mapping[str, object]) -> dict[str, Any]:
    """Options of a run, whose durations are numbers.

    Raises:
        InvalidInput: a text that says no duration.
    """
    return {name: seconds_of(name, value) if name in _SECONDS else value for name, value in options.items()}


def check_session(
    session: object, called: str, *, asynchronous: bool, first: str | None = None, needed: bool = False
) -> None:
    """Let a session or connection pass that the function can use.

    Args:
        session: What was given as the first argument.
        called: What was called: ``import_orders.enqueue``.
        asynchronous: Whether one that is awaited is wanted.
        first: The name of the function's own first argument, for the suggestion.
        needed: Whether None is no session either.

    Raises:
        TypeError: it is none, or of the other kind.
    """
    is_asynchronous = hasattr(session, "run_sync")
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
    raise TypeError(f"{called}: the first argument is a SQLAlchemy session or connection, got {shown}; {hint}")
