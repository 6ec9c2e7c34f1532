"""The types of ``UserError``: the data a client needs to act on a refusal, besides its code, message and path."""

from typing import Final

import strawberry

from ...jobs.core.base.errors import InvalidSchedule, Overlap, QueueFull, VersionConflict
from ...jobs.core.base.errors import UserError as Refusal
from ...jobs.core.model import Task as StoredTask
from ..base.fields import resolved
from ..resolving.context import Info
from .common import UserError
from .entities import Run, Task
from .schedule import ScheduleError, parts_of


@strawberry.type(description="A refusal that needs nothing besides its code, message and path.")
class GeneralError(UserError):
    """Every refusal without a type of its own."""


@strawberry.type(description="Somebody else edited the object since the caller read it; code `VERSION_CONFLICT`.")
class VersionConflictError(UserError):
    """A lost update, refused."""

    current: Task | None = strawberry.field(
        description="The task as it is now, on which the change can be repeated; null if a plan of `applyTasks` is "
        "out of date."
    )


@strawberry.type(description="An unfinished run forbids a second one; code `OVERLAP`.")
class OverlapError(UserError):
    """The overlap policy, or the unique key of the run."""

    run_id: strawberry.ID | None = strawberry.field(description="The `id` of the unfinished run.")

    @resolved()
    async def run(self, info: Info) -> Run | None:
        """The unfinished run; null if it is gone by now."""
        found = None if self.run_id is None else await info.context.loaders.runs.load(int(self.run_id))
        return None if found is None else Run.from_model(found)


@strawberry.type(description="The cap of a group or a job is reached; code `QUEUE_FULL`.")
class QueueFullError(UserError):
    """A refused enqueue."""

    limit: int = strawberry.field(description="The largest number of runs that may wait in the group, or of the job.")
    waiting: int = strawberry.field(
        description="The number of runs that wait there now; counted no further than `limit` and the new runs."
    )


REFUSALS: Final[tuple[type[UserError], ...]] = (
    GeneralError,
    VersionConflictError,
    OverlapError,
    QueueFullError,
    ScheduleError,
)
"""Every type of ``UserError``, for the schema."""


def shown(fault: Refusal) -> UserError:
    """Return the data behind a raised refusal."""
    code, message, path = fault.code, fault.message, list(fault.path)
    if isinstance(fault, VersionConflict):
        task = fault.current
        current = Task.from_model(task) if isinstance(task, StoredTask) else None
        return VersionConflictError(code=code, message=message, path=path, current=current)
    if isinstance(fault, Overlap):
        run_id = None if fault.run_id is None else strawberry.ID(str(fault.run_id))
        return OverlapError(code=code, message=message, path=path, run_id=run_id)
    if isinstance(fault, QueueFull):
        return QueueFullError(code=code, message=message, path=path, limit=fault.limit, waiting=fault.waiting)
    if isinstance(fault, InvalidSchedule):
        return ScheduleError(code=code, message=message, path=path, **parts_of(fault.fault))
    return GeneralError(code=code, message=message, path=path)
