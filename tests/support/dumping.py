"""All that a database holds as one text, to see what it does not give away."""

from pathlib import Path

from sqlalchemy import Connection, select

from cronograph.jobs.store.db.database import Database, sqlite_path
from tests.support.schema import tables_of


def dump(database: Database) -> str:
    """Every value of every table; of SQLite every byte of its files, too: deleted rows are among them."""
    rows = database.write_sync(lambda tx: _rows(tx.conn))
    if not database.is_sqlite:
        return rows
    path = sqlite_path(database.url)
    files = [path, *(Path(f"{path}-{suffix}") for suffix in ("wal", "journal"))]
    return rows + "".join(file.read_bytes().decode("latin-1") for file in files if file.exists())


def _rows(conn: Connection) -> str:
    tables = tables_of(conn)
    assert "secret" in {table.name for table in tables}, "the tables are there"
    rows = ((table.name, row) for table in tables for row in conn.execute(select(table)))
    return "\n".join(f"{name}: {value!r}" for name, row in rows for value in row)
