"""Read the changes of things, and take them back."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Final, cast

import strawberry
from strawberry.scalars import JSON

from ...jobs.accounts.statements.audit import REVISIONS
from ...jobs.actions.idempotent import AnswerCodec
from ...jobs.actions.task_sets import revert_to
from ...jobs.core import actor as audit
from ...jobs.core import model
from ...jobs.core.arguments.revisions import RevisedKind
from ...jobs.core.defaults import JobInfo
from ...jobs.core.model import Json
from ...jobs.core.task_sets import FieldChange
from ...jobs.store.db.transaction import Tx
from ...jobs.store.statements import tasks as task_store
from ..base.enums import Described, Role, describe, described
from ..base.fields import Size, mutates, resolved, sized
from ..base.scalars import camel
from ..execution.shown import FromModel, Makers
from ..lists.connections import Connection
from ..lists.declared import kind_of, listed
from ..lists.filters import DateTimeFilter, Filter, IdFilter, RowFilter, StringFilter, condition, filter_of
from ..resolving.context import Info
from ..types.common import MutationPayload
from ..types.entities import Job, Task
from ..types.operation import Group
from .base.changes import given, parse_key, perform
from .base.inputs import MutationInput, optional
from .queue import restore_group, restore_job

describe(
    RevisedKind,
    "A kind of thing that has revisions.",
    {
        RevisedKind.TASK: "A task.",
        RevisedKind.GROUP: "A group.",
        RevisedKind.JOB: "A job: its settings in code, and its rate.",
    },
)
MOST_CHANGES: Final = 40
"""Number of fields of a thing that can differ."""


@strawberry.type(name="TaskFieldChange", description="A field of a task, of a group or of a job that differs.")
class TaskFieldChange:
    """Before and after."""

    field: str = strawberry.field(
        description="The name of the field, as in `createTask` or `updateGroup`; or `setName`."
    )
    before: JSON | None = strawberry.field(description="The value before the change; null for a new thing.")
    after: JSON | None = strawberry.field(description="The value after the change; null for a thing that is gone.")


def changes_shown(changes: Sequence[FieldChange]) -> list[TaskFieldChange]:
    """Return fields that differ, in the words of the API."""
    return [
        TaskFieldChange(
            field=camel(one.field), before=_shown(one.field, one.before), after=_shown(one.field, one.after)
        )
        for one in changes
    ]


def _shown(field: str, value: Json) -> Json:
    """Return the value of a field; names of fields are those of the API."""
    return [camel(name) for name in value or ()] if field == "inherits" else value


@filter_of("A filter of revisions.")
class RevisionFilter(RowFilter):
    """Conditions on revisions."""

    id: IdFilter | None = condition("The number of the revision.")
    at: DateTimeFilter | None = condition("The time of the change.")
    actor: StringFilter | None = condition("The person or program that made the change.")
    action: StringFilter | None = condition("The name of the mutation.")
    revised: Filter[RevisedKind] | None = condition("The kind of the changed thing.", "kind")
    subject: StringFilter | None = condition("The name of the changed thing.", "name")
    job_name: StringFilter | None = condition("The job that the change concerns: that of a task, or the job itself.")


@described("A field by which revisions can be ordered; newest first unless given.")
class RevisionOrderField(Described):
    """Fields of revisions to order by."""

    ID = "id", "The number of the revision, in the order of the changes."


REVISION_LIST: Final = kind_of(REVISIONS, RevisionFilter, RevisionOrderField, "revisions")


@strawberry.type(description="One change of a task, a group or a job.")
class Revision(FromModel):
    """A revision."""

    stored: strawberry.Private[audit.Entry]
    id: strawberry.ID = strawberry.field(
        description="The number of the revision, which `revertToRevision` takes; it is that of the entry of the audit "
        "log."
    )
    at: datetime = strawberry.field(description="The time of the change.")
    actor: str = strawberry.field(
        description="The person or program that made the change; `code` or `file` if the thing followed its code, or a "
        "file of tasks that the server applied."
    )
    action: str = strawberry.field(
        description="The name of the mutation, or a word such as `task.changed` for a change that none made."
    )
    kind: RevisedKind = strawberry.field(description="The kind of the changed thing.")
    name: str = strawberry.field(description="The name of the changed thing.")
    job_name: str | None = strawberry.field(
        description="The job that the change concerns: that of a task, or the job itself; null for a group."
    )
    is_made: bool = strawberry.field(description="Whether the thing was made by it.")
    is_deleted: bool = strawberry.field(description="Whether the thing was deleted by it.")
    changes: list[TaskFieldChange] = strawberry.field(
        description='The fields that differ. Confidential values of arguments are `{"$hidden": true}`.',
        metadata=sized(Size(default=3, most=MOST_CHANGES)),
    )

    @resolved()
    def address(self, info: Info) -> str | None:
        """The network address from which the request came; null if there was none, and for all but administrators."""
        return self.stored.address if info.context.person.role.includes(Role.ADMIN) else None

    MADE: ClassVar[Makers] = {
        "kind": lambda entry: RevisedKind(entry.revised),
        "name": lambda entry: entry.subject,
        "is_made": lambda entry: entry.before is None,
        "is_deleted": lambda entry: entry.after is None,
        "changes": lambda entry: changes_shown(_changes(entry)),
    }


def _changes(entry: audit.Entry) -> list[FieldChange]:
    before, after = (_members(audit.described(one)) for one in (entry.before, entry.after))
    return [FieldChange(name, before.get(name), after.get(name)) for name in {**before, **after}]


def _members(value: Json) -> dict[str, Json]:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


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
