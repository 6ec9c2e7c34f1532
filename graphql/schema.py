"""The schema of this server, put together."""

from collections.abc import AsyncIterator
from functools import cache
from typing import Any

from strawberry.extensions import SchemaExtension
from strawberry.schema.config import StrawberryConfig

from .base.enums import Role
from .base.scalars import SCALARS
from .execution.schema_factory import GuardedSchema, build_schema
from .guard.limits import Limits
from .operations.mutation import Mutation
from .operations.query import Query
from .operations.subscription import Subscription
from .resolving.context import Context
from .types.event import TYPES
from .types.refusals import REFUSALS


class EventCursor(SchemaExtension):
    """Takes the event cursor before anything is read, if the operation asks for ``asOf``.

    Root fields are resolved side by side; a cursor taken after another field was read would hide the events between.
    """

    async def on_execute(self) -> AsyncIterator[None]:
        """Ask the bus first."""
        context: Any = self.execution_context.context
        if isinstance(context, Context) and "asOf" in (self.execution_context.query or ""):
            context.as_of = str(await context.bus.cursor())
        yield


def role_of(context: object) -> Role:
    """Return what the owner of a context may do; without one, only reading is allowed."""
    return context.person.role if isinstance(context, Context) else Role.VIEWER


@cache
def shared_schema() -> GuardedSchema:
    """The schema with the default limits, built once in a process (0.1 s); all servers there serve it."""
    return create_schema()


def create_schema(limits: Limits | None = None) -> GuardedSchema:
    """A schema of its own, ready to be served.

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
