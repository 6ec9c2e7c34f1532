"""Keeps the log lines of executions: bounded per execution, written in batches, the newest kept."""

import asyncio
import json
import logging
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ..actions.claim import Started
from ..actions.logs import KEPT_LINES, append_lines
from ..context import current_host
from ..core.model import Json
from ..store.database import Database
from ..store.logs import LogLine
from .results import clean
from .service import Service

MAX_LINE = 8 * 1024
"""Characters of one line; the rest is cut, and the line says so."""
MAX_FIELDS = 8 * 1024
"""Characters of the JSON of a line's fields; larger ones are replaced by a note."""
_BATCH = 2000
_PAUSE = 0.1


@dataclass(slots=True)
class _Buffer:
    """The lines of one execution that wait to be written, and its counts."""

    pending: deque[LogLine] = field(default_factory=lambda: deque[LogLine](maxlen=KEPT_LINES))
    count: int = 0


@dataclass(frozen=True, slots=True)
class LogTail:
    """What is left of an execution's log at its end: lines not yet written, how many are kept, how many were cut."""

    lines: tuple[LogLine, ...]
    kept: int
    cut: int


class LogWriter(Service):
    """Takes lines from any thread and writes them a few times a second."""

    def __init__(self, database: Database) -> None:
        super().__init__("log-writer")
        self._database = database
        self._buffers: dict[int, _Buffer] = {}
        self._lock = threading.Lock()
        self._wanted = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def open(self, execution_id: int) -> None:
        """Begin to keep lines of an execution."""
        with self._lock:
            self._buffers[execution_id] = _Buffer()

    def write(self, started: Started, level: int, message: str, fields: Mapping[str, Json] | None) -> None:
        """Keep a line; safe from any thread. A line after the execution's end has nowhere to go and is left out."""
        now = datetime.now(UTC)
        text, extra = _bounded(message), _bounded_fields(fields)
        name = logging.getLevelName(level).lower() if level in _LEVELS else "info"
        with self._lock:
            buffer = self._buffers.get(started.execution_id)
            if buffer is None:
                return
            buffer.count += 1
            was_idle = not buffer.pending
            buffer.pending.append(LogLine(started.execution_id, buffer.count, now, name, text, extra))
        if was_idle:
            self._loop.call_soon_threadsafe(self._wanted.set)

    async def run(self) -> None:
        """Write what waits, at most every tenth of a second."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            await self._flush()
            await asyncio.sleep(_PAUSE)

    def close(self, execution_id: int) -> LogTail:
        """End the log of an execution; its last lines are written with its end, in the same transaction."""
        with self._lock:
            buffer = self._buffers.pop(execution_id)
        kept = min(buffer.count, KEPT_LINES)
        return LogTail(tuple(buffer.pending), kept, buffer.count - kept)

    async def _flush(self) -> None:
        while True:
            lines = self._next_batch()
            if not lines:
                return
            await self._database.write(append_lines, lines)
            self._mark_written(lines)

    def _next_batch(self) -> list[LogLine]:
        """Lines of all executions in turn, so that a talkative one does not hold up the others."""
        with self._lock:
            waiting = [buffer for buffer in self._buffers.values() if buffer.pending]
            share = max(1, _BATCH // max(1, len(waiting)))
            return [line for buffer in waiting for line in list(buffer.pending)[:share]]

    def _mark_written(self, lines: Sequence[LogLine]) -> None:
        newest: dict[int, int] = {line.execution_id: line.line for line in lines}
        with self._lock:
            for execution_id, line in newest.items():
                buffer = self._buffers.get(execution_id)
                while buffer is not None and buffer.pending and buffer.pending[0].line <= line:
                    buffer.pending.popleft()


_LEVELS = frozenset({logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL})


def _bounded(message: str) -> str:
    text = message.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
    return text if len(text) <= MAX_LINE else f"{text[:MAX_LINE]}… ({len(text) - MAX_LINE} characters cut)"


def _bounded_fields(fields: Mapping[str, Json] | None) -> Json:
    if not fields:
        return None
    text = json.dumps(fields, default=str)
    if len(text) > MAX_FIELDS:
        return {"cut": f"the fields have {len(text)} characters, {MAX_FIELDS} are kept at most"}
    return clean(json.loads(text))


class JobLogHandler(logging.Handler):
    """Sends ordinary ``logging`` calls made inside a job to that job's execution; others pass by."""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep ``record`` with the execution in whose context it was made."""
        host = current_host.get()
        if host is not None:
            host.log(_level(record.levelno), self.format(record), None)


def _level(levelno: int) -> int:
    return max((level for level in _LEVELS if level <= levelno), default=logging.DEBUG)
