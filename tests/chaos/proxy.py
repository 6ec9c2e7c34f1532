"""Lines that lose answers, are slow, or go dead; that to PostgreSQL loses notifications, too."""

import select
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from sqlalchemy import make_url
from typing_extensions import override

CHUNK = 65536


class Line:
    """Forwards connections, to whatever address is right when each begins.

    ``lose_answers(n)`` arms it: the next n requests that matter reach the server, their answer is awaited and thrown
    away, and the connection is cut. ``hold`` makes it a black hole until ``let_go``: nothing passes, and nobody is
    told; ``cut`` ends every connection. All that passes waits for ``delay`` seconds.

    Args:
        target: Host and port; raises `OSError` if nobody is there.
        matters: What a request has whose answer can be lost.
    """

    def __init__(self, target: Callable[[], tuple[str, int]], matters: bytes = b"POST ") -> None:
        self._target = target
        self._matters = matters
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.to_lose = 0
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
        """Arm it; with 0, disarm it."""
        with self._lock:
            self.to_lose = count

    def hold(self) -> None:
        """Let nothing pass any more, in either direction."""
        self._open.clear()

    def let_go(self) -> None:
        """Let pass what was held, and everything after it."""
        self._open.set()

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
                server = socket.create_connection(self._target())
            except OSError:
                # The server is unavailable: anyone who called is told as if nobody listened.
                client.close()
                continue
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._forward, args=(client, server), daemon=True).start()

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        life, passing, loses = self._life, self._passing(), False
        with client, server:
            while not self._closing.is_set() and life == self._life:
                ready, _, _ = select.select([client, server], [], [], 0.2)
                self._open.wait()
                if self.delay and ready:
                    self._closing.wait(self.delay)
                for source in ready:
                    to_client = source is server
                    data = self._pass_on(source, client if to_client else server, passing if to_client else None, loses)
                    if not data:
                        return
                    loses = loses or (not to_client and self._matters in data and self._takes_one())

    def _passing(self) -> Callable[[bytes], bytes]:
        """Return what of the answers on one connection reaches its client."""
        return lambda data: data

    def _pass_on(
        self, source: socket.socket, target: socket.socket, passing: Callable[[bytes], bytes] | None, loses: bool
    ) -> bytes:
        """Forward what has come, and return it; nothing: the connection is over."""
        try:
            data = source.recv(CHUNK)
            if not data or (loses and passing is not None):
                return b""
            target.sendall(data if passing is None else passing(data))
        except OSError:
            return b""
        return data

    def _takes_one(self) -> bool:
        with self._lock:
            taken = self.to_lose > 0
            self.to_lose -= taken
            return taken


class Proxy(Line):
    """The line to a database; ``url`` is the address to use instead of the real one.

    The answers of transactions that commit can be lost. While ``muted``, notifications are swallowed.
    """

    def __init__(self, url: str) -> None:
        self._address = _address(url)
        super().__init__(lambda: self._address, b"COMMIT")
        # Without encryption to ask for, all that the server says is messages, which can be told apart.
        plain = (
            make_url(url)
            .set(host="127.0.0.1", port=self.port)
            .update_query_dict({"sslmode": "disable", "gssencmode": "disable"})
        )
        self.url = plain.render_as_string(hide_password=False)
        self.muted = False

    def redirect(self, url: str) -> None:
        """Lead to another server from now on, as an address does after a failover; every connection ends."""
        self._address = _address(url)
        self.cut()

    @override
    def _passing(self) -> Callable[[bytes], bytes]:
        answers = Messages()
        return lambda data: answers.passing(data, muted=self.muted)


def _address(url: str) -> tuple[str, int]:
    found = make_url(url)
    return found.host or "127.0.0.1", found.port or 5432


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
