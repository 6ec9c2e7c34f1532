"""The dashboard on a server that runs listed documents only: the build lists all that its pages send."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from graphql import build_schema, parse, validate
from tests.e2e.addresses import PAGES
from tests.e2e.conftest import MODULE, SOURCE, Site, need_dashboard, start_site
from tests.e2e.test_pages import ready
from tests.support.browser import PageOpener
from tests.support.forking import Nursery
from tests.support.ports import free_port
from tests.support.processes import ProcessStarter
from tests.support.sources import ROOT
from tests.support.web import post

OPERATION = re.compile(r"graphql\(\s*`\s*(?:query|mutation|subscription)\b")


@pytest.fixture(scope="module")
def closed_site(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Iterator[Site]:
    """A server whose list is empty: nothing but its own documents run."""
    need_dashboard()
    folder = tmp_path_factory.mktemp("closed")
    (folder / f"{MODULE}.py").write_text(SOURCE)
    (folder / "none.json").write_text("{}")
    starter = ProcessStarter(folder, nursery)
    yield start_site(folder, starter, free_port(), env={"CRONOGRAPH_ALLOWED_DOCUMENTS": "none.json"})
    starter.end_all()


def test_every_operation_of_the_sources_is_listed() -> None:
    need_dashboard()
    listed = json.loads((ROOT / "server" / "static" / "documents.json").read_text())
    sources = (path.read_text() for path in (ROOT / "web" / "src").rglob("*.ts*"))
    written = sum(len(OPERATION.findall(text)) for text in sources)
    assert written > 30
    assert len(listed) == written


@pytest.mark.costly
def test_every_operation_fits_the_schema() -> None:
    need_dashboard()
    schema = build_schema((ROOT / "graphql" / "schema.graphql").read_text())
    for text in json.loads((ROOT / "server" / "static" / "documents.json").read_text()).values():
        assert validate(schema, parse(text)) == [], text


@pytest.mark.costly
def test_the_pages_work_and_nothing_else_does(closed_site: Site, new_page: PageOpener) -> None:
    answer = post(f"{closed_site.url}/graphql", {"query": "{ asOf }"}).json()
    assert answer["errors"][0]["extensions"]["code"] == "DOCUMENT_NOT_ALLOWED"
    page = new_page(closed_site.url)
    for path in (*PAGES, "/runs/1", "/log/1"):
        page.goto(path)
        ready(page)
    page.goto("/jobs")
    page.get_by_role("button", name="Run quick…").click()
    page.get_by_role("dialog").get_by_role("button", name="Run now").click()
    # It closes when the server has answered: who leaves the page before that takes the request back.
    expect(page.get_by_role("dialog")).to_have_count(0)
    # The clean-ups, which come due every five minutes, end with success beside it.
    page.goto("/log?job=quick")
    expect(page.locator("tbody tr")).to_contain_text("success")
