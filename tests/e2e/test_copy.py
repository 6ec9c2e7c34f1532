"""Names and values are copied by keys alone, also where a page has no clipboard, as by HTTP from another machine."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Site
from tests.e2e.hands import Hands
from tests.support.browser import PageOpener
from tests.support.waiting import wait_until

NAME = "a-name-to-be-copied-of-the-northern-region"
READ = "navigator.clipboard.readText()"

NO_CLIPBOARD = "delete Navigator.prototype.clipboard"
"""What a page lacks that came by plain HTTP from another machine."""

NO_COMMAND = "document.execCommand = () => false"
"""What a browser does that lets no page copy at all."""


@pytest.fixture(scope="module", autouse=True)
def _task(site: Site) -> None:
    site.create_task(NAME, "quick")


def at_the_row(page: Page) -> Hands:
    """Somebody who has gone to the row of the task by keys."""
    page.goto(f"/tasks?q={NAME}")
    expect(page.locator("tbody tr")).to_have_count(1)
    hands = Hands(page)
    hands.walk_to(page.locator("tbody tr"))
    return hands


@pytest.mark.costly
def test_a_name_is_copied_by_tab_and_enter_and_by_its_key(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    hands = at_the_row(page)
    copy = page.get_by_role("button", name=f"Copy {NAME}")
    hands.use(copy)
    wait_until(lambda: page.evaluate(READ) == NAME, message="the name to be copied")
    expect(copy).to_have_attribute("title", "Copied")
    expect(page.get_by_role("status")).to_have_text(f"{NAME} copied")
    hands.keep(copy)
    page.evaluate("navigator.clipboard.writeText('nothing')")
    hands.press("y")
    wait_until(lambda: page.evaluate(READ) == NAME, message="the name to be copied again")
    hands.press("k", "y")
    hands.keep(page.locator("tbody tr"))


@pytest.mark.costly
@pytest.mark.parametrize("by", ["Enter", "y"])
def test_without_a_clipboard_a_name_is_copied_all_the_same(by: str, site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    page.add_init_script(NO_CLIPBOARD)
    hands = at_the_row(page)
    copy = page.get_by_role("button", name=f"Copy {NAME}")
    if by == "Enter":
        hands.reach(copy)
    hands.press(by)
    expect(copy).to_have_attribute("title", "Copied")
    hands.keep(copy if by == "Enter" else page.locator("tbody tr"))
    hands.press("/", "Control+a", "Control+v")
    expect(page.get_by_label("Name, job or owner")).to_have_value(NAME)


@pytest.mark.costly
def test_without_a_clipboard_the_link_in_a_dialog_is_copied(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    page.add_init_script(NO_CLIPBOARD)
    page.goto("/users")
    hands = Hands(page)
    dialog = page.get_by_role("dialog")
    hands.use(page.get_by_role("button", name="Add a user"))
    hands.write(dialog.get_by_label("Name"), "copied")
    hands.press("Enter")
    copy = dialog.get_by_role("button", name=re.compile("^Copy: http"))
    hands.keep(copy)
    link = dialog.locator("code").inner_text()
    hands.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Command copied")
    hands.keep(copy)
    hands.use(dialog.get_by_role("button", name="I have it"))
    hands.use(page.get_by_role("button", name="Add a user"))
    hands.keep(dialog.get_by_label("Name"))
    hands.press("Control+v")
    expect(dialog.get_by_label("Name")).to_have_value(link)


@pytest.mark.costly
def test_where_nothing_can_be_copied_it_says_what_to_do(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    page.add_init_script(f"{NO_CLIPBOARD}; {NO_COMMAND}")
    hands = at_the_row(page)
    hands.press("y")
    expect(page.get_by_role("alert")).to_contain_text("Open it by HTTPS, or select the text and press Ctrl C.")
    copy = page.get_by_role("button", name=f"Copy {NAME}")
    expect(copy).not_to_have_attribute("title", "Copied")
    hands.keep(page.locator("tbody tr"))
    hands.use(page.get_by_role("button", name="Close message"))
    hands.keep()
