"""What can be done with a list: its filters and order kept under a name, its columns chosen, its rows as a file."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Site
from tests.e2e.test_pages import LONG, hold_one, ready
from tests.support.browser import PageOpener


@pytest.fixture(scope="module", autouse=True)
def _content(site: Site) -> None:
    site.create_task(LONG, "gated", args={"gate": "never"}, group="a-group-of-the-northern-region")
    hold_one(site)


class TestViews:
    @pytest.mark.costly
    def test_a_view_is_kept_under_its_name_and_columns_are_chosen(self, site: Site, new_page: PageOpener) -> None:
        page = new_page(site.url, viewport={"width": 1600, "height": 800})
        page.goto("/tasks?state=on")
        ready(page)
        page.get_by_text("Views").click()
        page.get_by_label("Name of this view").fill("what is on")
        page.get_by_role("button", name="Save").click()
        # A press outside closes the menu.
        page.get_by_role("heading", level=1).click()
        expect(page.get_by_label("Name of this view")).to_have_count(0)
        page.goto("/tasks")
        page.get_by_text("Views").click()
        page.get_by_role("link", name="what is on").click()
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Delete the view what is on").click()
        expect(page.get_by_role("link", name="what is on")).to_have_count(0)
        page.keyboard.press("Escape")
        page.get_by_text("Columns").click()
        for kind in ("CSV", "JSON"):
            with page.expect_download() as download:
                page.get_by_role("button", name=f"as {kind}").click()
            assert download.value.suggested_filename == f"tasks.{kind.lower()}"
            assert LONG in download.value.path().read_text()
        page.keyboard.press("Escape")
        page.get_by_role("columnheader", name="Last", exact=True).get_by_role("button").click()
        expect(page).to_have_url(re.compile("sort=started"))
        expect(page.get_by_role("columnheader", name="Last", exact=True)).to_have_attribute("aria-sort", "descending")
        page.get_by_role("columnheader", name="Task", exact=True).get_by_role("button").click()
        expect(page).to_have_url(f"{site.url}/tasks?state=on")
        page.get_by_text("Columns").click()
        page.get_by_label("Schedule", exact=True).uncheck()
        expect(page.get_by_role("columnheader", name="Schedule")).to_have_count(0)
        page.reload()
        ready(page)
        expect(page.get_by_role("columnheader", name="Schedule")).to_have_count(0)
        expect(page.get_by_role("columnheader", name="Next")).to_have_count(1)

    @pytest.mark.costly
    def test_a_view_of_the_team_is_shared_found_changed_and_deleted(self, site: Site, new_page: PageOpener) -> None:
        page, other = new_page(site.url), new_page(site.url)
        page.goto("/runs?group=halted")
        ready(page)
        page.get_by_text("Views").click()
        name = page.get_by_label("Name of this view")
        for _ in range(2):
            name.fill("what is held")
            page.get_by_label("for the team").check()
            page.get_by_role("button", name="Save").click()
            expect(page.get_by_role("link", name="what is held")).to_be_visible()
        expect(page.get_by_role("alert")).to_contain_text("the team has a view 'what is held' of /runs")
        other.goto("/runs")
        ready(other)
        field = other.get_by_role("combobox", name="Task or job")
        field.fill("what is h")
        other.get_by_role("option", name="what is held").click()
        expect(other).to_have_url(f"{site.url}/runs?group=halted")
        page.get_by_role("button", name="Change the view what is held").click()
        name.fill("all that is held")
        page.get_by_role("button", name="Change", exact=True).click()
        expect(page.get_by_role("link", name="all that is held")).to_be_visible()
        name.fill(f"{LONG} and all that it has to do")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("link", name=LONG)).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
        other.goto("/")
        ready(other)
        other.keyboard.press("Control+k")
        other.get_by_role("combobox").fill("all held")
        other.get_by_role("option", name="Runs: all that is held").click()
        expect(other).to_have_url(f"{site.url}/runs?group=halted")
        page.get_by_role("button", name="Delete the view all that is held").click()
        expect(page.get_by_role("link", name="all that is held")).to_have_count(0)
        page.get_by_role("button", name="Undo").click()
        page.get_by_text("Views").click()
        expect(page.get_by_role("link", name="all that is held")).to_be_visible()
