"""The database that tests of jobs get is the one that a server migrates to."""

import sqlite3
from pathlib import Path

import pytest

from cronograph.jobs.store.db.address import address_of_file, parse_url, sqlite_path
from cronograph.jobs.store.db.opening import connected, create_tables, scratch_database


def test_the_tables_made_at_once_are_those_that_the_migrations_make(tmp_path: Path, sqlite_template: Path) -> None:
    path = tmp_path / "scratch.db"
    create_tables(f"sqlite:///{path}")
    assert columns(path) == {name: names for name, names in columns(sqlite_template).items() if "version" not in name}
    assert rows(path, "SELECT id || ' ' || last_seq FROM event_publisher") == [("1 0",)]


@pytest.mark.parametrize(
    "name", ["100%41", "what?schema=x", "a#b", "a b+c", "größe", "line\nline", "quote'\"", "a@b:c", "a;b&c=d"]
)
def test_a_folder_and_a_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    file = folder / f"{name}.db"
    address = address_of_file(file)
    assert sqlite_path(parse_url(address)) == file
    with scratch_database(address) as place, connected(place):
        assert [path.suffix for path in folder.iterdir() if path.suffix == ".db"] == [".db"]
    assert [*tmp_path.iterdir()] == [folder]
    assert [*folder.iterdir()] == []


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
