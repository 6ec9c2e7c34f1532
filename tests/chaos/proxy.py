"""A line to PostgreSQL that loses answers and notifications, is slow, or goes dead."""

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
    and nobody is told; ``cut`` ends every connection. While ``muted``, notifications are swallowed. All that passes
    waits for ``delay`` seconds.
    """

    def __init__(self, url: str) -> None:
        address = make_url(url)
        self._target = (address.host or "127.0.0.1", address.port or 5432)
        self._listener = socket.create_server(("127.0.0.1", 0))
        port: int = self._listener.getsockname()[1]
        # Without encryption to ask for, all that the server says is messages, which can be told apart.
        plain = address.set(host="127.0.0.1", port=port).update_query_dict(
            {"sslmode": "disable", "gssencmode": "disable"}
        )
        self.url = plain.render_as_string(hide_password=False)
        self.to_lose = 0
        self.muted = False
        self.delay = 0.0
        self._life = 0
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

    def redirect(self, url: str) -> None:
        """Lead to another server from now on, as an address does after a failover; every connection ends."""
        address = make_url(url)
        self._target = (address.host or "127.0.0.1", address.port or 5432)
        self.cut()

    def cut(self) -> None:
        """End every connection, without a word to either side before."""
        self._life += 1

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._target)
            except OSError:
                # The server is unavailable: anyone who called is told as if nobody listened.
                client.close()
                continue
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._forward, args=(client, server), daemon=True).start()

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        life, answers = self._life, Messages()
        with client, server:
            while not self._closing.is_set() and life == self._life:
                ready, _, _ = select.select([client, server], [], [], 0.2)
                self._open.wait()
                if self.delay and ready:
                    self._closing.wait(self.delay)
                for source in ready:
                    to_client = source is server
                    if not self._pass_on(source, client if to_client else server, answers if to_client else None):
                        return

    def _pass_on(self, source: socket.socket, target: socket.socket, answers: "Messages | None") -> bool:
        """Forward what has come; whether the connection goes on."""
        try:
            data = source.recv(CHUNK)
            if not data:
                return False
            target.sendall(data if answers is None else answers.passing(data, muted=self.muted))
        except OSError:
            return False
        if answers is None and b"COMMIT" in data and self._takes_one():
            target.recv(CHUNK)
            return False
        return True

    def _takes_one(self) -> bool:
        with self._lock:
            self.to_lose = max(-1, self.to_lose - 1) if self.to_lose > 0 else -1
            taken = self.to_lose >= 0
            self.to_lose = max(0, self.to_lose)
            return taken


class Messages:
    """What a server says on one connection, taken apart: a letter, a length that counts itself, the rest."""

    HEAD = 5
    NOTIFICATION = b"A"

    def __init__(self) -> None:
        self._rest = b""

    def passing(self, data: bytes, *, muted: bool) -> bytes:
        """Return what of it reaches the client: whole messages only, and no notification while ``muted``."""
        self._rest += data
        passed: list[bytes] = []
        while len(self._rest) >= self.HEAD:
            length = 1 + int.from_bytes(self._rest[1 : self.HEAD], "big")
            if len(self._rest) < length:
                break
            message, self._rest = self._rest[:length], self._rest[length:]
            if not (muted and message[:1] == self.NOTIFICATION):
                passed.append(message)
        return b"".join(passed)
