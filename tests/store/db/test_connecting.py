"""Connections that open a new SQLite file at the same time all get to work with it."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import event

from cronograph.jobs.store.db.database import OperationalError, parse_url, sync_engine
from tests.support.databases import sqlite_address

AT_ONCE = 16


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that does not exist yet."""
    return tmp_path / "new.db"


@pytest.fixture
def holder(path: Path) -> Iterator[sqlite3.Connection]:
    """Another connection, which is about to write to the file before it has a write-ahead log."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("CREATE TABLE t (x)")
    connection.execute("BEGIN IMMEDIATE")
    yield connection
    connection.close()


def test_a_connection_waits_for_another_that_locks_the_new_file(path: Path, holder: sqlite3.Connection) -> None:
    engine = sync_engine(parse_url(sqlite_address(path)))
    seen: list[str] = []

    def release_when_waited_for(statement: str) -> None:
        seen.append(statement)
        if statement.startswith("BEGIN"):
            holder.execute("COMMIT")

    def watch(connection: sqlite3.Connection, _record: Any) -> None:
        connection.set_trace_callback(release_when_waited_for)

    event.listen(engine, "connect", watch, insert=True)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
    engine.dispose()
    assert seen.count("PRAGMA journal_mode=WAL") == 2


def test_a_file_that_stays_locked_is_given_up_after_a_bounded_number_of_tries(
    path: Path, holder: sqlite3.Connection
) -> None:
    engine = sync_engine(parse_url(sqlite_address(path)))
    tries: list[str] = []

    def lock_again_and_again(statement: str) -> None:
        if statement.startswith("BEGIN"):
            holder.execute("COMMIT")
        elif statement.startswith("PRAGMA journal_mode"):
            tries.append(statement)
            if not holder.in_transaction:
                holder.execute("BEGIN IMMEDIATE")

    def watch(connection: sqlite3.Connection, _record: Any) -> None:
        connection.set_trace_callback(lock_again_and_again)

    event.listen(engine, "connect", watch, insert=True)
    with pytest.raises(OperationalError, match="locked"):
        engine.connect()
    engine.dispose()
    assert 1 < len(tries) <= 100


def test_many_connections_can_open_a_new_file_at_once(tmp_path: Path) -> None:
    for number in range(5):
        url = parse_url(sqlite_address(tmp_path / f"{number}.db"))
        together = Barrier(AT_ONCE)

        def open_and_write(place: int, url: Any = url, together: Barrier = together) -> None:
            engine = sync_engine(url)
            together.wait()
            with engine.begin() as connection:
                connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS opened (place)")
                connection.exec_driver_sql("INSERT INTO opened VALUES (?)", (place,))
            engine.dispose()

        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(open_and_write, range(AT_ONCE)))
        engine = sync_engine(url)
        with engine.connect() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM opened").scalar_one() == AT_ONCE
        engine.dispose()


def test_an_address_may_name_several_hosts_with_their_ports(postgres_url: str) -> None:
    known = parse_url(postgres_url)
    several = f"127.0.0.1:1,{known.host}:{known.port}"
    engine = sync_engine(parse_url(postgres_url.replace(f"{known.host}:{known.port}", several)))
    try:
        with engine.connect() as connection:
            assert connection.exec_driver_sql("SHOW port").scalar_one() == str(known.port)
    finally:
        engine.dispose()


@pytest.mark.parametrize(
    ("written", "hosts", "database"),
    [
        ("postgresql://u:p@h1:5432,h2:5433/db?target_session_attrs=read-write", ("h1:5432", "h2:5433"), "db"),
        ("postgresql://h1:1,h2/db", ("h1:1", "h2"), "db"),
        ("postgresql://u@h1,h2:2", ("h1", "h2:2"), ""),
    ],
)
def test_hosts_keep_their_ports_and_everything_else_its_place(
    written: str, hosts: tuple[str, ...], database: str
) -> None:
    url = parse_url(written)
    assert (url.query["host"], url.database or "") == (hosts, database)
