"""Mutations of flows."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import strawberry
from strawberry.scalars import JSON

from ...jobs.actions import flows as actions
from ...jobs.actions.idempotent import AnswerCodec
from ...jobs.core import flows
from ...jobs.core.actor import Submitter
from ...jobs.core.base.errors import UserError
from ...jobs.core.flows import Ending, NewFlow, NewMember, When
from ...jobs.core.model import Json
from ...jobs.core.rules import new_run_faults
from ...jobs.store.db.transaction import Tx
from ...jobs.store.statements import flows as stored
from ..base.enums import Role
from ..base.fields import Size, mutates, sized
from ..base.scalars import MAX_RUNS, Duration, Labels
from ..resolving.context import Info
from ..types.flow import Flow
from ..types.payloads import FlowChanged
from .base.changes import args_of, given, one_left, parse_key, perform
from .base.inputs import REASON, MutationInput, optional
from .enqueue_inputs import EnqueueRunInput


@strawberry.input(description="A run of a flow. It starts once all runs of `after` are over, as `when` says.")
class FlowRunInput(EnqueueRunInput):
    """One of the runs of a flow."""

    key: str = strawberry.field(description="The name of the run in its flow, 1 to 200 characters.")
    after: list[str] | None = optional(
        "The keys of the runs after which this one starts. None unless given: it starts at once."
    )
    when: When | None = optional("The ends of the runs before that let this one start. SUCCESS unless given.")

    def to_member(self, submitter: Submitter | None = None) -> NewMember:
        """Return the engine's form."""
        when = given(self.when) or When.SUCCESS
        return NewMember(self.key, self.to_run(submitter), tuple(given(self.after) or ()), when)


@strawberry.input(
    description="The flow that `enqueueFlow` enqueues: runs that are put into the queue together, all or none."
)
class EnqueueFlowInput(MutationInput):
    """The input of ``enqueueFlow``."""

    name: str = strawberry.field(
        description="The name of the flow, 1 to 200 characters; several flows may have one name."
    )
    runs: list[FlowRunInput] = strawberry.field(
        description="The runs of the flow, from 1 to 10,000, in any order; an open flow may have none.",
        metadata=sized(Size(most=MAX_RUNS)),
    )
    open: bool | None = optional("True lets `addFlowRuns` add runs until `closeFlow`. False unless given.")
    unique_key: str | None = optional(
        "A key that no other unfinished flow may have, 1 to 200 characters. None unless given."
    )
    labels: Labels | None = optional("Labels that the runs of the flow inherit, an object of texts. None unless given.")
    deadline: Duration | None = optional(
        "The seconds after which the unfinished runs of the flow are cancelled. Never unless given."
    )
    on_success: EnqueueRunInput | None = optional(
        "A run that is enqueued when the flow ends in SUCCESS. None unless given."
    )
    on_failure: EnqueueRunInput | None = optional(
        "A run that is enqueued when the flow ends FAILED or CANCELLED. None unless given."
    )
    on_end: EnqueueRunInput | None = optional("A run that is enqueued however the flow ends. None unless given.")

    def to_flow(self, submitter: Submitter | None = None) -> NewFlow:
        """Return the engine's form."""
        callbacks = {
            end: run.to_run(submitter) for end in Ending if (run := given(getattr(self, end.value))) is not None
        }
        # What is no object of texts is refused with its place before anything is stored.
        labels: Any = given(self.labels)
        members = tuple(run.to_member(submitter) for run in self.runs)
        return NewFlow(
            self.name,
            members,
            bool(given(self.open)),
            given(self.unique_key),
            callbacks,
            labels=labels,
            deadline=given(self.deadline),
        )

    def faults(self) -> Iterator[UserError]:
        """Yield the faults of the runs' settings by the engine's rules."""
        for place, run in enumerate(self.runs):
            for fault in new_run_faults(run.to_run()):
                yield fault.with_prefix("runs", str(place))


@strawberry.input(description="The runs that `addFlowRuns` adds to an open flow, all or none.")
class AddFlowRunsInput(MutationInput):
    """The input of ``addFlowRuns``."""

    id: strawberry.ID = strawberry.field(description="The id of the open flow.")
    runs: list[FlowRunInput] = strawberry.field(
        description="The runs to add, from 1 to 10,000; they may come after any run of the flow.",
        metadata=sized(Size(most=MAX_RUNS)),
    )


@strawberry.input(description="The open flow that `closeFlow` closes.")
class CloseFlowInput(MutationInput):
    """The input of ``closeFlow``."""

    id: strawberry.ID = strawberry.field(description="The id of the flow to close.")


@strawberry.input(description="The flow that `cancelFlow` cancels.")
class CancelFlowInput(MutationInput):
    """The input of ``cancelFlow``."""

    id: strawberry.ID = strawberry.field(description="The id of the flow to cancel.")
    reason: str | None = optional(REASON)


@strawberry.input(description="The finished flow that `retryFlow` makes again where it failed.")
class RetryFlowInput(MutationInput):
    """The input of ``retryFlow``."""

    id: strawberry.ID = strawberry.field(description="The id of the flow to retry.")
    from_run: strawberry.ID | None = optional(
        "The `id` of the run from which the flow is made again, with all runs that come after it, however they ended. "
        "The runs that failed or were cancelled unless given."
    )
    args: JSON | None = optional(
        'The arguments of the run in the place of `fromRun`, an object; `{"$result": "key"}` takes the result of an '
        "earlier run. Those of `fromRun` unless given."
    )


def restore_flow(tx: Tx, kept: Json) -> flows.Flow:
    """Return the flow of a repeated request, as it is now."""
    return one_left(stored.by_ids(tx.conn, [kept["flow"]]), kept["flow"], "flow", "pruned")


ONE_FLOW: Final[AnswerCodec[flows.Flow]] = AnswerCodec(dump=lambda flow: {"flow": flow.id}, load=restore_flow)


async def _changed(info: Info, input: object, action: Callable[[Tx], flows.Flow]) -> FlowChanged:
    done = await perform(info, input, action, ONE_FLOW)
    return done.answer(FlowChanged, flow=Flow.from_model)


@strawberry.type
class FlowMutations:
    """Everything that makes and changes flows."""

    @mutates(size=Size(("input.runs",), default=1, most=MAX_RUNS), requires=Role.OPERATOR)
    async def enqueue_flow(self, info: Info, input: EnqueueFlowInput) -> FlowChanged:
        """Enqueues a flow, all of its runs or none.

        An argument `{"$result": "key"}` is the value that the run of that key returned.
        """
        submitter = info.context.person.submitter
        return await _changed(
            info, input, lambda tx: actions.enqueue_flow(tx, input.to_flow(submitter), submitter=submitter[0])
        )

    @mutates(size=Size(("input.runs",), default=1, most=MAX_RUNS), requires=Role.OPERATOR)
    async def add_flow_runs(self, info: Info, input: AddFlowRunsInput) -> FlowChanged:
        """Adds runs to an open flow, all or none."""
        submitter = info.context.person.submitter

        def action(tx: Tx) -> flows.Flow:
            key = parse_key(input.id, "id")
            actions.add_runs(tx, key, [run.to_member(submitter) for run in input.runs])
            return restore_flow(tx, {"flow": key})

        return await _changed(info, input, action)

    @mutates(requires=Role.OPERATOR)
    async def close_flow(self, info: Info, input: CloseFlowInput) -> FlowChanged:
        """Lets an open flow take no further runs, so that it ends with the last one that it has."""
        return await _changed(info, input, lambda tx: actions.close_flow(tx, parse_key(input.id, "id")))

    @mutates(requires=Role.OPERATOR)
    async def cancel_flow(self, info: Info, input: CancelFlowInput) -> FlowChanged:
        """Cancels all unfinished runs of a flow, running ones through the `should_stop` of their jobs."""
        reason, actor = given(input.reason), info.context.person.name
        return await _changed(
            info, input, lambda tx: actions.cancel_flow(tx, parse_key(input.id, "id"), reason=reason, actor=actor)
        )

    @mutates(
        description="Makes new runs in the place of those of a finished flow that failed or were cancelled, and of "
        "those that these kept from starting; with `fromRun`, of that run and of all that come after it. Other runs "
        "stay, with their results.",
        requires=Role.OPERATOR,
    )
    async def retry_flow(self, info: Info, input: RetryFlowInput) -> FlowChanged:
        """The flow, unfinished again."""
        key, run, actor = input.id, given(input.from_run), info.context.person.name

        def action(tx: Tx) -> flows.Flow:
            from_run = None if run is None else parse_key(run, "fromRun")
            return actions.retry_flow(
                tx, parse_key(key, "id"), from_run=from_run, args=args_of(input.args), actor=actor
            )

        return await _changed(info, input, action)
