"""The names and the end of passkeys; made they are at `/auth/passkey/registration`, where the browser's proof goes."""

from typing import Annotated

import strawberry

from ...jobs.actions import passkeys as actions
from ...jobs.core import passkeys as model
from ...jobs.store.db.transaction import Tx
from ..arguments import INPUT
from ..context import Info
from ..enums import Role
from ..fields import mutates
from ..types.account import Passkey, PasskeyPayload
from .account_inputs import DeletePasskeyInput, RenamePasskeyInput
from .accounts import signed_in
from .changes import Done, parse_key, perform_alone


@strawberry.type
class PasskeyMutations:
    """What one does to passkeys of one's own."""

    @mutates(description="Calls a passkey of one's own something else. Not possible by a token.", requires=Role.VIEWER)
    async def rename_passkey(self, info: Info, input: Annotated[RenamePasskeyInput, INPUT]) -> PasskeyPayload:
        """The renamed passkey."""

        def action(tx: Tx) -> model.Passkey:
            account = signed_in(tx, info)
            return actions.rename(tx, parse_key(input.id, "id"), account.id, input.name)

        return _payload(await perform_alone(info, input, action))

    @mutates(
        description="Forgets a passkey of one's own, unless it is the last way to sign in. Not possible by a token.",
        requires=Role.VIEWER,
    )
    async def delete_passkey(self, info: Info, input: Annotated[DeletePasskeyInput, INPUT]) -> PasskeyPayload:
        """The passkey as it was."""

        def action(tx: Tx) -> model.Passkey:
            account = signed_in(tx, info)
            return actions.delete(tx, parse_key(input.id, "id"), account.id)

        return _payload(await perform_alone(info, input, action))


def _payload(done: Done[model.Passkey]) -> PasskeyPayload:
    passkey = None if done.result is None else Passkey.from_model(done.result)
    return PasskeyPayload(passkey=passkey, errors=done.errors)
