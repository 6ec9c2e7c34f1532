"""Column types that behave the same on both databases."""

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Dialect, Integer, String
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP
from sqlalchemy.types import TypeDecorator, TypeEngine

Key = BigInteger().with_variant(Integer(), "sqlite")
"""Identity keys. A plain BigInteger would not become SQLite's rowid and fail with NOT NULL."""

JsonDocument = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")
"""A JSON document; Python None is SQL NULL."""

Name = String(200).with_variant(String(200, collation="C"), "postgresql")
"""A name or key. Names are sorted byte by byte, under any collation: so groups take turns in the same
order on SQLite, on every PostgreSQL, and by the rules in ``core``."""

_decode = json.JSONDecoder().decode


def loads(document: str | bytes) -> Any:
    """The values of a stored JSON document, from either driver; most are an empty object or list.

    Raises:
        TypeError: SQLite keeps a number as such; SQLAlchemy then takes it as it is.
    """
    text = document if isinstance(document, str) else str(document, "utf-8")
    if text == "{}":
        return {}
    return [] if text == "[]" else _decode(text)


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

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        """Always an aware time in UTC. Called for every time that is read, so that nothing stands between."""
        del coltype
        return _utc_of_postgres if dialect.name == "postgresql" else _utc_of_sqlite


def _utc_of_postgres(value: datetime | None) -> datetime | None:
    return None if value is None else value.astimezone(UTC)


def _utc_of_sqlite(value: str | None) -> datetime | None:
    return None if value is None else from_text(value)
