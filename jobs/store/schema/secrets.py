"""The table of secrets: their values are encrypted before they come here."""

from sqlalchemy import Column, String, Table, Text

from .parts import metadata
from .types import Name, UtcDateTime

secret = Table(
    "secret",
    metadata,
    Column("name", Name, primary_key=True),
    # Base64 of the nonce and of AES-256-GCM's output, with the name as associated data.
    Column("sealed", Text, nullable=False),
    Column("key_id", String(16), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("created_by", Name, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("updated_by", Name, nullable=False),
)
