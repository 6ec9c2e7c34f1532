"""Mutations of groups and nodes."""

from datetime import datetime
from functools import partial

import strawberry

from ...jobs.actions import groups as actions
from ...jobs.actions.groups import set_job_rate
from ...jobs.actions.idempotent import AnswerCodec
from ...jobs.actions.nodes import drain_node, resume_node
from ...jobs.core import model, nodes
from ...jobs.core.defaults import JobInfo
from ...jobs.core.model import Json
from ...jobs.core.rules import unknown_job
from ...jobs.store.db.transaction import Tx
from ...jobs.store.statements import groups as group_store
from ...jobs.store.statements import jobs as job_store
from ...jobs.store.statements import nodes as node_store
from ..base.enums import Role
from ..base.fields import mutates
from ..resolving.context import Info
from ..types.entities import Job
from ..types.operation import Group, Node
from ..types.payloads import GroupChanged, JobChanged, NodeChanged
from .base.changes import given, one_left, perform
from .base.inputs import REASON, RESUME_AT, GroupLimits, MutationInput, RateInput, optional


@strawberry.input(description="The group that `pauseGroup` pauses.")
class PauseGroupInput(MutationInput):
    """The input of ``pauseGroup``."""

    name: str = strawberry.field(description="The name of the group; a group exists once it is named.")
    reason: str | None = optional(REASON)
    resume_at: datetime | None = optional(RESUME_AT)


@strawberry.input(description="The paused group that `resumeGroup` resumes.")
class ResumeGroupInput(MutationInput):
    """The input of ``resumeGroup``."""

    name: str = strawberry.field(description="The name of the paused group.")


@strawberry.input(description="The limits of a group that `updateGroup` sets.")
class UpdateGroupInput(GroupLimits, MutationInput):
    """The input of ``updateGroup``."""

    name: str = strawberry.field(description="The name of the group; a group exists once it is named.")


@strawberry.input(description="The settings of a job that `updateJob` sets in the place of its code.")
class UpdateJobInput(MutationInput):
    """The input of ``updateJob``."""

    name: str = strawberry.field(description="The name of the job, one of `availableJobs`.")
    rate: RateInput | None = optional(
        "The limit of starts of the job's runs over time, on all nodes together, for each of its keys if it has a "
        "`rateKey`. Null follows the code of the job; unchanged unless given."
    )


@strawberry.input(description="The node that `drainNode` drains.")
class DrainNodeInput(MutationInput):
    """The input of ``drainNode``."""

    name: str = strawberry.field(description="The name of the live node to drain.")


@strawberry.input(description="The draining node that `resumeNode` lets take runs again.")
class ResumeNodeInput(MutationInput):
    """The input of ``resumeNode``."""

    name: str = strawberry.field(description="The name of the live node to resume.")


def restore_group(tx: Tx, stored: Json) -> model.Group:
    """Return the group of a repeated request, as it is now."""
    return group_store.settings(tx.conn).get(stored["group"], model.Group(stored["group"]))


def restore_node(tx: Tx, stored: Json) -> nodes.Node:
    """Return the node of a repeated request, as it is now."""
    return one_left(node_store.by_ids(tx.conn, [stored["node"]]), stored["node"], "node", "forgotten")


def restore_job(tx: Tx, stored: Json) -> JobInfo:
    """Return the job of a repeated request, as it is now.

    Raises:
        UserError: code ``UNKNOWN_JOB``: no node publishes it any more.
    """
    found = job_store.by_names(tx.conn, [stored["job"]])
    if not found:
        raise unknown_job(stored["job"], job_store.all_names(tx.conn))
    return found[stored["job"]]


ONE_JOB: AnswerCodec[JobInfo] = AnswerCodec(dump=lambda job: {"job": job.name}, load=restore_job)
ONE_GROUP: AnswerCodec[model.Group] = AnswerCodec(dump=lambda group: {"group": group.name}, load=restore_group)
ONE_NODE: AnswerCodec[nodes.Node] = AnswerCodec(dump=lambda node: {"node": node.id}, load=restore_node)


@strawberry.type
class QueueMutations:
    """Everything that changes groups and nodes."""

    @mutates(requires=Role.OPERATOR)
    async def pause_group(self, info: Info, input: PauseGroupInput) -> GroupChanged:
        """Pauses a group: none of its runs starts; those not begun go back to the queue."""
        action = partial(
            actions.pause_group,
            name=input.name,
            reason=given(input.reason),
            actor=info.context.person.name,
            until=given(input.resume_at),
        )
        done = await perform(info, input, action, ONE_GROUP)
        return done.answer(GroupChanged, group=Group.from_model)

    @mutates(requires=Role.OPERATOR)
    async def resume_group(self, info: Info, input: ResumeGroupInput) -> GroupChanged:
        """Lets a paused group run again."""
        action = partial(actions.resume_group, name=input.name, actor=info.context.person.name)
        done = await perform(info, input, action, ONE_GROUP)
        return done.answer(GroupChanged, group=Group.from_model)

    @mutates(requires=Role.OPERATOR)
    async def update_group(self, info: Info, input: UpdateGroupInput) -> GroupChanged:
        """Changes the limits of a group."""

        def action(tx: Tx) -> model.Group:
            actions.change_limits(tx, input.name, input.limits())
            return restore_group(tx, {"group": input.name})

        done = await perform(info, input, action, ONE_GROUP)
        return done.answer(GroupChanged, group=Group.from_model)

    @mutates(requires=Role.OPERATOR)
    async def update_job(self, info: Info, input: UpdateJobInput) -> JobChanged:
        """Changes the rate of a job while it runs, in place of the rate in its code, which has to have one."""

        def action(tx: Tx) -> JobInfo:
            if input.rate is strawberry.UNSET:
                return restore_job(tx, {"job": input.name})
            return set_job_rate(tx, input.name, rate=None if input.rate is None else input.rate.to_rate())

        done = await perform(info, input, action, ONE_JOB)
        return done.answer(JobChanged, job=Job.from_model)

    @mutates(
        description="Asks a live node to take nothing new and to end once its running jobs have, as SIGTERM does: runs "
        "after the drain time are asked to stop and handed back. `resumeNode` takes it back before that.",
        requires=Role.ADMIN,
    )
    async def drain_node(self, info: Info, input: DrainNodeInput) -> NodeChanged:
        """The draining node."""
        done = await perform(info, input, partial(drain_node, name=input.name), ONE_NODE)
        return done.answer(NodeChanged, node=Node.from_model)

    @mutates(requires=Role.ADMIN)
    async def resume_node(self, info: Info, input: ResumeNodeInput) -> NodeChanged:
        """Takes `drainNode` back: the node takes runs again. Refused once the node stops for good."""
        done = await perform(info, input, partial(resume_node, name=input.name), ONE_NODE)
        return done.answer(NodeChanged, node=Node.from_model)
