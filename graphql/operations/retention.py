"""How long history is kept: by the task that prunes, by jobs, and by groups."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import strawberry

from ...jobs.builtin.prune import DEFAULT_AGE_DAYS
from ...jobs.store.read import tasks
from ...jobs.store.read.prunable import keeping
from ..base.enums import Role
from ..base.fields import resolved
from ..base.sizes import Size
from ..resolving.context import Info
from .runs.pruning import JOB

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

    @resolved(
        description="How long history is kept, by the present arguments of the task `prune_history`.",
        size=Size(own=2 * MAX_NAMES),
        requires=Role.VIEWER,
    )
    async def retention(self, info: Info) -> Retention:
        """What holds now."""
        database = info.context.database
        task = await database.read(tasks.by_name, JOB)
        args = {} if task is None else task.spec.args
        usual = timedelta(days=args.get("max_age_days", DEFAULT_AGE_DAYS))
        kept = await database.read(keeping, await info.context.now(), usual)
        return Retention(
            seconds=usual.total_seconds(),
            max_per_task=args.get("max_per_task"),
            groups=_named(kept.groups),
            jobs=_named(kept.jobs),
        )


def _named(seconds: Mapping[str, float]) -> list[KeptHistory]:
    return [KeptHistory(name=name, seconds=said) for name, said in sorted(seconds.items())[:MAX_NAMES]]
