"""Groups of failures: the groups, and the notes of people on them."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Final

import strawberry

from ...jobs.core.alarms import FailureMark as StoredMark
from ...jobs.core.base.errors import InvalidInput
from ...jobs.delivery import failures as actions
from ...jobs.store.db.database import Connection
from ...jobs.store.db.transaction import Tx
from ...jobs.store.statements.figures import failures
from ...jobs.store.statements.figures.scope import Scope
from ..base.enums import Role, StatisticsBucket
from ..base.fields import Size, mutates, resolved
from ..base.scalars import checked_range, refused
from ..resolving.context import Info
from ..types.common import MutationPayload
from ..types.failures import FailureGroup, FailureHistory, FailureMark
from .base.changes import given, kept_whole, perform
from .base.inputs import REASON, MutationInput, optional
from .reports import A_DAY_BEFORE, TO_NOW, checked_width, optional_text, span

MAX_GROUPS: Final = 100
_FINGERPRINT: Final = re.compile("[0-9a-f]{16}")
_NO_FINGERPRINT: Final = "fingerprint: must be 16 hexadecimal digits, as `FailureGroup.fingerprint` has them"


def _groups(
    conn: Connection, scope: Scope, first: int, is_known: bool | None, now: datetime
) -> list[failures.FailureRow]:
    groups = failures.merge_failures(failures.failures(conn, scope, failures.GROUPED), failures.GROUPED)
    if is_known is not None:
        names = failures.known(conn, groups, now)
        groups = [group for group in groups if (group.fingerprint in names) == is_known]
    return failures.marked(conn, groups[:first], now)


@strawberry.type
class FailureQueries:
    """Groups of failures, and one of them."""

    @resolved(
        description="Failures of a span of time, grouped by job and error, the most frequent first; of more "
        "than 20,000 failures the newest.",
        size=Size(("first",), default=20, most=MAX_GROUPS, own=2_000),
        requires=Role.VIEWER,
    )
    async def failure_groups(
        self,
        info: Info,
        job_name: Annotated[str | None, strawberry.argument(description="Only of this job.")] = None,
        from_: A_DAY_BEFORE = None,
        to: TO_NOW = None,
        first: Annotated[int, strawberry.argument(description="At most so many groups, 1 to 100.")] = 20,
        *,
        is_known: Annotated[
            bool | None,
            strawberry.argument(
                description="Only groups that are silenced or solved; false = only the others, which are news."
            ),
        ] = None,
    ) -> list[FailureGroup] | None:
        """Groups of failures."""
        checked_range(first, "first", 1, MAX_GROUPS)
        now = await info.context.now()
        scope = Scope(*span(from_, to, now), job_name=optional_text(job_name, "jobName"))
        found = await info.context.database.read(_groups, scope, first, is_known, now)
        return [FailureGroup.from_model(group) for group in found]

    @resolved(
        description="One group of failures in a span of time; null if none of its failures is among the newest 20,000 "
        "of the span.",
        size=Size(own=4_000),
        requires=Role.VIEWER,
    )
    async def failure_history(
        self,
        info: Info,
        fingerprint: Annotated[str, strawberry.argument(description="The `fingerprint` of the group.")],
        *,
        job_name: Annotated[
            str | None,
            strawberry.argument(
                description="The job of the group. If it is given, the newest 20,000 failures are those of the job."
            ),
        ] = None,
        from_: A_DAY_BEFORE = None,
        to: TO_NOW = None,
        bucket: Annotated[
            StatisticsBucket, strawberry.argument(description="The width of the points; at most 1,500 of them.")
        ] = StatisticsBucket.HOUR,
    ) -> FailureHistory | None:
        """One group of failures."""
        if _FINGERPRINT.fullmatch(fingerprint) is None:
            raise refused(_NO_FINGERPRINT)
        now = await info.context.now()
        start, end = span(from_, to, now)
        width, scope = checked_width(bucket, start, end), Scope(start, end, optional_text(job_name, "jobName"))
        found = await info.context.database.read(failures.history, scope, fingerprint, width, now)
        return None if found is None else FailureHistory.from_model(found)


@strawberry.input
class FailureGroupInput(MutationInput):
    """The input of a mutation that says something of one group of failures."""

    fingerprint: str = strawberry.field(description="The `fingerprint` of the group.")

    def faults(self) -> Iterator[InvalidInput]:
        """Yield the faults that no action sees."""
        if _FINGERPRINT.fullmatch(self.fingerprint) is None:
            yield InvalidInput(f"{_NO_FINGERPRINT}, got {self.fingerprint!r:.40}", path=("fingerprint",))


_JOB: Final = "The job of the group. If it is given, the group is looked for among the failures of the job."


@strawberry.input(description="The silence that `silenceFailures` sets or ends.")
class SilenceFailuresInput(FailureGroupInput):
    """The input of ``silenceFailures``."""

    job_name: str | None = optional(_JOB)
    ends_at: datetime | None = optional(
        "The time until which the group counts as known, in the future. The silence ends now unless given."
    )
    reason: str | None = optional(REASON)


@strawberry.input(description="The solution that `solveFailures` notes.")
class SolveFailuresInput(FailureGroupInput):
    """The input of ``solveFailures``."""

    job_name: str | None = optional(_JOB)
    code_version: str | None = optional(
        "The version of the code of the job that mends the cause, deployed or not: failures in the versions that had "
        "it are expected meanwhile, and one in any other version brings the group back. Unless given, every failure "
        "that begins later brings it back."
    )


@strawberry.input(description="The group that `reopenFailures` reopens.")
class ReopenFailuresInput(FailureGroupInput):
    """The input of ``reopenFailures``."""


@strawberry.type
class FailuresMarked(MutationPayload):
    """A mark or errors."""

    mark: FailureMark | None = strawberry.field(description="The mark of the group after the change.", default=None)


_MARK: Final = kept_whole(StoredMark)


@strawberry.type
class FailureMutations:
    """Silence, solve and reopen groups of failures."""

    @mutates(requires=Role.OPERATOR)
    async def silence_failures(self, info: Info, input: SilenceFailuresInput) -> FailuresMarked:
        """Lets a group of failures count as known until a time: it is no new error, and no reason to be alarmed."""

        def action(tx: Tx) -> StoredMark:
            job_name, until = given(input.job_name), given(input.ends_at)
            return actions.silence_failures(tx, input.fingerprint, until, given(input.reason), job_name=job_name)

        done = await perform(info, input, action, _MARK, faults=input.faults())
        return done.answer(FailuresMarked, mark=FailureMark.from_model)

    @mutates(requires=Role.OPERATOR)
    async def solve_failures(self, info: Info, input: SolveFailuresInput) -> FailuresMarked:
        """Lets a group of failures count as solved, until a failure shows that it is not."""

        def action(tx: Tx) -> StoredMark:
            version, job_name = given(input.code_version), given(input.job_name)
            return actions.solve_failures(tx, input.fingerprint, version, job_name=job_name)

        done = await perform(info, input, action, _MARK, faults=input.faults())
        return done.answer(FailuresMarked, mark=FailureMark.from_model)

    @mutates(requires=Role.OPERATOR)
    async def reopen_failures(self, info: Info, input: ReopenFailuresInput) -> FailuresMarked:
        """Lets a group of failures count as unsolved again."""

        def action(tx: Tx) -> StoredMark:
            return actions.reopen_failures(tx, input.fingerprint)

        done = await perform(info, input, action, _MARK, faults=input.faults())
        return done.answer(FailuresMarked, mark=FailureMark.from_model)
