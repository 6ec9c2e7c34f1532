"""The search field of a list: chips, what it offers, keys alone, the address; and the sheet of filters on a phone."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import Site
from tests.e2e.test_pages import AXE, CUT_OFF, EVERY_RULE, axe_source, ready, violations
from tests.support.browser import ColorScheme, PageOpener
from tests.support.waiting import wait_until

SEARCHED = "/log?job=quick&outcome=SUCCESS&label=team%3Aa+b&over=0.001s"
"""An address as lists have had them before there was a field for it, and a duration."""


@pytest.fixture(scope="module", autouse=True)
def _content(site: Site) -> None:
    site.create_task("searched", "quick", owner="channel:42", labels={"team": "a b"})
    site.create_task("other", "quick")


def listed(page: Page, path: str) -> Locator:
    """The search field of a list that has its rows."""
    page.goto(path)
    ready(page)
    return page.locator("[data-search]")


def chips(page: Page) -> Locator:
    """The terms that are in effect."""
    return page.locator(".search-chip-text")


@pytest.mark.costly
def test_terms_become_chips_and_words_stay(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    field = listed(page, "/tasks")
    field.fill('owner:channel:42 label:team="a b" sear')
    expect(chips(page)).to_have_text(["owner:channel:42", 'label:"team=a b"'])
    expect(field).to_have_value("sear")
    expect(page).to_have_url(f"{site.url}/tasks?owner=channel%3A42&label=team%3Aa+b&q=sear")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Leave out owner:channel:42").click()
    expect(page).to_have_url(f"{site.url}/tasks?label=team%3Aa+b&q=sear")
    page.go_back()
    expect(chips(page)).to_have_count(2)
    page.get_by_role("button", name="Clear filters").click()
    expect(page).to_have_url(f"{site.url}/tasks")
    expect(field).to_have_value("")


@pytest.mark.costly
def test_an_address_is_shown_as_one_would_type_it(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    field = listed(page, f"{SEARCHED}&q=job%3Aa")
    expect(chips(page)).to_have_text(["job:quick", "outcome:success", ">0.001s", 'label:"team=a b"'])
    expect(field).to_have_value('"job:a"')
    # Nothing of it changes because somebody was in the field.
    field.click()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(field).not_to_be_focused()
    expect(page).to_have_url(f"{site.url}{SEARCHED}&q=job%3Aa")


@pytest.mark.costly
def test_by_keys_alone(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    field = listed(page, "/tasks")
    offers = page.get_by_role("listbox", name="What can be typed").get_by_role("option")
    page.keyboard.press("/")
    expect(field).to_be_focused()
    expect(offers).to_have_count(4)
    page.keyboard.type("ow")
    expect(offers).to_have_text(["owner: Owner"])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(field).to_have_value("owner:")
    # The names that the server has.
    expect(offers.filter(has_text="channel:42")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    expect(field).to_have_attribute("aria-activedescendant", re.compile("-0$"))
    page.keyboard.press("Enter")
    expect(chips(page)).to_have_text(["owner:channel:42"])
    expect(page).to_have_url(f"{site.url}/tasks?owner=channel%3A42")
    expect(offers).to_have_count(0)
    # Back to text, and out of the field.
    page.keyboard.press("Backspace")
    expect(field).to_have_value("owner:channel:42")
    expect(page).to_have_url(f"{site.url}/tasks")
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    page.keyboard.type("state:pau")
    expect(offers).to_have_text(["state:paused paused"])
    page.keyboard.press("Escape")
    expect(offers).to_have_count(0)
    page.keyboard.press("Control+A")
    page.keyboard.type("nobody")
    expect(page.get_by_text("No task matches")).to_be_visible()
    page.keyboard.press("Escape")
    expect(field).not_to_be_focused()


@pytest.mark.costly
def test_the_field_and_its_offers_fit_and_are_accessible(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    field = listed(page, SEARCHED)
    field.focus()
    expect(page.get_by_role("option").first).to_be_visible()
    assert violations(page) == []
    for width in (320, 768, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        wait_until(lambda: page.evaluate(CUT_OFF) == [], message=f"the field to fit {width} px")


@pytest.mark.costly
def test_on_a_phone_the_filters_are_in_a_sheet(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url, viewport={"width": 320, "height": 700})
    listed(page, "/log?outcome=SUCCESS")
    page.get_by_role("button", name="Filters, 1 set").click()
    sheet = page.get_by_role("dialog", name="Filters")
    expect(sheet.get_by_label("Outcome", exact=True)).to_have_value("SUCCESS")
    sheet.get_by_label("Outcome", exact=True).select_option("failures")
    expect(page).to_have_url(f"{site.url}/log?outcome=failures")
    sheet.get_by_label("Longer than", exact=True).fill("5s")
    sheet.get_by_label("Longer than", exact=True).press("Enter")
    expect(page).to_have_url(f"{site.url}/log?outcome=failures&over=5s")
    expect(sheet.get_by_label("Order", exact=True)).to_be_visible()
    page.evaluate(axe_source())
    themes: tuple[ColorScheme, ...] = ("dark", "light")
    for theme in themes:
        page.emulate_media(color_scheme=theme)
        assert page.evaluate(AXE, ["dialog", EVERY_RULE])["violations"] == []
    assert page.evaluate(CUT_OFF) == []
    sheet.get_by_role("button", name="Clear filters").click()
    expect(page).to_have_url(f"{site.url}/log")
    sheet.get_by_role("button", name="Show the list").click()
    expect(sheet).to_have_count(0)


@pytest.mark.costly
def test_lines_of_logs_are_found_across_a_job_and_in_one_execution(site: Site, new_page: PageOpener) -> None:
    run = site.trigger("chatty", lines=1000)
    wait_until(lambda: site.run_state(run) == "SUCCESS", message="the lines to be written")
    page = new_page(site.url)
    field = listed(page, "/lines")
    expect(page.get_by_text("What to look for, and where")).to_be_visible()
    field.fill("job:chatty number 99")
    lines = page.locator(".lines > li")
    # 99, and 990 to 999.
    expect(lines).to_have_count(11)
    expect(page.get_by_role("status").filter(has_text="11 lines found")).to_contain_text("all there are")
    expect(page).to_have_url(f"{site.url}/lines?job=chatty&q=number+99")
    expect(lines.first.locator("mark")).to_have_text("number 99")
    field.fill("LINE")
    expect(lines).to_have_count(50)
    expect(page.get_by_text("then the search stopped")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Next").click()
    expect(lines.first).to_contain_text("line number 950")
    # From a line to its place, and from there to a search in this log alone.
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("#L950.marked")).to_be_in_viewport()
    page.get_by_role("link", name="search its log").click()
    expect(chips(page)).to_have_text([f"execution:{site.execution_of(run)}"])


@pytest.mark.costly
def test_an_open_menu_shows_what_others_save_and_closes_when_a_view_is_chosen(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    listed(page, "/tasks")
    menu = page.locator("summary", has_text="Views")
    view = page.get_by_role("link", name="of the channel")
    menu.click()
    expect(page.get_by_label("Name of this view")).to_be_visible()
    saved = 'saveView(input: {page: "/tasks", name: "of the channel", search: "?owner=channel%3A42", shared: true})'
    key = site.ask(f"mutation {{ {saved} {{ view {{ id }} }} }}")["saveView"]["view"]["id"]
    view.click()
    expect(page).to_have_url(f"{site.url}/tasks?owner=channel%3A42")
    # What was chosen is what one wants to see now, and keys go on from where the menu was opened.
    expect(view).to_have_count(0)
    expect(menu).to_be_focused()
    page.keyboard.press("Enter")
    expect(view).to_be_visible()
    site.ask(f'mutation {{ deleteView(input: {{id: "{key}"}}) {{ errors {{ message }} }} }}')
    expect(view).to_have_count(0)
