"""Accounts, their credentials, and their audited actions."""

from datetime import datetime
from typing import ClassVar, Final, Self

import strawberry
from strawberry.scalars import JSON

from ...jobs.accounts.rules import sessions as session_model
from ...jobs.accounts.rules.sessions import CredentialKind
from ...jobs.accounts.statements import accounts, identities, sessions
from ...jobs.accounts.statements import identities as stored_identities
from ...jobs.accounts.statements.accounts import ACCOUNTS
from ...jobs.accounts.statements.audit import AUDIT
from ...jobs.core.actor import described
from ..base.enums import Described, Role, describe
from ..base.enums import described as with_description
from ..base.fields import SHOWN, resolved
from ..execution.shown import FromModel, Makers
from ..lists.declared import kind_of
from ..lists.filters import DateTimeFilter, Filter, IdFilter, RowFilter, StringFilter, condition, filter_of
from ..resolving.context import Info, Person
from .common import MutationPayload


@filter_of("A filter of accounts.")
class AccountFilter(RowFilter):
    """Conditions on accounts."""

    name: StringFilter | None = condition("The name of the account.")
    role: Filter[Role] | None = condition("The role of the account.")
    disabled_at: DateTimeFilter | None = condition(
        "The time since which nobody may sign in with the account; no value = it is enabled."
    )
    created_at: DateTimeFilter | None = condition("The time when the account was made.")


@with_description("A field by which accounts can be ordered; by name unless given.")
class AccountOrderField(Described):
    """Fields of accounts to order by."""

    NAME = "name_key", "The name; upper and lower case are the same."
    CREATED_AT = "created_at", "The time when the account was made."


ACCOUNT_LIST: Final = kind_of(ACCOUNTS, AccountFilter, AccountOrderField, "accounts")


@filter_of("A filter of entries of the audit log.")
class AuditFilter(RowFilter):
    """Conditions on entries of the audit log."""

    id: IdFilter | None = condition("The number of the entry.")
    at: DateTimeFilter | None = condition("The time of the action.")
    actor: StringFilter | None = condition("The person or program that acted.")
    address: StringFilter | None = condition("The address from which the request came.")
    action: StringFilter | None = condition("The action: the name of a mutation, or a word such as `sign_in.failed`.")
    subject: StringFilter | None = condition("The object of the action.")


@with_description("A field by which entries of the audit log can be ordered; newest first unless given.")
class AuditOrderField(Described):
    """Fields of entries to order by."""

    ID = "id", "The number of the entry, in the order in which they were written."


AUDIT_LIST: Final = kind_of(AUDIT, AuditFilter, AuditOrderField, "entries")


describe(
    CredentialKind,
    "A kind of credential.",
    {
        CredentialKind.BROWSER: "A browser session.",
        CredentialKind.CLI: "A sign-in of the command line.",
        CredentialKind.TOKEN: "A personal API token.",
    },
)


@strawberry.type(description="A person or a program that may sign in. Accounts are disabled, never deleted.")
class Account(FromModel):
    """An account."""

    name: str = strawberry.field(description="The name of the account; upper and lower case are the same.")
    role: Role = strawberry.field(description="The role of the account, which gives its rights.")
    has_password: bool = strawberry.field(description="Whether the account can sign in with a password.")
    disabled_at: datetime | None = strawberry.field(
        description="The time since which nobody may sign in with the account; null if it is enabled."
    )
    created_at: datetime = strawberry.field(description="The time when the account was made.")


@strawberry.type(description="A sign-in that lasts.")
class Session(FromModel):
    """A session of an account."""

    id: strawberry.ID = strawberry.field(description="The decimal key of the session.")
    kind: CredentialKind = strawberry.field(
        description="The kind of the credential: a browser session, the command line, or a token."
    )
    created_at: datetime = strawberry.field(description="The time of the sign-in.")
    last_seen_at: datetime = strawberry.field(
        description="The time when the session was last used, give or take a minute."
    )
    expires_at: datetime = strawberry.field(description="The time when the session ends unless it is used.")
    address: str | None = strawberry.field(description="The network address from which the session was begun.")
    agent: str | None = strawberry.field(description="The name that the browser gave itself.")
    current: bool = strawberry.field(name="isCurrent", description="Whether this request was made with the session.")


@strawberry.type(description="A personal API token, without its secret.")
class ApiToken(FromModel):
    """A token of an account."""

    id: strawberry.ID = strawberry.field(description="The decimal key of the token.")
    name: str = strawberry.field(description="The purpose of the token, in words.")
    shown: str = strawberry.field(description="The beginning of the secret, to recognise it.")
    role: Role = strawberry.field(
        description="The role of the token. It holds only as far as the account has that role."
    )
    created_at: datetime = strawberry.field(description="The time when the token was made.")
    expires_at: datetime | None = strawberry.field(description="The time when the token ends; null = never.")
    last_used_at: datetime | None = strawberry.field(
        description="The time when the token was last used, give or take a minute; null if it never was."
    )


@strawberry.type(description="A passkey: a key pair of a device, by which one signs in without name and password.")
class Passkey(FromModel):
    """A passkey of an account."""

    id: strawberry.ID = strawberry.field(description="The decimal key of the passkey.")
    name: str = strawberry.field(description="The name that its owner gave the passkey.")
    created_at: datetime = strawberry.field(description="The time when the passkey was made.")
    last_used_at: datetime | None = strawberry.field(
        description="The time when the owner last signed in with the passkey; null if that never happened."
    )


@strawberry.type(description="A person at an identity provider (OpenID Connect), through whom an account can sign in.")
class ProviderIdentity(FromModel):
    """The account's identity at a provider."""

    id: strawberry.ID = strawberry.field(description="The decimal key of the identity.")
    provider: str = strawberry.field(description="The key of the provider in the configuration.")
    issuer: str = strawberry.field(description="The name that the provider gives itself.")
    subject: str = strawberry.field(description="The key of the person at the provider.")
    created_at: datetime = strawberry.field(description="The time when the identity was connected.")
    last_used_at: datetime | None = strawberry.field(
        description="The time when the owner last signed in with the identity; null if that never happened."
    )


@strawberry.type(description="The person or program that sent the request.")
class Viewer:
    """The person or program behind the request."""

    name: str = strawberry.field(
        description="The name of the caller; the server writes it into everything that the caller changes."
    )
    role: Role = strawberry.field(description="The role of the caller, which gives the caller's rights.")

    @classmethod
    def from_person(cls, person: Person) -> Self:
        """Return the data behind the person of the context."""
        return cls(name=person.name, role=person.role)

    @resolved()
    async def has_password(self, info: Info) -> bool:
        """True if the caller can sign in with a password."""
        known = info.context.person.account_id
        account = None if known is None else await info.context.database.read(accounts.by_id, known)
        return account is not None and account.has_password

    @resolved(size=SHOWN)
    async def tokens(self, info: Info) -> list[ApiToken]:
        """The API tokens of the caller that are not revoked, the newest first."""
        mine = _account_ids(info)
        return [ApiToken.from_model(one) for one in await info.context.database.read(sessions.tokens_of, mine)]

    @resolved(size=SHOWN)
    async def sessions(self, info: Info) -> list[Session]:
        """The sign-ins of the caller that have not ended, the one used last first; at most 200."""
        now = await info.context.database.server_time()
        found = await info.context.database.read(sessions.sessions_of, _account_ids(info), now)
        return [Session.from_model(one, current=_is_mine(one, info.context.person)) for one in found[:200]]

    @resolved(size=SHOWN)
    async def passkeys(self, info: Info) -> list[Passkey]:
        """The passkeys of the caller, the oldest first."""
        found = await info.context.database.read(identities.passkeys_of, _account_ids(info))
        return [Passkey.from_model(one) for one in found]

    @resolved(size=SHOWN)
    async def identities(self, info: Info) -> list[ProviderIdentity]:
        """The identities of the caller at providers, the oldest first; at most 200."""
        found = await info.context.database.read(stored_identities.identities_of, _account_ids(info))
        return [ProviderIdentity.from_model(one) for one in found[:200]]


@strawberry.type(description="One entry of the audit log.")
class AuditEntry(FromModel):
    """An entry of the audit log: the actor and the change."""

    id: strawberry.ID = strawberry.field(description="The number of the entry; there are no gaps.")
    at: datetime = strawberry.field(description="The time of the action.")
    actor: str = strawberry.field(description="The person or program that acted.")
    address: str | None = strawberry.field(
        description="The network address from which the request came; null if there was no request."
    )
    action: str = strawberry.field(
        description="The action: the name of a mutation, or a word such as `sign_in.failed`."
    )
    subject: str | None = strawberry.field(description="The object of the action; null if there is none.")
    before: JSON | None = strawberry.field(description="The former values of the fields that changed.")
    after: JSON | None = strawberry.field(
        description="The new values of the fields that changed, or the values that were asked for."
    )

    MADE: ClassVar[Makers] = {
        "before": lambda entry: described(entry.before),
        "after": lambda entry: described(entry.after),
    }


@strawberry.type
class AccountChanged(MutationPayload):
    """An account or errors."""

    account: Account | None = strawberry.field(description="The account as it is now.", default=None)
    recovery_path: str | None = strawberry.field(
        description="The path of a link by which its owner sets a password, once and within 24 hours, if one was asked "
        "for. It is shown this once.",
        default=None,
    )


@strawberry.type
class ApiTokenRevoked(MutationPayload):
    """A token or errors."""

    token: ApiToken | None = strawberry.field(description="The token.", default=None)


@strawberry.type
class ApiTokenMade(ApiTokenRevoked):
    """A token with its secret, or errors."""

    secret: str | None = strawberry.field(description="The secret of a new token. It is shown this once.", default=None)


@strawberry.type
class PasskeyChanged(MutationPayload):
    """A passkey or errors."""

    passkey: Passkey | None = strawberry.field(description="The passkey; a deleted one as it was.", default=None)


@strawberry.type
class IdentityDeleted(MutationPayload):
    """An identity or errors."""

    identity: ProviderIdentity | None = strawberry.field(description="The identity as it was.", default=None)


@strawberry.type
class SessionsEnded(MutationPayload):
    """The number of ended sessions, or errors."""

    ended: int = strawberry.field(description="How many sessions ended.", default=0)


def _account_ids(info: Info) -> list[int]:
    mine = info.context.person.account_id
    return [] if mine is None else [mine]


def _is_mine(session: session_model.Session, person: Person) -> bool:
    mine = person.identity
    return mine is not None and (mine.kind, mine.credential_id) == (session.kind, session.id)
