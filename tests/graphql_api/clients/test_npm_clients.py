"""The JavaScript clients `graphql-ws` and `graphql-sse` from npm work unchanged."""

import json
import subprocess
from pathlib import Path

import pytest

from node_tools import WEB, NodeError, find_node
from tests.support.processes import CronographProcess
from tests.support.requirements import unavailable

PROGRAM = Path(__file__).with_name("node_clients.mjs")
PACKAGES = {"ws": ("graphql-ws", "ws"), "sse": ("graphql-sse",)}


def node_with(*packages: str) -> str:
    """The Node to use, if these packages are installed beside the dashboard's sources."""
    missing = [name for name in packages if not (WEB / "node_modules" / name).exists()]
    if missing:
        unavailable(f"npm package {', '.join(missing)}", "run `python web/node_tools.py`")
    try:
        return find_node().program
    except NodeError as error:
        unavailable("Node", str(error))


@pytest.mark.costly
@pytest.mark.parametrize("protocol", PACKAGES)
def test_a_client_from_npm_queries_changes_and_subscribes(server: CronographProcess, protocol: str) -> None:
    node = node_with(*PACKAGES[protocol])
    command = [node, str(PROGRAM), str(WEB / "package.json"), protocol, server.url]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 0, answer.stderr
    seen = json.loads(answer.stdout)
    assert "nap" in seen["jobs"]
    assert seen["message"] == "Job nap triggered successfully"
    assert seen["kinds"][0] == "RUN_CREATED"
    assert seen["kinds"][-1] == "EXECUTION_FINISHED"
    assert len(set(seen["cursors"])) == len(seen["cursors"])
    assert seen["states"][-1] == "SUCCESS"
    assert "nothing" in seen["refused"][0]["message"]
    assert seen["time"].endswith("Z")
    assert seen["records"] == str(2**60 + 1)
