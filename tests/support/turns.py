"""What takes turns: of tests that repeat what others show, a run of `.ci/run` has a share, and another turn the rest.

`ROTATION` says which turn it is: a number, or `all`, which is also what holds when it is not set. Turns that follow
each other leave nothing out: with two databases there are two of them, with `@pytest.mark.rotating(3)` three.
"""

import os
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

ROTATION = "ROTATION"
"""The variable that names the turn."""

ALTERNATING = ("accounts", "actions", "at_home", "graphql_api", "runtime", "server", "traces")
"""Folders in which a test for both databases runs on one of them in each turn, every other one on SQLite. In the other
folders, where statements themselves are tried, it always runs on both; so do tests marked with `both_databases`."""

DATABASES = ("sqlite", "postgres")
FIXTURES = ("database_url", "empty_database_url")
"""The fixtures that have a test run on both."""

LEFT = "left_to_other_turns"
"""Under which name a worker of pytest says what it has left out."""

_LEFT_OUT = pytest.StashKey[dict[str, int]]()


def turn_of(said: str) -> int | None:
    """The number of the turn; None = everything runs. Raises `pytest.UsageError` where neither is meant."""
    if said in {"", "all"}:
        return None
    if said.isascii() and said.isdigit():
        return int(said)
    raise pytest.UsageError(f"{ROTATION} must be a number or 'all', got {said!r}")


def left_to_others(items: Sequence[pytest.Item], turn: int) -> Iterator[tuple[str, pytest.Item]]:
    """Which of the collected tests another turn runs, each with its kind."""
    for name, groups in (("of the other database", twins(items)), ("rotating", rotating(items))):
        for place, group in groups:
            for number, item in enumerate(group):
                if (number + place + turn) % len(group):
                    yield name, item


def twins(items: Sequence[pytest.Item]) -> Iterator[tuple[int, list[pytest.Item]]]:
    """Tests that differ by their database alone, two by two and SQLite first, with their place in their module."""
    pairs: dict[tuple[Path, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        database = database_of(item)
        if database is not None:
            name, bracket, case = item.nodeid.partition("[")
            pairs[item.path, name + bracket + case.replace(database, "", 1)].append(item)
    places = Counter[Path]()
    for (path, _), pair in pairs.items():
        if [database_of(item) for item in pair] == list(DATABASES):
            yield places[path] + zlib.crc32(path.name.encode()), pair
            places[path] += 1


def database_of(item: pytest.Item) -> str | None:
    """The database of a test whose databases take turns; None = they do not."""
    folder = item.nodeid.removeprefix("tests/").partition("/")[0]
    if folder not in ALTERNATING or any(item.get_closest_marker(name) for name in ("both_databases", "rotating")):
        return None
    given = parameters_of(item)
    return next((given[name] for name in FIXTURES if given.get(name) in DATABASES), None)


def parameters_of(item: pytest.Item) -> dict[str, Any]:
    """The parameters of a test by their names."""
    call = getattr(item, "callspec", None)
    return {} if call is None else call.params


def rotating(items: Sequence[pytest.Item]) -> Iterator[tuple[int, list[pytest.Item]]]:
    """The cases of tests with the marker `rotating(turns)`, in lists of as many as there are turns."""
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("rotating"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for same in cases.values():
        marker = same[0].get_closest_marker("rotating")
        assert marker is not None
        turns = int(marker.args[0])
        for first in range(0, len(same), turns):
            yield 0, same[first : first + turns]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave to the other turns what is theirs."""
    turn = turn_of(os.environ.get(ROTATION, ""))
    if turn is None:
        return
    left = list(left_to_others(items, turn))
    config.stash[_LEFT_OUT] = dict(Counter(name for name, _ in left))
    others = {item for _, item in left}
    if others:
        config.hook.pytest_deselected(items=list(others))
        items[:] = [item for item in items if item not in others]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist says what it has left out; all of them have left out the same."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[LEFT] = session.config.stash.get(_LEFT_OUT, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Keep what a worker said; one that was killed says nothing."""
    said = getattr(node, "workeroutput", {}).get(LEFT)
    if said:
        node.config.stash[_LEFT_OUT] = said


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say at the end what this run did not try."""
    left = config.stash.get(_LEFT_OUT, {})
    if left:
        kinds = ", ".join(f"{count} {name}" for name, count in sorted(left.items()))
        turn = os.environ.get(ROTATION, "")
        terminalreporter.write_line(f"{ROTATION}={turn}: left to other turns: {kinds}; `make test` runs all")
