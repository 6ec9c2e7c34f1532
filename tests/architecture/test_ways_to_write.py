"""There is one way to write, `Database.write`; who passes it by is named here, and in decision 30 with the reason."""

import ast

import pytest

from tests.architecture.ratchets import module_of
from tests.support.sources import ROOT, Function, Source, dotted_name, product_sources

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


STATEMENTS = ("jobs/accounts/statements/", "jobs/store/statements/")
"""One module for each noun, with all that is asked about it and all that changes it."""
MAY_WRITE = (*STATEMENTS, "jobs/accounts/actions/", "jobs/actions/", "jobs/builtin/", "jobs/queue/", "jobs/store/db/")
CHANGES = ("insert", "update", "delete", "dialect.insert_or_ignore", "dialect.insert_rows", "dialect.upsert")


def changing(sources: list[Source]) -> set[str]:
    """The statements that change something, by module and name, and those that use one of them."""
    functions = {
        f"{module_of(one.name)}.{node.name}": (one, node)
        for one in sources
        for node in one.tree.body
        if isinstance(node, Function)
    }
    called = {
        name: {dotted_name(call.func) for call in ast.walk(node) if isinstance(call, ast.Call)}
        for name, (_, node) in functions.items()
    }
    found = {name for name, calls in called.items() if not calls.isdisjoint(CHANGES)}
    while True:
        more = {
            name
            for name, (one, _) in functions.items()
            if name not in found and any(f"{module_of(one.name)}.{call}" in found for call in called[name])
        }
        if not more:
            return found
        found |= more


def used(source: Source) -> set[str]:
    """What a file imports from modules beside or below it, by module and name; of a module each attribute."""
    package = module_of(source.name).split(".")
    if not source.name.endswith("__init__.py"):
        package.pop()
    names = dict[str, str]()
    for node in source.nodes:
        if isinstance(node, ast.ImportFrom) and node.level:
            parents = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
            base = ".".join(filter(None, parents))
            names |= {alias.asname or alias.name: f"{base}.{alias.name}" for alias in node.names}
    attributes = (one for one in source.nodes if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name))
    of_modules = {f"{names.get(ast.unparse(one.value), '')}.{one.attr}" for one in attributes}
    return {*names.values(), *of_modules}


def test_only_actions_the_queue_and_built_in_jobs_change_what_is_stored() -> None:
    changes = changing([one for one in product_sources() if one.name.startswith(STATEMENTS)])
    assert {"jobs.store.statements.tasks.create", "jobs.accounts.statements.sessions.insert_session"} <= changes
    elsewhere = (one for one in product_sources() if not one.name.startswith(MAY_WRITE))
    assert {one.name: found for one in elsewhere if (found := used(one) & changes)} == {}


def test_a_change_is_seen_by_the_name_of_its_module_too() -> None:
    stored = Source(
        "jobs/store/statements/a.py", "def put():\n    both()\n\n\ndef both():\n    insert(t)\n\n\ndef get(): ..."
    )
    assert changing([stored]) == {"jobs.store.statements.a.put", "jobs.store.statements.a.both"}
    for code in ("from .store.statements.a import put", "from .store.statements import a as b\nb.put()"):
        assert "jobs.store.statements.a.put" in used(Source("jobs/there.py", code))
