"""Accounts, tokens and sessions: who may sign in, and one's own sign-ins."""

from datetime import datetime
from typing import Final

import strawberry

from ....jobs.accounts.actions import accounts as actions
from ....jobs.accounts.actions import passkeys as passkey_actions
from ....jobs.accounts.actions import providers as provider_actions
from ....jobs.accounts.actions import sessions as session_actions
from ....jobs.accounts.actions import sessions as token_actions
from ....jobs.accounts.actions.accounts import fresh_secret
from ....jobs.accounts.rules import accounts as account_model
from ....jobs.accounts.rules import credentials as stored_credentials
from ....jobs.accounts.rules import sessions as session_model
from ....jobs.accounts.rules.accounts import ProviderIdentity as ProviderIdentityModel
from ....jobs.accounts.rules.credentials import Prefix, shown_form, stored_form
from ....jobs.accounts.rules.sessions import CredentialKind
from ....jobs.accounts.statements import accounts
from ....jobs.actions.idempotent import AnswerCodec
from ....jobs.core.base.errors import ErrorCode, InvalidInput
from ....jobs.core.base.errors import UserError as Refusal
from ....jobs.store.db.transaction import Tx
from ...base.enums import Role
from ...base.fields import mutates
from ...lists.connections import Connection
from ...lists.declared import listed
from ...resolving.context import Info
from ...types.account import (
    ACCOUNT_LIST,
    AUDIT_LIST,
    Account,
    AccountChanged,
    ApiToken,
    ApiTokenMade,
    ApiTokenRevoked,
    AuditEntry,
    IdentityDeleted,
    Passkey,
    PasskeyChanged,
    ProviderIdentity,
    SessionsEnded,
)
from ..base.changes import Done, given, is_dry, kept_whole, parse_key, perform, perform_once
from ..base.inputs import MutationInput, TriedInput, optional


@strawberry.input(description="The account that `createAccount` makes.")
class CreateAccountInput(TriedInput):
    """The input of ``createAccount``."""

    name: str = strawberry.field(description="The name of the account, 1 to 100 characters.")
    role: Role = strawberry.field(description="The role of the account: the rights of its owner.")


@strawberry.input(description="The changes of an account that `updateAccount` makes. Absent fields stay as they are.")
class UpdateAccountInput(TriedInput):
    """The input of ``updateAccount``."""

    name: str = strawberry.field(description="The name of the account to change.")
    role: Role | None = strawberry.field(
        description="The new role of the account. Unchanged unless given.", default=strawberry.UNSET
    )
    disabled: bool | None = strawberry.field(
        description="True keeps everybody from signing in with the account, false lets its owner in again. Unchanged "
        "unless given.",
        default=strawberry.UNSET,
    )
    recovery: bool | None = strawberry.field(
        description="True makes a link by which the owner sets a new password. False unless given.",
        default=strawberry.UNSET,
    )


@strawberry.input(description="The API token that `createApiToken` makes.")
class CreateApiTokenInput(TriedInput):
    """The input of ``createApiToken``."""

    name: str = strawberry.field(description="A name that states the purpose of the token, 1 to 200 characters.")
    role: Role = strawberry.field(description="The role of the token, at most your own.")
    expires_at: datetime | None = strawberry.field(
        description="The time at which the token ends. Never unless given.", default=strawberry.UNSET
    )


@strawberry.input(description="The API token that `revokeApiToken` makes worthless.")
class RevokeApiTokenInput(MutationInput):
    """The input of ``revokeApiToken``."""

    id: strawberry.ID = strawberry.field(description="The id of the token to revoke.")


@strawberry.input(one_of=True, description="Exactly one of these says which sessions of your own are meant.")
class SessionSelection:
    """One session, or the others."""

    id: strawberry.ID | None = optional("The id of the session.")
    others: bool | None = optional("Every session but that of this request. Only true is taken.")


@strawberry.input(description="The sign-ins of your own that `endSessions` ends.")
class EndSessionsInput(MutationInput):
    """The input of ``endSessions``."""

    sessions: SessionSelection = strawberry.field(description="The sessions to end.")


@strawberry.input(description="The name that `renamePasskey` gives to a passkey of your own.")
class RenamePasskeyInput(MutationInput):
    """The input of ``renamePasskey``."""

    id: strawberry.ID = strawberry.field(description="The id of the passkey to rename.")
    name: str = strawberry.field(description="The new name of the passkey, 1 to 200 characters.")


@strawberry.input(description="The passkey of your own that `deletePasskey` forgets.")
class DeletePasskeyInput(MutationInput):
    """The input of ``deletePasskey``."""

    id: strawberry.ID = strawberry.field(description="The id of the passkey to delete.")


@strawberry.input(description="The identity at a provider that `deleteIdentity` forgets.")
class DeleteIdentityInput(MutationInput):
    """The input of ``deleteIdentity``."""

    id: strawberry.ID = strawberry.field(description="The id of the identity to delete.")


TOKEN: Final = kept_whole(session_model.ApiToken)
PASSKEY: Final = kept_whole(stored_credentials.Passkey)
IDENTITY: Final = kept_whole(ProviderIdentityModel)
ENDED: Final[AnswerCodec[int]] = AnswerCodec(
    dump=lambda ended: {"ended": ended}, load=lambda _, stored: stored["ended"]
)


@strawberry.type
class AccountQueries:
    """Queries of accounts and of the audit log."""

    accounts: Connection[Account] | None = listed(
        ACCOUNT_LIST, lambda: Account, description="The accounts, by name.", requires=Role.ADMIN
    )

    audit_log: Connection[AuditEntry] | None = listed(
        AUDIT_LIST,
        lambda: AuditEntry,
        description="The audit log: changes and who made them, the newest first.",
        requires=Role.ADMIN,
    )


@strawberry.type
class AccountMutations:
    """Everything that changes accounts, tokens and sessions."""

    @mutates(requires=Role.ADMIN)
    async def create_account(self, info: Info, input: CreateAccountInput) -> AccountChanged:
        """Makes an account. It has no password yet: its owner sets one by the link in `recoveryPath`."""
        secret = fresh_secret(Prefix.LINK)

        def action(tx: Tx) -> account_model.Account:
            made = actions.add_account(tx, input.name, input.role)
            actions.prepare_recovery(tx, made.name, stored_form(secret))
            return made

        return _account(await perform_once(info, input, action), None if is_dry(input) else secret)

    @mutates(requires=Role.ADMIN)
    async def update_account(self, info: Info, input: UpdateAccountInput) -> AccountChanged:
        """Changes an account: its role, whether it may sign in, or gives its owner a link to set a password by.

        A new role and `disabled: true` end its sessions.
        """
        secret = fresh_secret(Prefix.LINK) if given(input.recovery) else None

        def action(tx: Tx) -> account_model.Account:
            changed = actions.the_account(tx, input.name)
            role, disabled = given(input.role), given(input.disabled)
            if role is not None:
                changed = actions.set_role(tx, input.name, role)
            if disabled is not None:
                changed = (actions.disable if disabled else actions.enable)(tx, input.name)
            if secret is not None:
                actions.prepare_recovery(tx, input.name, stored_form(secret))
            return changed

        return _account(await perform_once(info, input, action), None if is_dry(input) else secret)

    @mutates(requires=Role.VIEWER)
    async def create_api_token(self, info: Info, input: CreateApiTokenInput) -> ApiTokenMade:
        """Makes a personal API token of one's own, of at most one's own role. Not possible by a token."""
        secret = fresh_secret(Prefix.API_TOKEN)
        expires: datetime | None = given(input.expires_at)

        def action(tx: Tx) -> session_model.ApiToken:
            account = signed_in(tx, info)
            new = token_actions.NewToken(input.name, input.role, stored_form(secret), shown_form(secret), expires)
            return token_actions.create_token(tx, account, new)

        done = await perform_once(info, input, action)
        return done.answer(ApiTokenMade, token=ApiToken.from_model, secret=lambda _: None if is_dry(input) else secret)

    @mutates(requires=Role.VIEWER)
    async def revoke_api_token(self, info: Info, input: RevokeApiTokenInput) -> ApiTokenRevoked:
        """Makes an API token worthless: one's own; administrators anybody's."""
        person = info.context.person
        # Without an account there are no tokens of one's own, and no account has the key 0.
        whose = None if person.role is Role.ADMIN else (person.account_id or 0)

        def action(tx: Tx) -> session_model.ApiToken:
            return token_actions.revoke_token(tx, parse_key(input.id, "id"), account_id=whose)

        done = await perform(info, input, action, TOKEN)
        return done.answer(ApiTokenRevoked, token=ApiToken.from_model)

    @mutates(requires=Role.VIEWER)
    async def end_sessions(self, info: Info, input: EndSessionsInput) -> SessionsEnded:
        """Ends sign-ins of one's own: one, or all but this one."""

        def action(tx: Tx) -> int:
            account = signed_in(tx, info)
            chosen = given(input.sessions.id)
            if input.sessions.others is False:
                raise InvalidInput("sessions.others: must be true, got false", path=("sessions", "others"))
            if chosen is None:
                identity = info.context.person.identity
                return session_actions.end_all_sessions(
                    tx, account.id, but=identity.credential_id if identity else None
                )
            session_actions.end_session(tx, account.id, parse_key(chosen, "sessions", "id"))
            return 1

        done = await perform(info, input, action, ENDED)
        return done.answer(SessionsEnded, ended=lambda ended: ended)


def signed_in(tx: Tx, info: Info) -> account_model.Account:
    """Return the account of who asks, if he has signed in and does not only show a token.

    Raises:
        UserError: code ``SIGN_IN_NEEDED``.
    """
    person = info.context.person
    account = None if person.account_id is None else accounts.by_id(tx.conn, person.account_id)
    if account is None or person.identity is None or person.identity.kind is CredentialKind.TOKEN:
        raise Refusal(
            "this can be done only by somebody who has signed in, not by an API token nor without an account",
            code=ErrorCode.SIGN_IN_NEEDED,
        )
    return account


def _account(done: Done[account_model.Account], secret: str | None) -> AccountChanged:
    path = None if secret is None else f"/recover?token={secret}"
    return done.answer(AccountChanged, account=Account.from_model, recovery_path=lambda _: path)


@strawberry.type
class LoginMethodMutations:
    """Mutations of the ways into one's own account."""

    @mutates(requires=Role.VIEWER)
    async def rename_passkey(self, info: Info, input: RenamePasskeyInput) -> PasskeyChanged:
        """Calls a passkey of one's own something else. Not possible by a token."""

        def action(tx: Tx) -> stored_credentials.Passkey:
            account = signed_in(tx, info)
            return passkey_actions.rename(tx, parse_key(input.id, "id"), account.id, input.name)

        done = await perform(info, input, action, PASSKEY)
        return done.answer(PasskeyChanged, passkey=Passkey.from_model)

    @mutates(requires=Role.VIEWER)
    async def delete_passkey(self, info: Info, input: DeletePasskeyInput) -> PasskeyChanged:
        """Forgets a passkey of one's own, unless it is the last way to sign in. Not possible by a token."""

        def action(tx: Tx) -> stored_credentials.Passkey:
            account = signed_in(tx, info)
            return passkey_actions.delete(tx, parse_key(input.id, "id"), account.id)

        done = await perform(info, input, action, PASSKEY)
        return done.answer(PasskeyChanged, passkey=Passkey.from_model)

    @mutates(requires=Role.VIEWER)
    async def delete_identity(self, info: Info, input: DeleteIdentityInput) -> IdentityDeleted:
        """Forgets who one is at a provider, unless it is the last way to sign in. Not possible by a token."""

        def action(tx: Tx) -> ProviderIdentityModel:
            account = signed_in(tx, info)
            return provider_actions.disconnect(tx, parse_key(input.id, "id"), account.id)

        done = await perform(info, input, action, IDENTITY)
        return done.answer(IdentityDeleted, identity=ProviderIdentity.from_model)
