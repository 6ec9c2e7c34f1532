"""The tables of what accounts sign in with besides a password. No secret: of a passkey there is the public half."""

from sqlalchemy import Column, ForeignKey, String, Table, Text

from .parts import NO_REUSE, key, metadata
from .types import Key, UtcDateTime


def _owner() -> Column[int]:
    account = ForeignKey("user_account.id", ondelete="CASCADE")
    return Column("user_id", Key, account, index=True, nullable=False)


passkey = Table(
    "passkey",
    metadata,
    key(),
    _owner(),
    # As long as the standard allows: 1023 bytes in base64url.
    Column("credential_id", String(1364), nullable=False, unique=True),
    Column("public_key", Text, nullable=False),
    Column("sign_count", Key, nullable=False),
    Column("name", String(200), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_used_at", UtcDateTime),
    **NO_REUSE,
)
