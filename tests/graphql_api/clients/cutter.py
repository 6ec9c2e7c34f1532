"""A TCP proxy that cuts connections after so many bytes: what a bad network does, without depending on time."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import count
from urllib.parse import urlsplit


class Cutter:
    """Stands between clients and one server; ends the n-th connection after ``n * step`` bytes of answers.

    Attributes:
        url: the address to use instead of the server's.
        cuts: how many connections were cut so far.
    """

    def __init__(self, target: str, step: int) -> None:
        """Listen on a free port of the loopback interface.

        Args:
            target: the address of the server.
            step: bytes by which each connection lasts longer than the one before, so that every message gets through
                at last.
        """
        parts = urlsplit(target)
        self._target = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._step = step
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.cuts = 0

    def start(self) -> None:
        """Serve in the background until `close`."""
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """End all connections and stop to listen."""
        for end in [self._listener, *self._open]:
            _end(end)

    def _accept(self) -> None:
        with suppress(OSError):
            for number in count(1):
                near, _ = self._listener.accept()
                far = socket.create_connection(self._target)
                self._open |= {near, far}
                limit = number * self._step
                threading.Thread(target=self._pump, args=(near, far, None), daemon=True).start()
                threading.Thread(target=self._pump, args=(far, near, limit), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, limit: int | None) -> None:
        with suppress(OSError):
            while data := source.recv(4096):
                if limit is not None and len(data) >= limit:
                    sink.sendall(data[:limit])
                    self.cuts += 1
                    break
                sink.sendall(data)
                limit = None if limit is None else limit - len(data)
        for end in (source, sink):
            _end(end)


def _end(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextmanager
def cutter(target: str, step: int) -> Generator[Cutter]:
    """A running `Cutter`."""
    proxy = Cutter(target, step)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.close()
