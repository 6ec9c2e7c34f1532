"""A node's sign of life, from a thread and on a connection of its own: a busy loop or pool never silences it."""

import logging
import threading
import time
from collections.abc import Callable

from ..actions.nodes import Beat, heartbeat
from ..core.model import Node
from ..store.db.database import Database, SQLAlchemyError

log = logging.getLogger(__name__)

FENCE_AT = 0.75
"""The part of the lease after which a node without a good heartbeat stops trusting itself."""


class Heartbeat:
    """Beats until stopped. ``age`` counts from the *start* of the last good beat, by the monotonic clock.

    Args:
        database: Where the node is registered.
        node: This process' node.
        interval: Seconds between beats.
        lease: Seconds that a beat is good for.
        running: How many runs execute now.
        on_beat: Called from the thread with what the database answered to each beat.
    """

    def __init__(
        self,
        database: Database,
        node: Node,
        *,
        interval: float,
        lease: float,
        running: Callable[[], int],
        on_beat: Callable[[Beat], None],
    ) -> None:
        self._database = database
        self._node = node
        self._interval = interval
        self._lease = lease
        self._running = running
        self._on_beat = on_beat
        self._stopped = threading.Event()
        self._wanted = threading.Event()
        self._last_good = time.monotonic()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to beat, at once: the connection is had before the server may be full."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._beat_until_stopped, name="cronograph-heartbeat", daemon=True)
            self._thread.start()
            self.beat_now()

    def stop(self) -> None:
        """Stop beating; stopping twice, or without a start, is fine. A beat under way is not waited for."""
        self._stopped.set()
        self._wanted.set()

    def beat_now(self) -> None:
        """Beat without waiting for the interval: somebody may have changed this node's state. Safe from any thread."""
        self._wanted.set()

    def age(self) -> float:
        """Seconds since the start of the last good beat."""
        return time.monotonic() - self._last_good

    def is_doubtful(self) -> bool:
        """Whether other nodes may soon take this node for dead."""
        return self.age() > FENCE_AT * self._lease

    def _beat_until_stopped(self) -> None:
        while True:
            self._wanted.wait(self._interval)
            self._wanted.clear()
            if self._stopped.is_set():
                return
            began = time.monotonic()
            try:
                beat = self._database.write_sync(heartbeat, self._node.id, lease=self._lease, running=self._running())
            except (SQLAlchemyError, OSError) as error:
                log.warning("heartbeat of node %s failed, again in %g s: %s", self._node.name, self._interval, error)
                continue
            if self._stopped.is_set():
                return
            if beat.state is not None:
                self._last_good = began
            self._on_beat(beat)
