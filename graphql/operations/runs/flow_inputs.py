"""The input objects of mutations of flows."""

from collections.abc import Iterator
from typing import Any

import strawberry
from strawberry.scalars import JSON

from cronograph.jobs.core.flows import Ending, NewFlow, NewMember, When

from ....jobs.core.actor import Submitter
from ....jobs.core.base.errors import UserError
from ....jobs.core.rules import new_run_faults
from ...base.arguments import MAX_RUNS
from ...base.fields import sized
from ...base.sizes import Size
from ..base.changes import given
from ..base.inputs import KEY, REASON, optional
from .enqueue_inputs import EnqueueRunInput


@strawberry.input(description="A run of a flow. It starts once all runs named in `after` are over, as `when` says.")
class FlowRunInput(EnqueueRunInput):
    """One of the runs of a flow."""

    key: str = strawberry.field(description="What it is called in the flow, 1 to 200 characters.")
    after: list[str] | None = optional("The keys of the runs that it comes after; none unless given.")
    when: When | None = optional("After which ends of these it starts; SUCCESS unless given.")

    def to_member(self, submitter: Submitter | None = None) -> NewMember:
        """The engine's form."""
        when = given(self.when) or When.SUCCESS
        return NewMember(self.key, self.to_run(submitter), tuple(given(self.after) or ()), when)


@strawberry.input(description="Runs that are enqueued together, all or none.")
class EnqueueFlowInput:
    """The input of ``enqueueFlow``."""

    name: str = strawberry.field(description="What it is for, 1 to 200 characters.")
    runs: list[FlowRunInput] = strawberry.field(
        description="The runs, 1 to 10,000, in any order; of an open flow also none.",
        metadata=sized(Size(most=MAX_RUNS)),
    )
    open: bool | None = optional("Whether further runs can be added, until `closeFlow`; false unless given.")
    unique_key: str | None = optional("While a flow with this key is unfinished, a second one is refused.")
    labels: JSON | None = optional("Labels that its runs inherit, an object of texts; none unless given.")
    on_success: EnqueueRunInput | None = optional("A run that is enqueued when it ends in SUCCESS.")
    on_failure: EnqueueRunInput | None = optional("A run that is enqueued when it ends FAILED or CANCELLED.")
    on_end: EnqueueRunInput | None = optional("A run that is enqueued however it ends.")
    idempotency_key: str | None = optional(KEY)

    def to_flow(self, submitter: Submitter | None = None) -> NewFlow:
        """The engine's form."""
        callbacks = {
            end: run.to_run(submitter) for end in Ending if (run := given(getattr(self, end.value))) is not None
        }
        # What is no object of texts is refused with its place before anything is stored.
        labels: Any = given(self.labels)
        members = tuple(run.to_member(submitter) for run in self.runs)
        return NewFlow(self.name, members, bool(given(self.open)), given(self.unique_key), callbacks, labels=labels)

    def faults(self) -> Iterator[UserError]:
        """What the engine's rules say against the settings of the runs."""
        for place, run in enumerate(self.runs):
            for fault in new_run_faults(run.to_run()):
                yield fault.with_prefix("runs", str(place))


@strawberry.input(description="Runs to be added to an open flow, all or none.")
class AddFlowRunsInput:
    """The input of ``addFlowRuns``."""

    id: strawberry.ID = strawberry.field(description="Which flow.")
    runs: list[FlowRunInput] = strawberry.field(
        description="The runs, 1 to 10,000; they may come after any run of the flow.",
        metadata=sized(Size(most=MAX_RUNS)),
    )
    idempotency_key: str | None = optional(KEY)


@strawberry.input(description="An open flow that is to take no further runs.")
class CloseFlowInput:
    """The input of ``closeFlow``."""

    id: strawberry.ID = strawberry.field(description="Which flow.")
    idempotency_key: str | None = optional(KEY)


@strawberry.input(description="A flow to be cancelled.")
class CancelFlowInput:
    """The input of ``cancelFlow``."""

    id: strawberry.ID = strawberry.field(description="Which flow.")
    reason: str | None = optional(REASON)
    idempotency_key: str | None = optional(KEY)


@strawberry.input(description="A flow that is over, to be made again where it failed.")
class RetryFlowInput:
    """The input of ``retryFlow``."""

    id: strawberry.ID = strawberry.field(description="Which flow.")
    idempotency_key: str | None = optional(KEY)
