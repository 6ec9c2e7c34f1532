"""The pages that are made from the code say what the code says, and the index knows every page."""

import re

import pytest

from cronograph.graphql.generation import client_reference, jobs_reference
from cronograph.jobs.builtin import reference as built_in
from cronograph.server.cli import COMMANDS, reference
from tests.support.sources import ROOT

DOCS = ROOT / "docs"


@pytest.mark.parametrize(
    ("page", "made"),
    [
        ("cli-reference.md", reference.reference),
        ("client-reference.md", client_reference.reference),
        ("python-reference.md", jobs_reference.reference),
        ("built-in-jobs.md", built_in.reference),
    ],
)
def test_the_page_is_up_to_date(page: str, made: object) -> None:
    assert callable(made)
    assert (DOCS / page).read_text(encoding="utf-8") == made(), "run `make schema`"


def test_every_command_and_no_internal_name_is_in_the_reference() -> None:
    text = reference.reference()
    assert [name for name in COMMANDS if f"## `cronograph {name}" not in text] == []


def test_the_index_names_every_page_and_every_link_leads_somewhere() -> None:
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in DOCS.glob("*.md") if path.name not in index and path.name != "README.md"] == []
    pages = [ROOT / "README.md", *DOCS.glob("*.md"), *DOCS.glob("examples/*/README.md")]
    broken = [
        f"{page.name}: {target}"
        for page in pages
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert broken == []
