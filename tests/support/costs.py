"""What each test costs: wall-clock and processor time, child processes included. A plugin that is asked for by name.

`make test-costs` runs all tests with it and prints the sums of folders and modules, and the dearest tests. It ends with
what makes `.ci/run` slower than it may be: test functions that run whole in every turn and cost too much for that, and
folders whose share of a turn is used up.
The figures are for a machine whose cores are all at work, by these tests alone: one core counts less, other work more.
"""

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.support.choosing import COSTLY, COSTLY_IN_A_BROWSER, DATABASES, turns_of
from tests.support.processor import processor_seconds

SHARES: Final = {
    "server": 110,
    "graphql_api": 100,
    "e2e": 80,
    "queue": 75,
    "runtime": 60,
    "chaos": 40,
    "store": 35,
    "packaging": 30,
    "builtin": 20,
    "docs": 20,
    "actions": 15,
    "at_home": 15,
    "bench": 15,
    "testing": 15,
}
"""Seconds of processor time that the tests of a folder may take of a turn of `.ci/run`."""

SHARE_OF_OTHERS: Final = 10
"""The same for folders that are not named there."""

FOLDER_VARIABLE = "CRONOGRAPH_TEST_COSTS"
"""The variable that names the folder into which each worker writes a file with a line for each test."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What tests took, in seconds.

    Attributes:
        wall: By the clock.
        processor: Of processors.
        turn: Of that, what a turn of `.ci/run` has of it on the average.
        tests: How many they are.
    """

    wall: float = 0.0
    processor: float = 0.0
    turn: float = 0.0
    tests: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.wall + other.wall,
            self.processor + other.processor,
            self.turn + other.turn,
            self.tests + other.tests,
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note what the test and its fixtures take; what is shared counts for the test that makes or removes it."""
    started, before = time.monotonic(), processor_seconds(os.getpid())
    result = yield
    wall, processor = time.monotonic() - started, processor_seconds(os.getpid()) - before
    file = Path(os.environ[FOLDER_VARIABLE], f"{os.getpid()}.jsonl")
    with file.open("a") as lines:
        lines.write(json.dumps([item.nodeid, round(wall, 3), round(processor, 3), turns_of(item)]) + "\n")
    return result


def read(folder: Path) -> dict[str, Cost]:
    """Return what the workers have noted, by test."""
    noted = (json.loads(line) for file in folder.glob("*.jsonl") for line in file.read_text().splitlines())
    return {name: Cost(wall, processor, processor / turns, 1) for name, wall, processor, turns in noted}


def summed(costs: Mapping[str, Cost], place: Callable[[str], str]) -> dict[str, Cost]:
    """The costs of the tests of each place."""
    sums: dict[str, Cost] = defaultdict(Cost)
    for name, cost in costs.items():
        sums[place(name)] += cost
    return sums


def folder_of(name: str) -> str:
    """The folder of `tests/` that a test is in."""
    return name.removeprefix("tests/").partition("/")[0].partition("::")[0]


def module_of(name: str) -> str:
    """The file that a test is in."""
    return name.partition("::")[0]


def function_of(name: str) -> str:
    """A test without the case."""
    return name.partition("[")[0]


def most_of(name: str) -> float:
    """Seconds of processor time that a function may take of a turn without the marker."""
    return COSTLY_IN_A_BROWSER if folder_of(name) == "e2e" else COSTLY


def table(rows: Mapping[str, Cost], limit: int) -> Iterator[str]:
    """The dearest of them, one in a line."""
    for name, cost in sorted(rows.items(), key=lambda row: -row[1].processor)[:limit]:
        yield f"{cost.processor:9.1f} {cost.turn:9.1f} {cost.wall:9.1f} {cost.tests:6} {name}"


def report(costs: Mapping[str, Cost]) -> Iterator[str]:
    """The sums of folders and modules, the dearest tests, and what costs too much."""
    yield "processor in a turn      wall  tests"
    yield from table(summed(costs, lambda _name: "all"), 1)
    for place, limit in ((folder_of, 40), (module_of, 100)):
        yield ""
        yield from table(summed(costs, place), limit)
    yield ""
    yield from table(costs, 150)
    yield from over(costs)


def over(costs: Mapping[str, Cost]) -> Iterator[str]:
    """What makes a turn too slow."""
    functions = summed(costs, function_of)
    unmarked = {
        name: cost
        for name, cost in functions.items()
        if cost.turn > most_of(name) and round(cost.processor / cost.turn) <= len(DATABASES)
    }
    yield ""
    yield f"Not marked `costly`, though they take more than {COSTLY:g} s of a turn, in e2e {COSTLY_IN_A_BROWSER:g} s:"
    yield from table(unmarked, len(unmarked))
    yield ""
    yield "Folders that take more of a turn than their share:"
    for folder, cost in sorted(summed(costs, folder_of).items()):
        share = SHARES.get(folder, SHARE_OF_OTHERS)
        if cost.turn > share:
            yield f"{folder}: {cost.turn:.0f} s of {share} s"


if __name__ == "__main__":
    print("\n".join(report(read(Path(sys.argv[1])))))  # noqa: T201 - what `make test-costs` shows
