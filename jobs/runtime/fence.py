"""Ends what a node runs before another node may begin it: by a timer at the exact time, without the database."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ..store.db.faults import log_fault

log = logging.getLogger(__name__)

FENCE_AT = 0.75
"""The part of the lease after which a node without a good heartbeat asks its jobs to stop."""
_LONGEST_GRACE = 1 / 8
"""The part of the lease that a job has at most between "please stop" and its hard stop."""
_LAST_MOMENT = 1 / 24
"""The part of the lease between a hard stop and the end by force. What is left, a twelfth, is the margin."""


@dataclass(frozen=True, slots=True)
class Stages:
    """When what runs is ended, in seconds since the start of the last good heartbeat.

    Attributes:
        ask: Jobs are asked to stop.
        stop: Coroutines are cancelled, child processes asked to leave.
        force: Child processes are killed; what still runs then cannot be stopped.
    """

    ask: float
    stop: float
    force: float


def stages(lease: float, grace: float, *, silent: float = 0.0) -> Stages:
    """The stages of a node that has been silent for ``silent`` seconds when it is fenced off.

    Args:
        lease: Seconds; others may begin what the node ran once these are over.
        grace: Seconds between "please stop" and the hard stop; shortened where the lease ends before.
        silent: Since the start of the last good heartbeat; more than three quarters of the lease if the process stood
            still, or others have taken the node for dead: what is late is done at once.
    """
    ask = max(FENCE_AT * lease, silent)
    stop = max(ask, min(ask + grace, (FENCE_AT + _LONGEST_GRACE) * lease))
    return Stages(ask, stop, stop + _LAST_MOMENT * lease)


class Fenced(Protocol):
    """What a fence ends. Nothing of this may wait for the database."""

    def ask_to_stop(self) -> None:
        """Take nothing new, and ask what runs to stop."""
        ...

    def stop_hard(self) -> None:
        """Give what runs no more time."""
        ...

    def kill(self) -> None:
        """Kill what can be killed."""
        ...

    def leave_behind(self) -> None:
        """Name what still runs: it cannot be stopped."""
        ...


def _surely(do: Callable[[], None]) -> None:
    """Go through a stage; a fault there is logged, and keeps none of the later stages from coming."""
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
        fenced: What is ended.

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
