"""Secrets: set and deleted by administrators, listed for anyone who writes arguments, and never shown."""

from datetime import datetime
from functools import partial
from typing import Final

import strawberry

from ....jobs.accounts.actions import secrets as actions
from ....jobs.accounts.rules.secrets import Secret as SecretModel
from ....jobs.accounts.statements.secrets import SECRETS
from ...base.enums import Described, Role, described
from ...base.fields import Size, mutates, resolved
from ...execution.shown import FromModel
from ...lists.connections import Connection
from ...lists.declared import kind_of, listed
from ...lists.filters import DateTimeFilter, RowFilter, StringFilter, condition, filter_of
from ...resolving.context import Info
from ...types.common import MutationPayload
from ..base.changes import given, kept_whole, perform, perform_once
from ..base.inputs import MutationInput, TriedInput


@filter_of("A filter of secrets.")
class SecretFilter(RowFilter):
    """Conditions on secrets."""

    name: StringFilter | None = condition("The name of the secret.")
    key_id: StringFilter | None = condition("The key that it is encrypted with.")
    created_at: DateTimeFilter | None = condition("The time when the secret was first set.")
    created_by: StringFilter | None = condition("The person or program that first set the secret.")
    updated_at: DateTimeFilter | None = condition("The time when the secret was last set.")
    updated_by: StringFilter | None = condition("The person or program that last set the secret.")


@described("A field by which secrets can be ordered; by name unless given.")
class SecretOrderField(Described):
    """Fields of secrets to order by."""

    NAME = "name", "The name."
    CREATED_AT = "created_at", "The time when the secret was first set."
    UPDATED_AT = "updated_at", "The time when the secret was last set."


SECRET_LIST: Final = kind_of(SECRETS, SecretFilter, SecretOrderField, "secrets")


USERS_SHOWN = 10


@strawberry.type(
    description='A secret: `{"$secret": "its name"}` in arguments stands for its value, which no field shows.'
)
class Secret(FromModel):
    """A secret without its value."""

    name: str = strawberry.field(description="The name of the secret, by which arguments refer to it.")
    key_id: str = strawberry.field(description="The `id` of the key with which the secret is encrypted.")
    created_at: datetime = strawberry.field(description="The time when the secret was first set.")
    created_by: str = strawberry.field(description="The person or program that first set the secret.")
    updated_at: datetime = strawberry.field(description="The time when the secret was last set.")
    updated_by: str = strawberry.field(description="The person or program that last set the secret.")

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


@strawberry.input(description="The secret that `setSecret` keeps.")
class SetSecretInput(TriedInput):
    """The input of ``setSecret``."""

    name: str = strawberry.field(description="The name by which arguments refer to the secret, 1 to 200 characters.")
    value: str = strawberry.field(
        description="The value of the secret, 4 to 65,536 characters. It is encrypted, and never shown again."
    )


@strawberry.input(description="The secret that `deleteSecret` deletes.")
class DeleteSecretInput(MutationInput):
    """The input of ``deleteSecret``."""

    name: str = strawberry.field(description="The name of the secret to delete.")
    force: bool | None = strawberry.field(
        description="True deletes the secret although tasks, hooks or channels refer to it; they fail from then on. "
        "False unless given.",
        default=strawberry.UNSET,
    )


GONE: Final = kept_whole(SecretModel)


@strawberry.type
class SecretQueries:
    """Queries of secrets."""

    secrets: Connection[Secret] | None = listed(
        SECRET_LIST,
        lambda: Secret,
        description="The secrets, by name, without their values.",
        requires=Role.OPERATOR,
    )


@strawberry.type
class SecretMutations:
    """Everything that changes secrets."""

    @mutates(requires=Role.ADMIN)
    async def set_secret(self, info: Info, input: SetSecretInput) -> SecretSet:
        """Stores a secret, or replaces its value: attempts that start from then on get the new value."""
        action = partial(actions.set_secret, name=input.name, value=input.value, ring=info.context.keys())
        done = await perform_once(info, input, action)
        return done.answer(SecretSet, secret=Secret.from_model)

    @mutates(requires=Role.ADMIN)
    async def delete_secret(self, info: Info, input: DeleteSecretInput) -> SecretDeleted:
        """Deletes a secret; refused with code IN_USE as long as tasks, hooks or channels refer to it."""
        action = partial(actions.delete_secret, name=input.name, force=bool(given(input.force)))
        done = await perform(info, input, action, GONE)
        return done.answer(SecretDeleted, deleted_name=lambda gone: gone.name)
