"""The database that tests of jobs get is the one that a server migrates to."""

import sqlite3
from pathlib import Path

from cronograph.jobs.store.db.opening import create_tables


def test_the_tables_made_at_once_are_those_that_the_migrations_make(tmp_path: Path, sqlite_template: Path) -> None:
    path = tmp_path / "scratch.db"
    create_tables(f"sqlite:///{path}")
    assert columns(path) == {name: names for name, names in columns(sqlite_template).items() if "version" not in name}
    assert rows(path, "SELECT id || ' ' || last_seq FROM event_publisher") == [("1 0",)]


def columns(path: Path) -> dict[str, list[str]]:
    names = rows(path, "SELECT m.name || '.' || p.name FROM sqlite_master m, pragma_table_info(m.name) p ORDER BY 1")
    found: dict[str, list[str]] = {}
    for (name,) in names:
        table, _, column = name.partition(".")
        found.setdefault(table, []).append(column)
    return found


def rows(path: Path, statement: str) -> list[tuple[str, ...]]:
    connection = sqlite3.connect(path)
    try:
        return list(connection.execute(statement))
    finally:
        connection.close()
