"""Sign-ins that last: the shown credential, its account, and its end."""

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
