"""Mutations of flows."""

from collections.abc import Callable
from typing import Annotated, Final

import strawberry

from cronograph.jobs.core import flows

from ....jobs.actions import flows as actions
from ....jobs.actions.idempotent import AnswerCodec
from ....jobs.core.model import Json
from ....jobs.store.db.transaction import Tx
from ....jobs.store.read import flows as stored
from ...base.arguments import INPUT, MAX_RUNS
from ...base.enums import Role
from ...base.fields import mutates
from ...base.sizes import Size
from ...resolving.context import Info
from ...types.flow import Flow
from ...types.payloads import FlowChanged
from ..base.changes import given, one_left, parse_key, perform
from .flow_inputs import AddFlowRunsInput, CancelFlowInput, CloseFlowInput, EnqueueFlowInput, RetryFlowInput


def restore_flow(tx: Tx, kept: Json) -> flows.Flow:
    """The flow of a repeated request, as it is now."""
    return one_left(stored.by_ids(tx.conn, [kept["flow"]]), kept["flow"], "flow", "pruned")


ONE_FLOW: Final[AnswerCodec[flows.Flow]] = AnswerCodec(dump=lambda flow: {"flow": flow.id}, load=restore_flow)


async def _changed(info: Info, input: object, action: Callable[[Tx], flows.Flow]) -> FlowChanged:
    """Change a flow; as it is then."""
    done = await perform(info, input, action, ONE_FLOW)
    return done.answer(FlowChanged, flow=Flow.from_model)


@strawberry.type
class FlowMutations:
    """Everything that makes and changes flows."""

    @mutates(size=Size(("input.runs",), default=1, most=MAX_RUNS), requires=Role.OPERATOR)
    async def enqueue_flow(self, info: Info, input: Annotated[EnqueueFlowInput, INPUT]) -> FlowChanged:
        """Enqueues a flow, all of its runs or none.

        An argument `{"$result": "key"}` is the value that the run of that key returned.
        """
        submitter = info.context.person.submitter
        return await _changed(
            info, input, lambda tx: actions.enqueue_flow(tx, input.to_flow(submitter), submitter=submitter[0])
        )

    @mutates(size=Size(("input.runs",), default=1, most=MAX_RUNS), requires=Role.OPERATOR)
    async def add_flow_runs(self, info: Info, input: Annotated[AddFlowRunsInput, INPUT]) -> FlowChanged:
        """Adds runs to an open flow, all or none."""
        submitter = info.context.person.submitter

        def action(tx: Tx) -> flows.Flow:
            key = parse_key(input.id, "id")
            actions.add_runs(tx, key, [run.to_member(submitter) for run in input.runs])
            return restore_flow(tx, {"flow": key})

        return await _changed(info, input, action)

    @mutates(requires=Role.OPERATOR)
    async def close_flow(self, info: Info, input: Annotated[CloseFlowInput, INPUT]) -> FlowChanged:
        """Lets an open flow take no further runs, so that it ends with the last one that it has."""
        return await _changed(info, input, lambda tx: actions.close_flow(tx, parse_key(input.id, "id")))

    @mutates(requires=Role.OPERATOR)
    async def cancel_flow(self, info: Info, input: Annotated[CancelFlowInput, INPUT]) -> FlowChanged:
        """Cancels all unfinished runs of a flow, running ones through the `should_stop` of their jobs."""
        reason, actor = given(input.reason), info.context.person.name
        return await _changed(
            info, input, lambda tx: actions.cancel_flow(tx, parse_key(input.id, "id"), reason=reason, actor=actor)
        )

    @mutates(
        description="Makes new runs in the place of those of a flow that failed or were cancelled, and of those that "
        "these kept from starting. What succeeded stays.",
        requires=Role.OPERATOR,
    )
    async def retry_flow(self, info: Info, input: Annotated[RetryFlowInput, INPUT]) -> FlowChanged:
        """The flow, unfinished again."""
        actor = info.context.person.name
        return await _changed(info, input, lambda tx: actions.retry_flow(tx, parse_key(input.id, "id"), actor=actor))
