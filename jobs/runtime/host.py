"""What carries a job inside this process: stop signals, log lines, progress and checkpoints, safe from any thread."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import Any

from ..actions.claim import Started
from ..context import StopReason
from ..core.model import Json
from .results import clean
from .stopping import StopSignal

SaveCheckpoint = Callable[[Started, Json], Awaitable[None]]
WriteLine = Callable[[Started, int, str, Mapping[str, Json] | None], None]
ShowProgress = Callable[[Started, Json], None]


class _Done(Awaitable[None]):
    """An awaitable that is over already."""

    def __await__(self) -> Generator[Any, None, None]:
        yield from ()


class LocalHost:
    """The host of a coroutine or a thread.

    Attributes:
        stop_asked: Set in the event loop once somebody asked the job to stop.
        abandoned: Set when nobody waits for the job any more (shutdown).
        unstoppable: A thread passed its hard stop; its run stays running and says so.
    """

    def __init__(
        self,
        started: Started,
        signal: StopSignal,
        *,
        checkpoint: Json,
        save: SaveCheckpoint,
        write_line: WriteLine,
        show_progress: ShowProgress,
    ) -> None:
        self._started = started
        self._signal = signal
        self._checkpoint = checkpoint
        self._save = save
        self._write_line = write_line
        self._show_progress = show_progress
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._saving: set[asyncio.Future[None]] = set()
        self.stop_asked = asyncio.Event()
        self.abandoned = asyncio.Event()
        self.unstoppable = False
        self.latest_progress: Json = None

    def ask_to_stop(self, reason: StopReason) -> None:
        """Ask the job to stop; called in the event loop."""
        self._signal.ask(reason)
        self.stop_asked.set()

    def abandon(self) -> None:
        """Nobody waits any more; called in the event loop."""
        self.abandoned.set()

    def note_unstoppable(self) -> None:
        """The job passed its hard stop and cannot be killed."""
        self.unstoppable = True
        self._write_line(self._started, 40, "should have stopped, but a thread cannot be killed; waiting for it", None)

    def stop_reason(self) -> StopReason | None:
        """Why the job should stop, or None."""
        return self._signal.reason

    def remaining(self) -> float | None:
        """Seconds left of the time box."""
        return self._signal.remaining()

    def log(self, level: int, message: str, fields: Mapping[str, Json] | None) -> None:
        """Keep a line with the execution."""
        self._write_line(self._started, level, message, fields)

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Show how far the job is."""
        self.latest_progress = clean({"done": done, "total": total, "message": message})
        self._show_progress(self._started, self.latest_progress)

    def checkpoint(self) -> Json:
        """The last checkpoint."""
        return self._checkpoint

    def save_checkpoint(self, value: Json) -> Awaitable[None]:
        """Keep a checkpoint; in a thread this waits until it is durable."""
        self._checkpoint = clean(value)
        if threading.get_ident() == self._thread:
            saving = asyncio.ensure_future(self._save(self._started, self._checkpoint))
            self._saving.add(saving)
            saving.add_done_callback(self._saving.discard)
            return saving
        asyncio.run_coroutine_threadsafe(self._saved(self._checkpoint), self._loop).result()
        return _Done()

    async def _saved(self, value: Json) -> None:
        await self._save(self._started, value)

    async def settle(self) -> None:
        """Wait for checkpoints that the job saved without awaiting."""
        if self._saving:
            await asyncio.gather(*self._saving)
