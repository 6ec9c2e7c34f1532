"""Rules of sign-ins that last: browser sessions, API tokens, and devices with their refresh tokens."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from ...core.actor import Role

BROWSER_IDLE: Final = timedelta(hours=8)
BROWSER_TOTAL: Final = timedelta(hours=24)
SEEN_EVERY: Final = timedelta(minutes=1)
"""Precision of a session's or token's last use; noting every request would cost a write each."""


class CredentialKind(StrEnum):
    """Name the kind of a shown credential."""

    BROWSER = "browser"
    CLI = "cli"
    TOKEN = "token"  # noqa: S105 - a word, not a secret


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom a credential stands for, at the time it was looked up.

    Attributes:
        role: The rights: the account's role, or a token's lower one.
        account_role: The account's role.
        kind: The shown credential.
        credential_id: Key of the session or token.
        expires_at: When it ends at the latest; None = never.
    """

    account_id: int
    name: str
    role: Role
    account_role: Role
    kind: CredentialKind
    credential_id: int
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """A sign-in that lasts: of a browser, or of the command line, whose access token ends before."""

    id: int
    account_id: int
    kind: CredentialKind
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    address: str | None
    agent: str | None
    access_expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A personal API token, without its secret, which is shown once."""

    id: int
    account_id: int
    name: str
    shown: str
    role: Role
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


def session_end(created_at: datetime, now: datetime) -> datetime:
    """Return when a browser session that is used at ``now`` ends unless it is used again."""
    return min(now + BROWSER_IDLE, created_at + BROWSER_TOTAL)


CODE_LIFETIME: Final = timedelta(minutes=10)
ACCESS_LIFETIME: Final = timedelta(minutes=15)
REFRESH_LIFETIME: Final = timedelta(days=30)
"""So long after its last refresh a sign-in of the command line ends."""
LOST_ANSWER: Final = timedelta(seconds=10)
"""So long a refresh token is taken once more: its answer may have been lost on the way."""
POLL_EVERY: Final = 5
"""Seconds between two questions of a device, at least."""
SLOWER_BY: Final = 5
"""Seconds by which a device must slow down that asked too soon."""
MOST_OPEN: Final = 20
"""Devices of one address that wait for somebody's decision."""

ALPHABET: Final = "BCDFGHJKLMNPQRSTVWXZ"
"""Letters of user codes: no vowels, so that no words come about, and none that is taken for another."""
CODE_LENGTH: Final = 8


class Answer(StrEnum):
    """The answer to a device that asks for its tokens; the words of RFC 8628 and RFC 6749."""

    GRANTED = "granted"
    PENDING = "authorization_pending"
    SLOW_DOWN = "slow_down"
    DENIED = "access_denied"
    EXPIRED = "expired_token"
    INVALID = "invalid_grant"


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """A device that waits for somebody's decision.

    Attributes:
        account_id: Who has decided; None = nobody yet.
        agent: Its own description.
        created_at: When it asked.
        expires_at: When the decision comes too late.
        interval: Seconds between two questions, at least.
        polled_at: When it last asked; None = never.
        consumed_at: When it got its tokens, or was refused them.
    """

    id: int
    account_id: int | None
    address: str | None
    agent: str | None
    created_at: datetime
    expires_at: datetime
    interval: int
    polled_at: datetime | None
    approved_at: datetime | None
    denied_at: datetime | None
    consumed_at: datetime | None

    def is_open(self, now: datetime) -> bool:
        """Return whether somebody can still decide."""
        decided = self.approved_at or self.denied_at or self.consumed_at
        return decided is None and now < self.expires_at

    def answer(self, now: datetime) -> Answer:
        """Return the answer to the device when it asks at ``now``."""
        if self.consumed_at is not None:
            return Answer.INVALID
        if now >= self.expires_at:
            return Answer.EXPIRED
        if self.denied_at is not None:
            return Answer.DENIED
        if self.approved_at is not None:
            return Answer.GRANTED
        too_soon = self.polled_at is not None and now - self.polled_at < timedelta(seconds=self.interval)
        return Answer.SLOW_DOWN if too_soon else Answer.PENDING


@dataclass(frozen=True, slots=True)
class RefreshToken:
    """A refresh token as it is stored.

    Attributes:
        family: Shared by all that came of one sign-in.
        session_id: The sign-in; None once that has ended.
        expires_at: When it is no longer valid.
        used_at: When it was exchanged for the next one.
        revoked_at: When its family was revoked.
    """

    id: int
    family: str
    session_id: int | None
    expires_at: datetime
    used_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class Followers:
    """Describe the successors of a refresh token.

    Attributes:
        next_was_used: It was exchanged, and so was a token that it was exchanged for.
        is_replaced: The token before it was exchanged once more, for another one in its place.
    """

    next_was_used: bool = False
    is_replaced: bool = False


class Use(StrEnum):
    """Name the meaning of a refresh token's use."""

    GOOD = "good"
    AGAIN = "again"
    REUSED = "reused"
    WORTHLESS = "worthless"


def judge_use(token: RefreshToken, followers: Followers, now: datetime) -> Use:
    """Judge the use of a refresh token."""
    if token.revoked_at is not None or token.session_id is None or now >= token.expires_at:
        return Use.WORTHLESS
    if token.used_at is None:
        return Use.GOOD
    # The owner of the next one has got the answer: this is somebody else, or he is.
    is_known = followers.next_was_used or followers.is_replaced
    return Use.REUSED if is_known or now - token.used_at > LOST_ANSWER else Use.AGAIN


def new_user_code(choose: Callable[[str], str]) -> str:
    """Return a user code, in the form in which it is compared.

    Args:
        choose: Takes a character of a text that nobody can guess.
    """
    return "".join(choose(ALPHABET) for _ in range(CODE_LENGTH))


def user_code_of(text: str) -> str | None:
    """Return the user code that somebody has typed, however he wrote it; None if it cannot be one."""
    letters = "".join(one for one in text[:100].upper() if one.isalnum())
    return letters if len(letters) == CODE_LENGTH and set(letters) <= set(ALPHABET) else None


def shown_user_code(code: str) -> str:
    """Return a user code as people read it: ``WDJB-MJHT``."""
    half = CODE_LENGTH // 2
    return f"{code[:half]}-{code[half:]}"
