"""What each test costs: wall-clock and processor time, child processes included. A plugin that is asked for by name.

`make test-costs` runs all tests with it and prints the sums of folders and modules, and the dearest tests.
"""

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

TICKS = os.sysconf("SC_CLK_TCK")

REAPED_MEANWHILE = 0.05
"""Seconds by which a process grows at once only when it reaps another one: then its children are asked for again."""

FOLDER_VARIABLE = "CRONOGRAPH_TEST_COSTS"
"""The variable that names the folder into which each worker writes a file with a line for each test."""


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


@dataclass(frozen=True, slots=True)
class Cost:
    """What something took, in seconds."""

    wall: float
    processor: float

    def __sub__(self, other: "Cost") -> "Cost":
        return Cost(self.wall - other.wall, self.processor - other.processor)

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.wall + other.wall, self.processor + other.processor)


def spent() -> Cost:
    """What this process has taken so far."""
    return Cost(time.monotonic(), processor_seconds(os.getpid()))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note what the test and its fixtures take; what is shared counts for the test that makes or removes it."""
    before = spent()
    result = yield
    taken = spent() - before
    file = Path(os.environ[FOLDER_VARIABLE], f"{os.getpid()}.jsonl")
    with file.open("a") as lines:
        lines.write(json.dumps([item.nodeid, round(taken.wall, 3), round(taken.processor, 3)]) + "\n")
    return result


def read(folder: Path) -> dict[str, Cost]:
    """What the workers have noted, by test."""
    noted = (json.loads(line) for file in folder.glob("*.jsonl") for line in file.read_text().splitlines())
    return {name: Cost(wall, processor) for name, wall, processor in noted}


def summed(costs: Mapping[str, Cost], parts: int | None) -> dict[str, tuple[int, Cost]]:
    """The number of tests and their costs by folder (the first so many parts of the path), or by module."""
    sums: dict[str, tuple[int, Cost]] = defaultdict(lambda: (0, Cost(0, 0)))
    for name, cost in costs.items():
        place = "/".join(name.partition("::")[0].split("/")[:parts])
        count, sum_ = sums[place]
        sums[place] = count + 1, sum_ + cost
    return sums


def table(rows: Iterable[tuple[str, int, Cost]], limit: int) -> Iterator[str]:
    """The dearest of them, one in a line."""
    for name, count, cost in sorted(rows, key=lambda row: -row[2].processor)[:limit]:
        yield f"{cost.processor:9.1f} {cost.wall:9.1f} {count:6} {name}"


def report(folder: Path) -> Iterator[str]:
    """The sums of folders and modules, and the dearest tests."""
    costs = read(folder)
    yield "processor      wall  tests"
    yield from table([("all", len(costs), sum(costs.values(), Cost(0, 0)))], 1)
    for parts, limit in ((2, 40), (None, 100)):
        yield ""
        yield from table([(place, count, cost) for place, (count, cost) in summed(costs, parts).items()], limit)
    yield ""
    yield from table([(name, 1, cost) for name, cost in costs.items()], 150)


if __name__ == "__main__":
    print("\n".join(report(Path(sys.argv[1]))))  # noqa: T201 - what `make test-costs` shows
