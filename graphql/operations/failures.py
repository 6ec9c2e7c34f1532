"""Queries of groups of failures."""

import re
from typing import Annotated, Final

import strawberry

from ...jobs.store.read.figures import failures
from ...jobs.store.read.figures.scope import Scope
from ..base.arguments import checked_range, refused
from ..base.enums import Role, StatisticsBucket
from ..base.fields import Size, resolved
from ..resolving.context import Info
from ..types.failures import FailureGroup, FailureHistory
from .reports import A_DAY_BEFORE, TO_NOW, checked_width, optional_text, span

MAX_GROUPS: Final = 100
RAW_GROUPS: Final = 1_000
_FINGERPRINT: Final = re.compile("[0-9a-f]{16}")


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
    ) -> list[FailureGroup] | None:
        """Groups of failures."""
        checked_range(first, "first", 1, MAX_GROUPS)
        scope = Scope(*span(from_, to, await info.context.now()), job_name=optional_text(job_name, "jobName"))
        rows = await info.context.database.read(failures.failures, scope, RAW_GROUPS)
        return [FailureGroup.from_model(group) for group in failures.merge_failures(rows, first)]

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
            raise refused("fingerprint: must be 16 hexadecimal digits, as `FailureGroup.fingerprint` has them")
        start, end = span(from_, to, await info.context.now())
        width, scope = checked_width(bucket, start, end), Scope(start, end, optional_text(job_name, "jobName"))
        found = await info.context.database.read(failures.history, scope, fingerprint, width)
        return None if found is None else FailureHistory.from_model(found)
