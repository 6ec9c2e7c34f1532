"""Secrets, without their values."""

from datetime import datetime

import strawberry

from ..base.fields import resolved
from ..base.sizes import Size
from ..execution.shown import FromModel
from ..resolving.context import Info
from .common import MutationPayload

USERS_SHOWN = 10


@strawberry.type(
    description='A secret: `{"$secret": "its name"}` in arguments stands for its value, which no field shows.'
)
class Secret(FromModel):
    """A secret without its value."""

    name: str = strawberry.field(description="What arguments call it.")
    key_id: str = strawberry.field(description="The key that it is encrypted with.")
    created_at: datetime = strawberry.field(description="When it was first set.")
    created_by: str = strawberry.field(description="By whom.")
    updated_at: datetime = strawberry.field(description="When it was last set.")
    updated_by: str = strawberry.field(description="By whom.")

    @resolved(size=Size(default=USERS_SHOWN, most=USERS_SHOWN))
    async def used_by(self, info: Info) -> list[str]:
        """The names of the tasks whose arguments refer to it, at most 10."""
        return list((await info.context.loaders.secret_users.load(self.name))[:USERS_SHOWN])


@strawberry.type
class SecretSet(MutationPayload):
    """A secret or errors."""

    secret: Secret | None = strawberry.field(description="The secret, without its value.", default=None)


@strawberry.type
class SecretDeleted(MutationPayload):
    """A name or errors."""

    deleted_name: str | None = strawberry.field(description="The name of the secret that is gone.", default=None)
