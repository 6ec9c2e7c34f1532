"""The ways into an account of one's own: the names and the end of passkeys, and the end of identities at providers.

Passkeys are made at `/auth/passkey/registration`, where the browser's proof goes.
"""

from typing import Annotated, TypeVar

import strawberry

from ...jobs.actions.auth import passkeys as actions
from ...jobs.actions.auth import providers as provider_actions
from ...jobs.core.auth import passkeys as model
from ...jobs.core.auth.providers import ProviderIdentity as ProviderIdentityModel
from ...jobs.store.db.transaction import Tx
from ..arguments import INPUT
from ..context import Info
from ..enums import Role
from ..fields import mutates
from ..types.account import (
    DeleteIdentityPayload,
    DeletePasskeyPayload,
    Passkey,
    PasskeyChanged,
    ProviderIdentity,
    RenamePasskeyPayload,
)
from .account_inputs import DeleteIdentityInput, DeletePasskeyInput, RenamePasskeyInput
from .accounts import signed_in
from .changes import Done, parse_key, perform_alone

P = TypeVar("P", bound=PasskeyChanged)


@strawberry.type
class WayInMutations:
    """What one does to the ways into one's own account."""

    @mutates(description="Calls a passkey of one's own something else. Not possible by a token.", requires=Role.VIEWER)
    async def rename_passkey(self, info: Info, input: Annotated[RenamePasskeyInput, INPUT]) -> RenamePasskeyPayload:
        """The renamed passkey."""

        def action(tx: Tx) -> model.Passkey:
            account = signed_in(tx, info)
            return actions.rename(tx, parse_key(input.id, "id"), account.id, input.name)

        return _payload(RenamePasskeyPayload, await perform_alone(info, input, action))

    @mutates(
        description="Forgets a passkey of one's own, unless it is the last way to sign in. Not possible by a token.",
        requires=Role.VIEWER,
    )
    async def delete_passkey(self, info: Info, input: Annotated[DeletePasskeyInput, INPUT]) -> DeletePasskeyPayload:
        """The passkey as it was."""

        def action(tx: Tx) -> model.Passkey:
            account = signed_in(tx, info)
            return actions.delete(tx, parse_key(input.id, "id"), account.id)

        return _payload(DeletePasskeyPayload, await perform_alone(info, input, action))

    @mutates(
        description="Forgets who one is at a provider, unless it is the last way to sign in. Not possible by a token.",
        requires=Role.VIEWER,
    )
    async def delete_identity(self, info: Info, input: Annotated[DeleteIdentityInput, INPUT]) -> DeleteIdentityPayload:
        """The identity as it was."""

        def action(tx: Tx) -> ProviderIdentityModel:
            account = signed_in(tx, info)
            return provider_actions.disconnect(tx, parse_key(input.id, "id"), account.id)

        done = await perform_alone(info, input, action)
        identity = None if done.result is None else ProviderIdentity.from_model(done.result)
        return DeleteIdentityPayload(identity=identity, errors=done.errors)


def _payload(kind: type[P], done: Done[model.Passkey]) -> P:
    passkey = None if done.result is None else Passkey.from_model(done.result)
    return kind(passkey=passkey, errors=done.errors)
