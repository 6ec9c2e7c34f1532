"""The schema of this server, put together."""

from collections.abc import AsyncIterator
from functools import cache
from typing import Any

import strawberry
from strawberry.extensions import SchemaExtension
from strawberry.schema.config import StrawberryConfig

from .base.enums import Role
from .base.scalars import SCALARS
from .execution.schema_factory import GuardedSchema, build_schema
from .guard.limits import Limits
from .operations.accounts.accounts import AccountMutations, LoginMethodMutations
from .operations.accounts.secrets import SecretMutations
from .operations.accounts.views import ViewMutations
from .operations.addresses import AddressMutations
from .operations.alarms import AlarmMutations
from .operations.channels import ChannelMutations
from .operations.failures import FailureMutations
from .operations.flows import FlowMutations
from .operations.hooks import HookMutations
from .operations.query import Query
from .operations.queue import QueueMutations
from .operations.revisions import RevisionMutations
from .operations.runs import RunMutations
from .operations.subscription import Subscription
from .operations.task_sets import TaskSetMutations
from .operations.tasks import TaskMutations
from .operations.webhooks import WebhookMutations
from .resolving.context import Context
from .types.event import TYPES
from .types.refusals import REFUSALS


@strawberry.type(description="Everything that can be changed. Refusals are data: look at `errors` of each payload.")
class Mutation(
    RunMutations,
    FlowMutations,
    TaskMutations,
    TaskSetMutations,
    QueueMutations,
    RevisionMutations,
    AccountMutations,
    LoginMethodMutations,
    SecretMutations,
    ViewMutations,
    AlarmMutations,
    ChannelMutations,
    FailureMutations,
    HookMutations,
    AddressMutations,
    WebhookMutations,
):
    """Mutations."""


class EventCursor(SchemaExtension):
    """Takes the event cursor before anything is read, if the operation asks for ``asOf``.

    Root fields are resolved side by side; a cursor taken after another field was read would hide the events between.
    """

    async def on_execute(self) -> AsyncIterator[None]:
        """Ask the bus for its cursor before the execution."""
        context: Any = self.execution_context.context
        if isinstance(context, Context) and "asOf" in (self.execution_context.query or ""):
            context.as_of = str(await context.bus.cursor())
        yield


def role_of(context: object) -> Role:
    """Return the role of a context's owner; without one, only reading is allowed."""
    return context.person.role if isinstance(context, Context) else Role.VIEWER


@cache
def shared_schema() -> GuardedSchema:
    """Return the schema with the default limits, built once in a process (0.1 s); all servers there serve it."""
    return create_schema()


def create_schema(limits: Limits | None = None) -> GuardedSchema:
    """Return a schema of its own, ready to be served.

    Args:
        limits: Of documents; the defaults unless given.
    """
    return build_schema(
        Query,
        Mutation,
        Subscription,
        limits=limits,
        types=(*REFUSALS, *dict.fromkeys(TYPES.values())),
        config=StrawberryConfig(scalar_map=SCALARS),
        extensions=[EventCursor],
        role_of=role_of,
    )
