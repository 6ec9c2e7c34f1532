"""Relay, Apollo, urql, graphql-codegen and graphql-eslint from npm take the schema, and the answers, as they are."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from node_tools import Node, NodeError, find_node
from tests.support.processes import CronographProcess
from tests.support.requirements import unavailable
from tests.support.schema_history import SDL
from tests.support.sources import ROOT

SOURCES: Final = Path(__file__).with_name("npm")
INSTALLED: Final = ROOT / "build" / "npm-clients"
DOCUMENTED: Final = ROOT / "docs" / "api.md"

EXCEPTIONS: Final = {
    "relay-arguments Field `upcoming`": "Planned occurrences are computed forwards in time: they have no last page.",
}
"""What graphql-eslint finds and stays: the rule with the field, and the reason; `try.mjs` names two options."""

# The first of them may have to install the packages.
pytestmark = [pytest.mark.costly, pytest.mark.timeout(600)]

Try = Callable[[str], dict[str, Any]]


def npm(node: Node, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(node.program).parent), os.environ.get("PATH", "")])
    return subprocess.run(
        [*node.npm, *arguments],
        cwd=INSTALLED,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="session")
def node() -> Node:
    """The Node to use, with the packages that are locked beside the sources."""
    try:
        found = find_node()
    except NodeError as error:
        unavailable("Node", str(error))
    INSTALLED.mkdir(parents=True, exist_ok=True)
    with (INSTALLED / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        _install(found)
    return found


def _install(found: Node) -> None:
    lock = hashlib.sha256((SOURCES / "package-lock.json").read_bytes()).hexdigest()
    noted = INSTALLED / "installed.txt"
    for name in ("package.json", "package-lock.json", "try.mjs", "documents.graphql"):
        shutil.copy(SOURCES / name, INSTALLED / name)
    if not noted.exists() or noted.read_text() != lock:
        done = npm(found, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
        if done.returncode != 0:
            unavailable("npm packages of other clients", done.stderr[-300:])
        noted.write_text(lock)


@pytest.fixture
def tried(node: Node, server: CronographProcess, tmp_path: Path) -> Try:
    """A library tried with the schema and the server; what it saw."""

    def run(library: str) -> dict[str, Any]:
        command = [node.program, str(INSTALLED / "try.mjs"), library, str(SDL), server.url, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        seen: dict[str, Any] = json.loads(done.stdout)
        return seen

    return run


def test_relay_compiles_and_keeps_a_run_and_an_execution_of_one_key_apart(tried: Try) -> None:
    seen = tried("relay")
    assert seen["data"]["job"]["name"] == "nap"
    assert seen["data"]["run"]["id"] == seen["id"]
    assert {f"Run:{seen['id']}", "Job:nap"} <= set(seen["keys"])
    assert "getDataID: (data, type) => `${type}:${data.id ?? data.name}`" in DOCUMENTED.read_text()


def test_apollo_keeps_objects_by_type_and_key(tried: Try) -> None:
    seen = tried("apollo")
    assert seen["data"]["run"]["id"] == seen["id"]
    assert {f"Run:{seen['id']}", 'Job:{"name":"nap"}'} <= set(seen["keys"])


def test_urql_answers_again_from_its_cache(tried: Try) -> None:
    seen = tried("urql")
    assert seen["error"] == ""
    assert seen["data"]["run"]["id"] == seen["id"]
    assert seen["data"]["job"]["name"] == "nap"


def test_graphql_codegen_writes_the_types_of_documents(tried: Try) -> None:
    text = tried("codegen")["typescript"]
    assert "export type RecentRunsQuery" in text
    assert "export type SameKeyQueryVariables" in text


def test_graphql_eslint_finds_nothing_but_the_exceptions(tried: Try) -> None:
    seen = tried("eslint")
    assert seen["operations"] == []
    found = {re.sub(r"@graphql-eslint/(\S+) \d+: (Field `\w+`).*", r"\1 \2", one) for one in seen["relay"]}
    assert found == EXCEPTIONS.keys()
