"""The schema of this server, put together."""

from collections.abc import AsyncIterator
from functools import lru_cache
from typing import Any

from strawberry.extensions import SchemaExtension
from strawberry.schema.config import StrawberryConfig
from strawberry.schema.name_converter import NameConverter
from strawberry.utils.str_converters import to_camel_case
from typing_extensions import override

from .context import Context
from .enums import Role
from .guard.limits import Limits
from .operations.mutation import Mutation
from .operations.query import Query
from .operations.subscription import Subscription
from .scalars import SCALARS
from .schema_factory import GuardedSchema, Refused, build_schema, untold


class Names(NameConverter):
    """The names of the API, each found once: of an input with 1,000 objects they would be asked for 10,000 times."""

    def __init__(self) -> None:
        super().__init__()
        self._camel = lru_cache(maxsize=None)(to_camel_case)

    @override
    def apply_naming_config(self, name: str) -> str:
        """``name`` in camel case."""
        return self._camel(name)


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
    """What the owner of a context may do; without one, only reading is allowed."""
    return context.person.role if isinstance(context, Context) else Role.VIEWER


def create_schema(limits: Limits | None = None, *, refused: Refused = untold) -> GuardedSchema:
    """The schema, ready to be served.

    Args:
        limits: Of documents; the defaults unless given.
        refused: Told of attempts at more than a role may do.
    """
    return build_schema(
        Query,
        Mutation,
        Subscription,
        limits=limits,
        config=StrawberryConfig(scalar_map=SCALARS, name_converter=Names()),
        extensions=[EventCursor],
        role_of=role_of,
        refused=refused,
    )
