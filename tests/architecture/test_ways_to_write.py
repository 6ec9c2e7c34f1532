"""There is one way to write, `Database.write`; who passes it by is named here, and in decision 30 with the reason."""

import ast

import pytest

from tests.support.sources import ROOT, product_sources

HOME = "jobs/store/db/"
"""Where the ways themselves are."""
PAGE = ROOT / "docs" / "decisions" / "0030-ways-to-write.md"

PASSING_BY = {
    "write_sync": {
        "jobs/connection.py",
        "jobs/runtime/lease.py",
        "jobs/testing/capture.py",
        "jobs/testing/queue.py",
        "server/cli/base/database_command.py",
    },
    "autocommit": {"jobs/actions/runs.py"},
    "on_connection": {"jobs/queue/claims/lane.py", "jobs/queue/finish.py", "jobs/queue/steps.py"},
    "autocommit_connection": {
        "jobs/queue/turn.py",
        "jobs/runtime/attempts/finisher.py",
        "jobs/runtime/attempts/keeping.py",
    },
    "sync_autocommit_connection": {"jobs/connection.py"},
}
"""The modules that use another way than `write`, by the way."""


def users(way: str) -> set[str]:
    """The modules that call a method of this name."""
    elsewhere = (one for one in product_sources() if not one.name.startswith(HOME))
    return {one.name for one in elsewhere for called, _ in one.calls() if called.rpartition(".")[2] == way}


@pytest.mark.parametrize("way", PASSING_BY)
def test_nobody_else_passes_by_the_one_way_to_write(way: str) -> None:
    assert users(way) == PASSING_BY[way]


@pytest.mark.parametrize("way", PASSING_BY)
def test_the_page_says_who_does_and_why(way: str) -> None:
    (row,) = (line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `Database.{way}`"))
    assert [module for module in sorted(PASSING_BY[way]) if f"`{module}`" not in row] == []


def test_nothing_of_ours_runs_in_the_executor_that_everybody_may_fill() -> None:
    found = [
        source.at(node)
        for source in product_sources()
        for called, node in source.calls()
        if called.rpartition(".")[2] == "to_thread"
        or (called.endswith("run_in_executor") and ast.unparse(node.args[0]) == "None")
    ]
    assert found == []
