"""Connect the traced parts with the tracing system, if there is one; without one, each looks at a variable.

The way of a run through a trace: ``Tracing.enqueued`` where it is put into the queue, which it carries to the node;
``Tracing.attempt`` there; and within the job's code ``Tracing.request`` for outgoing HTTP requests.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from contextvars import copy_context
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final, ParamSpec, Protocol, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

CARRIED: Final = "trace"
"""The name under which a run carries the context of the span that put it into the queue."""


@dataclass(frozen=True, slots=True)
class TracedAttempt:
    """Describe an attempt to a trace.

    Attributes:
        task_name: Of its task, if it has one.
        node: Its place of execution.
        started_at: When it was claimed, by the database's clock; None = not known.
        carried: The values that the run carries.
    """

    run_id: int
    execution_id: int
    job_name: str
    attempt: int
    group: str
    task_name: str | None
    node: str | None
    started_at: datetime | None
    carried: Mapping[str, Any] | None


class TracedLine(Protocol):
    """A line that a job logs, without its secrets."""

    @property
    def at(self) -> float:
        """Return the time in seconds since the epoch."""
        ...

    @property
    def level(self) -> int:
        """As in ``logging``."""
        ...

    @property
    def message(self) -> str:
        """Return its text."""
        ...

    @property
    def fields(self) -> Mapping[str, Any] | None:
        """Return its other fields, as JSON."""
        ...

    @property
    def step(self) -> str | None:
        """The step that wrote it."""
        ...


class AttemptSpan(Protocol):
    """The span of an attempt that executes.

    Attributes:
        context: The form that is handed to a child process.
        fields: The fields of the attempt's log lines.
    """

    @property
    def context(self) -> Mapping[str, str]:
        """Return the form that is handed to a child process."""
        ...

    @property
    def fields(self) -> Mapping[str, str]:
        """Return the fields of the attempt's log lines."""
        ...

    @property
    def export_line(self) -> Callable[[TracedLine], None] | None:
        """Sends a line that the attempt logs to the tracing system; None = it does not want any."""
        ...

    def enter(self) -> None:
        """Make it the current one of the context in which this is called, for good."""
        ...

    def end(
        self, outcome: str, *, error_type: str | None = None, message: str | None = None, traceback: str | None = None
    ) -> None:
        """End the span with the attempt; with an ``error_type`` it failed."""
        ...


class RequestSpan(Protocol):
    """The span of an HTTP request that goes out."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Return headers to send along, so that anyone who answers continues the trace."""
        ...

    def answered(self, status: int) -> None:
        """Note the status of the answer."""
        ...


class OperationSpan(Protocol):
    """The span of a GraphQL operation."""

    def failed(self) -> None:
        """Note that its answer has errors."""
        ...


class Tracing(Protocol):
    """A tracing system."""

    def enqueued(self, job_name: str, *, alone: bool) -> dict[str, Any] | None:
        """Note that a run is put into the queue here and now; return the values that it carries.

        Args:
            alone: Whether it is traced outside of any other span as well, as the first one of a trace.
        """
        ...

    def attempt(self, attempt: TracedAttempt) -> AttemptSpan:
        """Open the span of an attempt that begins."""
        ...

    def request(self, method: str, url: str, host: str, port: int) -> AbstractContextManager[RequestSpan]:
        """Open the span of an HTTP request that goes out; an exception that leaves the block is its failure."""
        ...

    def operation(
        self, kind: str, field: str | None, name: str | None, headers: Mapping[str, str]
    ) -> AbstractContextManager[OperationSpan]:
        """Open a span for a GraphQL operation that a request with these headers asks for."""
        ...


class Traced:
    """The tracing system of this process.

    Attributes:
        by: It; None = nothing is traced.
    """

    __slots__ = ("by",)

    def __init__(self) -> None:
        self.by: Tracing | None = None

    def carried(self, job_name: str, carried: Any, *, alone: bool = True) -> Any:  # noqa: ANN401 - the user's, unchecked
        """Return the values that a run carries which is enqueued here and now; values that it has already stay."""
        if self.by is None or not (carried is None or isinstance(carried, dict)):
            return carried
        given = cast("dict[str, Any]", carried or {})
        context = None if CARRIED in given else self.by.enqueued(job_name, alone=alone)
        return cast("Any", carried) if context is None else {**given, CARRIED: context}

    def here(self, function: Callable[P, T]) -> Callable[P, T]:
        """Return a function that is called in another thread, within the span that is current here."""
        return function if self.by is None else partial(copy_context().run, function)


TRACED: Final = Traced()
