"""Install the JavaScript clients and linters that the schema is tried with, once for each lock file.

`make npm-clients` does it, and `make test` beforehand, so that no test waits for the network.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from node_tools import Node, NodeError, find_node
from tests.support.sources import ROOT

SOURCES: Final = Path(__file__).with_name("npm")
INSTALLED: Final = ROOT / "build" / "npm-clients"
FILES: Final = ("package.json", "package-lock.json", "try.mjs", "verify.mjs", "documents.graphql")


def install() -> Node:
    """Return the Node to use, once the packages that are locked are beside the programs.

    Raises:
        NodeError: there is no Node, or npm failed; the message names the reason.
    """
    node = find_node()
    INSTALLED.mkdir(parents=True, exist_ok=True)
    with (INSTALLED / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for name in FILES:
            shutil.copy(SOURCES / name, INSTALLED / name)
        lock = hashlib.sha256((SOURCES / "package-lock.json").read_bytes()).hexdigest()
        noted = INSTALLED / "installed.txt"
        if not noted.exists() or noted.read_text() != lock:
            _npm(node, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
            noted.write_text(lock)
    return node


def _npm(node: Node, *arguments: str) -> None:
    path = os.pathsep.join([str(Path(node.program).parent), os.environ.get("PATH", "")])
    command = [*node.npm, *arguments]
    done = subprocess.run(
        command, cwd=INSTALLED, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise NodeError(f"npm packages of other clients: {done.stderr[-300:]}")


if __name__ == "__main__":
    try:
        install()
    except NodeError as error:
        sys.stderr.write(f"The tests with JavaScript clients are skipped: {error}\n")
