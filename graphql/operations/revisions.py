"""Read what was changed, and take it back."""

from dataclasses import dataclass
from typing import Final

import strawberry

from ...jobs.actions.idempotent import AnswerCodec
from ...jobs.actions.revisions import revert_to
from ...jobs.core import model
from ...jobs.core.arguments.revisions import RevisedKind
from ...jobs.core.defaults import JobInfo
from ...jobs.core.model import Json
from ...jobs.store.db.transaction import Tx
from ...jobs.store.read import tasks as task_store
from ..base.enums import Role
from ..base.fields import mutates
from ..lists.connections import Connection
from ..lists.declared import listed
from ..resolving.context import Info
from ..types.common import MutationPayload
from ..types.entities import Job, Task
from ..types.operation import Group
from ..types.revision import REVISION_LIST, Revision
from .base.changes import given, parse_key, perform
from .base.inputs import MutationInput, optional
from .queue import restore_group, restore_job


@strawberry.input(description="The revision that `revertToRevision` goes back to.")
class RevertToRevisionInput(MutationInput):
    """The input of ``revertToRevision``."""

    id: strawberry.ID = strawberry.field(description="The `id` of the revision.")
    expected_version: int | None = optional(
        "The `version` that the task or the group must still have, or else the change is refused. Any version unless "
        "given; a job has none."
    )


@strawberry.type
class RevisionReverted(MutationPayload):
    """The thing that has its former settings again, or errors."""

    task: Task | None = strawberry.field(
        description="The task as it is now (on a dry run as it would be); null if it was none.", default=None
    )
    group: Group | None = strawberry.field(
        description="The group as it is now (on a dry run as it would be); null if it was none.", default=None
    )
    job: Job | None = strawberry.field(
        description="The job as it is now (on a dry run as it would be); null if it was none.", default=None
    )


@dataclass(frozen=True, slots=True)
class Reverted:
    """The thing that was reverted, as it is now; the others are None."""

    kind: RevisedKind
    name: str
    task: model.Task | None = None
    group: model.Group | None = None
    job: JobInfo | None = None


def _reverted(tx: Tx, kind: RevisedKind, name: str) -> Reverted:
    if kind is RevisedKind.TASK:
        return Reverted(kind, name, task=task_store.by_name(tx.conn, name))
    if kind is RevisedKind.GROUP:
        return Reverted(kind, name, group=restore_group(tx, {"group": name}))
    return Reverted(kind, name, job=restore_job(tx, {"job": name}))


def _restored(tx: Tx, stored: Json) -> Reverted:
    return _reverted(tx, RevisedKind(stored["kind"]), stored["name"])


REVERTED: Final[AnswerCodec[Reverted]] = AnswerCodec(
    dump=lambda done: {"kind": done.kind.value, "name": done.name}, load=_restored
)


@strawberry.type
class RevisionQueries:
    """Queries of changes."""

    revisions: Connection[Revision] | None = listed(
        REVISION_LIST,
        lambda: Revision,
        description="The changes of tasks, groups and jobs, the newest first; as long as the audit log is kept.",
        requires=Role.VIEWER,
    )


@strawberry.type
class RevisionMutations:
    """Taking changes back."""

    @mutates(requires=Role.OPERATOR)
    async def revert_to_revision(self, info: Info, input: RevertToRevisionInput) -> RevisionReverted:
        """Gives a task, a group or a job the settings that it had after a revision.

        It is a change like any other, and a revision itself. Pauses stay as they are, and so do values of arguments
        that were hidden. Of a job only its rate goes back.
        """

        def action(tx: Tx) -> Reverted:
            number, expected = parse_key(input.id, "id"), given(input.expected_version)
            thing = revert_to(tx, number, expected=expected, actor=info.context.person.name)
            return _reverted(tx, thing.kind, thing.name)

        done = await perform(info, input, action, REVERTED)
        return done.answer(
            RevisionReverted,
            task=lambda one: None if one.task is None else Task.from_model(one.task),
            group=lambda one: None if one.group is None else Group.from_model(one.group),
            job=lambda one: None if one.job is None else Job.from_model(one.job),
        )
