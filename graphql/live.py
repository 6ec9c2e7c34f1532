"""Following the live events, and what is not among them: the lines of a log."""

from collections.abc import AsyncGenerator
from typing import Final

from ..jobs.core import events
from ..jobs.core.errors import UserError
from ..jobs.core.events import Cursor, EventKind
from ..jobs.store.reading import logs
from .context import Info
from .errors import UserFacingError
from .scalars import BigInt
from .types.common import LogEvent, LogLine

STARTS_AND_ENDS: Final = frozenset({EventKind.EXECUTION_STARTED, EventKind.EXECUTION_FINISHED})
LINES: Final = 500
"""Lines per message."""


async def live(info: Info, after: Cursor | None, wanted: events.EventFilter) -> AsyncGenerator[events.Event, None]:
    """Events of the bus; before each, what was read for the one before is forgotten."""
    source = info.context.bus.subscribe(after, wanted)
    try:
        async for event in source:
            info.context.renew()
            yield event
    finally:
        if isinstance(source, AsyncGenerator):
            await source.aclose()


def parse_cursor(text: str | None) -> Cursor | None:
    """The place behind ``after``.

    Raises:
        UserFacingError: ``INVALID_CURSOR``: it is not an event cursor.
    """
    try:
        return None if text is None else Cursor.parse(text)
    except UserError as error:
        raise UserFacingError(error.message, code="INVALID_CURSOR") from None


def refuse_resync(event: events.Event) -> None:
    """End a subscription that cannot say otherwise that events are missing.

    Raises:
        UserFacingError: ``RESYNC``.
    """
    if event.change.kind is EventKind.RESYNC:
        raise UserFacingError(
            "This subscription was too slow and missed events: query what you need again, then subscribe anew.",
            code="RESYNC",
        )


async def follow_log(info: Info, execution_id: int, after: int) -> AsyncGenerator[LogEvent, None]:
    """The kept lines of an execution behind line ``after``, then new ones as they come, then the end mark.

    Raises:
        UserFacingError: ``NOT_FOUND``: there is no such execution.
    """
    last, cut = after, -1
    # Followed first, read second: what is written after the read is noticed.
    with info.context.logs.follow(execution_id) as follower:
        while True:
            execution, part = await info.context.database.read(logs.follow, execution_id, last, LINES)
            if execution is None:
                raise UserFacingError(f"executionId: there is no execution {execution_id}", code="NOT_FOUND")
            is_last = execution.completed_at is not None and len(part.lines) < LINES
            dropped = max(part.cut, execution.log_cut)
            if part.lines or is_last or dropped > cut:
                cut, last = dropped, part.lines[-1].line if part.lines else last
                lines = [LogLine.from_model(line) for line in part.lines]
                yield LogEvent(lines=lines, cut=BigInt(dropped), ended=is_last)
            if is_last:
                return
            if len(part.lines) < LINES:
                await follower.more(last)
