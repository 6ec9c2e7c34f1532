"""Relay, Apollo, urql, graphql-codegen and graphql-eslint from npm take the schema, and the answers, as they are."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from node_tools import Node, NodeError
from tests.graphql_api.clients.npm_packages import INSTALLED, install
from tests.support.processes import CronographProcess
from tests.support.requirements import unavailable
from tests.support.schema_history import SDL
from tests.support.sources import ROOT

DOCUMENTED: Final = ROOT / "docs" / "api.md"

FORWARDS: Final = "The rows are computed forwards: there is no last page."
EXCEPTIONS: Final = {
    **{f"relay-arguments Field `{name}`": FORWARDS for name in ("upcoming", "labelValues", "logSearch")},
}
"""Findings in the schema that stay: the rule with the field, and the reason. `try.mjs` names two options."""

DASHBOARD_EXCEPTIONS: Final = {
    "require-selections": "The dashboard has no cache of objects: it asks for `id` where a page uses it.",
}
"""Rules of operations that the documents of the dashboard break, each with the reason."""

# The first of them has to install the packages where `make test` has not.
pytestmark = [pytest.mark.costly, pytest.mark.timeout(600)]

Try = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="session")
def node() -> Node:
    """The Node to use, with the packages that are locked beside the sources."""
    try:
        return install()
    except NodeError as error:
        unavailable("Node with npm packages", str(error))


def dashboard_documents() -> str:
    """Return every document and fragment of the dashboard's sources."""
    sources = [path for path in sorted((ROOT / "web" / "src").rglob("*.ts*")) if not path.name.endswith(".d.ts")]
    found = [re.findall(r"graphql\(\s*`([^`]*)`", path.read_text(encoding="utf-8")) for path in sources]
    return "\n".join(text.strip() for texts in found for text in texts)


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


def test_graphql_eslint_finds_nothing_but_the_exceptions(tried: Try, tmp_path: Path) -> None:
    documents = dashboard_documents()
    assert documents.count("subscription Events(") == 1
    (tmp_path / "dashboard.graphql").write_text(documents, encoding="utf-8")
    seen = tried("eslint")
    rules = {re.sub(r"@graphql-eslint/(\S+) .*", r"\1", one, flags=re.DOTALL) for one in seen["dashboard"]}
    assert rules == DASHBOARD_EXCEPTIONS.keys(), seen["dashboard"]
    assert seen["operations"] == []
    found = {re.sub(r"@graphql-eslint/(\S+) \d+: (Field `\w+`).*", r"\1 \2", one) for one in seen["relay"]}
    assert found == EXCEPTIONS.keys()
