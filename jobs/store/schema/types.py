"""Column types that behave the same on both databases."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Dialect, Integer, String
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP
from sqlalchemy.types import TypeDecorator, TypeEngine

Key = BigInteger().with_variant(Integer(), "sqlite")
"""Identity keys. A plain BigInteger would not become SQLite's rowid and fail with NOT NULL."""

JsonDocument = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")
"""A JSON document; Python None is SQL NULL."""


def to_text(instant: datetime) -> str:
    """The fixed-width ISO form that SQLite stores, so that comparing text compares times."""
    # A third of the time that strftime takes.
    return instant.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z"


def from_text(text: str) -> datetime:
    """The instant behind the stored form."""
    return datetime.fromisoformat(text)


class UtcDateTime(TypeDecorator[datetime]):
    """An instant in UTC: ``timestamptz`` on PostgreSQL, ISO text with six decimals and ``Z`` on SQLite."""

    impl = String(27)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The column type of the database at hand."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(TIMESTAMP(timezone=True))
        return dialect.type_descriptor(String(27))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Refuse naive times: without a zone nobody knows which instant is meant."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(
                f"stored time: must carry a zone, got the naive {value.isoformat()}; use datetime.now(UTC)"
            )
        return value.astimezone(UTC) if dialect.name == "postgresql" else to_text(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Always an aware time in UTC."""
        del dialect
        if value is None:
            return None
        return from_text(value) if isinstance(value, str) else value.astimezone(UTC)
