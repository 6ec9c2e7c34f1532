"""The way to a SQLite file: one writer for the whole process, fair to all who write, and a few readers."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from sqlalchemy import URL, Connection, Engine

from ....core.base.errors import UserError
from ..base.address import sqlite_path
from ..base.connecting import sync_engine
from ..base.interruption import ReadBounds, read_in_thread
from .data_version import DataVersion
from .fair_thread import FairThread
from .presence import FilePresence

READERS = 4
_ENGINE = "engine"
_SIGN_OF_LIFE = "sign of life"

T = TypeVar("T")


class Writer:
    """The process' only connection that writes: a second one would have to wait for the file's lock, without order."""

    def __init__(self, url: URL) -> None:
        self.presence = FilePresence(sqlite_path(url))
        self._thread = FairThread("cronograph-writer")
        self._engine = sync_engine(url, is_there=self.presence.check)
        self.submit = self._thread.submit

    def transact(self, function: Callable[[Connection], T]) -> T:
        """Run a function in one transaction, in the writer's thread.

        Raises:
            OperationalError: the file is gone, perhaps with what was just written.
        """
        result = _in_transaction(self.presence, self._engine, function)
        self.presence.check()
        return result

    def close(self) -> None:
        """Write what was asked for, and end."""
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
        """Another access to the same file, with readers of its own."""
        return SqliteAccess(self._url, self._writer, party, bounds)

    async def read(self, function: Callable[[Connection], T]) -> T:
        """Run a function on one snapshot; a cancel ends its statement."""
        return await read_in_thread(self._readers, self._read_engine, function, before=self._writer.presence.check)

    async def write(self, function: Callable[[Connection], T]) -> T:
        """Run a function in one transaction."""
        return await asyncio.wrap_future(self._writer.submit(self._party, partial(self._writer.transact, function)))

    def write_sync(self, function: Callable[[Connection], T]) -> T:
        """``write`` for a thread, in a turn of its own."""
        return self._writer.submit(_SIGN_OF_LIFE, partial(self._writer.transact, function)).result()

    def version(self) -> object | None:
        """Differs from an earlier one if anybody has committed since; None = that is not known."""
        return self._data_version.version()

    def pool(self) -> None:
        """Each thread keeps its own."""

    def hang_up(self) -> None:
        """A file is never out of reach in the way that a server is."""

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
