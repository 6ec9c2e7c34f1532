"""The ways into an account of one's own: the names and the end of passkeys, and the end of identities at providers.

Passkeys are made at ``/auth/passkey/registration``, where the browser's proof goes.
"""

from typing import Annotated

import strawberry

from ....jobs.accounts.actions import passkeys as actions
from ....jobs.accounts.actions import providers as provider_actions
from ....jobs.accounts.rules import passkeys as model
from ....jobs.accounts.rules.providers import ProviderIdentity as ProviderIdentityModel
from ....jobs.store.db.transaction import Tx
from ...base.arguments import INPUT
from ...base.enums import Role
from ...base.fields import mutates
from ...resolving.context import Info
from ...types.account import IdentityDeleted, Passkey, PasskeyChanged, ProviderIdentity
from ..base.changes import parse_key, perform_once
from .account_inputs import DeleteIdentityInput, DeletePasskeyInput, RenamePasskeyInput
from .accounts import signed_in


@strawberry.type
class LoginMethodMutations:
    """What one does to the ways into one's own account."""

    @mutates(requires=Role.VIEWER)
    async def rename_passkey(self, info: Info, input: Annotated[RenamePasskeyInput, INPUT]) -> PasskeyChanged:
        """Calls a passkey of one's own something else. Not possible by a token."""

        def action(tx: Tx) -> model.Passkey:
            account = signed_in(tx, info)
            return actions.rename(tx, parse_key(input.id, "id"), account.id, input.name)

        done = await perform_once(info, input, action)
        return done.answer(PasskeyChanged, passkey=Passkey.from_model)

    @mutates(requires=Role.VIEWER)
    async def delete_passkey(self, info: Info, input: Annotated[DeletePasskeyInput, INPUT]) -> PasskeyChanged:
        """Forgets a passkey of one's own, unless it is the last way to sign in. Not possible by a token."""

        def action(tx: Tx) -> model.Passkey:
            account = signed_in(tx, info)
            return actions.delete(tx, parse_key(input.id, "id"), account.id)

        done = await perform_once(info, input, action)
        return done.answer(PasskeyChanged, passkey=Passkey.from_model)

    @mutates(requires=Role.VIEWER)
    async def delete_identity(self, info: Info, input: Annotated[DeleteIdentityInput, INPUT]) -> IdentityDeleted:
        """Forgets who one is at a provider, unless it is the last way to sign in. Not possible by a token."""

        def action(tx: Tx) -> ProviderIdentityModel:
            account = signed_in(tx, info)
            return provider_actions.disconnect(tx, parse_key(input.id, "id"), account.id)

        done = await perform_once(info, input, action)
        return done.answer(IdentityDeleted, identity=ProviderIdentity.from_model)
