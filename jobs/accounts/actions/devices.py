"""Signing in the command line: a device asks, somebody decides in a browser, and tokens are renewed."""

import secrets
from dataclasses import dataclass, replace

from ...core.actor import Actor, Role
from ...core.base.errors import ErrorCode, InvalidState
from ...store.db.transaction import Tx, Wake
from ..rules.accounts import Account
from ..rules.credentials import ACCOUNT_THROTTLE, ADDRESS_THROTTLE, address_subject, guess_subject
from ..rules.sessions import (
    ACCESS_LIFETIME,
    CODE_LIFETIME,
    MOST_OPEN,
    REFRESH_LIFETIME,
    SLOWER_BY,
    Answer,
    CredentialKind,
    DeviceRequest,
    RefreshToken,
    Session,
    Use,
    judge_use,
    new_user_code,
)
from ..statements import accounts, sessions
from .accounts import count_try, take_back
from .sessions import MAX_ADDRESS, MAX_AGENT, ClientInfo

DEVICE = Actor("(device)", Role.VIEWER)
"""Acts while nobody has decided yet; the log says that a device did."""


@dataclass(frozen=True, slots=True)
class NewCodes:
    """The stored forms of the codes of a device, and how many seconds it lets pass between two questions."""

    device: str
    user: str
    interval: int


@dataclass(frozen=True, slots=True)
class NewTokens:
    """The stored forms of the tokens that a device is to get."""

    access: str
    refresh: str


@dataclass(frozen=True, slots=True)
class Granted:
    """The answer to a device.

    Attributes:
        answer: In one word.
        account: Whose sign-in it got; None = none.
    """

    answer: Answer
    account: Account | None = None


@dataclass(frozen=True, slots=True)
class Guess:
    """Find the request behind a typed user code.

    Attributes:
        wait: Seconds before which nothing is looked at; 0 = it was.
        request: The device that shows it; None = no device does, or it is too late.
    """

    wait: float = 0
    request: DeviceRequest | None = None


def fresh_user_code() -> str:
    """Return a user code that nobody can guess."""
    return new_user_code(secrets.choice)


def begin(tx: Tx, codes: NewCodes, place: ClientInfo) -> None:
    """Store a device that waits for a decision.

    Raises:
        InvalidState: code ``TOO_MANY_DEVICES``: too many of its address wait already.
    """
    address = place.address[:MAX_ADDRESS]
    if sessions.count_open(tx.conn, address, tx.now) >= MOST_OPEN:
        raise InvalidState(
            f"{MOST_OPEN} devices of the address {address} wait for a decision already; decide about them, or wait",
            code=ErrorCode.TOO_MANY_DEVICES,
        )
    agent = place.agent[:MAX_AGENT] if place.agent else None
    until = tx.now + CODE_LIFETIME
    new = DeviceRequest(0, None, address, agent, tx.now, until, codes.interval, None, None, None, None)
    sessions.insert_request(tx.conn, codes.device, codes.user, new)


def look_up(tx: Tx, user_code_hash: str | None, account_id: int, place: ClientInfo) -> Guess:
    """Find the device that shows a user code; a wrong code counts as a guess, by account and by address.

    Args:
        user_code_hash: The stored form of the code; None = it cannot be one.
        account_id: Who has typed it.
    """
    subjects = [(guess_subject(account_id), ACCOUNT_THROTTLE), (address_subject(place.address), ADDRESS_THROTTLE)]
    wait = count_try(tx, subjects)
    if wait > 0:
        return Guess(wait)
    found = None if user_code_hash is None else sessions.open_request(tx.conn, user_code_hash, tx.now)
    if found is not None:
        for subject, policy in subjects:
            take_back(tx, subject, policy)
    return Guess(0, found)


def decide(tx: Tx, user_code_hash: str | None, account_id: int, place: ClientInfo, *, approve: bool) -> Guess:
    """Approve or deny the device that shows a user code, in the name of who has signed in; once."""
    guess = look_up(tx, user_code_hash, account_id, place)
    if guess.request is None:
        return guess
    if not sessions.decide(tx.conn, guess.request.id, account_id, tx.now, approve=approve):
        return Guess()
    about = {"address": guess.request.address, "agent": guess.request.agent}
    tx.record("device.approved" if approve else "device.denied", tx.actor.name if tx.actor else None, after=about)
    return guess


def redeem(tx: Tx, device_code_hash: str, tokens: NewTokens) -> Granted:
    """Give an approved device its tokens, once."""
    request = sessions.lock_request(tx.conn, device_code_hash)
    if request is None:
        return Granted(Answer.INVALID)
    answer = request.answer(tx.now)
    if answer is Answer.SLOW_DOWN:
        slower = request.interval + SLOWER_BY
        sessions.change_request(tx.conn, request.id, polled_at=tx.now, poll_interval=slower)
    elif answer is Answer.PENDING:
        sessions.change_request(tx.conn, request.id, polled_at=tx.now)
    elif answer in (Answer.DENIED, Answer.GRANTED):
        sessions.change_request(tx.conn, request.id, consumed_at=tx.now)
    if answer is not Answer.GRANTED:
        return Granted(answer)
    account = accounts.by_id(tx.conn, request.account_id) if request.account_id is not None else None
    if account is None or account.disabled_at is not None:
        return Granted(Answer.DENIED)
    _sign_in(tx, account, request, tokens)
    return Granted(answer, account)


def exchange(tx: Tx, refresh_hash: str, tokens: NewTokens, place: ClientInfo) -> Account | None:
    """Exchange a refresh token for a new pair; None if it is not valid.

    One that was exchanged before is a sign of theft, and ends the sign-in of the thief and of his victim, unless its
    answer seems to have been lost on the way.
    """
    found = sessions.lock_refresh(tx.conn, refresh_hash)
    if found is None:
        return None
    token, account_id = found
    account = accounts.by_id(tx.conn, account_id)
    use = judge_use(token, sessions.followers_of(tx.conn, token.id), tx.now)
    if account is None or account.disabled_at is not None or use is Use.WORTHLESS or token.session_id is None:
        return None
    if use is Use.REUSED:
        tx.actor = replace(DEVICE, address=place.address[:MAX_ADDRESS])
        tx.record("sign_in.token_reused", account.name)
        _end(tx, token, account_id)
        return None
    sessions.use_refresh(tx.conn, token.id, tx.now)
    # The access token of before is no longer valid.
    tx.wake(Wake.RIGHTS)
    ends = tx.now + REFRESH_LIFETIME
    sessions.renew_access(tx.conn, token.session_id, tokens.access, tx.now + ACCESS_LIFETIME, tx.now, ends)
    follower = replace(token, expires_at=ends)
    sessions.insert_refresh(tx.conn, tokens.refresh, follower, account_id, tx.now, parent=token.id)
    return account


def end_by_refresh(tx: Tx, refresh_hash: str, place: ClientInfo) -> bool:
    """End the sign-in that a refresh token belongs to; return whether there is one."""
    found = sessions.lock_refresh(tx.conn, refresh_hash)
    if found is None or found[0].session_id is None:
        return False
    token, account_id = found
    _record_end(tx, account_id, place)
    _end(tx, token, account_id)
    return True


def end_by_access(tx: Tx, access_hash: str, place: ClientInfo) -> bool:
    """End the sign-in that an access token belongs to; return whether there is one."""
    found = sessions.session_by_access(tx.conn, access_hash)
    if found is None:
        return False
    session_id, account_id = found
    tx.wake(Wake.RIGHTS)
    _record_end(tx, account_id, place)
    return sessions.delete_session(tx.conn, session_id, account_id, tx.now)


def _record_end(tx: Tx, account_id: int, place: ClientInfo) -> None:
    account = accounts.by_id(tx.conn, account_id)
    assert account is not None, "a session has an account"
    tx.actor = Actor(account.name, account.role, account.id, place.address[:MAX_ADDRESS])
    tx.record("session.ended", account.name)


def _sign_in(tx: Tx, account: Account, request: DeviceRequest, tokens: NewTokens) -> None:
    ends = tx.now + REFRESH_LIFETIME
    access_ends, where = tx.now + ACCESS_LIFETIME, (request.address, request.agent)
    new = Session(0, account.id, CredentialKind.CLI, tx.now, tx.now, ends, *where, access_ends)
    tx.actor = Actor(account.name, account.role, account.id, request.address)
    tx.record("sign_in.succeeded", account.name, after={"by": "device"})
    session_id = sessions.insert_session(tx.conn, account.id, tokens.access, new)
    first = RefreshToken(0, secrets.token_hex(16), session_id, ends, None, None)
    sessions.insert_refresh(tx.conn, tokens.refresh, first, account.id, tx.now, parent=None)


def _end(tx: Tx, token: RefreshToken, account_id: int) -> None:
    sessions.revoke_family(tx.conn, token.family, tx.now)
    tx.wake(Wake.RIGHTS)
    if token.session_id is not None:
        sessions.delete_session(tx.conn, token.session_id, account_id, tx.now)
