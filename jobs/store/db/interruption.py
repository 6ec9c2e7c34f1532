"""Ends connections to PostgreSQL without a word to the server, which may be out of reach, and from any thread."""

import asyncio
import contextlib
import os
import socket
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine

from ...core.base.lazy import LazyModule
from ...own.threads import in_own_thread


class SocketHandle:
    """The socket of one connection, distinct from another one that has got its number since.

    Args:
        connection: Of psycopg, just opened or in use by the calling thread.
    """

    __slots__ = ("_descriptor", "_inode")

    def __init__(self, connection: Any) -> None:
        self._descriptor: int = connection.fileno()
        self._inode = os.fstat(self._descriptor).st_ino

    def shut_down(self) -> None:
        """End the connection, unless it has ended: who waits for an answer on it gets the error at once."""
        with contextlib.suppress(OSError):
            # A number of our own first: from then on nobody can give it to another socket.
            held = os.dup(self._descriptor)
            if os.fstat(held).st_ino != self._inode:
                os.close(held)
                return
            with socket.socket(fileno=held) as ours:
                ours.shutdown(socket.SHUT_RDWR)


class SocketHandles:
    """Hold the sockets of all connections of a pool. Safe from any thread.

    Attributes:
        ended: How often all were ended.
    """

    def __init__(self) -> None:
        self.ended: int = 0
        self._lock = threading.Lock()
        self._known: WeakKeyDictionary[Any, SocketHandle] = WeakKeyDictionary()

    def add(self, connection: Any) -> None:
        """Note that a connection was opened."""
        with self._lock:
            self._known[connection] = SocketHandle(connection)

    def shut_down(self) -> None:
        """End every connection."""
        with self._lock:
            self.ended += 1
            sockets = list(self._known.values())
        for handle in sockets:
            handle.shut_down()


CANCEL_SECONDS: Final = 2.0
"""PostgreSQL is asked over a connection of its own to cancel a statement; after so many seconds it is out of reach."""

AGAIN_SECONDS: Final = 0.05
"""So long the end of a statement is waited for before its cancel is asked for again."""

if TYPE_CHECKING:
    import psycopg
else:
    psycopg = LazyModule("psycopg")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReadBounds:
    """Bound the reads of an access.

    Attributes:
        connections: So many at once; further ones wait.
        seconds: A read that takes longer is ended, on PostgreSQL each of its statements by the server, too. There they
            have one process each: parallel ones would take the processors of everybody else.
    """

    connections: int
    seconds: float

    @property
    def settings(self) -> dict[str, str]:
        """Return the settings of PostgreSQL for these bounds."""
        return {"statement_timeout": f"{round(self.seconds * 1000)}ms", "max_parallel_workers_per_gather": "0"}


class ReadAbandonedError(Exception):
    """A read that was cancelled before it began; nobody sees it."""


async def read_in_thread(
    threads: ThreadPoolExecutor,
    engine: Engine,
    function: Callable[[Connection], T],
    *,
    before: Callable[[], object] | None = None,
) -> T:
    """Run ``function`` in one transaction that changes nothing; a cancel ends the statement under way.

    Args:
        before: Called in the thread before the connection is asked for.
    """
    loop, interruption = asyncio.get_running_loop(), _Interruption()
    try:
        return await loop.run_in_executor(threads, partial(_read, engine, function, before, interruption))
    except asyncio.CancelledError:
        # In a thread: it may have to speak with the server.
        in_own_thread(interruption.ask)
        raise


def _read(
    engine: Engine,
    function: Callable[[Connection], T],
    before: Callable[[], object] | None,
    interruption: "_Interruption",
) -> T:
    if before is not None:
        before()
    with engine.begin() as conn, interruption.covering(conn):
        return function(conn)


class _Interruption:
    """The way to the statement that one thread has under way, for another thread."""

    def __init__(self) -> None:
        # Held while the statement is cancelled: the connection must not be given to somebody else meanwhile.
        self._lock = threading.Lock()
        self._cancel: Callable[[], object] | None = None
        self._asked = False
        self._over = threading.Event()

    @contextmanager
    def covering(self, conn: Connection) -> Generator[None]:
        """Let statements on ``conn`` be cancelled while the block runs."""
        self._begin(_canceller(conn))
        try:
            yield
        finally:
            if self._end() and conn.dialect.name == "postgresql":
                # The server may act on the request a little later, on the statement that this connection runs then.
                conn.invalidate()

    def _begin(self, cancel: Callable[[], object]) -> None:
        with self._lock:
            if self._asked:
                raise ReadAbandonedError("the caller of this read has left")
            self._cancel = cancel

    def _end(self) -> bool:
        """Note that nothing is under way any more; return whether it was cancelled."""
        with self._lock:
            self._cancel = None
            self._over.set()
            return self._asked

    def ask(self) -> None:
        """Cancel the statements under way until they are over; others do not begin."""
        while self._cancelled():
            # The database forgets a request that comes between two statements.
            self._over.wait(AGAIN_SECONDS)

    def _cancelled(self) -> bool:
        with self._lock:
            self._asked = True
            if self._cancel is None:
                return False
            self._cancel()
            return True


def _canceller(conn: Connection) -> Callable[[], object]:
    driver: Any = conn.connection.driver_connection
    if conn.dialect.name == "postgresql":
        return partial(_cancel, driver, SocketHandle(driver))
    return driver.interrupt  # type: ignore[no-any-return]


def _cancel(driver: Any, handle: SocketHandle) -> None:
    """Ask the server to cancel; hang up where it cannot be asked."""
    try:
        driver.cancel_safe(timeout=CANCEL_SECONDS)
    except psycopg.Error:
        handle.shut_down()
