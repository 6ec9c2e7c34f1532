"""The life of the process: its phase, the signals that stop it, its service manager and its garbage collector."""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from enum import StrEnum
from types import FrameType
from typing import Final

log = logging.getLogger(__name__)


class Phase(StrEnum):
    """A process starts, migrates its database, recovers the runs of a dead process, serves, drains, and ends."""

    STARTING = "starting"
    MIGRATING = "migrating"
    RECOVERING = "recovering"
    SERVING = "serving"
    DRAINING = "draining"


class Lifecycle:
    """The present phase. Once it drains, nothing brings it back."""

    def __init__(self) -> None:
        self._phase = Phase.STARTING

    @property
    def phase(self) -> Phase:
        """The present phase."""
        return self._phase

    def enter(self, phase: Phase) -> None:
        """Go on to ``phase``; ignored once the process drains, because a start-up step may end after the signal."""
        if self._phase is not Phase.DRAINING:
            self._phase = phase


SIGNALS = (signal.SIGINT, signal.SIGTERM)

ONE_STOP = 1.0
"""Seconds within which further signals belong to the first: process groups, ``timeout`` and ``uv run`` deliver one stop
more than once."""


def _nothing() -> None:
    """Do nothing at SIGHUP."""


class StopRequest:
    """Set by the first SIGINT or SIGTERM.

    The handlers are plain ones, not the event loop's: the second signal works even while a job blocks the loop.

    Args:
        on_first: Called at once, in the signal handler: it may set flags, and nothing else.
        on_hang_up: Called in the event loop at SIGHUP. If the terminal of the process has gone, SIGHUP requests a stop.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        on_first: Callable[[], None],
        on_hang_up: Callable[[], None] = _nothing,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_first = on_first
        self._on_hang_up = on_hang_up
        self._clock = clock
        self._event = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self.requested = False
        self._signalled_at: float | None = None
        self._had_terminal = _has_terminal()

    @contextmanager
    def listening(self) -> Generator[None]:
        """Handle the signals while the block runs, and restore the previous handlers afterwards."""
        handlers = dict.fromkeys(SIGNALS, self._handle) | {signal.SIGHUP: self._hang_up}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
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
        """Wait until a stop is requested."""
        await self._event.wait()

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        now = self._clock()
        if self._signalled_at is None:
            self._signalled_at = now
            self.request()
        elif now - self._signalled_at > ONE_STOP:
            # Nothing is cleaned up: what ran is recovered by the next start, as after a crash.
            sys.stderr.write(
                f"{signal.Signals(number).name} again: ending at once; unfinished runs are taken up later\n"
            )
            sys.stderr.flush()
            os._exit(128 + number)

    def _hang_up(self, _number: int, _frame: FrameType | None) -> None:
        if self._had_terminal and not _has_terminal():
            self.request()
        else:
            self._loop.call_soon_threadsafe(self._on_hang_up)


STRAY = (signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGUSR1, signal.SIGUSR2)
"""Signals that end a process without a word unless it handles them; the timer of one job would end all others."""


def survive_signals() -> None:
    """Make SIGHUP harmless until a server listens to it, and stray signals for good.

    A signal that is ignored or handled already stays so, and code of jobs may set handlers of its own.
    """
    # No SIG_IGN: programs that jobs start would inherit it.
    for number, handler in ((signal.SIGHUP, _pass_over), *((number, _ignore) for number in STRAY)):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, handler)


def _pass_over(_number: int, _frame: FrameType | None) -> None:
    """Do nothing."""


def _ignore(number: int, _frame: FrameType | None) -> None:
    """Say once that a signal is ignored: a timer may send it again and again."""
    signal.signal(number, _pass_over)
    name = signal.Signals(number).name
    # A signal handler may have interrupted a write to ``sys.stderr``.
    os.write(2, f"{name} is ignored: another process sent it, or a timer of a job (signal.setitimer)\n".encode())


def _has_terminal() -> bool:
    """Return whether the process has a controlling terminal that is still there."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


READY = "READY=1"
STOPPING = "STOPPING=1"


def notify(state: str) -> None:
    """Send a state to the manager that started this process; nothing happens if it is none that wants to know.

    Args:
        state: ``READY`` or ``STOPPING``.
    """
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    # An abstract socket has a null byte where systemd writes an at sign.
    place = f"\0{address[1:]}" if address.startswith("@") else address
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.sendto(state.encode(), place)
    except OSError as error:
        log.warning("the service manager at NOTIFY_SOCKET '%s' cannot receive %s: %s", address, state, error)


YOUNG: Final = 20_000
"""So many more containers than were given back begin a collection of the young ones (Python: 700 or 2,000)."""
_OLDER: Final = 20
"""So many collections of one generation begin one of the next older."""


def leave_out_what_stays() -> None:
    """Look at nothing again that is there now, and collect less often; for the whole process.

    To be called when everything is imported. Present objects that are part of a cycle, or become one, are not given
    back. That is about a megabyte, and a collection of everything would take a tenth of the start.
    """
    gc.freeze()
    gc.set_threshold(YOUNG, _OLDER, _OLDER)
