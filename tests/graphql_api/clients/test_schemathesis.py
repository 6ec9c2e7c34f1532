"""Operations made up from the schema by schemathesis: none of them is a fault of the server."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error  # pyright: ignore[reportUnknownVariableType] - open types
from schemathesis.graphql import nodes

from graphql import ObjectValueNode, build_schema, parse_value
from tests.support.databases import sqlite_address
from tests.support.forking import Nursery
from tests.support.job_modules import write_example_jobs
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.sources import ROOT

EXAMPLES = 5
"""Operations per root field, of each of the two tests."""

STOCK: list[Any] = [not_a_server_error]
"""How the tool itself tells a fault of the server."""

COMMAND = Path(sys.executable).with_name("schemathesis")

ANYTHING = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)

SDL = build_schema((ROOT / "graphql" / "schema.graphql").read_text())


def root_fields() -> list[tuple[str, str]]:
    roots = [SDL.query_type, SDL.mutation_type]
    return [(root.name, name) for root in roots if root is not None for name in root.fields]


def json_object(value: dict[str, Any]) -> ObjectValueNode:
    """An object as a literal of a document."""
    text = ", ".join(f"{key}: {json.dumps(part)}" for key, part in value.items())
    node = parse_value(f"{{{text}}}")
    assert isinstance(node, ObjectValueNode)
    return node


PARTS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Iterator[CronographProcess]:
    """A server of its own: whatever is there may be cancelled, paused or deleted."""
    folder = tmp_path_factory.mktemp("fuzzed")
    starter = ProcessStarter(folder, nursery)
    try:
        yield starter.serve(sqlite_address(folder / "x.db"), "--jobs", write_example_jobs(folder))
    finally:
        starter.end_all()


@pytest.fixture(scope="module")
def operations(fuzzed: CronographProcess) -> Any:
    """The operations of the schema that the server tells by introspection."""
    schemathesis.graphql.scalar(
        "JSON", st.dictionaries(st.sampled_from(["seconds", "lines", "x"]), PARTS).map(json_object)
    )
    schemathesis.graphql.scalar("BigInt", st.integers(-(2**70), 2**70).map(nodes.Int))
    return schemathesis.graphql.from_url(f"{fuzzed.url}/graphql")


def test_the_stock_command_finds_no_server_error(fuzzed: CronographProcess, tmp_path: Path) -> None:
    # The check that is left out wants nothing that the types allow to be refused: no page size, cursor or id.
    done = subprocess.run(
        [
            str(COMMAND),
            "run",
            f"{fuzzed.url}/graphql",
            "--max-examples",
            str(EXAMPLES),
            "--seed",
            "1",
            "--exclude-checks",
            "positive_data_acceptance",
            "--no-color",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Tested: {len(root_fields())}" in done.stdout
    assert fuzzed.running
    assert "Traceback" not in fuzzed.output()


@pytest.mark.parametrize(("root", "field"), root_fields())
def test_nothing_that_the_schema_allows_is_a_fault_of_the_server(
    operations: Any, fuzzed: CronographProcess, root: str, field: str
) -> None:
    operation = operations[root][field]

    @ANYTHING
    @given(case=operation.as_strategy())
    def ask(case: Any) -> None:
        response = case.call(timeout=30)
        case.validate_response(response, checks=STOCK)

    ask()
    assert fuzzed.running
    assert "Traceback" not in fuzzed.output()
