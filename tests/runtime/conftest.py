"""Which of the tests of the moving parts run on which database."""

import pytest

PROCESS_KINDS = ("process", "async in process")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run tests of process jobs on SQLite only: a child speaks with its node, and knows nothing of the database.

    What the node then stores it stores for jobs of every kind, which the other kinds show on PostgreSQL. Lines that
    flood in from children (``test_logs``) and processes in a real server stay on both.
    """
    left_out = [item for item in items if _needs_no_second_database(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def _needs_no_second_database(item: pytest.Item) -> bool:
    call = getattr(item, "callspec", None)
    if call is None or "tests/runtime/" not in item.nodeid or call.params.get("database_url") != "postgres":
        return False
    return call.params.get("kind") in PROCESS_KINDS or item.path.name == "test_process.py"
