"""One process per SQLite file."""

import os
import sqlite3
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from cronograph.jobs.core.base.errors import FileLocked, StorageError
from cronograph.jobs.store.db.filelock import FileLock, lock_for
from tests.support.forking import Nursery, Running
from tests.support.waiting import wait_until

HOLD = """
import signal, sys
from pathlib import Path
from cronograph.jobs.store.db.filelock import FileLock
lock = FileLock(Path(sys.argv[1]))
lock.acquire()
print("held", flush=True)
signal.pause()
"""


@contextmanager
def holder_of(path: Path, nursery: Nursery) -> Generator[Running]:
    """Another process, which holds the lock of `path` until it is killed at the end of the block."""
    (path.parent / "holds.py").write_text(HOLD)
    said = path.parent / "said"
    with said.open("wb") as output:
        other = nursery.start(["-m", "holds", str(path)], path.parent, os.environ, output.fileno())
    try:
        wait_until(lambda: said.read_text() == "held\n", message="the other process to hold the lock")
        yield other
    finally:
        other.kill()
        other.wait()


def test_the_lock_file_holds_the_process_id(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "x.db")
    lock.acquire()
    assert (tmp_path / "x.db.lock").read_text() == f"{os.getpid()}\n"
    lock.release()


@pytest.mark.costly
def test_a_second_process_is_refused_and_shown_the_first(tmp_path: Path, nursery: Nursery) -> None:
    with holder_of(tmp_path / "x.db", nursery) as other:
        lock = FileLock(tmp_path / "x.db")
        assert lock.holder() == str(other.pid)
        with pytest.raises(FileLocked, match=f"process {other.pid} uses it"):
            lock.acquire()
    lock.acquire()
    lock.release()


def test_a_link_to_the_file_leads_to_the_same_lock(tmp_path: Path, nursery: Nursery) -> None:
    (tmp_path / "x.db").touch()
    (tmp_path / "link.db").symlink_to(tmp_path / "x.db")
    with holder_of(tmp_path / "link.db", nursery), pytest.raises(FileLocked):
        FileLock(tmp_path / "x.db").acquire()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the name of the file decides")
def test_a_second_name_and_a_new_name_of_the_file_lead_to_the_same_lock(tmp_path: Path, nursery: Nursery) -> None:
    with holder_of(tmp_path / "x.db", nursery):
        (tmp_path / "second.db").hardlink_to(tmp_path / "x.db")
        with pytest.raises(FileLocked, match="another process uses it"):
            FileLock(tmp_path / "second.db").acquire()
        (tmp_path / "x.db").rename(tmp_path / "new.db")
        with pytest.raises(FileLocked, match="another process uses it"):
            FileLock(tmp_path / "new.db").acquire()
    lock = FileLock(tmp_path / "new.db")
    lock.acquire()
    lock.release()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the name of the file decides")
def test_the_lock_outlives_connections_that_are_closed(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    lock = FileLock(path)
    lock.acquire()
    for _ in range(2):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("CREATE TABLE IF NOT EXISTS t (x)")
    (tmp_path / "second.db").hardlink_to(path)
    with pytest.raises(FileLocked):
        FileLock(tmp_path / "second.db").acquire()
    lock.release()


def test_a_database_that_is_no_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.db").mkdir()
    with pytest.raises(StorageError, match=r"x\.db': must be a file that can be written: Is a directory"):
        FileLock(tmp_path / "x.db").acquire()


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path, nursery: Nursery) -> None:
    with holder_of(tmp_path / "x.db", nursery):
        assert FileLock(tmp_path / "x.db").holder() is not None
    lock = FileLock(tmp_path / "x.db")
    assert lock.holder() is None
    lock.acquire()
    lock.release()


def test_taking_and_giving_back_twice_changes_nothing(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "x.db")
    lock.release()
    lock.acquire()
    lock.acquire()
    lock.release()
    lock.release()


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="lock file: must be a file that can be written"):
        FileLock(tmp_path / "missing" / "x.db").acquire()


def test_looking_for_the_holder_makes_no_file(tmp_path: Path) -> None:
    assert FileLock(tmp_path / "x.db").holder() is None
    assert list(tmp_path.iterdir()) == []


def test_postgresql_needs_no_lock() -> None:
    assert lock_for("postgresql://db/x") is None
