"""Which revision a database has, and which one this version knows, without what is needed to migrate."""

from pathlib import Path
from typing import Final

from sqlalchemy import Connection, String, column, inspect, select, table

VERSION_TABLE: Final = "cronograph_version"
"""The table with the revision of the database."""


def is_newest(connection: Connection, schema: str) -> bool:
    """Whether the database has the newest revision that this version knows.

    Leaves the connection in the transaction that reading begins.

    Args:
        connection: To the database.
        schema: That of the tables on PostgreSQL; on SQLite ``main``.
    """
    if not inspect(connection).has_table(VERSION_TABLE, schema=schema):
        return False
    number = column("version_num", String)
    return list(connection.scalars(select(number).select_from(table(VERSION_TABLE, number, schema=schema)))) == [
        _newest()
    ]


def _newest() -> str:
    """The number at the beginning of the last file."""
    return max(one.name.partition("_")[0] for one in (Path(__file__).parent / "versions").glob("[0-9]*_*.py"))
