"""The root of subscriptions. A reader that is too slow gets a request to query again; no buffer grows without bound.

A subscription is called like what its messages hold, in the plural if each message holds another one; see
``docs/decisions/0020-names-of-the-api.md``.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Final, TypeAlias

import strawberry

from ...jobs.core import events
from ...jobs.core.base.wording import number_text
from ...jobs.core.states import FINAL
from ..base.arguments import ID_ARGUMENT, checked_range, checked_text, parse_id, refused
from ..base.enums import Role
from ..base.errors import UserFacingError
from ..base.fields import streams
from ..lists.selection import asked_of
from ..resolving.context import Info
from ..types.common import LogEvent
from ..types.entities import JobExecution, Run, load_run
from ..types.event import Event, EventFilter
from ..types.figures.statistics import Overview, parts_of
from .live import follow_executions, follow_log, live, parse_cursor

MIN_TICK: Final = 1.0
MAX_TICK: Final = 3600.0

OF_JOB: TypeAlias = Annotated[str | None, strawberry.argument(description="Only of this job.")]
SNAPSHOT: TypeAlias = Annotated[
    bool, strawberry.argument(description="First the newest 100 executions as they are, the oldest first.")
]
PAUSE: TypeAlias = Annotated[float, strawberry.argument(description="The pause between two, 1 to 3600 seconds.")]


@strawberry.type(description="What is sent when it happens.")
class Subscription:
    """Subscriptions."""

    @streams(requires=Role.VIEWER)
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
        """Every change of everything, from any node, in one order that is the same for every reader.

        Reconnect with the last cursor as `after`: nothing is missed and nothing comes twice; if it is older than the
        retention, this reader was too slow, or the database was set back (a restore, a failover with loss), one
        `RESYNC` says so.
        """
        wanted = events.EventFilter() if filter is None else filter.to_filter()
        async with aclosing(live(info, parse_cursor(after), wanted)) as source:
            async for event in source:
                yield Event.from_model(event)

    @streams(requires=Role.VIEWER)
    async def executions(
        self, info: Info, job_name: OF_JOB = None, snapshot: SNAPSHOT = False
    ) -> AsyncGenerator[JobExecution, None]:
        """Each start and each end of an execution, as the execution is by then.

        A slow reader gets the newest 100 as they are, and all whose start it has got, and then goes on.
        """
        return _executions(info, job_name, snapshot=snapshot)

    @streams(requires=Role.VIEWER, deprecation_reason="Use `executions`, which takes and sends the same.")
    async def job_status(
        self, info: Info, job_name: OF_JOB = None, snapshot: SNAPSHOT = False
    ) -> AsyncGenerator[JobExecution, None]:
        """The same as `executions`."""
        return _executions(info, job_name, snapshot=snapshot)

    @streams(requires=Role.VIEWER)
    async def run(self, info: Info, id: ID_ARGUMENT) -> AsyncGenerator[Run, None]:
        """A run: as it is now, then after each of its changes; ends once it has reached a final state or is gone."""
        return _run(info, id)

    @streams(requires=Role.VIEWER, deprecation_reason="Use `run`, which takes and sends the same.")
    async def run_updated(self, info: Info, id: ID_ARGUMENT) -> AsyncGenerator[Run, None]:
        """The same as `run`."""
        return _run(info, id)

    @streams(
        description="The log of an execution: the lines kept so far, then new ones as they come, each once; the last "
        "message has `ended: true`. Resume with the last line's number as `afterLine`.",
        requires=Role.VIEWER,
    )
    async def execution_log(
        self,
        info: Info,
        execution_id: Annotated[strawberry.ID, strawberry.argument(description="Whose log.")],
        after_line: Annotated[int, strawberry.argument(description="Only lines behind this number.")] = 0,
    ) -> AsyncGenerator[LogEvent, None]:
        """Log lines as they come."""
        checked_range(after_line, "afterLine", 0, 2**31 - 1)
        async with aclosing(follow_log(info, parse_id(execution_id, "executionId"), after_line)) as source:
            async for part in source:
                yield part

    @streams(requires=Role.VIEWER)
    async def overview(self, info: Info, seconds: PAUSE = 5) -> AsyncGenerator[Overview, None]:
        """The overview: now, and then every so many seconds."""
        return _overview(info, seconds)

    @streams(requires=Role.VIEWER, deprecation_reason="Use `overview`, which takes and sends the same.")
    async def statistics_tick(self, info: Info, seconds: PAUSE = 5) -> AsyncGenerator[Overview, None]:
        """The same as `overview`."""
        return _overview(info, seconds)


async def _executions(info: Info, job_name: str | None, *, snapshot: bool) -> AsyncGenerator[JobExecution, None]:
    name = None if job_name is None else checked_text(job_name, "jobName")
    async with aclosing(follow_executions(info, name, snapshot=snapshot)) as source:
        async for execution in source:
            yield execution


async def _run(info: Info, id: str) -> AsyncGenerator[Run, None]:
    run_id = parse_id(id, "id")
    # The place is taken before the run is read, so that no change falls between.
    place = await info.context.bus.cursor()
    run = await load_run(info, run_id)
    if run is None:
        raise UserFacingError(f"id: there is no run {run_id}", code="NOT_FOUND")
    yield run
    async with aclosing(live(info, place, events.EventFilter(run_id=run_id))) as source:
        while run.state not in FINAL:
            await anext(source)
            run = await load_run(info, run_id)
            if run is None:
                return
            yield run


async def _overview(info: Info, seconds: float) -> AsyncGenerator[Overview, None]:
    if not MIN_TICK <= seconds <= MAX_TICK:
        raise refused(
            f"seconds: must be from {number_text(MIN_TICK)} to {number_text(MAX_TICK)}, got {number_text(seconds)}"
        )
    wanted = parts_of(asked_of(info))
    while True:
        info.context.renew()
        yield Overview.from_report(await info.context.overview(wanted, again=True))
        await asyncio.sleep(seconds)
