"""The mapping of top-level folders to the namespace `cronograph`, and what must lie where."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.project import PROJECT, RUNTIME, SETUPTOOLS, TESTING, distribution
from tests.support.sources import PRODUCT_FOLDERS, ROOT


def folders_with_python(top: str) -> set[str]:
    """The dotted names of all folders below `top` that hold Python modules."""
    holding = {path.parent for path in (ROOT / top).rglob("*.py") if "static" not in path.parts}
    return {".".join(["cronograph", *folder.relative_to(ROOT).parts]) for folder in holding | {ROOT / top}}


def folder_of(name: str) -> Path:
    """The folder behind the dotted name of a package."""
    parts = name.split(".")[1:]
    return ROOT.joinpath(*(["entry", *parts] if parts in ([], ["django"]) else parts))


def test_the_package_list_names_every_folder_with_modules() -> None:
    assert set(SETUPTOOLS["packages"]) == {"cronograph", "cronograph.django"}.union(
        *map(folders_with_python, PRODUCT_FOLDERS)
    )


def test_the_package_list_is_sorted_and_without_repetition() -> None:
    assert SETUPTOOLS["packages"] == sorted(set(SETUPTOOLS["packages"]))


def test_each_top_level_folder_is_mapped_into_the_namespace() -> None:
    folders = {f"cronograph.{folder}": folder for folder in PRODUCT_FOLDERS}
    assert SETUPTOOLS["package-dir"] == {"cronograph": "entry", **folders}


def test_every_sub_package_has_an_init_and_graphql_itself_has_none() -> None:
    for name in SETUPTOOLS["packages"]:
        init = folder_of(name) / "__init__.py"
        assert init.exists() == (name != "cronograph.graphql"), init


def test_the_package_itself_holds_nothing_but_its_version_its_commands_and_the_name_of_the_app() -> None:
    names = {path.name for path in (ROOT / "entry").iterdir() if path.name != "__pycache__"}
    assert names == {"__init__.py", "__main__.py", "django", "py.typed", "remote.py"}
    # A folder of that name at the root would hide an installed one from all that is run there.
    assert not (ROOT / "cronograph").exists()
    assert not (ROOT / ".links" / "cronograph" / "__init__.py").exists()


@pytest.mark.parametrize("folder", PRODUCT_FOLDERS)
def test_the_static_checkers_see_the_folder_through_a_link(folder: str) -> None:
    link = ROOT / ".links" / "cronograph" / folder
    assert link.is_symlink()
    assert link.readlink() == Path("../..") / folder
    assert (ROOT / folder / "py.typed").exists()


def test_pyright_finds_the_types_of_what_is_imported_from_below_a_folder_without_init() -> None:
    """Below it, it asks each package again; without an answer code in strict mode has `reportMissingTypeStubs`."""
    assert (folder_of("cronograph.graphql.client") / "py.typed").exists()
    assert "py.typed" in SETUPTOOLS["package-data"]["cronograph.graphql.client"]


def test_graphql_imported_from_the_root_is_graphql_core() -> None:
    code = "import graphql; print(graphql.__file__); graphql.specified_rules"
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert Path(answer.stdout.strip()).parent != ROOT / "graphql"


def test_every_package_is_imported_by_its_full_name() -> None:
    """One process for all: each would load half of the libraries again."""
    names = SETUPTOOLS["packages"]
    code = "import importlib, sys; [print(list(importlib.import_module(name).__path__)[0]) for name in sys.argv[1:]]"
    answer = subprocess.run([sys.executable, "-c", code, *names], cwd="/", capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    found = [Path(line).resolve() for line in answer.stdout.splitlines()]
    assert found == [folder_of(name) for name in names]


def test_lock_files_name_no_registry() -> None:
    assert [path.name for path in (ROOT / ".ci").glob("*.txt") if "://" in path.read_text()] == []
    packages = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    assert [name for name, package in packages.items() if "resolved" in package] == []


def test_the_lock_pins_every_direct_dependency() -> None:
    lines = (ROOT / ".ci" / "requirements.txt").read_text().splitlines()
    locked = {distribution(line.split("==")[0]) for line in lines if "==" in line}
    assert locked >= RUNTIME | TESTING


def test_the_lock_has_a_hash_of_everything_that_it_pins() -> None:
    lock = (ROOT / ".ci" / "requirements.txt").read_text()
    pins = re.findall(r"^\S+==.*$", lock, re.MULTILINE)
    hashed = re.findall(r"^\S+==.* \\\n    --hash=sha256:[0-9a-f]{64}", lock, re.MULTILINE)
    assert len(pins) == len(hashed) > len(RUNTIME | TESTING)


def test_pre_commit_installs_the_versions_of_the_lock_files() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    python = dict(re.findall(r"\"([\w-]+)==([\d.]+)\"", hooks))
    lock = (ROOT / ".ci" / "requirements.txt").read_text()
    assert python.items() <= dict(re.findall(r"^([\w-]+)==([\d.]+)", lock, re.MULTILINE)).items()
    node = dict(re.findall(r"\"(@[\w/-]+)@([\d.]+)\"", hooks))
    packages = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    assert python.keys() | node.keys() == {"ruff", "import-linter", "@biomejs/biome"}
    assert {name: packages[f"node_modules/{name}"]["version"] for name in node} == node


def test_the_lowest_versions_are_those_that_the_project_allows() -> None:
    locked = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / ".ci" / "lowest.txt").read_text(), re.MULTILINE))
    asked = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["server"]]
    bounds = dict(re.findall(r"^([\w-]+)(?:\[\w+\])?>=([\d.]+)", "\n".join(asked), re.MULTILINE))
    assert bounds.keys() == RUNTIME
    # Others of them may ask for more.
    stale = {name: at for name, at in bounds.items() if number(locked[name]) < number(at)}
    assert stale == {}
    assert [name for name, at in bounds.items() if number(locked[name])[0] != number(at)[0]] == [], "run `make lock`"


def number(version: str) -> tuple[int, ...]:
    """A version as numbers, to compare it."""
    return tuple(map(int, version.split(".")))
