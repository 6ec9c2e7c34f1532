"""GraphiQL is served whole from this server: editor, workers, examples, subscriptions."""

import pytest
from playwright.sync_api import Page, Request, expect

from tests.e2e.conftest import Site
from tests.support.browser import PageOpener
from tests.support.sources import ROOT


@pytest.fixture
def page(site: Site, new_page: PageOpener) -> Page:
    """The explorer, ready to be used."""
    page = new_page(site.url)
    page.goto("/graphiql")
    expect(page.locator(".graphiql-query-editor .view-lines")).to_contain_text("availableJobs")
    return page


def test_its_files_are_at_most_1300_kilobytes_on_the_wire(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url, first_visit=True)
    files: list[Request] = []
    page.on("requestfinished", lambda request: files.append(request) if "/assets/" in request.url else None)
    page.goto("/graphiql")
    expect(page.locator(".graphiql-query-editor .view-lines")).to_contain_text("availableJobs")
    page.wait_for_load_state("networkidle")
    # The browser does not tell of what workers fetch.
    workers = list((ROOT / "server" / "static" / "assets").glob("*.worker-*.js.br"))
    assert len(workers) == 3
    sent = sum(file.sizes()["responseBodySize"] for file in files) + sum(path.stat().st_size for path in workers)
    assert 800_000 < sent <= 1_300_000


def test_a_first_visit_finds_examples_that_run(page: Page) -> None:
    page.get_by_role("button", name="Execute query").click()
    expect(page.locator(".graphiql-response .view-lines")).to_contain_text("Always fails")


def test_an_example_opens_in_a_tab_of_its_own(page: Page) -> None:
    tabs = page.locator(".graphiql-tab")
    before = tabs.count()
    page.get_by_role("button", name="Nodes and groups").click()
    expect(tabs).to_have_count(before + 1)
    page.get_by_role("button", name="Execute query").click()
    expect(page.locator(".graphiql-response .view-lines")).to_contain_text("ACTIVE")


def test_a_subscription_shows_events_as_they_happen(page: Page, site: Site) -> None:
    page.get_by_role("button", name="Every change, live").click()
    expect(page.locator(".graphiql-query-editor .view-lines")).to_contain_text("subscription")
    page.get_by_role("button", name="Execute query").click()
    expect(page.get_by_role("button", name="Stop query")).to_be_visible()
    site.trigger("broken", reason="for the explorer")
    response = page.locator(".graphiql-response .view-lines")
    expect(response).to_contain_text("broken")
    expect(response).to_contain_text("newestFirst")


def test_the_editor_completes_by_the_schema(page: Page) -> None:
    editor = page.locator(".graphiql-query-editor")
    editor.locator(".view-line", has_text="description").click()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.keyboard.type("isola")
    page.keyboard.press("Control+Space")
    expect(page.locator(".suggest-widget .monaco-list-row").first).to_contain_text("isolation")


def test_a_page_of_the_dashboard_hands_over_its_query(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    page.goto("/graphiql?query=%7B%20serverTime%20%7D")
    expect(page.locator(".graphiql-query-editor .view-lines")).to_contain_text("serverTime")
