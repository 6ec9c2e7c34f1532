"""Which of the tests of the moving parts run on which database."""

import sys
from collections.abc import Iterator

import pytest

ON_BOTH = ("async", "loop", "process")
"""Kinds of jobs that run on PostgreSQL too: one in the node, and floods of lines, there from a child as well."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run most tests of threads and processes on SQLite only: they speak with their node, not with the database.

    What the node then stores it stores for jobs of every kind, which those on its event loop show on PostgreSQL. Lines
    that flood in (``test_logs``), processes in a real server, and jobs at engines (``remote``), whose code speaks with
    the database by any server, stay on both.
    """
    left_out = [item for item in items if _needs_no_second_database(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def _needs_no_second_database(item: pytest.Item) -> bool:
    call = getattr(item, "callspec", None)
    if call is None or "tests/runtime/" not in item.nodeid or "/remote/" in item.nodeid:
        return False
    if call.params.get("database_url") != "postgres":
        return False
    kind = call.params.get("kind", "async")
    return (
        kind not in ON_BOTH
        or (kind == "process" and item.path.name != "test_logs.py")
        or item.path.name in ("test_process.py", "test_reuse.py", "test_preload.py")
    )


@pytest.fixture
def own_stdout() -> Iterator[None]:
    """Standard output is as before afterwards."""
    original = sys.stdout
    yield
    sys.stdout = original
