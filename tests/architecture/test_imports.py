"""Who may import whom, and what the rules may not call."""

import ast
import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.support.sources import PRODUCT_FOLDERS, ROOT, read_sources

CLOCKS = {"now", "utcnow", "today", "time", "monotonic", "perf_counter", "time_ns", "monotonic_ns"}
"""Methods that read a clock when they are called on `datetime`, `date` or `time`."""


BY_THEIR_FOLDER = ("jobs", "server", "migrations")
"""Packages that the tests would find by their folders, a second time."""


@pytest.fixture(scope="module")
def checked() -> dict[str, Any]:
    """What `contracts` found; the graph of imports is built once for all."""
    command = [sys.executable, "-m", "tests.architecture.contracts"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / ".links"), str(ROOT)])}
    answer = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def test_each_contract_is_kept_and_would_see_a_violation(checked: dict[str, Any]) -> None:
    contracts: dict[str, list[bool]] = checked["contracts"]
    assert len(contracts) >= 12
    assert [name for name, (kept, _) in contracts.items() if not kept] == [], "`make check-imports` says which imports"
    assert [name for name, (_, kept) in contracts.items() if kept] == [], "these contracts see nothing"


def test_no_circle_of_modules_of_folders_or_of_a_folder_and_its_parent(
    checked: dict[str, Any],
) -> None:
    circles: dict[str, list[list[str]]] = checked["circles"]
    assert {kind: found for kind, (found, _) in circles.items()} == {"modules": [], "folders": [], "parents": []}
    assert [kind for kind, (_, with_one_more) in circles.items() if not with_one_more] == [], "these see nothing"


def test_the_contracts_name_every_layer_of_the_engine() -> None:
    contracts = (ROOT / "pyproject.toml").read_text()
    for folder in (ROOT / "jobs").iterdir():
        if (folder / "__init__.py").exists():
            assert (
                f'"{folder.name}"' in contracts or f" | {folder.name}" in contracts or f"{folder.name} | " in contracts
            )


def test_product_code_imports_its_own_parts_relatively() -> None:
    absolute = [
        source.at(node)
        for source in read_sources(*PRODUCT_FOLDERS)
        if "from cronograph" in source.text  # so that few are parsed
        for node in source.nodes
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "cronograph"
    ]
    assert absolute == []


def test_tests_import_the_product_by_its_full_name() -> None:
    wrong = [
        source.at(node)
        for source in read_sources("tests")
        if any(f"from {folder}" in source.text for folder in BY_THEIR_FOLDER)  # so that few are parsed
        for node in source.nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in BY_THEIR_FOLDER
    ]
    assert wrong == []


def test_the_rules_read_no_clock() -> None:
    reading = [
        source.at(node)
        for source in read_sources("jobs/core", "jobs/accounts/rules")
        for name, node in source.calls()
        if name.split(".")[-1] in CLOCKS and name.split(".")[0] in {"datetime", "date", "time", "dt"}
    ]
    assert reading == []
