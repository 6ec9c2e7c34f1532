"""The tables of sign-in. They exist from the first day so that the cleanups clean something real."""

from sqlalchemy import CheckConstraint, Column, ForeignKey, String, Table, Text

from ..db.types import JsonDocument, Key, UtcDateTime
from .parts import NO_REUSE, key, metadata

user_account = Table(
    "user_account",
    metadata,
    key(),
    Column("name", String(200), nullable=False, unique=True),
    Column("role", String(12), nullable=False),
    Column("password_hash", Text),
    Column("disabled_at", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
    CheckConstraint("role IN ('viewer', 'operator', 'admin')", name="role"),
    **NO_REUSE,
)


def _user() -> Column[int]:
    return Column("user_id", Key, ForeignKey("user_account.id", ondelete="CASCADE"), index=True)


session = Table(
    "session",
    metadata,
    key(),
    Column("token_hash", String(64), nullable=False, unique=True),
    _user(),
    Column("kind", String(8), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_seen_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    CheckConstraint("kind IN ('browser', 'cli')", name="kind"),
    **NO_REUSE,
)

refresh_token = Table(
    "refresh_token",
    metadata,
    key(),
    Column("token_hash", String(64), nullable=False, unique=True),
    Column("family", String(64), nullable=False, index=True),
    _user(),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    Column("used_at", UtcDateTime),
    Column("revoked_at", UtcDateTime, index=True),
    **NO_REUSE,
)

webauthn_challenge = Table(
    "webauthn_challenge",
    metadata,
    key(),
    Column("challenge_hash", String(64), nullable=False, unique=True),
    _user(),
    Column("purpose", String(12), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    Column("consumed_at", UtcDateTime, index=True),
    CheckConstraint("purpose IN ('register', 'sign_in')", name="purpose"),
    **NO_REUSE,
)

device_code = Table(
    "device_code",
    metadata,
    key(),
    Column("device_code_hash", String(64), nullable=False, unique=True),
    Column("user_code", String(16), nullable=False, unique=True),
    _user(),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    Column("approved_at", UtcDateTime),
    Column("denied_at", UtcDateTime),
    Column("consumed_at", UtcDateTime, index=True),
    **NO_REUSE,
)

audit_log = Table(
    "audit_log",
    metadata,
    key(),
    Column("at", UtcDateTime, nullable=False, index=True),
    Column("actor", String(200), nullable=False),
    Column("action", String(60), nullable=False),
    Column("subject", String(200)),
    Column("before", JsonDocument),
    Column("after", JsonDocument),
    **NO_REUSE,
)
