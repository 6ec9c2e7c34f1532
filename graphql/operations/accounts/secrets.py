"""Secrets: set and deleted by administrators, listed for anyone who writes arguments, and never shown."""

from functools import partial
from typing import Annotated

import strawberry

from ....jobs.accounts.actions import secrets as actions
from ...base.arguments import INPUT
from ...base.enums import Role
from ...base.fields import mutates
from ...lists.connections import Connection
from ...lists.declared import SECRET_LIST, listed
from ...resolving.context import Info
from ...types.secret import Secret, SecretDeleted, SecretSet
from ..base.changes import given, perform_once


@strawberry.input(description="A secret to be kept.")
class SetSecretInput:
    """The input of ``setSecret``."""

    name: str = strawberry.field(description="What arguments call it, 1 to 200 characters.")
    value: str = strawberry.field(
        description="Its value, 4 to 65,536 characters. It is encrypted, and never shown again."
    )


@strawberry.input(description="A secret to be deleted.")
class DeleteSecretInput:
    """The input of ``deleteSecret``."""

    name: str = strawberry.field(description="Its name.")
    force: bool | None = strawberry.field(
        description="Delete it although tasks refer to it; their runs fail from then on.", default=strawberry.UNSET
    )


@strawberry.type
class SecretQueries:
    """Which secrets there are."""

    secrets: Connection[Secret] = listed(
        SECRET_LIST,
        lambda: Secret,
        description="The secrets, by name, without their values.",
        requires=Role.OPERATOR,
    )


@strawberry.type
class SecretMutations:
    """Everything that changes secrets."""

    @mutates(requires=Role.ADMIN)
    async def set_secret(self, info: Info, input: Annotated[SetSecretInput, INPUT]) -> SecretSet:
        """Keeps a secret, new or in the place of what it was: what starts from then on gets the new value."""
        action = partial(actions.set_secret, name=input.name, value=input.value, ring=info.context.keys())
        done = await perform_once(info, input, action)
        return done.answer(SecretSet, secret=Secret.from_model)

    @mutates(requires=Role.ADMIN)
    async def delete_secret(self, info: Info, input: Annotated[DeleteSecretInput, INPUT]) -> SecretDeleted:
        """Deletes a secret; refused with code IN_USE as long as tasks refer to it."""
        action = partial(actions.delete_secret, name=input.name, force=bool(given(input.force)))
        done = await perform_once(info, input, action)
        return done.answer(SecretDeleted, deleted_name=lambda gone: gone.name)
