"""What says where things are names what is there: the pages for developers, and the walks of a run's way."""

import ast
import re

import pytest

from tests.support.sources import ROOT

PAGES = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "decisions").glob("*.md"))]
PLACE = re.compile(r"`((?:jobs|graphql|server|migrations|tests|web|docs)/[\w./-]*)`")
STOP = re.compile(r"`((?:jobs)/[\w/]+\.py)`, `([\w.]+)`")
"""A module and a name in it, as the walks have them."""
MOST_MODULES = 10
"""How many modules a walk may take."""


def walks() -> str:
    text = (ROOT / "docs" / "decisions" / "0021-a-runs-way.md").read_text()
    return text.partition("## Three walks")[2].partition("\n## ")[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_place_that_a_page_names_is_there(page: object) -> None:
    text = (ROOT / str(page)).read_text()
    assert [place for place in PLACE.findall(text) if not (ROOT / place).exists()] == []


def test_every_stop_of_a_walk_is_there() -> None:
    stops = STOP.findall(walks())
    assert len(stops) >= 8
    missing = [(module, name) for module, name in stops if name.split(".")[-1] not in defined_in(module)]
    assert missing == []


def test_no_walk_takes_more_modules_than_one_can_keep_in_mind() -> None:
    questions = re.split(r"^(?=\*\*)", walks(), flags=re.MULTILINE)[1:]
    assert len(questions) == 3
    counts = [len({*re.findall(r"`(jobs/[\w/]+\.(?:py|sql))`", one)}) for one in questions]
    assert max(counts) <= MOST_MODULES


def defined_in(module: str) -> set[str]:
    """The functions and classes of a module, methods too."""
    tree = ast.parse((ROOT / module).read_text())
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}
