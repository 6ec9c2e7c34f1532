"""Ends connections to PostgreSQL without a word to the server, which may be out of reach, and from any thread.

To cancel a statement in an orderly way, a driver asks the server over a further connection and waits for its answer. In
a network that drops everything, that takes as long as two time-outs.
"""

import contextlib
import os
import socket
import threading
from typing import Any
from weakref import WeakKeyDictionary


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
    """Those of all connections of a pool. Safe from any thread.

    Attributes:
        ended: How often all were ended.
    """

    def __init__(self) -> None:
        self.ended: int = 0
        self._lock = threading.Lock()
        self._known: WeakKeyDictionary[Any, SocketHandle] = WeakKeyDictionary()

    def add(self, connection: Any) -> None:
        """A connection was opened."""
        with self._lock:
            self._known[connection] = SocketHandle(connection)

    def shut_down(self) -> None:
        """End every connection."""
        with self._lock:
            self.ended += 1
            sockets = list(self._known.values())
        for handle in sockets:
            handle.shut_down()
