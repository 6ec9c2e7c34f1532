"""A node's sign of life, from a thread and on a connection of its own: a busy loop or pool never silences it."""

import logging
import threading
from collections.abc import Callable

from ..actions.nodes import Beat, heartbeat, note_stall
from ..core.nodes import Node
from ..store.db.database import Database
from ..store.db.faults import log_fault
from .base.clock import Clock
from .base.pulse import Stall

log = logging.getLogger(__name__)

AGAIN = 1.0
"""Seconds after which a beat that failed is tried again, unless beats come faster anyway."""
_SILENT_AFTER = 2.0
"""Intervals without an answer after which the database is taken to be unavailable, though nothing has failed yet."""


class Heartbeat:
    """Beats until stopped. ``age`` counts from the *start* of the last good beat, by the monotonic clock.

    Args:
        database: Where the node is registered.
        node: This process' node.
        interval: Seconds between beats.
        lease: Seconds that a beat is good for.
        clock: Measures the age.
        since: When the registration of the node began, by that clock: the first good beat.
        running: How many runs execute now.
        on_beat: Called from the thread with what the database answered to each beat.
        stall: Called there before each beat: which part of the node makes no progress.
        on_fault: Called there with ``"heartbeat"`` after each beat that failed.
    """

    def __init__(
        self,
        database: Database,
        node: Node,
        *,
        interval: float,
        lease: float,
        clock: Clock,
        since: float,
        running: Callable[[], int],
        on_beat: Callable[[Beat], None],
        stall: Callable[[], Stall | None] = lambda: None,
        on_fault: Callable[[str], None] = lambda _name: None,
    ) -> None:
        self._database = database
        self._node = node
        self._interval = interval
        self._lease = lease
        self._running = running
        self._on_beat = on_beat
        self._stall = stall
        self._on_fault = on_fault
        self._noted: str | None = None
        self._stopped = threading.Event()
        self._wanted = threading.Event()
        self._clock = clock
        self._last_good = since
        self._failed = False
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
        return self._clock.monotonic() - self._last_good

    def answers(self) -> bool:
        """Whether the database takes what this node writes: the last beat was good, and is not long ago."""
        return not self._failed and self.age() <= _SILENT_AFTER * self._interval

    def _beat_until_stopped(self) -> None:
        while True:
            self._wanted.wait(min(self._interval, AGAIN) if self._failed else self._interval)
            self._wanted.clear()
            if self._stopped.is_set():
                return
            try:
                self._beat()
            except Exception as error:
                self._fail(error)

    def _beat(self) -> None:
        began = self._clock.monotonic()
        # What is said along with the sign of life does not keep it from being given.
        unsaid = self._note_stall()
        beat = self._database.write_sync(heartbeat, self._node.id, lease=self._lease, running=self._running())
        if self._stopped.is_set():
            return
        if beat.state is not None:
            self._last_good = began
        self._on_beat(beat)
        if unsaid is not None:
            raise unsaid
        self._recover()

    def _note_stall(self) -> Exception | None:
        try:
            self._note(self._stall())
        except Exception as error:
            return error
        return None

    def _note(self, stall: Stall | None) -> None:
        """Say when a part of the node stops to get on, and when it does again."""
        part = None if stall is None else stall.part
        if part == self._noted:
            return
        if stall is not None:
            log.error("node %s is not ready: %s", self._node.name, stall)
        else:
            log.warning("all parts of node %s make progress again", self._node.name)
        self._database.write_sync(note_stall, self._node, part)
        self._noted = part

    def _fail(self, error: Exception) -> None:
        # Once for each time that the database is unavailable, and not with each beat.
        if not self._failed:
            log_fault(log, f"heartbeat of node {self._node.name} failed", error)
        self._failed = True
        self._on_fault("heartbeat")

    def _recover(self) -> None:
        if self._failed:
            log.info("heartbeat of node %s is good again after %.1f s", self._node.name, self.age())
        self._failed = False
