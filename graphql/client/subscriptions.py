"""The ready-made subscriptions. ``Client`` and ``AsyncClient`` have each as a method that yields its results."""

from typing import Final

from .base.shapes import read, read_kind, selection, selection_of_kinds
from .builders import Argument, document, variables
from .inputs import EventFilter
from .operation import Operation
from .queries import as_of
from .records import (
    AlarmEvent,
    Event,
    ExecutionEvent,
    FlowEvent,
    GroupEvent,
    LogPart,
    NodeEvent,
    ResyncEvent,
    Run,
    RunEvent,
    SkippedEvent,
    StepEvent,
    TaskEvent,
    WebhookEvent,
)
from .subscription import Subscription

EVENTS: Final[tuple[type[Event], ...]] = (
    TaskEvent,
    RunEvent,
    ExecutionEvent,
    StepEvent,
    SkippedEvent,
    NodeEvent,
    GroupEvent,
    FlowEvent,
    AlarmEvent,
    WebhookEvent,
    ResyncEvent,
)
"""A record for each type of event."""


def events(
    *, after: str | None = None, filter: EventFilter | None = None, detailed: bool = False
) -> Subscription[Event]:
    """Yield every change, from any node, in one order; endless. Lost connections are made again and nothing is missed.

    Each event is a ``RunEvent``, ``TaskEvent`` …; one of a type that this version does not know is an ``Event``.
    A ``ResyncEvent`` says that events are gone (older than the retention, or this reader was too slow): query
    again the data you need; the subscription goes on behind it by itself.

    Args:
        after: A cursor from ``as_of()`` or of an event: begin with the events after it; now unless given.
        filter: Which events.
        detailed: Each event brings the changed object as it is at delivery: ``task``, ``run``, ``execution``,
            ``changed_node`` or ``changed_group``; None if it is gone.
    """
    arguments = {"after": Argument("String", after), "filter": Argument("EventFilter", filter)}
    kinds = {kind.__name__: kind for kind in EVENTS}
    operation = Operation(
        document=document("subscription", "events", arguments, selection_of_kinds(Event, EVENTS, detailed=detailed)),
        variables=variables(arguments),
        read=lambda data: read_kind(Event, kinds, data.get("events"), "events"),
    )
    return Subscription(
        operation=operation, resume_variable="after", place_of=lambda event: event.cursor, start=as_of()
    )


def run_updates(id: int) -> Subscription[Run]:
    """Return a run: as it is now, then after its changes; ends once it has reached a final state or is gone.

    After a lost connection the present state comes again.
    """
    arguments = {"id": Argument("ID!", id)}
    operation = Operation(
        document=document("subscription", "run", arguments, selection(Run)),
        variables=variables(arguments),
        read=lambda data: read(Run, data.get("run"), "run"),
    )
    return Subscription(operation=operation, is_last=lambda run: run.state.final)


def execution_log(id: int, *, after_line: int = 0) -> Subscription[LogPart]:
    """Follow the log of an execution: kept lines, then new ones, each once; the last part says ``has_ended``.

    Args:
        id: The key of the execution.
        after_line: Only lines behind this number.
    """
    arguments = {"executionId": Argument("ID!", id), "afterLine": Argument("Int!", after_line)}
    operation = Operation(
        document=document("subscription", "executionLog", arguments, selection(LogPart)),
        variables=variables(arguments),
        read=lambda data: read(LogPart, data.get("executionLog"), "executionLog"),
    )
    return Subscription(
        operation=operation,
        resume_variable="afterLine",
        place_of=lambda part: part.lines[-1].line if part.lines else None,
        is_last=lambda part: part.has_ended,
    )
