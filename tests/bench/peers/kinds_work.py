"""What the jobs of ``tests.bench.peers.kinds`` do, the same for every contender, and how it is known that they did."""

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.processor import processor_seconds

DONE = "PEERS_DONE"
"""The variable that names a file; each job adds a byte to it, in whichever process it runs."""
THREADS, PROCESSES = 20, 2


def nothing() -> None:
    """As little as can be."""
    _done()


def sleep5() -> None:
    """Wait for something for 5 ms."""
    time.sleep(0.005)
    _done()


def cpu20() -> None:
    """Compute for 20 ms of processor time."""
    until = time.thread_time() + 0.02
    while time.thread_time() < until:
        pass
    _done()


WORK: Mapping[str, Callable[[], None]] = {one.__name__: one for one in (nothing, sleep5, cpu20)}


def _done() -> None:
    file = os.open(os.environ[DONE], os.O_WRONLY | os.O_APPEND)
    os.write(file, b".")
    os.close(file)


class Round:
    """One drain: what to do, how often, and how long it took once the workers were at it.

    Time counts from the moment when a tenth of the runs is done: what a worker needs for its own start, once in its
    life, says nothing about what it does in a second.

    Attributes:
        place: The database, file or Redis socket.
        runs: How many.
        kind: ``thread`` or ``process``, or a contender's own variety of these.
        work: A name of ``WORK``.
    """

    def __init__(self) -> None:
        parser = argparse.ArgumentParser()
        for name in ("place", "runs", "kind", "work"):
            parser.add_argument(name)
        given = parser.parse_args()
        self.place, self.runs = str(given.place), int(given.runs)
        self.kind, self.work = str(given.kind), str(given.work)
        self._first: _Moment | None = None
        self._last: _Moment | None = None

    @property
    def is_over(self) -> bool:
        """Return whether every job was done; to be asked often."""
        done = Path(os.environ[DONE]).stat().st_size
        if self._first is None and done >= self.runs // 10:
            self._first = _Moment.now(done)
        if self._last is None and done >= self.runs:
            self._last = _Moment.now(done)
        return self._last is not None

    def wait(self) -> None:
        """Return when every job was done."""
        while not self.is_over:
            time.sleep(0.002)

    def tell(self) -> None:
        """Print how many runs counted, in how many seconds, and those of the processors.

        Raises:
            RuntimeError: it is not over.
        """
        if self._first is None or self._last is None:
            raise RuntimeError(f"{self.work}: told before all of {self.runs} runs were seen to be done")
        print(json.dumps({
            "runs": self._last.done - self._first.done,
            "drain": self._last.at - self._first.at,
            "cpu": self._last.cpu - self._first.cpu,
        }))  # fmt: skip


@dataclass(frozen=True)
class _Moment:
    done: int
    at: float
    cpu: float

    @classmethod
    def now(cls, done: int) -> "_Moment":
        return cls(done, time.perf_counter(), processor_seconds(os.getpid()))
