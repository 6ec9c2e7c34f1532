"""The schema's page in `docs/` is up to date, and no change of the schema breaks clients unnoticed."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

from cronograph.graphql import client
from tests.generation.api_reference import reference
from tests.support.schema_history import (
    ACKNOWLEDGED,
    SDL,
    breaking_changes,
    comparison,
    unacknowledged,
)
from tests.support.sources import ROOT

PAGE = ROOT / "docs" / "api-reference.md"
OLD = "type Query { a(x: Int): Int b: E } enum E { ONE TWO }"


def test_the_reference_is_what_the_schema_says() -> None:
    assert PAGE.read_text() == reference(SDL.read_text()), "write docs/api-reference.md again with `make schema`"


def test_every_link_in_the_reference_leads_somewhere() -> None:
    page = PAGE.read_text()
    anchors = set(re.findall(r'<a id="([^"]+)">', page)) | {"lists", "scalars"}
    assert set(re.findall(r"\]\(#([^)]+)\)", page)) <= anchors


def test_every_table_of_the_reference_has_rows_as_wide_as_its_head() -> None:
    for table in re.findall(r"(?:^\|.*\n)+", PAGE.read_text(), re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1, table


def test_no_change_since_the_last_release_breaks_clients_unless_it_is_listed() -> None:
    said, unlisted = comparison()
    assert unlisted == [], f"{said} If they are meant, list them in {ACKNOWLEDGED.relative_to(ROOT)}"


def test_the_schema_is_compared_with_that_of_the_last_tag(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        who = ("-c", "user.name=x", "-c", "user.email=x@example.test", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "graphql").mkdir()
    sdl, page = tmp_path / "graphql" / "schema.graphql", tmp_path / "CHANGELOG.md"
    sdl.write_text(OLD)
    page.write_text("# Changes\n")
    git("init")
    git("add", ".")
    git("commit", "-m", "one")
    assert comparison(tmp_path) == ("There is no release yet: nothing to compare the schema with.", [])
    git("tag", "v0.1.0")
    assert comparison(tmp_path) == ("Breaking changes of the schema since v0.1.0: 0.", [])
    sdl.write_text("type Query { a(x: Int): Int } enum E { ONE TWO }")
    said, unlisted = comparison(tmp_path)
    assert (said, unlisted) == ("Breaking changes of the schema since v0.1.0: 1.", ["Field Query.b was removed."])
    page.write_text(f"# Changes\n\n- {unlisted[0]}\n")
    assert comparison(tmp_path)[1] == []


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("type Query { a(x: Int): Int } enum E { ONE TWO }", "Query.b was removed"),
        ("type Query { a(x: Int!): Int b: E } enum E { ONE TWO }", "changed type from Int to Int!"),
        ("type Query { a: Int b: E } enum E { ONE TWO }", "was removed"),
        ("type Query { a(x: Int): Int b: E } enum E { ONE }", "TWO was removed"),
        ("type Query { a(x: Int): String b: E } enum E { ONE TWO }", "Query.a changed type from Int to String"),
    ],
)
def test_a_change_that_breaks_clients_is_found_and_can_be_acknowledged(new: str, words: str) -> None:
    changes = breaking_changes(OLD, new)
    assert len(changes) == 1
    assert words in changes[0]
    assert unacknowledged(changes, "# Changes\n\n- something else\n") == changes
    assert unacknowledged(changes, f"# Changes\n\n- {changes[0]}\n") == []


def test_additions_break_nobody() -> None:
    new = "type Query { a(x: Int, y: Int): Int b: E c: Int } enum E { ONE TWO THREE }"
    assert breaking_changes(OLD, new) == []


def test_the_examples_of_the_guide_can_be_read_by_python_and_import_what_there_is() -> None:
    blocks = re.findall(r"```python[^\n]*\n(.*?)```", (ROOT / "docs" / "api.md").read_text(), re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module == client.__name__:
                assert {alias.name for alias in node.names} <= set(client.__all__)
