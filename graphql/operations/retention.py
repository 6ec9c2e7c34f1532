"""How long history is kept: by the task that prunes, by jobs, and by groups."""

from collections.abc import Mapping
from typing import Final

import strawberry

from ..base.enums import Role
from ..base.fields import resolved
from ..base.sizes import Size
from ..resolving.context import Info
from ..resolving.retention import retained

MAX_NAMES: Final = 200


@strawberry.type(description="How long the history of one job, or of one group, is kept.")
class KeptHistory:
    """A name and a time."""

    name: str = strawberry.field(description="The job or the group.")
    seconds: float = strawberry.field(description="So many seconds after its end a run may be pruned.")


@strawberry.type(
    description="How long the history of finished runs is kept: as long as their group says, or else their job, or "
    "else the task `prune_history`."
)
class Retention:
    """What holds now."""

    seconds: float = strawberry.field(description="What holds where neither group nor job says anything.")
    max_per_task: int | None = strawberry.field(
        description="How many executions of each task are kept at most; null = any number."
    )
    groups: list[KeptHistory] = strawberry.field(description="The groups that say something; the first 200 by name.")
    jobs: list[KeptHistory] = strawberry.field(description="The jobs that say something; the first 200 by name.")


@strawberry.type
class RetentionQueries:
    """What is kept."""

    @resolved(size=Size(own=2 * MAX_NAMES), requires=Role.VIEWER)
    async def retention(self, info: Info) -> Retention:
        """How long history is kept, by the present arguments of the task `prune_history`."""
        found = await info.context.database.read(retained, await info.context.now())
        return Retention(
            seconds=found.kept.age.total_seconds(),
            max_per_task=found.max_per_task,
            groups=_named(found.kept.groups),
            jobs=_named(found.kept.jobs),
        )


def _named(seconds: Mapping[str, float]) -> list[KeptHistory]:
    return [KeptHistory(name=name, seconds=age) for name, age in sorted(seconds.items())[:MAX_NAMES]]
