"""What a child process sends to its node: frames over a socket, and lines and progress at a bearable pace."""

import socket
import threading
import time
from collections import deque

from ...core.base.levels import KEPT_LINES
from ..job.lines import MANY_WAITING, SLOWED_BY, SLOWED_EVERY, RawLine
from .wire import HEADER, Lines, Message, Progress, frame, length_of

AT_ONCE = 100
"""Lines of a tenth of a second that are sent at once, so that the last words before a crash arrive."""
PIECE = 250
"""Lines of one message; with ``PAUSE``, this is also how many a talkative job sends in a tenth of a second."""
PAUSE = 0.1
"""Seconds between two messages of gathered lines, and between two about progress."""


class NodeGoneError(Exception):
    """The node closed the connection, or died."""


class Connection:
    """Frames over a blocking socket; sending is safe from any thread."""

    def __init__(self, peer: socket.socket) -> None:
        self._peer = peer
        self._sending = threading.Lock()

    def send(self, message: Message) -> None:
        """Send a whole message; waits while the node does not read.

        Raises:
            NodeGoneError: nobody reads any more.
        """
        data = frame(message)
        with self._sending:
            try:
                self._peer.sendall(data)
            except OSError as error:
                raise NodeGoneError("the node is gone") from error

    def receive(self) -> bytes:
        """The body of the next frame.

        Raises:
            NodeGoneError: there is none any more.
        """
        return self._exactly(length_of(self._exactly(HEADER.size)))

    def _exactly(self, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            try:
                part = self._peer.recv(count - len(parts))
            except OSError as error:
                raise NodeGoneError("the node is gone") from error
            if not part:
                raise NodeGoneError("the node is gone")
            parts += part
        return bytes(parts)


class Outbox:
    """Sends log lines and progress: what comes slowly at once, a flood gathered, and of it only the newest.

    A job that writes faster than anybody reads holds up neither itself nor the node, and its memory stays bounded.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._pending: deque[RawLine] = deque(maxlen=KEPT_LINES)
        self._dropped = 0
        self._taken = 0
        self._window = 0.0
        self._sent = 0
        self._progress: Progress | None = None
        self._progress_at = 0.0
        self._waiting = threading.Event()
        self._sender: threading.Thread | None = None
        self._is_over = False

    def line(self, line: RawLine) -> None:
        """Take a line; safe from any thread."""
        with self._lock:
            if self._is_over:
                return
            if not self._pending and self._may_go_at_once():
                self._connection.send(Lines.model_construct(lines=[line]))
                return
            if len(self._pending) == KEPT_LINES:
                self._dropped += 1
            self._pending.append(line)
            self._taken += 1
            is_too_fast = len(self._pending) >= MANY_WAITING and self._taken % SLOWED_EVERY == 0
            self._wake()
        if is_too_fast:
            # A flood leaves the processor to others now and then.
            time.sleep(SLOWED_BY)

    def progress(self, progress: Progress) -> None:
        """Take a value, which replaces one that waits; safe from any thread."""
        with self._lock:
            if self._is_over:
                return
            self._progress = progress
            if time.monotonic() - self._progress_at >= PAUSE:
                self._send_progress()
            else:
                self._wake()

    def flush(self) -> None:
        """Send all that waits."""
        while self._send_piece():
            pass

    def end(self) -> None:
        """Take nothing more: what threads of a run that is over say belongs to no other run."""
        self.flush()
        with self._lock:
            self._is_over = True
        self._waiting.set()

    def _may_go_at_once(self) -> bool:
        now = time.monotonic()
        if now - self._window >= PAUSE:
            self._window, self._sent = now, 0
        self._sent += 1
        return self._sent <= AT_ONCE

    def _wake(self) -> None:
        if self._sender is None:
            self._sender = threading.Thread(target=self._send_gathered, name="cronograph-outbox", daemon=True)
            self._sender.start()
        self._waiting.set()

    def _send_gathered(self) -> None:
        while not self._is_over:
            self._waiting.wait()
            self._waiting.clear()
            time.sleep(PAUSE)
            if self._send_piece():
                self._waiting.set()

    def _send_piece(self) -> bool:
        """Send progress and the oldest lines; whether more lines wait."""
        # Within the lock, so that no later line overtakes these.
        with self._lock:
            if self._is_over:
                return False
            if self._progress is not None:
                self._send_progress()
            if not self._pending:
                return False
            lines = [self._pending.popleft() for _ in range(min(PIECE, len(self._pending)))]
            dropped, self._dropped = self._dropped, 0
            self._connection.send(Lines.model_construct(lines=lines, dropped=dropped))
            return bool(self._pending)

    def _send_progress(self) -> None:
        if self._progress is not None:
            self._connection.send(self._progress)
        self._progress, self._progress_at = None, time.monotonic()
