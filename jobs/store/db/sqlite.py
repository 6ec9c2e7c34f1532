"""A SQLite file: its writer's thread, its readers, who else has it open, and copies of it while it is used."""

import asyncio
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine
from sqlalchemy.exc import OperationalError

from ...core.base.errors import StorageError, UserError
from .address import OWNER_ONLY, sqlite_path
from .connecting import sync_engine
from .filelock import write_through
from .interruption import ReadBounds, read_in_thread

T = TypeVar("T")


class FilePresence:
    """Remembers which file it was, by device and inode.

    A deleted file can still be written to, and all of that is lost with the last connection. A file that was
    put in its place is another database.

    Args:
        path: The database file; it may be made later.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: tuple[int, int] | None = None

    def check(self) -> bool:
        """Check that the file is still there, or was not made yet; return whether it is there.

        Raises:
            OperationalError: it was deleted, moved away or replaced; if it comes back, all is well again.
        """
        found = self._look()
        if self._known is None:
            self._known = found
        elif found != self._known:
            what = "was deleted or moved away" if found is None else "was replaced by another file"
            fault = sqlite3.OperationalError(
                f"database file '{self._path}' {what} while it was in use; put it back, or restart"
            )
            fault.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
            raise OperationalError(None, None, fault)
        return found is not None

    def _look(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino


_Piece = tuple[Future[Any], Callable[[], Any]]


class FairThread:
    """Does one piece of work at a time: one of each party in turn, those of one party in their order."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, name)
        self._lock = threading.Lock()
        # The parties that wait, in the order of their turns.
        self._waiting: dict[str, deque[_Piece]] = {}

    def submit(self, party: str, work: Callable[[], T]) -> Future[T]:
        """Have ``work`` done when it is the party's turn; safe from any thread.

        Raises:
            RuntimeError: the thread was closed.
        """
        future: Future[T] = Future()
        with self._lock:
            # Every order to the pool does one piece, not necessarily the one that it came with.
            self._pool.submit(self._do_next)
            self._waiting.setdefault(party, deque()).append((future, work))
        return future

    def _do_next(self) -> None:
        with self._lock:
            party = next(iter(self._waiting))
            pieces = self._waiting.pop(party)
            future, work = pieces.popleft()
            if pieces:
                self._waiting[party] = pieces
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - the caller that waits for the future gets it
            future.set_exception(error)

    def close(self) -> None:
        """Do the requested work, and end. Closing twice is fine."""
        self._pool.shutdown()


class DataVersion:
    """A connection that only ever asks how far the file is.

    It waits for no lock, so an event loop may ask it. Commits of this process count as well as those of others: each
    connection but the one that commits sees them.

    Args:
        path: The database file; it is not made.
        presence: Knows which file it was. Another one in its place is not even opened: next to it is the log of the
            first, which SQLite would take for its own.
    """

    def __init__(self, path: Path, presence: FilePresence) -> None:
        self._path = path
        self._presence = presence
        self._connection: sqlite3.Connection | None = None

    def version(self) -> int | None:
        """Return a value that differs after each commit of anybody; None = not known now."""
        try:
            self._presence.check()
            if self._connection is None:
                self._connection = self._open()
            found: int = self._connection.execute("PRAGMA data_version").fetchone()[0]
        except (OperationalError, sqlite3.Error):
            # It is gone, or busy for a moment: the caller has to look, and finds what is wrong.
            return None
        return found

    def _open(self) -> sqlite3.Connection:
        address = f"{self._path.absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(address, uri=True, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            # What came into its place before it was opened.
            self._presence.check()
        except OperationalError:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Close the connection; the next question opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


READERS = 4
_ENGINE = "engine"
_SIGN_OF_LIFE = "sign of life"


class Writer:
    """The process' only connection that writes: a second one would have to wait for the file's lock, without order."""

    def __init__(self, url: URL) -> None:
        self.presence = FilePresence(sqlite_path(url))
        self._thread = FairThread("cronograph-writer")
        self._engine = sync_engine(url, is_there=self.presence.check)
        self.submit = self._thread.submit
        self.transactions = 0

    def transact(self, function: Callable[[Connection], T]) -> T:
        """Run a function in one transaction, in the writer's thread.

        Raises:
            OperationalError: the file is gone, perhaps with the last writes.
        """
        # Before its commit: who sees that finds it counted.
        self.transactions += 1
        result = _in_transaction(self.presence, self._engine, function)
        self.presence.check()
        return result

    def close(self) -> None:
        """Write the requested rows, and end."""
        self._thread.close()
        self._engine.dispose()


class SqliteAccess:
    """Reads in threads of its own; writes in turn with all others of the process.

    Args:
        url: From ``parse_url``.
        writer: That of another access of this process to the same file, if there is one; it closes it.
        party: Who writes; parties write in turn.
        bounds: Of its reads, of which ``Database`` keeps the time.
    """

    def __init__(
        self, url: URL, writer: Writer | None = None, party: str = _ENGINE, bounds: ReadBounds | None = None
    ) -> None:
        self._url = url
        self._party = party
        self._writer = writer or Writer(url)
        self._owns_writer = writer is None
        self._readers = ThreadPoolExecutor(READERS if bounds is None else bounds.connections, "cronograph-reader")
        self._read_engine = sync_engine(url, read_only=True, is_there=self._writer.presence.check)
        self._data_version = DataVersion(sqlite_path(url), self._writer.presence)

    def separate_pool(self, party: str, bounds: ReadBounds | None = None) -> "SqliteAccess":
        """Return another access to the same file, with readers of its own."""
        return SqliteAccess(self._url, self._writer, party, bounds)

    async def read(self, function: Callable[[Connection], T]) -> T:
        """Run a function on one snapshot; a cancel ends its statement."""
        return await read_in_thread(self._readers, self._read_engine, function, before=self._writer.presence.check)

    async def write(self, function: Callable[[Connection], T]) -> T:
        """Run a function in one transaction."""
        return await asyncio.wrap_future(self._writer.submit(self._party, partial(self._writer.transact, function)))

    def write_sync(self, function: Callable[[Connection], T]) -> T:
        """Do the same as ``write`` in a thread, in a turn of its own."""
        return self._writer.submit(_SIGN_OF_LIFE, partial(self._writer.transact, function)).result()

    def version(self) -> object | None:
        """Return a value that differs after each commit of anybody; None = not known."""
        return self._data_version.version()

    def own_transactions(self) -> int:
        """Return the number of writing transactions that have begun."""
        return self._writer.transactions

    def pool(self) -> None:
        """Return nothing: each thread keeps its own connection."""

    def hang_up(self) -> None:
        """Do nothing: a file is never out of reach in the way that a server is."""

    def close(self) -> None:
        """End the threads and close the connections; closing twice is fine."""
        self._readers.shutdown()
        self._read_engine.dispose()
        self._data_version.close()
        if self._owns_writer:
            self._writer.close()


def _in_transaction(presence: FilePresence, engine: Engine, function: Callable[[Connection], T]) -> T:
    presence.check()
    with engine.begin() as conn:
        try:
            return function(conn)
        except UserError:
            raise
        except Exception as error:
            # An answer that was begun keeps its snapshot, and its lock, for as long as anything holds it, such as a
            # traceback. What comes next gets a connection of its own; this one is rolled back before it is closed.
            conn.connection.rollback()
            conn.invalidate(error)
            raise


MOST_FAULTS = 5
"""So many faults of a damaged file are named."""
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def copy_online(source: Path, target: Path) -> int:
    """Copy a database file while others read and write it; return the size of the copy in bytes.

    The copy has the commits up to one moment. It is checked, can be read by its owner alone, and gets its name
    once it is complete and on the disk.

    Args:
        source: A file that is there.
        target: Its copy, which must not be there.

    Raises:
        StorageError: the file cannot be read, the copy cannot be written, or the copy is damaged; then nothing is left.
    """
    partial = target.with_name(f"{target.name}.partial")
    try:
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
    except OSError as error:
        raise StorageError(f"back-up '{partial}': must be a new file that can be written: {error.strerror}") from None
    try:
        _copy(source, partial)
        write_through(partial)
        size = partial.stat().st_size
        partial.rename(target)
        write_through(target.parent)
    except sqlite3.Error as error:
        if error.sqlite_errorcode & 0xFF in _DAMAGE:
            raise _damaged(source, str(error)) from error
        raise StorageError(f"database file '{source}': cannot be copied to '{target}': {error}") from error
    except OSError as error:
        raise StorageError(f"database file '{source}': cannot be copied to '{target}': {error}") from error
    finally:
        for left in (partial, *(Path(f"{partial}-{suffix}") for suffix in ("journal", "shm", "wal"))):
            left.unlink(missing_ok=True)
    return size


def _copy(source: Path, partial: Path) -> None:
    with closing(sqlite3.connect(partial)) as copy:
        with closing(sqlite3.connect(f"{source.as_uri()}?mode=rw", uri=True)) as original:
            # In one step, from one snapshot: in several, each write in between would begin it all over again.
            original.backup(copy)
        faults = [line for (line,) in copy.execute(f"PRAGMA integrity_check({MOST_FAULTS})") if line != "ok"]
        if faults:
            raise _damaged(source, "; ".join(faults))


def _damaged(source: Path, why: str) -> StorageError:
    return StorageError(
        f"database file '{source}': is damaged, so no back-up of it was kept: {why}; restore an older back-up"
    )
