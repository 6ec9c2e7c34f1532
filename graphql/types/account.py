"""Accounts, what they sign in with, and what they did."""

from datetime import datetime
from typing import ClassVar, Final, Self

import strawberry
from strawberry.scalars import JSON

from ...jobs.accounts.read import accounts, passkeys, providers, sessions
from ...jobs.accounts.read.accounts import ACCOUNTS
from ...jobs.accounts.read.audit import AUDIT
from ...jobs.accounts.rules import sessions as session_model
from ...jobs.accounts.rules.sessions import CredentialKind
from ...jobs.core.audit import described
from ...jobs.store.read.clock import server_time
from ..base.enums import Role, describe
from ..base.fields import SHOWN, resolved
from ..execution.shown import FromModel, Makers
from ..lists.declared import Kind
from ..lists.filters import DateTimeFilter, Filter, IdFilter, RowFilter, StringFilter, condition, filter_of
from ..resolving.context import Info, Person
from .common import MutationPayload


@filter_of("Which accounts.")
class AccountFilter(RowFilter):
    """Conditions on accounts."""

    name: StringFilter | None = condition("The name.")
    role: Filter[Role] | None = condition("What its owner may do.")
    disabled_at: DateTimeFilter | None = condition("Since when nobody may sign in with it; no value = one may.")
    created_at: DateTimeFilter | None = condition("When it was made.")


ACCOUNT_LIST: Final = Kind(ACCOUNTS, AccountFilter, None, "Which accounts.")


@filter_of("Which entries of the audit log.")
class AuditFilter(RowFilter):
    """Conditions on entries of the audit log."""

    id: IdFilter | None = condition("The number.")
    at: DateTimeFilter | None = condition("When it was done.")
    actor: StringFilter | None = condition("Who did it.")
    address: StringFilter | None = condition("Where the request came from.")
    action: StringFilter | None = condition("What was done.")
    subject: StringFilter | None = condition("What it was done to.")


AUDIT_LIST: Final = Kind(AUDIT, AuditFilter, None, "Which entries.")


describe(
    CredentialKind,
    "What somebody signed in with.",
    {
        CredentialKind.BROWSER: "A browser session.",
        CredentialKind.CLI: "A sign-in of the command line.",
        CredentialKind.TOKEN: "A personal API token.",
    },
)


@strawberry.type(description="A person or a program that may sign in. Accounts are disabled, never deleted.")
class Account(FromModel):
    """An account."""

    name: str = strawberry.field(description="Its name; upper and lower case are the same.")
    role: Role = strawberry.field(description="What it may do.")
    has_password: bool = strawberry.field(description="Whether it can sign in with a password.")
    disabled_at: datetime | None = strawberry.field(description="Since when nobody may sign in with it.")
    created_at: datetime = strawberry.field(description="When it was made.")


@strawberry.type(description="A sign-in that lasts.")
class Session(FromModel):
    """A session of an account."""

    id: strawberry.ID = strawberry.field(description="The decimal key.")
    kind: CredentialKind = strawberry.field(description="Of what.")
    created_at: datetime = strawberry.field(description="When it began.")
    last_seen_at: datetime = strawberry.field(description="When it was last used, give or take a minute.")
    expires_at: datetime = strawberry.field(description="When it ends unless it is used.")
    address: str | None = strawberry.field(description="Where it was begun from.")
    agent: str | None = strawberry.field(description="What the browser said it is.")
    current: bool = strawberry.field(description="Whether this request came by it.")


@strawberry.type(description="A personal API token, without its secret.")
class ApiToken(FromModel):
    """A token of an account."""

    id: strawberry.ID = strawberry.field(description="The decimal key.")
    name: str = strawberry.field(description="What it is for.")
    shown: str = strawberry.field(description="The beginning of the secret, to know it again.")
    role: Role = strawberry.field(description="What it may do, as long as the account may.")
    created_at: datetime = strawberry.field(description="When it was made.")
    expires_at: datetime | None = strawberry.field(description="When it ends; null = never.")
    last_used_at: datetime | None = strawberry.field(description="When it was last used, give or take a minute.")


@strawberry.type(description="A passkey: a key pair of a device, by which one signs in without name and password.")
class Passkey(FromModel):
    """A passkey of an account."""

    id: strawberry.ID = strawberry.field(description="The decimal key.")
    name: str = strawberry.field(description="What its owner calls it.")
    created_at: datetime = strawberry.field(description="When it was made.")
    last_used_at: datetime | None = strawberry.field(description="When its owner last signed in by it.")


@strawberry.type(description="Somebody at a provider of identities (OpenID Connect), by whom an account can sign in.")
class ProviderIdentity(FromModel):
    """The account's identity at a provider."""

    id: strawberry.ID = strawberry.field(description="The decimal key.")
    provider: str = strawberry.field(description="The provider's key in the configuration.")
    issuer: str = strawberry.field(description="The provider's own name.")
    subject: str = strawberry.field(description="Who it is there.")
    created_at: datetime = strawberry.field(description="When it was connected.")
    last_used_at: datetime | None = strawberry.field(description="When its owner last signed in by it.")


@strawberry.type(description="Who asks.")
class Viewer:
    """The person or program behind the request."""

    name: str = strawberry.field(description="Their name; written into what they change.")
    role: Role = strawberry.field(description="What they may do.")

    @classmethod
    def from_person(cls, person: Person) -> Self:
        """The data behind the person of the context."""
        return cls(name=person.name, role=person.role)

    @resolved()
    async def has_password(self, info: Info) -> bool:
        """True if they can sign in by a password."""
        known = info.context.person.account_id
        account = None if known is None else await info.context.database.read(accounts.by_id, known)
        return account is not None and account.has_password

    @resolved(size=SHOWN)
    async def tokens(self, info: Info) -> list[ApiToken]:
        """Their API tokens that are not revoked, the newest first."""
        mine = _account_ids(info)
        return [ApiToken.from_model(one) for one in await info.context.database.read(sessions.tokens_of, mine)]

    @resolved(size=SHOWN)
    async def sessions(self, info: Info) -> list[Session]:
        """Their sign-ins that have not ended, the one used last first."""
        now = await server_time(info.context.database)
        found = await info.context.database.read(sessions.sessions_of, _account_ids(info), now)
        return [Session.from_model(one, current=_is_mine(one, info.context.person)) for one in found[:200]]

    @resolved(size=SHOWN)
    async def passkeys(self, info: Info) -> list[Passkey]:
        """Their passkeys, the oldest first."""
        found = await info.context.database.read(passkeys.passkeys_of, _account_ids(info))
        return [Passkey.from_model(one) for one in found]

    @resolved(size=SHOWN)
    async def identities(self, info: Info) -> list[ProviderIdentity]:
        """Their identities at providers, the oldest first."""
        found = await info.context.database.read(providers.identities_of, _account_ids(info))
        return [ProviderIdentity.from_model(one) for one in found[:200]]


@strawberry.type(description="One entry of the audit log.")
class AuditEntry(FromModel):
    """An entry of the audit log: the actor and the change."""

    id: strawberry.ID = strawberry.field(description="The number of the entry; there are no gaps.")
    at: datetime = strawberry.field(description="When it was done.")
    actor: str = strawberry.field(description="Who did it.")
    address: str | None = strawberry.field(description="Where the request came from.")
    action: str = strawberry.field(description="What was done: a mutation, or a word such as `sign_in.failed`.")
    subject: str | None = strawberry.field(description="What it was done to.")
    before: JSON | None = strawberry.field(description="What it was, as far as it changed.")
    after: JSON | None = strawberry.field(description="What it is now, or what was asked for.")

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
