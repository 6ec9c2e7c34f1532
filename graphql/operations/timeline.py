"""The query of the timeline."""

from datetime import timedelta
from typing import Annotated, Final

import strawberry

from ...jobs.store.read.figures import timeline as stored
from ...jobs.store.read.figures.scope import Scope
from ..base.arguments import checked_range, checked_text, refused
from ..base.enums import Role
from ..base.fields import resolved
from ..base.sizes import Size
from ..resolving.context import Info
from ..types.figures.timeline import Timeline
from .reports import A_DAY_BEFORE, TO_NOW, span

MAX_ROWS: Final = 100
MAX_PARTS: Final = 240
LONGEST: Final = timedelta(days=31)
WIDTHS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400)
"""Seconds that a part of the span may be wide."""


def width_of(seconds: float, parts: int) -> int:
    """The least width by which a span of so many seconds has at most so many parts."""
    return next((width for width in WIDTHS if seconds <= width * parts), WIDTHS[-1])


@strawberry.type
class TimelineQueries:
    """The timeline."""

    @resolved(
        description="What ran and what was skipped in a span of time of up to 31 days, small enough to be drawn: "
        "executions that began in the same part of the span are one bar. `upcoming` has what is planned.",
        size=Size(("first",), default=50, most=MAX_ROWS, each=40, own=1_000),
        requires=Role.VIEWER,
    )
    async def timeline(
        self,
        info: Info,
        from_: A_DAY_BEFORE = None,
        to: TO_NOW = None,
        task_name: Annotated[str | None, strawberry.argument(description="Only of this task.")] = None,
        first: Annotated[int, strawberry.argument(description="At most so many rows, 1 to 100.")] = 50,
        parts: Annotated[int, strawberry.argument(description="At most about so many bars of a row, 1 to 240.")] = 120,
    ) -> Timeline:
        """The timeline of a span."""
        checked_range(first, "first", 1, MAX_ROWS)
        checked_range(parts, "parts", 1, MAX_PARTS)
        name = None if task_name is None else checked_text(task_name, "taskName")
        now = await info.context.now()
        start, end = span(from_, to, now)
        if end - start > LONGEST:
            raise refused(f"from: must be at most {LONGEST.days} days before to, got {(end - start).days} days")
        width = width_of((end - start).total_seconds(), parts)
        scope = Scope(start, end, task_name=name)
        return Timeline.from_model(await info.context.database.read(stored.read, scope, width, first, now))
