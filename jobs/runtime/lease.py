"""A node's lease: the heartbeat that renews it, and the fence that ends its attempts before the lease is over."""

import asyncio
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ..actions.nodes import Beat, heartbeat, note_stall
from ..core.nodes import Node
from ..store.db.database import Database
from ..store.db.faults import log_fault
from .base.service import Stall
from .base.settings import Clock

log = logging.getLogger(__name__)


AGAIN = 1.0
"""Seconds after which a beat that failed is tried again, unless beats come faster anyway."""
_SILENT_AFTER = 2.0
"""Intervals without an answer after which the database is taken to be unavailable, though nothing has failed yet."""


class Heartbeat:
    """Beats until stopped. ``age`` counts from the *start* of the last good beat, by the monotonic clock.

    Args:
        node: This process' node.
        interval: Seconds between beats.
        lease: Seconds that a beat is good for.
        clock: Measures the age.
        since: When the registration of the node began, by that clock: the first good beat.
        running: How many runs execute now.
        on_beat: Called from the thread with the database's answer to each beat.
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
        """Return the seconds since the start of the last good beat."""
        return self._clock.monotonic() - self._last_good

    def answers(self) -> bool:
        """Return whether the database takes the writes of this node: the last beat was good and recent."""
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


FENCE_AT = 0.75
"""The part of the lease after which a node without a good heartbeat asks its jobs to stop."""
_LONGEST_GRACE = 1 / 8
"""The part of the lease that a job has at most between "please stop" and its hard stop."""
_LAST_MOMENT = 1 / 24
"""The part of the lease between a hard stop and the end by force. What is left, a twelfth, is the margin."""


@dataclass(frozen=True, slots=True)
class Stages:
    """The times at which attempts are ended, in seconds since the start of the last good heartbeat.

    Attributes:
        ask: Jobs are asked to stop.
        stop: Coroutines are cancelled, child processes asked to leave.
        force: Child processes are killed; an attempt that still runs then cannot be stopped.
    """

    ask: float
    stop: float
    force: float


def stages(lease: float, grace: float, *, silent: float = 0.0) -> Stages:
    """Return the stages of a node that has been silent for ``silent`` seconds when it is fenced off.

    Args:
        lease: Seconds; others may begin the node's runs once these are over.
        grace: Seconds between "please stop" and the hard stop; shortened where the lease ends before.
        silent: Since the start of the last good heartbeat; more than three quarters of the lease if the process stood
            still, or others have taken the node for dead: late stages are done at once.
    """
    ask = max(FENCE_AT * lease, silent)
    stop = max(ask, min(ask + grace, (FENCE_AT + _LONGEST_GRACE) * lease))
    return Stages(ask, stop, stop + _LAST_MOMENT * lease)


class Fenced(Protocol):
    """The node as its fence ends it. No method may wait for the database."""

    def ask_to_stop(self) -> None:
        """Take nothing new, and ask attempts to stop."""
        ...

    def stop_hard(self) -> None:
        """Give attempts no more time."""
        ...

    def kill(self) -> None:
        """Kill the attempts that can be killed."""
        ...

    def leave_behind(self) -> None:
        """Name the attempts that still run: they cannot be stopped."""
        ...


def _surely(do: Callable[[], None]) -> None:
    """Run a stage of the fence; a fault there is logged, and does not keep later stages from running."""
    try:
        do()
    except Exception as error:
        log_fault(log, "a stage of the fence failed", error)


class Fence:
    """Rings when the heartbeat is too old, and then goes through the stages. Start and stop are idempotent.

    Args:
        lease: Seconds that a heartbeat is good for.
        grace: Seconds between "please stop" and the hard stop, where the lease leaves so much.
        age: Seconds since the start of the last good heartbeat.
        fenced: The parts that are ended.

    Attributes:
        passed: Set once the last stage is over.
    """

    def __init__(self, lease: float, grace: float, age: Callable[[], float], fenced: Fenced) -> None:
        self._lease = lease
        self._grace = grace
        self._age = age
        self._fenced = fenced
        self._timer: asyncio.TimerHandle | None = None
        self._fallen = False
        self.passed = asyncio.Event()

    def start(self) -> None:
        """Watch the heartbeat."""
        if self._timer is None and not self._fallen:
            self._ring()

    def stop(self) -> None:
        """Watch it no more; stages that have begun are gone through."""
        if not self._fallen and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def fall(self, *, silent: float) -> None:
        """Go through the stages now, unless that is under way.

        Args:
            silent: Since the start of the last good heartbeat, in seconds.
        """
        if self._fallen:
            return
        self.stop()
        self._fallen = True
        due = stages(self._lease, self._grace, silent=silent)
        _surely(self._fenced.ask_to_stop)
        self._after(due.stop - due.ask, lambda: self._stop_hard(due))

    def _ring(self) -> None:
        silent = self._age()
        left = FENCE_AT * self._lease - silent
        if left > 0:
            # There was a good heartbeat since, or this is the beginning.
            self._after(left, self._ring)
        else:
            self.fall(silent=silent)

    def _stop_hard(self, due: Stages) -> None:
        _surely(self._fenced.stop_hard)
        if due.stop >= self._lease:
            # Others may have begun: a child process gets no time to leave.
            _surely(self._fenced.kill)
        self._after(due.force - due.stop, self._end_by_force)

    def _end_by_force(self) -> None:
        self._timer = None
        _surely(self._fenced.kill)
        _surely(self._fenced.leave_behind)
        self.passed.set()

    def _after(self, seconds: float, do: Callable[[], None]) -> None:
        if seconds > 0:
            self._timer = asyncio.get_running_loop().call_later(seconds, do)
        else:
            do()
