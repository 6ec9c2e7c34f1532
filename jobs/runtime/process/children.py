"""The child processes of a node: how many there may be at once, and those that wait to be used again."""

import asyncio
import logging
import socket
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from ...core.run_spec import length
from ...registry import Reuse
from .finding import STORE
from .spawner import Child, LauncherError, Spawner
from .wire import Leave

log = logging.getLogger(__name__)


LOOK_EVERY: Final = 0.25
"""Seconds between two looks."""
LONGEST: Final = 1.0
"""Seconds after which nothing waits any longer, however well things go on."""


class WaitLimit:
    """Between two looks something ends, as a rule. If nothing does, those who wait may go elsewhere.

    A machine that stands still for a moment stops the looks as well, so that it is no reason to give up.
    """

    def __init__(self) -> None:
        self._ends = 0
        self._ends_seen = -1

    def ended(self) -> None:
        """Note that a place was left."""
        self._ends += 1

    def begin(self) -> None:
        """Note that somebody begins to wait where nobody did."""
        self._ends_seen = -1

    def is_over(self) -> bool:
        """Return whether nothing has ended since the last look."""
        is_over, self._ends_seen = self._ends_seen == self._ends, self._ends
        return is_over


LINGER: Final = 5.0
"""Seconds that a child may take to exit after its last job, for its ``atexit`` functions; then it is killed."""
IDLE: Final = 60.0
"""Seconds after which a child that waits to be used again is let go."""
_SPARE: Final = 8
"""Files that this process must be able to open before another child is asked for."""


@dataclass(slots=True)
class PooledChild:
    """A child process at work, or waiting for more.

    Attributes:
        since: When it was started, by the monotonic clock.
        runs: How many it has begun.
        left_at: When the last one of them ended.
    """

    child: Child
    since: float = field(default_factory=time.monotonic)
    runs: int = 0
    left_at: float = 0.0

    def may_go_on(self, reuse: Reuse) -> bool:
        """Return whether it may begin another run."""
        is_young = reuse.age is None or time.monotonic() - self.since < length("age", reuse.age)
        return is_young and (reuse.runs is None or self.runs < reuse.runs) and not self.child.exited.done()


class ChildPool:
    """Hands out child processes: a new one, or one that has run the same job before.

    Args:
        size: How many runs there may be in child processes at once; those that wait to be used again count, too, and
            make room when a new one is needed.
        on_shortage: Called with the reason when none can be had.
    """

    def __init__(
        self,
        spawner: Spawner,
        size: int,
        on_shortage: Callable[[str], None] = log.error,
    ) -> None:
        self._spawner = spawner
        self._size = size
        self._wait_limit = WaitLimit()
        self._look_for_turns: asyncio.TimerHandle | None = None
        self._on_shortage = on_shortage
        self._busy = 0
        self._turns: deque[asyncio.Future[bool]] = deque()
        # By job, the one that was used last at the end.
        self._idle: dict[str, deque[PooledChild]] = {}
        self._leaving: set[asyncio.Task[int | None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """The number of runs that wait for their turn."""
        return len(self._turns)

    async def enter(self) -> bool:
        """Wait for a turn, which ``leave`` ends; False if none comes, because no run ends any more."""
        if self._busy < self._size:
            self._busy += 1
            return True
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        self._turns.append(turn)
        if self._look_for_turns is None:
            self._wait_limit.begin()
            self._look_for_turns = loop.call_later(0.0, self._look_at_turns, loop)
        longest = loop.call_later(LONGEST, self._give_up, turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.result():
                self.leave()
            raise
        finally:
            longest.cancel()
            self._give_up(turn)

    def _look_at_turns(self, loop: asyncio.AbstractEventLoop) -> None:
        self._look_for_turns = None
        if self._wait_limit.is_over():
            self.recall_all()
        if self._turns:
            self._look_for_turns = loop.call_later(LOOK_EVERY, self._look_at_turns, loop)

    def _give_up(self, turn: asyncio.Future[bool]) -> None:
        if turn in self._turns:
            self._turns.remove(turn)
        if not turn.done():
            turn.set_result(False)

    def leave(self) -> None:
        """End a turn; the next one begins."""
        self._wait_limit.ended()
        if self._turns:
            self._turns.popleft().set_result(True)
        else:
            self._busy -= 1

    def recall_all(self) -> None:
        """Give up the turns of all that wait now."""
        for turn in list(self._turns):
            self._give_up(turn)

    async def take(self, job_name: str, reuse: Reuse | None) -> PooledChild:
        """Return a child process for a run of this job.

        Raises:
            LauncherError: none can be had.
        """
        found = None if reuse is None else self._used_before(job_name, reuse)
        if found is None:
            if self._busy + sum(map(len, self._idle.values())) > self._size:
                self._let_oldest_go()
            try:
                found = PooledChild(await self._spawner.spawn())
            except LauncherError as error:
                self.report_shortage(str(error))
                raise
        found.runs += 1
        return found

    def note_store(self) -> None:
        """Note that a child imported the store: the following ones find it imported."""
        self._spawner.import_too(STORE)

    def report_shortage(self, reason: str) -> None:
        """Report that no child process could be had."""
        self._on_shortage(reason)

    def _used_before(self, job_name: str, reuse: Reuse) -> PooledChild | None:
        idle = self._idle.get(job_name)
        while idle:
            one = idle.pop()
            if one.may_go_on(reuse):
                return one
            self.let_go(one)
        return None

    def _let_oldest_go(self) -> None:
        idle = [some for some in self._idle.values() if some]
        if idle:
            self.let_go(min(idle, key=lambda some: some[0].left_at).popleft())

    def keep(self, job_name: str, one: PooledChild) -> None:
        """Keep a child for the next run of the job."""
        one.left_at = time.monotonic()
        self._idle.setdefault(job_name, deque()).append(one)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(IDLE, self._look)

    def _look(self) -> None:
        now, self._timer = time.monotonic(), None
        for idle in self._idle.values():
            while idle and now - idle[0].left_at >= IDLE:
                self.let_go(idle.popleft())
        oldest = [idle[0].left_at for idle in self._idle.values() if idle]
        if oldest:
            self._timer = asyncio.get_running_loop().call_later(min(oldest) + IDLE - now, self._look)

    def let_go(self, one: PooledChild) -> None:
        """Let a child end by itself, in the background."""
        one.child.send(Leave())
        leaving = asyncio.get_running_loop().create_task(one.child.close(LINGER), name="cronograph-child-leaves")
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)

    def check_supply(self) -> None:
        """See whether this process could start a child now.

        Raises:
            LauncherError: it is short of files.
        """
        opened: list[socket.socket] = []
        try:
            # One by one: those before the one that fails are closed, too.
            opened.extend(socket.socket(socket.AF_UNIX) for _ in range(_SPARE))
        except OSError as error:
            raise LauncherError(f"no child process can be started: {error}") from error
        finally:
            for one in opened:
                one.close()

    async def close(self) -> None:
        """Let all idle children go, and wait for their end."""
        for timer in (self._timer, self._look_for_turns):
            if timer is not None:
                timer.cancel()
        for idle in self._idle.values():
            while idle:
                self.let_go(idle.popleft())
        if self._leaving:
            await asyncio.wait(self._leaving)
