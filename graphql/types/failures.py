"""Groups of failures."""

from asyncio import gather
from collections import Counter
from datetime import UTC, datetime
from typing import ClassVar, Final

import strawberry

from ...jobs.accounts.statements.audit import said_versions
from ...jobs.core.alarms import FailureState
from ...jobs.store.statements.figures.failures import FailureHistory as StoredHistory
from ...jobs.store.statements.figures.failures import FailureRow
from ...jobs.store.statements.listing.keyset import OrderKey, Page, Position, page_of
from ...jobs.store.statements.listing.searching import Counted
from ..base.enums import describe
from ..base.fields import PAGE, resolved
from ..base.scalars import AFTER, BEFORE, FIRST, LAST, BigInt
from ..execution.shown import FromModel, Makers
from ..lists.connections import Connection, PageArguments, connect, once
from ..resolving.context import Info
from .entities import JobExecution, load_execution

LIST: Final = "failures"
ORDER: Final = (OrderKey("id", descending=True),)
KINDS: Final = (int,)


describe(
    FailureState,
    "The state of a group of failures.",
    {
        FailureState.OPEN: "Nobody has said anything of it.",
        FailureState.SILENCED: "It counts as known until a time: no new error, and no reason to be alarmed.",
        FailureState.SOLVED: "Somebody has said that its cause is mended, and nothing has shown otherwise.",
        FailureState.REGRESSED: "Somebody has said that its cause is mended, and it came back.",
    },
)


@strawberry.type(description="The mark of a group of failures: that it is known for a while, or solved.")
class FailureMark(FromModel):
    """A silence, a solution, or both."""

    fingerprint: str = strawberry.field(description="The name of the group.")
    job_name: str = strawberry.field(description="The name of the job.")
    silenced_until: datetime | None = strawberry.field(
        name="silenceEndsAt", description="The time until which the group counts as known; null = no silence."
    )
    silenced_by: str | None = strawberry.field(description="The person or program that silenced the group.")
    silence_reason: str | None = strawberry.field(description="The reason of the silence.")
    solved_at: datetime | None = strawberry.field(
        description="The time when somebody said that the cause is mended; null if nobody has."
    )
    solved_by: str | None = strawberry.field(description="The person or program that said so.")
    solved_in: str | None = strawberry.field(
        description="The version of the code of the job that mends it; null = any failure that begins later shows that "
        "it is not solved."
    )
    updated_at: datetime = strawberry.field(description="The time when somebody last said anything.")


@strawberry.type(
    description="Failures of one job with the same error; messages that differ only in numbers and ids count as "
    "the same."
)
class FailureGroup(FromModel):
    """A group of failures."""

    stored: strawberry.Private[FailureRow]
    fingerprint: str = strawberry.field(
        description="The name of the group, made of the job, the type of the error and the message without its "
        "varying parts. It is the same at all times, and `failureHistory` takes it."
    )
    job_name: str = strawberry.field(description="The name of the job.")
    error_type: str | None = strawberry.field(description="The type of the error; null if it has none.")
    message: str = strawberry.field(description="The message of the newest failure, its first 300 characters.")
    count: BigInt = strawberry.field(description="The number of failures.")
    first: datetime = strawberry.field(name="firstAt", description="The time when the first of these executions began.")
    last: datetime = strawberry.field(name="lastAt", description="The time when the newest of these executions began.")
    state: FailureState = strawberry.field(description="The state of the group.")
    mark: FailureMark | None = strawberry.field(description="The mark that people have put on the group; null = none.")

    MADE: ClassVar[Makers] = {
        "mark": lambda group: None if group.mark is None else FailureMark.from_model(group.mark),
    }

    @resolved()
    async def execution(self, info: Info) -> JobExecution | None:
        """The newest of these executions; null if it was pruned meanwhile."""
        return await load_execution(info, self.stored.execution_id)


@strawberry.type(description="The failures of a group that began in one span of time.")
class FailurePoint:
    """One bucket."""

    at: datetime = strawberry.field(description="The beginning of the span.")
    count: BigInt = strawberry.field(description="The number of failures.")


@strawberry.type(description="The failures of a group on one node.")
class FailureNode:
    """A node and a number."""

    name: str = strawberry.field(description="The name of the node.")
    count: BigInt = strawberry.field(description="The number of failures.")


@strawberry.type(description="The failures of a group in one version of the code of the job.")
class FailureVersion:
    """A version and a number."""

    code_version: str | None = strawberry.field(
        description="The version that the code says; null if it says none, or is known no more."
    )
    count: BigInt = strawberry.field(description="The number of failures.")


@strawberry.type(description="One group of failures in a span of time.")
class FailureHistory(FromModel):
    """The answer of ``failureHistory``."""

    stored: strawberry.Private[StoredHistory]
    group: FailureGroup = strawberry.field(description="The group, as of this span.")
    since: datetime | None = strawberry.field(
        name="beginsAt",
        description="The time since which all failures are counted; null if all of the span are. The newest 20,000 "
        "failures of the job are looked at.",
    )
    points: list[FailurePoint] = strawberry.field(
        description="The failures per bucket, the oldest first; buckets without failures are left out."
    )
    nodes: list[FailureNode] = strawberry.field(
        description="The nodes on which the executions failed, the one with most failures first; at most 50."
    )

    @resolved(
        description="The failures per version of the code of the job, the version with most failures first.", size=PAGE
    )
    async def versions(self, info: Info) -> list[FailureVersion]:
        """The failures by version; signatures of which nobody knows the version count together."""
        words = await info.context.database.read(said_versions, self.stored.group.job_name)
        counts: Counter[str | None] = Counter()
        for signature, count in self.stored.versions:
            counts[words.get(signature or "")] += count
        return [FailureVersion(code_version=word, count=BigInt(count)) for word, count in counts.most_common(PAGE.most)]

    @resolved(size=PAGE)
    def executions(
        self, info: Info, *, first: FIRST = None, after: AFTER = None, last: LAST = None, before: BEFORE = None
    ) -> Connection[JobExecution]:
        """The executions that failed, the newest first."""
        request = PageArguments(first, after, last, before).bounded(LIST, ORDER, KINDS)
        ids = self.stored.ids

        async def page() -> Page[JobExecution]:
            wanted = [each for each in ids if _between(each, request.before, request.after)]
            if request.backwards:
                wanted.reverse()
            shown = wanted[: request.limit + 1]
            found = await gather(*(load_execution(info, each) for each in shown))
            return page_of(request, [(one, (key,)) for key, one in zip(shown, found, strict=True) if one is not None])

        async def count() -> Counted:
            return Counted(len(ids), is_complete=self.stored.since is None)

        return connect(LIST, request, read=once(page), count=count, convert=lambda one: one)

    MADE: ClassVar[Makers] = {
        "group": lambda history: FailureGroup.from_model(history.group),
        "points": lambda history: [
            FailurePoint(at=datetime.fromtimestamp(at, UTC), count=BigInt(count)) for at, count in history.points
        ],
        "nodes": lambda history: [FailureNode(name=name, count=BigInt(count)) for name, count in history.nodes],
    }


def _between(key: int, before: Position | None, after: Position | None) -> bool:
    """Return whether a row stands in front of a cursor and behind another one, where the largest key stands first."""
    return (before is None or (key,) > before) and (after is None or (key,) < after)
