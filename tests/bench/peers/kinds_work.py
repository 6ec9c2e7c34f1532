"""What the jobs of ``tests.bench.peers.kinds`` do, the same for every contender, and how it is known that they did."""

import argparse
import json
import os
import resource
import time
from collections.abc import Callable, Mapping
from pathlib import Path

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
    """One drain: what to do, how often, and how long it took.

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
        self._began = self._cpu = self._drained = 0.0

    @property
    def is_over(self) -> bool:
        """Whether every job was done."""
        return Path(os.environ[DONE]).stat().st_size >= self.runs

    def begin(self) -> None:
        """From here on time counts."""
        self._began, self._cpu = time.perf_counter(), _cpu()

    def wait(self) -> None:
        """Return when every job was done."""
        while not self.is_over:
            time.sleep(0.002)
        self.end()

    def end(self) -> None:
        """Every job was done."""
        self._drained = time.perf_counter() - self._began

    def tell(self) -> None:
        """Print seconds, and those of the processor; for the end, when child processes are waited for."""
        print(json.dumps({"drain": self._drained, "cpu": _cpu() - self._cpu}))


def _cpu() -> float:
    several = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in several)
