"""The names and the end of passkeys; made they are at `/auth/passkey/registration`, where the browser's proof goes."""

from typing import Annotated, TypeVar

import strawberry

from ...jobs.actions import passkeys as actions
from ...jobs.core import passkeys as model
from ...jobs.store.db.transaction import Tx
from ..arguments import INPUT
from ..context import Info
from ..enums import Role
from ..fields import mutates
from ..types.account import DeletePasskeyPayload, Passkey, PasskeyChanged, RenamePasskeyPayload
from .account_inputs import DeletePasskeyInput, RenamePasskeyInput
from .accounts import signed_in
from .changes import Done, parse_key, perform_alone


@strawberry.type
class PasskeyMutations:
    """What one does to passkeys of one's own."""

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


P = TypeVar("P", bound=PasskeyChanged)


def _payload(kind: type[P], done: Done[model.Passkey]) -> P:
    passkey = None if done.result is None else Passkey.from_model(done.result)
    return kind(passkey=passkey, errors=done.errors)
