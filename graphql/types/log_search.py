"""What a search in log lines answers."""

from typing import Self

import strawberry

from ...jobs.store.read.logs import LogLine as StoredLine
from ..base.fields import resolved
from ..base.scalars import BigInt
from ..resolving.context import Info
from .common import LogLine
from .entities import JobExecution, load_execution


@strawberry.type(description="A log line that holds what was looked for.")
class LogMatch:
    """A line and its execution."""

    execution_id: strawberry.ID = strawberry.field(description="The key of its execution.")
    line: LogLine = strawberry.field(description="The line.")

    @resolved()
    async def execution(self, info: Info) -> JobExecution | None:
        """Its execution; null once that is pruned."""
        return await load_execution(info, int(self.execution_id))

    @classmethod
    def from_model(cls, stored: StoredLine) -> Self:
        """The match behind a stored line."""
        return cls(execution_id=strawberry.ID(str(stored.execution_id)), line=LogLine.from_model(stored))


@strawberry.type(description="What a search in log lines found, and how far it looked.")
class LogSearch:
    """Matches, and what was looked through."""

    matches: list[LogMatch] = strawberry.field(
        description="Lines that hold the text, the newest execution and in it the newest line first."
    )
    executions: int = strawberry.field(description="How many executions it looked through.")
    lines: BigInt = strawberry.field(description="How many lines these have.")
    bounded: bool = strawberry.field(
        description="Whether it ended before all was looked through, at one of its bounds: `first` matches, 1,000 "
        "executions, 20,000 lines."
    )
    sentence: str = strawberry.field(description="The same in words.")
    end_cursor: str | None = strawberry.field(
        description="Where it ended, to be passed as `after` to look on; null if all was looked through."
    )
