"""Which turn of `.ci/run` a test belongs to (see `tests/support/turns.py`).

This is no plugin of pytest, so that `tests/support/costs.py` can import it, which pytest loads before the others.
"""

import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

ALTERNATING = ("accounts", "actions", "at_home", "graphql_api", "runtime", "server", "testing", "traces")
"""Folders in which a test for both databases runs on one of them in each turn, every other one on SQLite. In the other
folders, where statements themselves are tried, it always runs on both; so do tests marked with `both_databases`."""

OWN_TURNS = ("both_databases", "rotating", "costly")
"""The markers of tests that are not left to another turn for their database alone."""

DATABASES = ("sqlite", "postgres")
FIXTURES = ("database_url", "empty_database_url")
"""The fixtures that have a test run on both."""

COSTLY = 0.5
"""Seconds of processor time that the cases of a test function may take in all, and still run in every turn."""

COSTLY_IN_A_BROWSER = 1.25
"""The same in `tests/e2e`: hardly a page is opened for less, and each turn looks at the pages."""

COSTLY_TURNS = 20
"""In how many turns all that is costly has run."""


def left_to_others(items: Sequence[pytest.Item], turn: int) -> Iterator[tuple[str, pytest.Item]]:
    """Which of the collected tests another turn runs, each with its kind."""
    for name, groups in (
        ("of the other database", twins(items)),
        ("rotating", rotating(items)),
        ("costly", costly(items)),
    ):
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
    if folder_of(item) not in ALTERNATING or any(map(item.get_closest_marker, OWN_TURNS)):
        return None
    return parameter_of_database(item)


def folder_of(item: pytest.Item) -> str:
    """The folder of `tests/` that a test is in."""
    return item.nodeid.removeprefix("tests/").partition("/")[0]


def parameter_of_database(item: pytest.Item) -> str | None:
    """Return which of the two databases a test is parametrized with, if any."""
    given = parameters_of(item)
    return next((given[name] for name in FIXTURES if given.get(name) in DATABASES), None)


def parameters_of(item: pytest.Item) -> dict[str, Any]:
    """The parameters of a test by their names."""
    call = getattr(item, "callspec", None)
    return {} if call is None else call.params


def rotating(items: Sequence[pytest.Item]) -> Iterator[tuple[int, list[pytest.Item]]]:
    """The cases of tests with the marker `rotating(turns)`, in lists of as many as there are turns."""
    for cases in cases_of(items, "rotating").values():
        marker = cases[0].get_closest_marker("rotating")
        assert marker is not None
        yield from in_lists_of(int(marker.args[0]), cases)


def costly(items: Sequence[pytest.Item]) -> Iterator[tuple[int, list[pytest.Item]]]:
    """Tests with the marker `costly`: the cases of each, or with those of its folder where it has too few."""
    few: dict[str, list[pytest.Item]] = defaultdict(list)
    for cases in cases_of(items, "costly").values():
        if len(cases) < COSTLY_TURNS:
            few[folder_of(cases[0])] += cases
        elif folder_of(cases[0]) in ALTERNATING:
            yield from in_lists_of(COSTLY_TURNS, cases)
        else:
            for on_one in by_database(cases):
                yield from in_lists_of(COSTLY_TURNS, on_one)
    for several in few.values():
        yield from in_lists_of(COSTLY_TURNS, several)


def turns_of(item: pytest.Item) -> int:
    """In how many turns a test runs once."""
    marker = item.get_closest_marker("rotating")
    if marker is not None:
        return int(marker.args[0])
    if item.get_closest_marker("costly"):
        return COSTLY_TURNS
    return 1 if database_of(item) is None else len(DATABASES)


def cases_of(items: Sequence[pytest.Item], marker: str) -> dict[str, list[pytest.Item]]:
    """The tests that have a marker, by their functions."""
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker(marker):
            cases[item.nodeid.partition("[")[0]].append(item)
    return cases


def by_database(cases: Sequence[pytest.Item]) -> Iterator[list[pytest.Item]]:
    """The cases of a function apart for each database, so that a turn has it on both; else all of them."""
    apart: dict[str | None, list[pytest.Item]] = defaultdict(list)
    for case in cases:
        apart[parameter_of_database(case)].append(case)
    yield from apart.values()


def in_lists_of(turns: int, cases: Sequence[pytest.Item]) -> Iterator[tuple[int, list[pytest.Item]]]:
    """Lists of which a turn has one case each, with their places."""
    for place, first in enumerate(range(0, len(cases), turns)):
        yield place, list(cases[first : first + turns])
