"""The page of settings: where to read on."""

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Site
from tests.e2e.test_pages import ready
from tests.support.browser import PageOpener


@pytest.mark.costly
def test_it_leads_to_what_there_is_to_read_at_this_server(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    page.goto("/settings")
    ready(page)
    documents = page.get_by_role("region", name="Documents")
    schema = documents.get_by_role("link", name="/schema.graphql")
    answer = page.request.get(f"{site.url}{schema.get_attribute('href')}")
    assert "type Query" in answer.text()
    expect(documents).to_contain_text("cronograph --help")
    documents.get_by_role("link", name="explorer with reference and examples").click()
    expect(page).to_have_url(f"{site.url}/graphiql")
