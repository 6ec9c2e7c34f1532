"""A process that was forked goes on without the threads of the one that it comes from, and must not use its sockets.

Everything that has threads, locks or connections registers here. While a process is forked, none of its threads is in
the midst of something that takes a lock of a library. In the child every part starts again. Old parts are left alone
there and never closed: sockets and files are still those of the parent.
"""

import gc
import os
import sys
import threading
import traceback
from contextlib import suppress
from typing import Any, Final, NoReturn, Protocol
from weakref import WeakSet

FORKED: Final = (
    "this process was forked from one that serves, whose threads and connections it does not have; start it by "
    "multiprocessing's 'spawn' or as a program of its own, or call cronograph.jobs.connect in it and use that"
)
"""Said to code in a fork that uses a thing which cannot start again there."""
PATIENCE: Final = 2.0
"""Seconds that a fork waits until the threads of this process have left its gates: a database may not answer."""


class Part(Protocol):
    """Something that starts again in a forked process."""

    def renew(self) -> None:
        """Start again; called in the child before anything else."""
        ...


class Gate:
    """Lets any number of threads work at a time, and none while the process is forked."""

    def __init__(self) -> None:
        self._left = threading.Condition()
        self._inside = 0
        _state.gates.add(self)

    def __enter__(self) -> None:
        with self._left:
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._left:
            self._inside -= 1
            self._left.notify_all()

    def shut(self) -> bool:
        """Wait until nobody is inside, and let nobody in; return whether that worked, else it is open."""
        if not self._left.acquire(timeout=PATIENCE):
            return False
        if self._left.wait_for(lambda: not self._inside, PATIENCE):
            return True
        self._left.release()
        return False

    def open(self) -> None:
        """Let threads in again."""
        self._left.release()

    def renew(self) -> None:
        """Start again in a new process, where no thread is inside."""
        self._left, self._inside = threading.Condition(), 0


class _State:
    def __init__(self) -> None:
        self.forks = 0
        self.parts: WeakSet[Any] = WeakSet()
        self.gates: WeakSet[Gate] = WeakSet()
        self.shut: list[Gate] = []
        self.abandoned: list[object] = []

    def before(self) -> None:
        self.shut = [gate for gate in list(self.gates) if gate.shut()]

    def in_parent(self) -> None:
        shut, self.shut = self.shut, []
        for gate in shut:
            gate.open()

    def in_child(self) -> None:
        # The collector closes nothing of the parent: a library's lock may be held by a thread that is not here.
        gc.freeze()
        self.forks += 1
        self.shut = []
        for part in (*self.gates, *self.parts):
            part.renew()


_state: Final = _State()
os.register_at_fork(before=_state.before, after_in_parent=_state.in_parent, after_in_child=_state.in_child)


def forks() -> int:
    """Count the forks between this process and the first that imported this: objects with fewer are not its own."""
    return _state.forks


class EndingForks:
    """Ends a process that the code within has forked where that code ends, as if it were the whole program.

    Else a fork would go on with our code around the block: report its end a second time, or serve.
    """

    __slots__ = ("_forks",)

    def __enter__(self) -> None:
        self._forks = _state.forks

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if _state.forks != self._forks:
            _end(error)


def _end(error: BaseException | None) -> NoReturn:
    status = 0 if error is None else 1
    if isinstance(error, SystemExit) and (error.code is None or isinstance(error.code, int)):
        status = error.code or 0
    elif error is not None:
        traceback.print_exception(error)
    for stream in (sys.stdout, sys.stderr):
        # Job code may have put anything there, or nothing.
        with suppress(Exception):
            stream.flush()
    os._exit(status & 0xFF)


def renew_in_forks(part: Part) -> None:
    """Renew ``part`` in every process that is forked from this one, for as long as ``part`` is kept elsewhere."""
    _state.parts.add(part)


def leave_to_parent(*things: object) -> None:
    """Keep this process from ever closing these things of its parent, even when nobody uses them any more."""
    _state.abandoned.extend(things)
