"""The tables of what accounts sign in with besides a password. No secret: of a passkey there is the public half."""

from sqlalchemy import Column, ForeignKey, String, Table, Text, UniqueConstraint

from .parts import NO_REUSE, key, metadata
from .types import Key, Name, UtcDateTime


def _owner(*, nullable: bool = False) -> Column[int]:
    account = ForeignKey("user_account.id", ondelete="CASCADE")
    return Column("user_id", Key, account, index=True, nullable=nullable)


passkey = Table(
    "passkey",
    metadata,
    key(),
    _owner(),
    # As long as the standard allows: 1023 bytes in base64url.
    Column("credential_id", String(1364), nullable=False, unique=True),
    Column("public_key", Text, nullable=False),
    Column("sign_count", Key, nullable=False),
    Column("name", Name, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_used_at", UtcDateTime),
    **NO_REUSE,
)

provider_identity = Table(
    "provider_identity",
    metadata,
    key(),
    _owner(),
    Column("provider", String(40), nullable=False),
    Column("issuer", String(400), nullable=False),
    Column("subject", String(255), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_used_at", UtcDateTime),
    UniqueConstraint("issuer", "subject"),
    **NO_REUSE,
)

provider_attempt = Table(
    "provider_attempt",
    metadata,
    key(),
    Column("state_hash", String(64), nullable=False, unique=True),
    # The SHA-256 of the secret in the cookie of the browser that began it.
    Column("bound_to", String(64), nullable=False),
    Column("provider", String(40), nullable=False),
    Column("next_path", String(2000), nullable=False),
    _owner(nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    Column("consumed_at", UtcDateTime, index=True),
    **NO_REUSE,
)
