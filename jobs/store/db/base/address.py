"""Database addresses: what a user writes, and what the drivers want."""

from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from ....core.base.errors import ConfigurationError
from ...schema.naming import SCHEMA, SQLITE_SCHEMA, schema_fault
from .passwords import without_password

KEEPALIVES = {"keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3"}
"""Seconds: a peer that vanished without a word is noticed within a minute, on connections that only wait, too."""


OWNER_ONLY = 0o600
"""The mode of every file that holds what a database does; SQLite gives its log and its index the same."""


def parse_url(text: object) -> URL:
    """The SQLAlchemy URL behind ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or ``postgresql://…``.

    Raises:
        ConfigurationError: any other form.
    """
    try:
        url = make_url(text) if isinstance(text, str) else None
    except (ArgumentError, ValueError):
        # A port that is no number is a ValueError of its own.
        url = None
    backend = url.get_backend_name() if url is not None else None
    if url is None or backend not in ("sqlite", "postgresql", "postgres"):
        got = without_password(text)[:120] if isinstance(text, str) else text
        raise ConfigurationError(
            "database URL: must be sqlite:///relative.db, sqlite:////absolute.db or postgresql://user@host/name, "
            f"got {got!r:.130}"
        )
    if backend == "sqlite":
        if not url.database or url.database == ":memory:":
            raise ConfigurationError(
                "database URL: SQLite needs a file, e.g. sqlite:///cronograph.db; memory is lost at exit"
            )
        if "schema" in url.query:
            raise ConfigurationError("database URL: a SQLite file has no schemas; leave 'schema' out")
        return url.set(drivername="sqlite")
    if url.port is not None and not 1 <= url.port <= 65_535:
        raise ConfigurationError(
            f"database URL: the port must be from 1 to 65535, got {url.port} in {without_password(str(text))[:120]!r}"
        )
    if "@" in (url.host or ""):
        raise ConfigurationError(
            "database URL: a host has no '@'; write each '@' of the user and of the password as %40, got "
            f"{without_password(str(text))[:120]!r}"
        )
    is_pooled(url)
    fault = schema_fault(schema_in(url))
    if fault is not None:
        raise ConfigurationError(f"database URL: schema {fault}")
    return url.set(drivername="postgresql+psycopg")


def sqlite_path(url: URL) -> Path:
    """The file behind a SQLite URL."""
    return Path(url.database or "").absolute()


def is_pooled(url: URL) -> bool:
    """Whether a pooler stands between, which gives each transaction another connection: ``?pooler=transaction``.

    What belongs to a connection does not hold there: prepared statements, settings, ``LISTEN``.

    Raises:
        ConfigurationError: another kind of pooler.
    """
    kind = url.query.get("pooler")
    if kind not in (None, "transaction"):
        raise ConfigurationError(f"database URL: pooler must be 'transaction' or left out, got {kind!r:.60}")
    return kind is not None


def schema_in(url: URL) -> str:
    """The schema of the tables: what ``?schema=`` says, else ``cronograph``; ``main`` in a SQLite file."""
    if is_sqlite(url):
        return SQLITE_SCHEMA
    chosen = url.query.get("schema", SCHEMA)
    return chosen if isinstance(chosen, str) else chosen[-1]


def with_schema(text: str, schema: str) -> str:
    """A database URL that says which schema holds the tables; that of a SQLite file, which has none, as it is.

    Raises:
        ConfigurationError: the URL is of no form that is known, or names another schema.
    """
    url = parse_url(text)
    named = schema_in(url)
    if is_sqlite(url) or named == schema:
        return text
    fault = schema_fault(schema)
    if fault is not None:
        raise ConfigurationError(f"database URL: schema {fault}")
    if "schema" in url.query:
        raise ConfigurationError(f"database URL: must name the schema '{schema}' or none, got '{named}'")
    return make_url(text).update_query_dict({"schema": schema}).render_as_string(hide_password=False)


def for_drivers(url: URL) -> URL:
    """The address as the drivers take it, without what it says to us alone."""
    return url.difference_update_query(["pooler", "schema"])


def is_sqlite(url: URL) -> bool:
    """Whether the database is a SQLite file (one process), not PostgreSQL (many nodes)."""
    return url.get_backend_name() == "sqlite"


def libpq_url(url: URL) -> str:
    """The address of a PostgreSQL database for a plain psycopg connection."""
    plain = for_drivers(url.set(drivername="postgresql", query={**KEEPALIVES, **url.query}))
    place, _, query = plain.render_as_string(hide_password=False).partition("?")
    # SQLAlchemy writes a blank as ``+``, which libpq takes for what it is.
    return f"{place}?{query.replace('+', '%20')}"


def shown_url(url: URL) -> str:
    """The address of a PostgreSQL database as its own programs take it, without the password."""
    plain = for_drivers(url.set(drivername="postgresql")).difference_update_query(["password"])
    return plain.set(password=None).render_as_string()


def password_of(url: URL) -> str | None:
    """Return the password in an address: as a parameter, or that of the user."""
    given = url.query.get("password", url.password)
    return None if given is None else str(given)
