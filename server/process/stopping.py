"""How the process is asked to stop: the first signal begins an orderly stop, the second ends the process at once."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """Set by the first SIGINT or SIGTERM.

    The handler is a plain one, not the event loop's: the second signal works even while a job blocks the loop.

    Args:
        on_first: Called at once, in the signal handler: it may set flags, and nothing else.
    """

    def __init__(self, on_first: Callable[[], None]) -> None:
        self._on_first = on_first
        self._event = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self.requested = False
        self._signalled = False

    @contextmanager
    def listening(self) -> Generator[None]:
        """Handle the signals while the block runs, and restore what handled them before."""
        before = {number: signal.signal(number, self._handle) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def request(self) -> None:
        """Begin the stop, as the first signal does; safe from any thread. A signal after it is still the first one."""
        self.requested = True
        self._on_first()
        self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self) -> None:
        """Until a stop is requested."""
        await self._event.wait()

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self._signalled:
            # Nothing is cleaned up: what ran is recovered by the next start, as after a crash.
            sys.stderr.write(
                f"{signal.Signals(number).name} again: ending at once; unfinished runs are taken up later\n"
            )
            sys.stderr.flush()
            os._exit(128 + number)
        self._signalled = True
        self.request()
