"""Following the live events, and what is not among them: the lines of a log."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from ...jobs.core import events
from ...jobs.core.base.errors import UserError
from ...jobs.core.events import Change, Cursor, EventKind
from ...jobs.store.db.database import Connection
from ...jobs.store.read import logs
from ...jobs.store.read.listing import pages
from ...jobs.store.read.listing.criteria import EVERYTHING, equal
from ...jobs.store.read.listing.keyset import PageRequest
from ...jobs.store.read.lists import EXECUTIONS
from ..base.errors import UserFacingError
from ..base.scalars import BigInt
from ..resolving.context import Info
from ..types.common import LogEvent, LogLine
from ..types.entities import JobExecution

STARTS_AND_ENDS: Final = frozenset({EventKind.EXECUTION_STARTED, EventKind.EXECUTION_FINISHED})
MADE_GOOD: Final = 100
"""Newest executions that are sent to a reader who fell behind, or who asked for them first."""
LINES: Final = 500
"""Lines per message."""


async def live(
    info: Info, after: Cursor | None, wanted: events.EventFilter, *, reload: bool = False
) -> AsyncGenerator[events.Event, None]:
    """Events of the bus; before each, what was read for the one before is forgotten.

    A reader that fell behind before first gets a ``RESYNC``, and goes on from there; so does one that begins
    ``reload``.
    """
    if reload or info.context.fell_behind:
        after = await info.context.bus.cursor()
        yield events.Event(after, await info.context.now(), Change(EventKind.RESYNC))
    source = info.context.bus.subscribe(after, wanted)
    try:
        async for event in source:
            info.context.renew()
            yield event
    finally:
        if isinstance(source, AsyncGenerator):
            await source.aclose()


def parse_cursor(text: str | None, argument: str = "after") -> Cursor | None:
    """The place behind an argument.

    Raises:
        UserFacingError: ``INVALID_CURSOR``: it is not an event cursor.
    """
    try:
        return None if text is None else Cursor.parse(text)
    except UserError as error:
        raise UserFacingError(error.message.replace("after:", f"{argument}:", 1), code="INVALID_CURSOR") from None


async def follow_executions(
    info: Info, job_name: str | None, *, snapshot: bool = False
) -> AsyncGenerator[JobExecution, None]:
    """Executions as they start and end, with a ``snapshot`` the newest ones first.

    When the reader fell behind, what it missed is made good by what is there now: the newest executions, and those
    whose start it received, so that none seems to run forever.
    """
    announced: set[int] = set()
    wanted = events.EventFilter(kinds=STARTS_AND_ENDS, job_name=job_name)
    async with aclosing(live(info, None, wanted, reload=snapshot)) as source:
        async for event in source:
            ids = [event.change.execution_id or 0]
            if event.change.kind is EventKind.RESYNC:
                ids = sorted(announced | await info.context.database.read(_newest, job_name))
            for execution_id, found in zip(ids, await info.context.loaders.executions.load_many(ids), strict=True):
                if found is None or found.completed_at is not None:
                    announced.discard(execution_id)
                else:
                    announced.add(execution_id)
                if found is not None:
                    yield JobExecution.from_model(found)


def _newest(conn: Connection, job_name: str | None) -> set[int]:
    criteria = EVERYTHING if job_name is None else equal("job_name", job_name)
    newest = pages.page(conn, EXECUTIONS, PageRequest(EXECUTIONS.order, MADE_GOOD, criteria))
    return {execution.id for execution in newest.items}


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
