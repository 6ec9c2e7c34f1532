"""The ready-made subscriptions. ``Client`` and ``AsyncClient`` have each as a method that yields its results."""

from typing import TypeVar

from .base.shapes import read, selection
from .builders import Argument, document, variables
from .inputs import EventFilter
from .operation import Operation
from .queries import as_of
from .records import DetailedEvent, Event, LogPart, Run
from .subscription import Subscription

AnyEvent = TypeVar("AnyEvent", bound=Event)


def events(*, after: str | None = None, filter: EventFilter | None = None) -> Subscription[Event]:
    """Every change, from any node, in one order; endless. Lost connections are made again and nothing is missed.

    An event of kind ``RESYNC`` says that events are gone (older than the retention, or this reader was too slow): query
    again what matters; the subscription goes on behind it by itself.

    Args:
        after: A cursor from ``as_of()`` or of an event: first what came after it; now unless given.
        filter: Which events.
    """
    return _events(Event, after, filter)


def detailed_events(*, after: str | None = None, filter: EventFilter | None = None) -> Subscription[DetailedEvent]:
    """The same as ``events``, each with the changed thing as it is at delivery."""
    return _events(DetailedEvent, after, filter)


def run_updates(id: int) -> Subscription[Run]:
    """A run: as it is now, then after its changes; ends once it has reached a final state or is gone.

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
    """The log of an execution: the kept lines, then new ones as they come, each once; the last part says ``ended``.

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
        is_last=lambda part: part.ended,
    )


def _events(shape: type[AnyEvent], after: str | None, filter: EventFilter | None) -> Subscription[AnyEvent]:
    arguments = {"after": Argument("String", after), "filter": Argument("EventFilter", filter)}
    operation = Operation(
        document=document("subscription", "events", arguments, selection(shape)),
        variables=variables(arguments),
        read=lambda data: read(shape, data.get("events"), "events"),
    )
    return Subscription(
        operation=operation, resume_variable="after", place_of=lambda event: event.cursor, start=as_of()
    )
