"""A line to PostgreSQL that loses answers: the server commits, and whoever asked never hears of it."""

import select
import socket
import threading
from types import TracebackType
from typing import Self

from sqlalchemy import make_url

CHUNK = 65536


class Proxy:
    """Forwards connections to a database; ``url`` is the address to use instead of the real one.

    ``lose_answers(n)`` arms it: of the next n transactions that commit, the commit reaches the server, its answer is
    awaited and thrown away, and the connection is cut. ``hold`` makes it a black hole until ``let_go``: nothing passes,
    and nobody is told.
    """

    def __init__(self, url: str) -> None:
        address = make_url(url)
        self._target = (address.host or "127.0.0.1", address.port or 5432)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = address.set(host="127.0.0.1", port=self._listener.getsockname()[1]).render_as_string(
            hide_password=False
        )
        self.to_lose = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._open = threading.Event()
        self._open.set()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._open.set()
        self._listener.close()

    def lose_answers(self, count: int) -> None:
        """Arm it."""
        with self._lock:
            self.to_lose = count

    def hold(self) -> None:
        """Let nothing pass any more, in either direction."""
        self._open.clear()

    def let_go(self) -> None:
        """Let pass what was held, and everything after it."""
        self._open.set()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._target)
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._forward, args=(client, server), daemon=True).start()

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        with client, server:
            while not self._closing.is_set():
                ready, _, _ = select.select([client, server], [], [], 0.2)
                self._open.wait()
                for source in ready:
                    if not self._pass_on(source, server if source is client else client, from_client=source is client):
                        return

    def _pass_on(self, source: socket.socket, target: socket.socket, *, from_client: bool) -> bool:
        """Forward what has come; whether the connection goes on."""
        try:
            data = source.recv(CHUNK)
            if not data:
                return False
            target.sendall(data)
        except OSError:
            return False
        if from_client and b"COMMIT" in data and self._takes_one():
            target.recv(CHUNK)
            return False
        return True

    def _takes_one(self) -> bool:
        with self._lock:
            self.to_lose = max(-1, self.to_lose - 1) if self.to_lose > 0 else -1
            taken = self.to_lose >= 0
            self.to_lose = max(0, self.to_lose)
            return taken
