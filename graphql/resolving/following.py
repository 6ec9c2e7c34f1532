"""Execute subscriptions for events that were read from the log: the results that webhooks get."""

import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final

from strawberry.types.execution import ExecutionResult, PreExecutionError

from graphql import FieldNode, GraphQLError, OperationDefinitionNode

from ...jobs.base.services import Followed, Result
from ...jobs.core.base.errors import InvalidInput
from ...jobs.core.events import DELIVERIES, Cursor, Event, EventFilter
from ..base.errors import Classification, classify
from ..execution.schema_factory import PREPARED, GuardedSchema
from ..guard.document import Prepared, RequestRefused
from .context import Context

FOLLOWED: Final = ("events", "executions", "run")
"""The subscriptions whose results follow from the events of the log; not from the clock, or from lines of a log."""
_PLACES: Final = frozenset({"after", "snapshot"})
"""Arguments that say where a subscription begins: a webhook has its own place."""
_NEVER_SENT: Final = frozenset({DELIVERIES.kind})
"""Kinds of events that webhooks do not get: each message about a message would make a further one."""
ENOUGH: Final = 5.0
"""Seconds after which the rest of the events is left for the next time."""


class LogPage:
    """Offer events that were read from the log in the place of the bus; see ``EventSource``.

    Attributes:
        is_live: False: each of its results follows from an event.
        at: The event that was offered last.
        is_over: Whether all were offered.
        wanted: The filter of the subscription.
    """

    is_live = False

    def __init__(self, events: Sequence[Event]) -> None:
        self.at: Event | None = None
        self.is_over = False
        self.wanted: EventFilter | None = None
        self._events = events

    async def cursor(self) -> Cursor:
        """Return a place before the events."""
        return Cursor(0, 0)

    async def subscribe(self, _after: Cursor | None, event_filter: EventFilter, /) -> AsyncIterator[Event]:
        """Yield the events that pass the filter, but those about messages: each would make a further message."""
        self.wanted = event_filter
        for event in self._events:
            if event.change != DELIVERIES and event_filter.matches(event.change):
                self.at = event
                yield event
        self.is_over = True


def prepare(schema: GuardedSchema, document: str, variables: Mapping[str, Any]) -> Prepared:
    """Return a document that can be followed.

    Raises:
        InvalidInput: it is no subscription of ``FOLLOWED``, or not valid.
    """
    try:
        prepared = schema.documents.prepare(document, variables, None)
    except RequestRefused as refused:
        raise _fault(refused.errors) from None
    root = _root(prepared.operation)
    if not prepared.is_subscription or root is None or root.name.value not in FOLLOWED:
        names = ", ".join(f"'{name}'" for name in FOLLOWED)
        raise InvalidInput(
            f"document: must be a subscription with one field, which is one of {names}", path=("document",)
        )
    for argument in root.arguments or ():
        if argument.name.value in _PLACES:
            name = argument.name.value
            message = f"document: must not have the argument '{name}': the server keeps the place of a webhook"
            raise InvalidInput(message, path=("document",))
    return prepared


def _root(operation: OperationDefinitionNode) -> FieldNode | None:
    selections = operation.selection_set.selections
    return selections[0] if len(selections) == 1 and isinstance(selections[0], FieldNode) else None


def _fault(errors: Sequence[GraphQLError]) -> InvalidInput:
    return InvalidInput("document: " + "; ".join(one.message for one in errors)[:1_000], path=("document",))


async def check(schema: GuardedSchema, document: str, variables: Mapping[str, Any], context: Context) -> None:
    """Judge a document, its variables and the rights that it needs by an execution without events.

    Raises:
        InvalidInput: it cannot be executed, or asks only for events that webhooks do not get.
    """
    prepared = prepare(schema, document, variables)
    followed = await follow(schema, prepared, context, [], 0)
    if followed.refusal is not None:
        raise InvalidInput(f"document: {followed.refusal}", path=("document",))
    if followed.wanted is not None and followed.wanted.kinds == _NEVER_SENT:
        (name,) = (kind.name for kind in _NEVER_SENT)
        message = f"document: asks only for events of kind {name}, which webhooks do not get: nothing would be sent"
        raise InvalidInput(message, path=("document",))


async def follow(
    schema: GuardedSchema, prepared: Prepared, context: Context, events: Sequence[Event], most: int
) -> Followed:
    """Execute a subscription for events, as if they came from the bus.

    Args:
        prepared: The subscription, see ``prepare``.
        context: The context of its owner.
        events: The events, in their order.
        most: The most results; the events behind the last of them are left for the next time.
    """
    began, page = time.monotonic(), LogPage(events)
    results = await schema.stream(
        prepared.document.text,
        variable_values=prepared.variables,
        context_value=replace(context, bus=page),
        operation_name=prepared.operation_name,
        operation_extensions={PREPARED: prepared},
    )
    found: list[Result] = []
    async with aclosing(results):
        async for result in results:
            assert isinstance(result, PreExecutionError | ExecutionResult), "incremental delivery is not enabled"
            if _passes(result.errors):
                # The server could not answer: the events from this one on are looked at again.
                return Followed(found, None if page.at is None else _before(events, page.at))
            if isinstance(result, PreExecutionError) or page.at is None:
                return Followed([], None, None, _reasons(result.errors or []))
            found.append(_result(page.at, result))
            if len(found) >= most or time.monotonic() - began > ENOUGH:
                return Followed(found, page.at.cursor, page.wanted)
    # A source that ended early did so at the event that it was offered last.
    last = page.at if not page.is_over and page.at is not None else (events[-1] if events else None)
    return Followed(found, None if last is None else last.cursor, page.wanted)


def _result(event: Event, result: ExecutionResult) -> Result:
    answer: dict[str, Any] = {"data": result.data}
    if result.errors:
        answer["errors"] = [error.formatted for error in result.errors]
    return Result(event, answer, len(json.dumps(answer, default=str)))


def _passes(errors: Sequence[GraphQLError] | None) -> bool:
    """Return whether the same document may be executed later: nobody has refused it."""
    codes = [str((error.extensions or {}).get("code")) for error in errors or ()]
    return any(classify(code) is Classification.UNAVAILABLE for code in codes)


def _before(events: Sequence[Event], event: Event) -> Cursor | None:
    """Return the place before an event; None = it is the first."""
    place = events.index(event)
    return events[place - 1].cursor if place else None


def _reasons(errors: Sequence[GraphQLError]) -> str:
    return "; ".join(error.message for error in errors)[:1_000] or "it has no result"
