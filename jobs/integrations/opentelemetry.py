"""Traces by OpenTelemetry: from where a run is put into the queue, by its claim, to its attempts and their requests.

>>> from cronograph.jobs.integrations import opentelemetry
>>> opentelemetry.start_tracing()

A server does this itself where the setting ``traces`` says so. Programs that only enqueue call it once.
"""

import logging
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, Final, cast
from urllib.parse import urlsplit

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry._logs import Logger, LoggerProvider, LogRecord, SeverityNumber, get_logger
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, Tracer, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ..base.hiding import IN_USE
from ..core.base.errors import ConfigurationError
from ..core.base.tracing import CARRIED, TRACED, TracedAttempt, TracedLine

SOON: Final = 60.0
"""Seconds within which a run has to start after it was put into the queue, to be a part of that trace by ``auto``."""
_SYSTEM: Final = "cronograph"
_W3C: Final = TraceContextTextMapPropagator()
_SEVERITIES: Final = {
    logging.DEBUG: SeverityNumber.DEBUG,
    logging.INFO: SeverityNumber.INFO,
    logging.WARNING: SeverityNumber.WARN,
    logging.ERROR: SeverityNumber.ERROR,
    logging.CRITICAL: SeverityNumber.FATAL,
}


class Traces(StrEnum):
    """Relate attempts to the span that enqueued their run.

    ``child``: they are a part of its trace. ``link``: each begins a trace of its own, with a link to it. ``auto``: the
    first attempt is a part if it starts within a minute; all others begin one of their own, since a trace that waits
    for hours says nothing of how long the work takes.
    """

    AUTO = "auto"
    LINK = "link"
    CHILD = "child"


def start_tracing(
    traces: Traces | str = Traces.AUTO,
    *,
    tracer_provider: TracerProvider | None = None,
    logs: bool = False,
    logger_provider: LoggerProvider | None = None,
) -> None:
    """Start to send this process's enqueues, attempts and answers to OpenTelemetry.

    Args:
        traces: The relation of attempts to the enqueue of their run: ``auto``, ``link`` or ``child``.
        tracer_provider: Gets the spans; the global one unless given.
        logs: Export the lines, too, that jobs log.
        logger_provider: Gets these; the global one unless given.

    Raises:
        ConfigurationError: ``traces`` is none of these words.
    """
    try:
        how = Traces(traces)
    except ValueError:
        raise ConfigurationError(f"traces: must be 'auto', 'link' or 'child', got {traces!r:.60}") from None
    logger = get_logger(_SYSTEM, logger_provider=logger_provider) if logs else None
    TRACED.by = OpenTelemetry(how, trace.get_tracer(_SYSTEM, tracer_provider=tracer_provider), logger)


def stop_tracing() -> None:
    """Trace nothing any more."""
    TRACED.by = None


def enter_context(carried: Mapping[str, str]) -> None:
    """Make a span of another process the current one here, for good."""
    contexts.attach(_W3C.extract(carried, Context()))


class OpenTelemetry:
    """Reports to OpenTelemetry; see ``Tracing``.

    Args:
        traces: The relation of attempts to the enqueue of their run.
        tracer: Makes the spans.
        logger: Takes the lines that jobs log; None = nobody does.
    """

    def __init__(self, traces: Traces, tracer: Tracer, logger: Logger | None = None) -> None:
        self._traces = traces
        self._tracer = tracer
        self._logger = logger

    def enqueued(self, job_name: str, *, alone: bool) -> dict[str, Any] | None:
        """Trace a run that is put into the queue; see ``Tracing.enqueued``."""
        if not alone and not trace.get_current_span().get_span_context().is_valid:
            return None
        attributes = _messaging(job_name, "enqueue", "create")
        span = self._tracer.start_span(f"enqueue {job_name}", kind=SpanKind.PRODUCER, attributes=attributes)
        span.end()
        context = _carrier(span)
        return {**context, "at": round(time.time(), 3)} if context else None

    def attempt(self, attempt: TracedAttempt) -> "TracedByOpenTelemetry":
        """Trace the claim of a run and of its attempt."""
        message = str(attempt.run_id)
        parent, links = self._origin(attempt)
        now = time.time_ns()
        claimed_at = now if attempt.started_at is None else min(now, int(attempt.started_at.timestamp() * 1e9))
        claim = self._tracer.start_span(
            f"claim {attempt.job_name}",
            parent,
            SpanKind.CLIENT,
            # What else there is to say, the attempt says.
            {**_messaging(attempt.job_name, "claim", "receive"), "messaging.message.id": message},
            links,
            claimed_at,
        )
        if not claim.is_recording():
            # Left out by the sampler, which leaves out what follows as well: only its context is handed on.
            return TracedByOpenTelemetry(claim, self._lines_of(attempt))
        claim.end(now)
        about: dict[str, str | int] = {
            "messaging.message.id": message,
            "cronograph.run.id": attempt.run_id,
            "cronograph.execution.id": attempt.execution_id,
            "cronograph.attempt": attempt.attempt,
            "cronograph.group": attempt.group,
        }
        if attempt.task_name is not None:
            about["cronograph.task"] = attempt.task_name
        if attempt.node is not None:
            about["messaging.client.id"] = attempt.node
        span = self._tracer.start_span(
            f"execute {attempt.job_name}",
            trace.set_span_in_context(claim, Context()),
            SpanKind.CONSUMER,
            {**_messaging(attempt.job_name, "execute", "process"), **about},
        )
        return TracedByOpenTelemetry(span, self._lines_of(attempt))

    def _lines_of(self, attempt: TracedAttempt) -> "LinesByOpenTelemetry | None":
        return None if self._logger is None else LinesByOpenTelemetry(self._logger, attempt)

    def _origin(self, attempt: TracedAttempt) -> tuple[Context, list[Link]]:
        """Return the parent context of the claim, and its links."""
        carried = (attempt.carried or {}).get(CARRIED)
        origin = cast("dict[str, Any]", carried) if isinstance(carried, dict) else {}
        found = _W3C.extract({name: value for name, value in origin.items() if isinstance(value, str)}, Context())
        enqueued = trace.get_current_span(found).get_span_context()
        if not enqueued.is_valid:
            return Context(), []
        if self._traces is Traces.CHILD or (self._traces is Traces.AUTO and _is_soon(attempt, origin.get("at"))):
            return found, []
        return Context(), [Link(enqueued)]

    @contextmanager
    def request(self, method: str, url: str, host: str, port: int) -> Generator["RequestByOpenTelemetry"]:
        """Trace an HTTP request that goes out."""
        attributes: dict[str, str | int] = {
            "http.request.method": method,
            "url.full": IN_USE.text(url),
            "url.scheme": urlsplit(url).scheme,
            "server.address": host,
            "server.port": port,
        }
        # Errors name the address, which may be a secret.
        started = self._tracer.start_as_current_span(
            method, kind=SpanKind.CLIENT, attributes=attributes, record_exception=False, set_status_on_exception=False
        )
        with started as span:
            try:
                yield RequestByOpenTelemetry(span)
            except Exception as error:
                _fail(span, type(error).__name__, IN_USE.text(str(error)), None)
                raise

    @contextmanager
    def operation(
        self, kind: str, field: str | None, name: str | None, headers: Mapping[str, str]
    ) -> Generator["OperationByOpenTelemetry"]:
        """Trace a GraphQL operation; it continues the trace of who asks."""
        attributes = {"graphql.operation.type": kind}
        if name is not None:
            attributes["graphql.operation.name"] = name
        asked_by = _W3C.extract(headers, Context())
        # Its first field, of which there are not many: clients call their operations what they like.
        shown = kind if field is None else f"{kind} {field}"
        with self._tracer.start_as_current_span(shown, asked_by, SpanKind.SERVER, attributes) as span:
            yield OperationByOpenTelemetry(span)


class TracedByOpenTelemetry:
    """An attempt; see ``AttemptSpan``."""

    __slots__ = ("_lines", "_span")

    def __init__(self, span: Span, lines: "LinesByOpenTelemetry | None" = None) -> None:
        self._span = span
        self._lines = lines

    @property
    def export_line(self) -> Callable[[TracedLine], None] | None:
        """Sends a line; None = nobody wants any."""
        lines = self._lines
        return None if lines is None else lines.of(self._span)

    @property
    def context(self) -> Mapping[str, str]:
        """Return the headers that hand it on to a child process."""
        return _carrier(self._span)

    @property
    def fields(self) -> Mapping[str, str]:
        """Return its ids for the attempt's log lines; nothing if it is not recorded: nobody could find it."""
        context = self._span.get_span_context()
        if not context.trace_flags.sampled:
            return {}
        return {"trace_id": trace.format_trace_id(context.trace_id), "span_id": trace.format_span_id(context.span_id)}

    def enter(self) -> None:
        """Make it the current span."""
        contexts.attach(trace.set_span_in_context(self._span, contexts.get_current()))

    def end(
        self, outcome: str, *, error_type: str | None = None, message: str | None = None, traceback: str | None = None
    ) -> None:
        """End it."""
        span = self._span
        if not span.is_recording():
            return
        span.set_attribute("cronograph.outcome", outcome)
        if error_type is not None:
            _fail(span, error_type, message, traceback)
        span.end()


class LinesByOpenTelemetry:
    """Exports the lines that an attempt logs, each with the ids that find its run."""

    __slots__ = ("_about", "_logger")

    def __init__(self, logger: Logger, attempt: TracedAttempt) -> None:
        self._logger = logger
        self._about: dict[str, Any] = {
            "cronograph.job": attempt.job_name,
            "cronograph.run.id": attempt.run_id,
            "cronograph.execution.id": attempt.execution_id,
            "cronograph.attempt": attempt.attempt,
        }
        if attempt.task_name is not None:
            self._about["cronograph.task"] = attempt.task_name

    def of(self, span: Span) -> Callable[[TracedLine], None]:
        """Return the function that exports a line of this span."""
        context = trace.set_span_in_context(span, Context())

        def export_line(line: TracedLine) -> None:
            step = {} if line.step is None else {"cronograph.step": line.step}
            record = LogRecord(
                timestamp=int(line.at * 1e9),
                context=context,
                severity_number=_SEVERITIES.get(line.level, SeverityNumber.INFO),
                severity_text=logging.getLevelName(line.level),
                body=line.message,
                attributes={**(line.fields or {}), **self._about, **step},
            )
            self._logger.emit(record)

        return export_line


class RequestByOpenTelemetry:
    """A request; see ``RequestSpan``."""

    def __init__(self, span: Span) -> None:
        self._span = span

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the headers to send along."""
        return _carrier(self._span)

    def answered(self, status: int) -> None:
        """Note the status of the answer."""
        self._span.set_attribute("http.response.status_code", status)
        if status >= 400:
            self._span.set_attribute("error.type", str(status))
            self._span.set_status(Status(StatusCode.ERROR))


class OperationByOpenTelemetry:
    """An operation; see ``OperationSpan``."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def failed(self) -> None:
        """Note that its answer has errors."""
        self._span.set_status(Status(StatusCode.ERROR))


def _fail(span: Span, error_type: str, message: str | None, traceback: str | None) -> None:
    span.set_attribute("error.type", error_type)
    span.set_status(Status(StatusCode.ERROR, message))
    about = {"exception.type": error_type, "exception.message": message or ""}
    if traceback is not None:
        about["exception.stacktrace"] = traceback
    span.add_event("exception", about)


def _carrier(span: Span) -> dict[str, str]:
    """Return the context of a span in the words of W3C."""
    carrier: dict[str, str] = {}
    _W3C.inject(carrier, trace.set_span_in_context(span, Context()))
    return carrier


def _messaging(job_name: str, operation: str, kind: str) -> dict[str, str]:
    """Return the attributes of the messaging conventions; the job is the destination of its runs."""
    return {
        "messaging.system": _SYSTEM,
        "messaging.destination.name": job_name,
        "messaging.operation.name": operation,
        "messaging.operation.type": kind,
    }


def _is_soon(attempt: TracedAttempt, at: object) -> bool:
    """Return whether it is the first attempt, and began within a minute after its run was put into the queue."""
    if attempt.attempt != 1 or not isinstance(at, int | float):
        return False
    started = time.time() if attempt.started_at is None else attempt.started_at.timestamp()
    return started - at <= SOON
