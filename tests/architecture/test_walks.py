"""What says where things are names what is there: the pages for developers, and the walks of a run's way."""

import ast
import re

import pytest

from tests.support.sources import ROOT

PAGES = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "decisions").glob("*.md"))]
PLACE = re.compile(r"`((?:jobs|graphql|server|migrations|tests|web|docs)/[\w./-]*)`")
STOP = re.compile(r"`((?:jobs|graphql)/[\w/]+\.py)`, `([\w.]+)`")
"""A module and a name in it, as the walks have them."""
FILE = re.compile(r"`([\w./*]+\.(?:py|sql))`")
"""A module or a statement that is named without the path to it."""
ATTRIBUTE = re.compile(r"`(\w+)\.(\w+(?:\.\w+)?)`(?!\w)")
"""A module of the queue, and what is in it."""
NAME = re.compile(r"`(\w+)`")
QUEUE = ROOT / "jobs" / "queue"
MOST_MODULES = 10
"""Modules and statements that the answer to one question may take."""
MOST_OF_THE_WHOLE_WAY = 30
"""The same for the last question: from the due time of a task until the result of its run is stored."""

MOST_CLASSES = 25
"""Classes that a run may meet between its row and its result."""


def page_of_the_way() -> str:
    return (ROOT / "docs" / "decisions" / "0021-a-runs-way.md").read_text()


def walks() -> str:
    text = page_of_the_way()
    return text.partition("## Walks")[2].partition("\n## ")[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_place_that_a_page_names_is_there(page: object) -> None:
    text = (ROOT / str(page)).read_text()
    assert [place for place in PLACE.findall(text) if not (ROOT / place).exists()] == []


def test_every_stop_of_a_walk_is_there() -> None:
    stops = STOP.findall(walks())
    assert len(stops) >= 8
    missing = [(module, name) for module, name in stops if name.split(".")[-1] not in defined_in(module)]
    assert missing == []


def test_every_row_of_the_table_names_what_is_in_its_folder() -> None:
    rows = [row for row in page_of_the_way().splitlines() if row.startswith("| `")]
    assert len(rows) >= 13
    missing: list[str] = []
    for row in rows:
        folder = QUEUE / (found[1] if (found := re.match(r"\| `(\w+/)`", row)) else "")
        assert folder.is_dir(), row
        files = {name: [*folder.glob(name)] for name in FILE.findall(row)}
        assert files, row
        missing += [f"{folder.name}/{name}" for name, paths in files.items() if not paths]
        modules = [path for paths in files.values() for path in paths if path.suffix == ".py"]
        there = {name for path in modules for name in defined_in(path.relative_to(ROOT).as_posix())}
        missing += [name for name in NAME.findall(row) if name not in there]
    assert missing == []


def test_every_module_statement_and_function_of_the_page_is_in_the_queue() -> None:
    text = page_of_the_way()
    files = {name for name in FILE.findall(text) if "/" not in name}
    assert {"claim.py", "start.sql"} <= files
    assert [name for name in sorted(files) if not [*QUEUE.rglob(name)]] == []
    attributes = [found for found in ATTRIBUTE.findall(text) if found[1] not in {"py", "sql"}]
    assert ("finish", "store") in attributes
    missing = [
        f"{module}.{name}"
        for module, name in attributes
        if not any(
            name.split(".")[-1] in defined_in(path.relative_to(ROOT).as_posix()) for path in QUEUE.rglob(f"{module}.py")
        )
        and not module[0].isupper()
    ]
    assert missing == []


def test_a_run_on_its_way_meets_the_classes_that_the_page_names() -> None:
    paragraph = re.search(r"^A coroutine that is claimed.*?(?=\n\n|\Z)", walks(), flags=re.MULTILINE | re.DOTALL)
    assert paragraph is not None
    met, _, others = paragraph[0].partition(". A thread adds")
    assert f"meets {len(NAME.findall(met))} classes" in met
    assert len(NAME.findall(met)) <= MOST_CLASSES
    sources = [*QUEUE.rglob("*.py"), *(ROOT / "jobs" / "runtime").rglob("*.py")]
    there = {name for path in sources for name in defined_in(path.relative_to(ROOT).as_posix())}
    assert [name for name in NAME.findall(met + others) if name not in there] == []


def test_no_walk_takes_more_modules_than_one_can_keep_in_mind() -> None:
    questions = re.split(r"^(?=\*\*)", walks(), flags=re.MULTILINE)[1:]
    counts = [len({*re.findall(r"`((?:jobs|graphql)/[\w/]+\.(?:py|sql))`", one)}) for one in questions]
    *short, whole = counts
    assert len(short) == 5
    assert max(short) <= MOST_MODULES
    assert MOST_MODULES < whole <= MOST_OF_THE_WHOLE_WAY


def defined_in(module: str) -> set[str]:
    """The functions and classes of a module, methods too."""
    tree = ast.parse((ROOT / module).read_text())
    return {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
