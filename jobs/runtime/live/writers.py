"""Write the log lines and the progress of running jobs: bounded, and many of them in one transaction."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import TypeAlias

from typing_extensions import override

from ...actions.runs import save_progress
from ...core.model import KEPT_LINES, Json
from ...queue.base.apart import append_apart, append_lines, cut_lines
from ...queue.claims.claim import Started
from ...store.db.database import Database
from ...store.db.faults import kind_of, log_fault
from ...store.statements.logs import LogLine
from ..base.service import Watch
from ..job.lines import MANY_WAITING, SLOWED_BY, SLOWED_EVERY, RawLine, level_name

log = logging.getLogger(__name__)


_PAUSE = 0.25


class ProgressWriter(Watch):
    """Keeps only the newest value of each run until it is written."""

    def __init__(self, database: Database) -> None:
        super().__init__("progress-writer")
        self._database = database
        self._newest: dict[int, tuple[Started, Json]] = {}
        self._lock = threading.Lock()
        self._loop = asyncio.get_running_loop()

    def show(self, started: Started, progress: Json) -> None:
        """Take a value; safe from any thread."""
        with self._lock:
            was_idle = not self._newest
            self._newest[started.run.id] = (started, progress)
        if was_idle:
            self._loop.call_soon_threadsafe(self.poke)

    def forget(self, run_id: int) -> None:
        """Forget a run that ended; its last progress is written with its end."""
        with self._lock:
            self._newest.pop(run_id, None)

    @property
    def pause(self) -> float:
        """Seconds between two writes: at most four a second."""
        return _PAUSE

    async def look(self) -> None:
        """Write the waiting lines."""
        with self._lock:
            newest, self._newest = self._newest, {}
        if not newest:
            return
        try:
            rows = [(started.run, progress) for started, progress in newest.values()]
            await self._database.write(save_progress, rows)
        except Exception:
            # Kept for the next try, unless something newer has come meanwhile.
            with self._lock:
                self._newest = newest | self._newest
            raise


BATCH = 250
"""Lines of one transaction: some 4 ms of work, so that nobody waits long behind it."""
PAUSE = 0.1
"""Seconds between two transactions; so 2,500 lines a second are written at most, of all executions together."""
LAST_PAUSE = 0.03
"""Seconds between two transactions that write the rest of an execution's lines once it has ended."""
# A line that waits: its number and the parts of its ``RawLine``. Plain tuples of plain values are of no interest to the
# garbage collector; thousands of anything else would make it search the whole heap again and again.
_Waiting: TypeAlias = tuple[int, float, int, str, Json, str | None]


@dataclass(slots=True)
class _Buffer:
    """The lines of one execution that wait to be written, with their numbers, and how many there were in all."""

    pending: deque[_Waiting] = field(default_factory=lambda: deque[_Waiting](maxlen=KEPT_LINES))
    count: int = 0

    def oldest(self, execution_id: int, limit: int) -> list[LogLine]:
        return [_stored(execution_id, waiting) for waiting in islice(self.pending, limit)]

    def forget(self, until: int) -> None:
        while self.pending and self.pending[0][0] <= until:
            self.pending.popleft()


@dataclass(frozen=True, slots=True)
class LogTail:
    """The rest of an execution's log at its end: lines not yet written, and the numbers of kept and cut ones."""

    lines: tuple[LogLine, ...]
    kept: int
    cut: int


class LogWriter(Watch):
    """Takes lines from any thread and writes them a few times a second.

    Memory and writes are bounded: at most the newest ``KEPT_LINES`` of an execution wait. A line lost before it was
    written would have been cut afterwards anyway, so the counts stay exact.
    """

    def __init__(self, database: Database) -> None:
        super().__init__("log-writer")
        self._database = database
        # Most executions write no line: a buffer is made with the first.
        self._open: set[int] = set()
        self._buffers: dict[int, _Buffer] = {}
        # Taken again by the same thread where making a line frees something that logs as it goes.
        self._lock = threading.RLock()
        self._loop = asyncio.get_running_loop()
        self._in_flight: frozenset[int] = frozenset()
        self._landed = asyncio.Event()

    def open(self, execution_id: int) -> None:
        """Begin to keep lines of an execution."""
        with self._lock:
            self._open.add(execution_id)

    def write(self, execution_id: int, lines: Iterable[RawLine], *, dropped: int = 0) -> float:
        """Keep lines in order, after ``dropped`` ones that were lost on the way here and only count.

        Safe from any thread. A line after the execution's end has nowhere to go and is left out.

        Returns how many seconds a thread should pause before its next line: 0 unless it writes faster than can be kept.
        """
        with self._lock:
            if execution_id not in self._open:
                return 0.0
            buffer = self._buffers.setdefault(execution_id, _Buffer())
            was_idle = not buffer.pending
            buffer.count += dropped
            for line in lines:
                buffer.count += 1
                buffer.pending.append((buffer.count, line.at, line.level, line.message, line.fields, line.step))
            is_too_fast = len(buffer.pending) >= MANY_WAITING and buffer.count % SLOWED_EVERY == 0
        if was_idle:
            self._loop.call_soon_threadsafe(self.poke)
        return SLOWED_BY if is_too_fast else 0.0

    @property
    @override
    def pause(self) -> float:
        return PAUSE

    @override
    async def look(self) -> None:
        """Write one batch of the waiting lines, and look again: no talkative job keeps others from the database."""
        if await self._flush():
            self.poke()

    async def _flush(self) -> bool:
        """Write one batch; return whether more lines wait."""
        batch = self._next_batch()
        if not batch:
            return False
        self._in_flight = frozenset(batch)
        self._landed.clear()
        try:
            lines = [line for lines in batch.values() for line in lines]
            await self._append(lines)
            return self._forget(batch)
        finally:
            self._in_flight = frozenset()
            self._landed.set()

    async def _append(self, lines: Sequence[LogLine]) -> None:
        try:
            await self._database.write(append_lines, lines, cut_at_most=BATCH)
        except Exception as error:
            if kind_of(error).passes:
                raise
            log_fault(log, f"{self.name} failed and goes on line by line", error)
            self.on_fault(self.name)
            await self._database.write(append_apart, lines)

    def _next_batch(self) -> dict[int, list[LogLine]]:
        with self._lock:
            waiting = {execution: buffer for execution, buffer in self._buffers.items() if buffer.pending}
            share = max(1, BATCH // max(1, len(waiting)))
            return {execution: buffer.oldest(execution, share) for execution, buffer in waiting.items()}

    def _forget(self, batch: Mapping[int, list[LogLine]]) -> bool:
        with self._lock:
            for execution_id, lines in batch.items():
                buffer = self._buffers.get(execution_id)
                if buffer is not None:
                    buffer.forget(lines[-1].line)
            return any(buffer.pending for buffer in self._buffers.values())

    def close_unwritten(self, execution_id: int) -> bool:
        """End the log of an execution if it wrote no line; return whether it wrote none."""
        with self._lock:
            if execution_id in self._buffers:
                return False
            self._open.discard(execution_id)
            return True

    async def close(self, execution_id: int) -> LogTail:
        """End the log of an execution; its last lines are written with its end, in the same transaction.

        A long rest is written before, piece by piece, so that the ends of other executions need not wait for it.
        """
        while execution_id in self._in_flight:
            await self._landed.wait()
        with self._lock:
            self._open.discard(execution_id)
            buffer = self._buffers.pop(execution_id, None) or _Buffer()
        try:
            await self._write_rest(execution_id, buffer)
        except Exception as error:
            log_fault(
                log, f"the log of execution {execution_id} is written with its end, because now that failed", error
            )
        kept = min(buffer.count, KEPT_LINES)
        return LogTail(tuple(buffer.oldest(execution_id, KEPT_LINES)), kept, buffer.count - kept)

    async def _write_rest(self, execution_id: int, buffer: _Buffer) -> None:
        while len(buffer.pending) > BATCH:
            piece = buffer.oldest(execution_id, BATCH)
            await self._append(piece)
            buffer.forget(piece[-1].line)
            await asyncio.sleep(LAST_PAUSE)
        too_many = buffer.count > KEPT_LINES
        while too_many:
            too_many = await self._database.write(cut_lines, execution_id, buffer.count, 2 * BATCH)
            await asyncio.sleep(LAST_PAUSE)


def _stored(execution_id: int, waiting: _Waiting) -> LogLine:
    number, at, level, message, fields, step = waiting
    return LogLine(execution_id, number, datetime.fromtimestamp(at, UTC), level_name(level), message, fields, step)
