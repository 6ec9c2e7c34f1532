"""The root of subscriptions. A reader that is too slow gets a request to query again; no buffer grows without bound.

A subscription is called like the content of its messages, in the plural if each message holds another one; see
``docs/decisions/0020-names-of-the-api.md``.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Final, TypeAlias

import strawberry

from ...jobs.core import events
from ...jobs.core.base.errors import UserError
from ...jobs.core.base.times import number_text
from ...jobs.core.events import Change, Cursor, EventKind
from ...jobs.core.states import FINAL
from ...jobs.store.db.database import Connection
from ...jobs.store.statements import logs
from ...jobs.store.statements.listing import pages
from ...jobs.store.statements.listing.criteria import EVERYTHING, equal
from ...jobs.store.statements.listing.keyset import PageRequest
from ...jobs.store.statements.lists import EXECUTIONS
from ..base.enums import Role
from ..base.errors import UserFacingError
from ..base.fields import streams
from ..base.scalars import ID_ARGUMENT, BigInt, Duration, checked_range, checked_text, parse_id, refused
from ..lists.declared import asked_of
from ..resolving.context import Info
from ..types.common import LogLine, LogPart
from ..types.entities import JobExecution, Run, load_run
from ..types.event import Event, EventFilter, event_of
from ..types.statistics import Overview, parts_of

STARTS_AND_ENDS: Final = frozenset({EventKind.EXECUTION_STARTED, EventKind.EXECUTION_FINISHED})
MADE_GOOD: Final = 100
"""Newest executions that are sent to a reader who fell behind, or who asked for them first."""
LINES: Final = 500
"""Lines per message."""


async def live(
    info: Info, after: Cursor | None, wanted: events.EventFilter, *, reload: bool = False
) -> AsyncGenerator[events.Event, None]:
    """Yield events of the bus; before each, the reads for the one before are forgotten.

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
    """Return the place behind an argument.

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
    """Yield executions as they start and end; with a ``snapshot``, yield the newest ones first.

    When the reader fell behind, the present state makes up for missed events: the newest executions, and those
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


async def follow_log(info: Info, execution_id: int, after: int) -> AsyncGenerator[LogPart, None]:
    """Yield the kept lines of an execution behind line ``after``, then new ones as they come, then the end mark.

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
                yield LogPart(lines=lines, cut=BigInt(dropped), ended=is_last)
            if is_last:
                return
            if len(part.lines) < LINES:
                await follower.more(last)


MIN_TICK: Final = 1.0
MAX_TICK: Final = 3600.0
TICK: Final = Duration(5)

OF_JOB: TypeAlias = Annotated[str | None, strawberry.argument(description="Only of this job.")]
SNAPSHOT: TypeAlias = Annotated[
    bool, strawberry.argument(description="First the newest 100 executions as they are, the oldest first.")
]
PAUSE: TypeAlias = Annotated[
    Duration, strawberry.argument(description="The pause between two messages, 1 to 3,600 seconds.")
]


@strawberry.type(description="Everything that is sent when it happens.")
class Subscription:
    """Subscriptions."""

    @streams(requires=Role.VIEWER)
    async def events(
        self,
        info: Info,
        after: Annotated[
            str | None,
            strawberry.argument(
                description="A cursor from `asOf` or an event: the events after it come first; now unless given."
            ),
        ] = None,
        filter: Annotated[EventFilter | None, strawberry.argument(description="A filter of events.")] = None,
    ) -> AsyncGenerator[Event, None]:
        """Every change of everything, from any node, in one order that is the same for every reader.

        Reconnect with the last cursor as `after`: nothing is missed and nothing comes twice; if it is older than the
        retention, this reader was too slow, or the database was set back (a restore, a failover with loss), one
        `RESYNC` says so.
        """
        wanted = events.EventFilter() if filter is None else filter.to_filter()
        async with aclosing(live(info, parse_cursor(after), wanted)) as source:
            async for event in source:
                yield event_of(event)

    @streams(requires=Role.VIEWER)
    async def executions(
        self, info: Info, job_name: OF_JOB = None, snapshot: SNAPSHOT = False
    ) -> AsyncGenerator[JobExecution, None]:
        """Each start and each end of an execution, as the execution is by then.

        A slow reader gets the newest 100 as they are, and all whose start it has got, and then goes on.
        """
        name = None if job_name is None else checked_text(job_name, "jobName")
        async with aclosing(follow_executions(info, name, snapshot=snapshot)) as source:
            async for execution in source:
                yield execution

    @streams(requires=Role.VIEWER)
    async def run(self, info: Info, id: ID_ARGUMENT) -> AsyncGenerator[Run, None]:
        """A run: as it is now, then after each of its changes; ends once it has reached a final state or is gone."""
        run_id = parse_id(id, "id")
        # The place is taken before the run is read, so that no change falls between.
        place = await info.context.bus.cursor()
        run = await load_run(info, run_id)
        if run is None:
            raise UserFacingError(f"id: there is no run {run_id}", code="NOT_FOUND")
        if info.context.bus.is_live:
            yield run
            if run.state in FINAL:
                return
        async with aclosing(live(info, place, events.EventFilter(run_id=run_id))) as source:
            async for _ in source:
                run = await load_run(info, run_id)
                if run is None:
                    return
                yield run
                if run.state in FINAL:
                    return

    @streams(
        description="The log of an execution: the lines kept so far, then new ones as they come, each once; the last "
        "message has `hasEnded: true`. Resume with the last line's number as `afterLine`.",
        requires=Role.VIEWER,
    )
    async def execution_log(
        self,
        info: Info,
        execution_id: Annotated[strawberry.ID, strawberry.argument(description="The `id` of the execution.")],
        after_line: Annotated[int, strawberry.argument(description="Only lines behind this number.")] = 0,
    ) -> AsyncGenerator[LogPart, None]:
        """Log lines as they come."""
        checked_range(after_line, "afterLine", 0, 2**31 - 1)
        async with aclosing(follow_log(info, parse_id(execution_id, "executionId"), after_line)) as source:
            async for part in source:
                yield part

    @streams(requires=Role.VIEWER)
    async def overview(self, info: Info, seconds: PAUSE = TICK) -> AsyncGenerator[Overview, None]:
        """The overview: now, and then every so many seconds."""
        if not MIN_TICK <= seconds <= MAX_TICK:
            raise refused(
                f"seconds: must be from {number_text(MIN_TICK)} to {number_text(MAX_TICK)}, got {number_text(seconds)}"
            )
        wanted = parts_of(asked_of(info))
        while True:
            info.context.renew()
            yield Overview.from_report(await info.context.overview(wanted, again=True))
            await asyncio.sleep(seconds)
