"""What a process and those below it have taken of the processors (Linux); it needs nothing but Python."""

import os
from collections.abc import Iterator
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def children_of(pid: int) -> Iterator[int]:
    """The processes that a process has started and that have not been reaped."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        yield from map(int, (thread / "children").read_text().split())


def processor_seconds(pid: int) -> float:
    """User and system time of a process, of all that it has reaped and of all that runs below it (Linux)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        below = list(children_of(pid))
    except OSError:  # It has ended since its parent named it.
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS + sum(map(processor_seconds, below))
