"""The root of subscriptions. Whoever reads too slowly is told to query again; no buffer grows without bound."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

import strawberry

from ..jobs.core import events
from ..jobs.core.errors import UserError
from ..jobs.core.events import Cursor, EventKind
from .arguments import checked_text, parse_id
from .context import Info
from .errors import UserFacingError
from .fields import streams
from .types.entities import JobExecution, load_execution
from .types.event import Event


@strawberry.input(description="Which events; all conditions must hold. `RESYNC` always passes.")
class EventFilter:
    """A filter of events."""

    kinds: list[EventKind] | None = strawberry.field(description="One of these kinds.", default=None)
    job_name: str | None = strawberry.field(description="About this job.", default=None)
    task_name: str | None = strawberry.field(description="About this task.", default=None)
    run_id: strawberry.ID | None = strawberry.field(description="About this run.", default=None)
    group: str | None = strawberry.field(description="About this group.", default=None)

    def to_filter(self) -> events.EventFilter:
        """The engine's form.

        Raises:
            UserFacingError: an id is none.
        """
        return events.EventFilter(
            kinds=frozenset(self.kinds or ()),
            job_name=self.job_name,
            task_name=self.task_name,
            run_id=None if self.run_id is None else parse_id(self.run_id, "filter.runId"),
            group=self.group,
        )


EXECUTION_EVENTS = frozenset({EventKind.EXECUTION_STARTED, EventKind.EXECUTION_FINISHED})


async def live(info: Info, after: Cursor | None, filter: events.EventFilter) -> AsyncGenerator[events.Event, None]:
    """Events of the bus; before each, what was read for the one before is forgotten."""
    source = info.context.bus.subscribe(after, filter)
    try:
        async for event in source:
            info.context.renew()
            yield event
    finally:
        if isinstance(source, AsyncGenerator):
            await source.aclose()


@strawberry.type(description="What is told when it happens.")
class Subscription:
    """Subscriptions."""

    @streams(
        description="Every change of everything, from any node, in one order that is the same for every reader. "
        "Reconnect with the last cursor as `after`: nothing is missed and nothing comes twice; if it is older than the "
        "retention, or this reader was too slow, one `RESYNC` says so."
    )
    async def events(
        self,
        info: Info,
        after: Annotated[
            str | None,
            strawberry.argument(
                description="A cursor from `asOf` or an event: first what came after it; now unless given."
            ),
        ] = None,
        filter: Annotated[EventFilter | None, strawberry.argument(description="Which events.")] = None,
    ) -> AsyncGenerator[Event, None]:
        """All events behind a cursor."""
        wanted = events.EventFilter() if filter is None else filter.to_filter()
        async with aclosing(live(info, parse_cursor(after), wanted)) as source:
            async for event in source:
                yield Event.from_event(event)

    @streams(description="Each start and each end of an execution.")
    async def job_status(
        self,
        info: Info,
        job_name: Annotated[str | None, strawberry.argument(description="Only of this job.")] = None,
    ) -> AsyncGenerator[JobExecution, None]:
        """Executions as they start and end."""
        name = None if job_name is None else checked_text(job_name, "jobName")
        wanted = events.EventFilter(kinds=EXECUTION_EVENTS, job_name=name)
        async with aclosing(live(info, None, wanted)) as source:
            async for event in source:
                execution = await load_execution(info, event.change.execution_id)
                if execution is not None:
                    yield execution


def parse_cursor(text: str | None) -> Cursor | None:
    """The place behind ``after``.

    Raises:
        UserFacingError: it is not an event cursor.
    """
    try:
        return None if text is None else Cursor.parse(text)
    except UserError as error:
        raise UserFacingError(error.message, code="INVALID_CURSOR") from None
