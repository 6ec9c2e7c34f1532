"""What a process and those below it have taken of the processors (Linux), and in how many steps code does its work.

It needs nothing but Python.
"""

import os
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

TICKS = os.sysconf("SC_CLK_TCK")

REAPED_MEANWHILE = 0.05
"""Seconds by which a process grows at once only when it reaps another one: then its children are asked for again."""


def children_of(pid: int) -> Iterator[int]:
    """The processes that a process has started and that have not been reaped."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):  # A thread that has ended; its children are those of another one.
            yield from map(int, (thread / "children").read_text().split())


def own_seconds(pid: int) -> float:
    """User and system time of a process and of all that it has reaped (Linux)."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[11:15])) / TICKS


def processor_seconds(pid: int) -> float:
    """The same, and of all that runs below it; what ends meanwhile is counted once, below or as reaped."""
    try:
        while True:
            before = own_seconds(pid)
            sum_ = sum(map(processor_seconds, list(children_of(pid))))
            after = own_seconds(pid)
            if after - before < REAPED_MEANWHILE:
                return after + sum_
    except (FileNotFoundError, ProcessLookupError):  # It has ended since its parent named it.
        return 0.0


@contextmanager
def counting() -> Generator[Callable[[], int]]:
    """Counts the calls of Python functions while a block runs; gives what tells how many there were."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        yield lambda: calls
    finally:
        sys.setprofile(None)
