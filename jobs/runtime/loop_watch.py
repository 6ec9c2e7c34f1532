"""Notice when an event loop does not turn, find the code that blocks it, and report that to all nodes."""

import asyncio
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final, cast

from ..actions.nodes import end_blockage, note_blockage
from ..base.context import current_host
from ..core.model import Run
from ..core.nodes import Node
from ..queue.base.shapes import HeldRun
from ..store.db.database import Database
from ..store.db.faults import log_fault
from .attempts.bodies import CoroutineBody
from .base.service import Service, whenever
from .job.host import LocalHost

log = logging.getLogger(__name__)


EVERY: Final = 0.5
"""Seconds between two looks."""
PATIENCE: Final = 1.0
"""Seconds that a loop may take for a turn."""
_SECOND_LOOK: Final = 0.2
"""Seconds more before it counts: after a suspension of the whole process the loop gets its chance."""
_PLACES: Final = 20
"""Places of a stack that are kept, the innermost ones."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """A look at a loop that does not turn.

    Attributes:
        seconds: For how long it has not turned, at least.
        run_id: The run whose code is at work; None if it is no job's.
        job_name: The job of that run.
        stack: Where the loop's thread is: ``file:line in function``, the innermost last.
    """

    seconds: float
    run_id: int | None
    job_name: str | None
    stack: tuple[str, ...]

    def __str__(self) -> str:
        who = f"run {self.run_id} (job '{self.job_name}')" if self.run_id is not None else "no job of ours"
        return f"{self.seconds:.1f} s by now, by {who}, at {self.stack[-1] if self.stack else 'an unknown place'}"


class LoopWatch:
    """Watches one event loop; start and stop are idempotent.

    Args:
        what: The loop in words, for the log.
        advice: The remedy, for the log.
        on_blocked: Called in the watching thread once a turn takes longer than ``PATIENCE``.
        on_free: Called there when it turns again.

    Attributes:
        lag: Seconds that the loop took for the last turn that was looked at.
    """

    def __init__(
        self,
        what: str,
        advice: str,
        *,
        on_blocked: Callable[[Blocked], None] | None = None,
        on_free: Callable[[], None] | None = None,
    ) -> None:
        self._what = what
        self._advice = advice
        self._on_blocked = on_blocked
        self.lag = 0.0
        self._on_free = on_free
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self, loop: asyncio.AbstractEventLoop, thread: int) -> None:
        """Begin to watch ``loop``, which turns in the thread of this number."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._watch, args=(loop, thread), name="cronograph-loop-watch", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Watch no more: the loop may be closed from now on."""
        with self._lock:
            self._stopped.set()

    def _watch(self, loop: asyncio.AbstractEventLoop, thread: int) -> None:
        while not self._stopped.wait(EVERY):
            try:
                self._look(loop, thread)
            except Exception as error:
                log_fault(log, f"the watch of {self._what} failed and goes on", error)

    def _look(self, loop: asyncio.AbstractEventLoop, thread: int) -> None:
        turned, began = threading.Event(), time.monotonic()
        with self._lock:
            if self._stopped.is_set():
                return
            loop.call_soon_threadsafe(turned.set)
        if not (turned.wait(PATIENCE) or turned.wait(_SECOND_LOOK)):
            self._follow(loop, thread, turned, began)
        self.lag = time.monotonic() - began

    def _follow(self, loop: asyncio.AbstractEventLoop, thread: int, turned: threading.Event, began: float) -> None:
        """Report the blocking code, again at twice the time, and when it is over."""
        blocked = self._report(loop, thread, began)
        if self._on_blocked is not None:
            self._on_blocked(blocked)
        pause = PATIENCE
        while not self._stopped.is_set():
            if turned.wait(pause):
                log.warning("%s turns again after %.1f s", self._what, time.monotonic() - began)
                if self._on_free is not None:
                    self._on_free()
                return
            pause *= 2
            self._report(loop, thread, began)

    def _report(self, loop: asyncio.AbstractEventLoop, thread: int, began: float) -> Blocked:
        self.lag = time.monotonic() - began
        blocked = look(loop, thread, self.lag)
        lines = "".join(f"\n    {place}" for place in blocked.stack)
        log.warning("%s does not turn: %s. %s%s", self._what, blocked, self._advice, lines)
        return blocked


def look(loop: asyncio.AbstractEventLoop, thread: int, seconds: float) -> Blocked:
    """Look at the code that the thread of a loop runs now."""
    # The documented way to the stack of another thread.
    frame: FrameType | None = cast("Any", sys)._current_frames().get(thread)  # noqa: SLF001 - named so, and documented
    places = traceback.extract_stack(frame)[-_PLACES:] if frame is not None else []
    stack = tuple(f"{place.filename}:{place.lineno} in {place.name}" for place in places)
    run = _run_of(loop, frame)
    return Blocked(seconds, None if run is None else run.id, None if run is None else run.job_name, stack)


def _run_of(loop: asyncio.AbstractEventLoop, frame: FrameType | None) -> Run | HeldRun | None:
    """Return the run whose code is at work: by the task's context, or else by the stack."""
    host = _host_of(asyncio.current_task(loop))
    if host is not None:
        return host.run
    while frame is not None:
        if frame.f_code is CoroutineBody.run.__code__:
            body: CoroutineBody = frame.f_locals["self"]
            return body.attempt.started.run
        frame = frame.f_back
    return None


def _host_of(task: asyncio.Task[object] | None) -> LocalHost | None:
    # Only from 3.12 on a task gives its context; before, tasks that a job started itself remain unnamed.
    if sys.version_info >= (3, 12) and task is not None:
        host = task.get_context().get(current_host)
        return host if isinstance(host, LocalHost) else None
    return None


class BlockageWriter(Service):
    """Writes the newest state into the node's row; lives in another event loop than the one that is blocked.

    Args:
        node: Gives this process' node; None as long as there is none.
    """

    def __init__(self, database: Database, node: Callable[[], Node | None]) -> None:
        super().__init__("blockage-writer")
        self._database = database
        self._node = node
        self._loop = asyncio.get_running_loop()
        self._wanted = asyncio.Event()
        self._newest: Blocked | None = None
        self._written: Blocked | None = None

    def blocked(self, blocked: Blocked) -> None:
        """Report that the loop does not turn; safe from any thread, as long as the writer's own loop is open."""
        self._newest = blocked
        self._loop.call_soon_threadsafe(self._wanted.set)

    def free(self) -> None:
        """Report that the loop turns again; as ``blocked``."""
        self._newest = None
        self._loop.call_soon_threadsafe(self._wanted.set)

    async def run(self) -> None:
        """Write new entries until stopped."""
        self._wanted.set()
        await whenever(self._wanted, self._write_newest, service=self)

    async def _write_newest(self) -> None:
        newest, node = self._newest, self._node()
        if newest != self._written and node is not None:
            await self._write(node, newest)
            self._written = newest

    async def _write(self, node: Node, blocked: Blocked | None) -> None:
        if blocked is None:
            await self._database.write(end_blockage, node)
            return
        await self._database.write(
            note_blockage,
            node,
            seconds=blocked.seconds,
            run_id=blocked.run_id,
            job_name=blocked.job_name,
            stack=blocked.stack,
        )
