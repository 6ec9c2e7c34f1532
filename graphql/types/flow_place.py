"""The place of a run in its flow."""

import strawberry

from cronograph.jobs.core.flows import When

from ...jobs.core.model import Run
from ..resolving.context import Info


@strawberry.type(description="The place of a run in its flow.")
class FlowPlace:
    """Its key, what it comes after and under which condition."""

    flow_id: strawberry.ID = strawberry.field(description="The key of the flow.")
    key: str = strawberry.field(description="The key of the run in the flow.")
    when: When = strawberry.field(description="After which ends of the runs before it it starts.")
    after: list[strawberry.ID] = strawberry.field(description="The runs that it comes after.")
    skipped_after: list[str] = strawberry.field(
        description="If it was skipped: the keys of the runs that kept it from starting, the first cause first."
    )


async def load_place(info: Info, run: Run) -> FlowPlace | None:
    """The place of a run; None if it belongs to no flow, or another run has taken its place."""
    if run.flow_id is None:
        return None
    loaders = info.context.loaders.flows
    member = await loaders.members.load(run.id)
    if member is None:
        return None
    after = [strawberry.ID(str(one)) for one in await loaders.before.load(run.id)]
    return FlowPlace(
        flow_id=strawberry.ID(str(member.flow_id)),
        key=member.key,
        when=member.when,
        after=after,
        skipped_after=list(member.chain),
    )
