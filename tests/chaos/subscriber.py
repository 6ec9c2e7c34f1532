"""Somebody who reads all events over a WebSocket, goes away, and comes back with the last cursor."""

import json
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from cronograph.jobs.core.events import Cursor
from tests.support.processes import CronographProcess

QUERY = """
subscription ($after: String) {
  events(after: $after) {
    cursor kind
    ... on RunEvent { runId runState }
    ... on ExecutionEvent { runId executionId outcome }
    ... on StepEvent { runId stepState }
  }
}
"""
PATIENCE = 60.0
"""Seconds without any message after which the reader gives up: something changes every second in these tests."""


@dataclass
class Subscriber:
    """Collects events; ``last`` is where it goes on."""

    last: Cursor = field(default_factory=lambda: Cursor(0, 0))
    seen: list[Cursor] = field(default_factory=list[Cursor])
    kinds: set[str] = field(default_factory=set[str])

    def read(self, server: CronographProcess, *, events: int) -> None:
        """Subscribe from ``last``, read so many events, and vanish without a goodbye.

        Raises:
            ConnectionClosed: the server ended the connection.
        """
        with connect(
            f"{server.url.replace('http', 'ws')}/graphql",
            subprotocols=[Subprotocol("graphql-transport-ws")],
            close_timeout=0.1,
        ) as socket:
            self._subscribe(socket)
            for _ in range(events):
                self._take(socket)
            socket.socket.close()

    def read_until_cut_off(self, server: CronographProcess, *, at_least: int) -> int:
        """Read so many events, then what comes until the server ends the connection; how many in all."""
        read = 0
        with connect(
            f"{server.url.replace('http', 'ws')}/graphql", subprotocols=[Subprotocol("graphql-transport-ws")]
        ) as socket:
            self._subscribe(socket)
            try:
                for read in count():
                    if read == at_least:
                        server.kill()
                    self._take(socket)
            except ConnectionClosed:
                return read
        return read

    def read_up_to(self, server: CronographProcess, cursor: Cursor) -> None:
        """Read until at least this event."""
        with connect(
            f"{server.url.replace('http', 'ws')}/graphql", subprotocols=[Subprotocol("graphql-transport-ws")]
        ) as socket:
            self._subscribe(socket)
            while self.last < cursor:
                self._take(socket)

    def _subscribe(self, socket: ClientConnection) -> None:
        socket.send(json.dumps({"type": "connection_init"}))
        assert json.loads(socket.recv(timeout=PATIENCE))["type"] == "connection_ack"
        payload = {"query": QUERY, "variables": {"after": str(self.last)}}
        socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": payload}))

    def _take(self, socket: ClientConnection) -> None:
        message: dict[str, Any] = json.loads(socket.recv(timeout=PATIENCE))
        assert message["type"] == "next", message
        assert "errors" not in message["payload"], message
        event = message["payload"]["data"]["events"]
        self.last = Cursor.parse(event["cursor"])
        self.seen.append(self.last)
        self.kinds.add(event["kind"])
