"""A receiver of signed webhooks, and what a server needs to reach it."""

import base64
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from typing_extensions import override

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
LOOPBACK = {
    "CRONOGRAPH_HTTP_ALLOW": "127.0.0.1",
    "CRONOGRAPH_SECRET_KEY": base64.b64encode(b"k" * 32).decode(),
}


class Receiver:
    """A receiver of webhooks in threads, which can hang.

    Attributes:
        messages: The headers and bodies that it was sent, in order.
        hangs: Whether it answers nobody for now.
    """

    def __init__(self) -> None:
        self.messages: list[tuple[dict[str, str], bytes]] = []
        self.hangs = threading.Event()
        self.over = threading.Event()
        self.status = 200

    def take(self, headers: dict[str, str], body: bytes) -> None:
        """Keep a message, and hold its sender up if the test wants that."""
        self.messages.append((headers, body))
        if self.hangs.is_set():
            self.over.wait(60)

    @property
    def ids(self) -> list[str]:
        """The ids of the messages."""
        return [headers["webhook-id"] for headers, _ in self.messages]


@contextmanager
def receiving() -> Generator[tuple[Receiver, str]]:
    """A receiver, and its address."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            receiver.take({name.lower(): value for name, value in self.headers.items()}, body)
            self.send_response(receiver.status)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        @override
        def log_message(self, format: str, *args: Any) -> None:
            """Write nothing."""

        @override
        def handle(self) -> None:
            """Serve a sender that may be killed meanwhile."""
            try:
                super().handle()
            except (ConnectionError, BrokenPipeError):
                return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield receiver, f"http://127.0.0.1:{server.server_port}/hook"
    finally:
        receiver.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
