"""The pages that are made from the code say what the code says, and the index knows every page."""

import re
from collections import Counter
from pathlib import Path

import pytest

from cronograph.server.cli import COMMANDS
from tests.docs import site
from tests.generation import builtin_reference, cli_reference, client_reference, jobs_reference
from tests.support.sources import ROOT

DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("how-to/*.md")])
"""What the index and the navigation name."""


@pytest.mark.parametrize(
    ("page", "made"),
    [
        ("cli-reference.md", cli_reference.reference),
        ("client-reference.md", client_reference.reference),
        ("python-reference.md", jobs_reference.reference),
        ("built-in-jobs.md", builtin_reference.reference),
    ],
)
def test_the_page_is_up_to_date(page: str, made: object) -> None:
    assert callable(made)
    assert (DOCS / page).read_text(encoding="utf-8") == made(), "run `make schema`"


def test_every_command_and_no_internal_name_is_in_the_reference() -> None:
    text = cli_reference.reference()
    assert [name for name in COMMANDS if f"## `cronograph {name}" not in text] == []


def test_the_index_names_every_page_and_every_link_leads_somewhere() -> None:
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    places = [path.relative_to(DOCS).as_posix() for path in PAGES]
    assert [place for place in places if f"({place}" not in index and place != "README.md"] == []
    pages = [ROOT / "README.md", *PAGES, *DOCS.glob("examples/*/README.md")]
    broken = [
        f"{page.name}: {target}"
        for page in pages
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert broken == []


def test_every_anchor_of_a_link_is_a_heading_of_its_page() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    anchors = {page.resolve(): anchors_of(text) for page, text in texts.items()}
    broken = [
        f"{page.name}: {target}#{anchor}"
        for page, text in texts.items()
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", text)
        if anchor not in anchors.get((page.parent / target).resolve() if target else page.resolve(), {anchor})
    ]
    assert broken == []


def anchors_of(text: str) -> set[str]:
    """Return what leads to the headings of a page, where the same words come again with a number."""
    without_code = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+?)\s*$", without_code, re.MULTILINE)
    found: Counter[str] = Counter()
    anchors: set[str] = set(re.findall(r'<a (?:id|name)="([^"]+)"', text))
    for heading in headings:
        shown = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        anchors.add(slug if not found[slug] else f"{slug}-{found[slug]}")
        found[slug] += 1
    return anchors


def test_the_site_has_every_page_of_the_index_and_says_what_each_is_about(tmp_path: Path) -> None:
    site.stage(tmp_path)
    listed = (tmp_path / "llms.txt").read_text(encoding="utf-8")
    named = {f"{one}.md" for one in re.findall(r"^- \[.+\]\((.+)\.html\)", listed, re.MULTILINE)}
    pages = {path.relative_to(ROOT).as_posix() for path in PAGES} - {"docs/README.md"}
    assert pages <= named
    assert all((tmp_path / one).is_file() for one in named)
    navigation = re.findall(r": (\S+\.md)$", (ROOT / ".mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert [one for one in navigation if not (tmp_path / one).is_file()] == []
    assert pages <= set(navigation)
    assert "run-by" not in (tmp_path / "docs" / "deployment.md").read_text(encoding="utf-8")
