"""Personal API tokens: made for an account, with its role or a lower one, shown once, revoked for good."""

from dataclasses import dataclass
from datetime import datetime

from ...core.actor import Role, lesser
from ...core.base.errors import InvalidInput, InvalidState, NotFound
from ...core.rules import check_name
from ...store.db.transaction import Tx, Wake
from ..read import sessions as stored_sessions
from ..rules.accounts import Account
from ..rules.sessions import ApiToken
from ..write import sessions
from .accounts import name_of

MAX_TOKENS = 100
"""Tokens of one account that are not revoked."""


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token to be made.

    Attributes:
        name: What for; only people read it.
        role: At most the account's, and at most that of who asks.
        token_hash: The stored form of the secret.
        shown: The beginning of the secret.
        expires_at: None = it lasts until it is revoked.
    """

    name: str
    role: Role
    token_hash: str
    shown: str
    expires_at: datetime | None = None


def create_token(tx: Tx, account: Account, new: NewToken) -> ApiToken:
    """Make a token of an account.

    Raises:
        InvalidInput: the role is too high, the name none, or the time past.
        InvalidState: the account is disabled, or has too many tokens.
    """
    check_name(new.name, "name")
    limit = account.role if tx.actor is None else lesser(account.role, tx.actor.role)
    if not limit.includes(new.role):
        raise InvalidInput(
            f"role: must be at most '{limit.value}', the role that {account.name} has here, got '{new.role.value}'",
            path=("role",),
        )
    if new.expires_at is not None and new.expires_at <= tx.now:
        raise InvalidInput(f"expiresAt: must be in the future, got {new.expires_at.isoformat()}", path=("expiresAt",))
    if account.disabled_at is not None:
        raise InvalidState(f"account '{account.name}' is disabled; enable it first")
    if len(stored_sessions.tokens_of(tx.conn, [account.id])) >= MAX_TOKENS:
        raise InvalidState(f"account '{account.name}' has {MAX_TOKENS} tokens, the most there may be; revoke some")
    token = ApiToken(0, account.id, new.name, new.shown, new.role, tx.now, new.expires_at, None, None)
    made = sessions.insert_token(tx.conn, new.token_hash, token)
    tx.record("token.created", account.name, after=_described(made))
    return made


def revoke_token(tx: Tx, token_id: int, *, account_id: int | None = None) -> ApiToken:
    """Make a token worthless.

    Args:
        tx: The transaction.
        token_id: Its key.
        account_id: Whose it must be; None = anybody's.

    Raises:
        NotFound: there is none, or it is revoked already.
    """
    revoked = sessions.revoke_token(tx.conn, token_id, account_id, tx.now)
    if revoked is None:
        raise NotFound(f"id: there is no token {token_id}, or it is revoked already", path=("id",))
    tx.wake(Wake.RIGHTS)
    tx.record("token.revoked", name_of(tx, revoked.account_id), before=_described(revoked))
    return revoked


def _described(token: ApiToken) -> dict[str, str | int | None]:
    expires = token.expires_at.isoformat() if token.expires_at else None
    return {"id": token.id, "name": token.name, "role": token.role.value, "expires_at": expires}
