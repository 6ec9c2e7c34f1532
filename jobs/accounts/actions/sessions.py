"""Sign in and out, and make tokens. A wrong password counts before it is looked at, so tries at once get no more."""

from dataclasses import dataclass
from datetime import datetime

from ...core.actor import Actor, Role, lesser
from ...core.base.errors import InvalidInput, InvalidState, NotFound
from ...core.base.times import time_text
from ...core.rules import check_name
from ...store.db.transaction import Tx, Wake
from ..rules.accounts import Account, name_key
from ..rules.credentials import ACCOUNT_THROTTLE, ADDRESS_THROTTLE, ThrottlePolicy, account_subject, address_subject
from ..rules.sessions import SEEN_EVERY, ApiToken, CredentialKind, Session, session_end
from ..statements import accounts
from ..statements import sessions as stored_sessions
from ..statements.sessions import Found
from .accounts import count_try, name_of, set_password, take_back

MAX_TOKENS = 100
"""Tokens of one account that are not revoked."""


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token to be made.

    Attributes:
        name: The purpose of the token; only people read it.
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
    check_name(new.name)
    limit = account.role if tx.actor is None else lesser(account.role, tx.actor.role)
    if not limit.includes(new.role):
        raise InvalidInput(
            f"role: must be at most '{limit.value}', the role that {account.name} has here, got '{new.role.value}'",
            path=("role",),
        )
    if new.expires_at is not None and new.expires_at <= tx.now:
        raise InvalidInput(f"expiresAt: must be in the future, got {time_text(new.expires_at)}", path=("expiresAt",))
    if account.disabled_at is not None:
        raise InvalidState(f"account '{account.name}' is disabled; enable it first")
    if len(stored_sessions.tokens_of(tx.conn, [account.id])) >= MAX_TOKENS:
        raise InvalidState(f"account '{account.name}' has {MAX_TOKENS} tokens, the most there may be; revoke some")
    token = ApiToken(0, account.id, new.name, new.shown, new.role, tx.now, new.expires_at, None, None)
    made = stored_sessions.insert_token(tx.conn, new.token_hash, token)
    tx.record("token.created", account.name, after=_described(made))
    return made


def revoke_token(tx: Tx, token_id: int, *, account_id: int | None = None) -> ApiToken:
    """Revoke a token.

    Args:
        account_id: Whose it must be; None = anybody's.

    Raises:
        NotFound: there is none, or it is revoked already.
    """
    revoked = stored_sessions.revoke_token(tx.conn, token_id, account_id, tx.now)
    if revoked is None:
        raise NotFound(f"id: there is no token {token_id}, or it is revoked already", path=("id",))
    tx.wake(Wake.RIGHTS)
    tx.record("token.revoked", name_of(tx, revoked.account_id), before=_described(revoked))
    return revoked


def _described(token: ApiToken) -> dict[str, str | int | None]:
    expires = time_text(token.expires_at) if token.expires_at else None
    return {"id": token.id, "name": token.name, "role": token.role.value, "expires_at": expires}


MAX_AGENT = 200
MAX_ADDRESS = 60


@dataclass(frozen=True, slots=True)
class Attempt:
    """Hold the facts about an attempt to sign in.

    Attributes:
        wait: Seconds before which nothing is looked at; 0 = now.
        account: Whom the name means; None if nobody.
        password_hash: The stored hash; None without an account or without a password.
    """

    wait: float
    account: Account | None = None
    password_hash: str | None = None


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """Describe the origin of a request: its address, and the browser's name for itself."""

    address: str
    agent: str | None = None


def begin_attempt(tx: Tx, name: str, place: ClientInfo) -> Attempt:
    """Look up who wants to sign in, and count a failure until it turns out otherwise."""
    wait = count_try(tx, _subjects(name, place))
    if wait > 0:
        return Attempt(wait)
    account = accounts.by_name(tx.conn, name)
    return Attempt(0, account, accounts.password_hash(tx.conn, account.id) if account else None)


def fail(tx: Tx, attempt: Attempt, place: ClientInfo) -> None:
    """Note a failed sign-in. An unknown name is not written down: it may be a password in the wrong place."""
    name = attempt.account.name if attempt.account else "(unknown name)"
    tx.actor = Actor("(nobody)", Role.VIEWER, address=place.address[:MAX_ADDRESS])
    tx.record("sign_in.failed", name)


def succeed(tx: Tx, attempt: Attempt, token_hash: str, place: ClientInfo) -> Session | None:
    """Begin a browser session after the right password; None if the account changed meanwhile or is disabled."""
    before = attempt.account
    account = accounts.by_id(tx.conn, before.id) if before else None
    if account is None or account.disabled_at is not None:
        return None
    if accounts.password_hash(tx.conn, account.id) != attempt.password_hash:
        return None
    mine, (theirs, policy) = _subjects(account.name, place)
    accounts.forgive_failures(tx.conn, mine[0])
    # Others behind this address may be guessing: only this attempt is taken back.
    take_back(tx, theirs, policy)
    return start(tx, account, token_hash, place, by="password")


def change_password(tx: Tx, attempt: Attempt, password_hash: str, token_hash: str, place: ClientInfo) -> Session | None:
    """Set the password of one who has just given the old one; all his sign-ins end, and a new one begins.

    None if the account changed meanwhile or is disabled.
    """
    begun = succeed(tx, attempt, token_hash, place)
    if begun is None or attempt.account is None:
        return None
    set_password(tx, attempt.account.name, password_hash, keep_session=begun.id)
    return begun


def start(tx: Tx, account: Account, token_hash: str, place: ClientInfo, *, by: str) -> Session:
    """Begin a browser session of an account that has proved itself; ``by`` names the proof in the audit log."""
    agent = place.agent[:MAX_AGENT] if place.agent else None
    address = place.address[:MAX_ADDRESS]
    ends = session_end(tx.now, tx.now)
    new = Session(0, account.id, CredentialKind.BROWSER, tx.now, tx.now, ends, address, agent)
    tx.actor = Actor(account.name, account.role, account.id, address)
    tx.record("sign_in.succeeded", account.name, after={"by": by})
    session_id = stored_sessions.insert_session(tx.conn, account.id, token_hash, new)
    return Session(session_id, account.id, new.kind, tx.now, tx.now, ends, address, agent)


def note_use(tx: Tx, found: Found) -> None:
    """Note that a credential is used; a browser session lasts longer by that."""
    identity = found.identity
    if identity.kind is CredentialKind.TOKEN:
        stored_sessions.use_token(tx.conn, identity.credential_id, tx.now)
        return
    lasts_longer = identity.kind is CredentialKind.BROWSER and found.created_at is not None
    ends = session_end(found.created_at, tx.now) if lasts_longer and found.created_at else None
    stored_sessions.see_session(tx.conn, identity.credential_id, tx.now, ends)


def is_use_due(found: Found, now: datetime) -> bool:
    """Return whether the use of a credential is to be noted: not more often than once a minute."""
    return found.seen_at is None or now - found.seen_at >= SEEN_EVERY


def end_session(tx: Tx, account_id: int, session_id: int) -> None:
    """End one sign-in of an account.

    Raises:
        NotFound: it has no such session.
    """
    if not stored_sessions.delete_session(tx.conn, session_id, account_id, tx.now):
        raise NotFound(f"sessions.id: there is no session {session_id}; it may have ended", path=("sessions", "id"))
    tx.wake(Wake.RIGHTS)
    tx.record("session.ended", name_of(tx, account_id))


def sign_out(tx: Tx, account_id: int, session_id: int) -> None:
    """End the sign-in that somebody leaves; it may have ended meanwhile."""
    if stored_sessions.delete_session(tx.conn, session_id, account_id, tx.now):
        tx.wake(Wake.RIGHTS)
        tx.record("session.ended", name_of(tx, account_id))


def end_all_sessions(tx: Tx, account_id: int, *, but: int | None = None) -> int:
    """End the sign-ins of an account, all or all but one; returns how many."""
    ended = stored_sessions.delete_sessions_of(tx.conn, account_id, tx.now, but=but)
    if ended:
        tx.wake(Wake.RIGHTS)
        tx.record("session.ended", name_of(tx, account_id), after={"sessions": ended})
    return ended


def _subjects(name: str, place: ClientInfo) -> list[tuple[str, ThrottlePolicy]]:
    return [(account_subject(name_key(name)), ACCOUNT_THROTTLE), (address_subject(place.address), ADDRESS_THROTTLE)]
