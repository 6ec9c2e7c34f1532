"""Every page, in both themes and sizes: no console error, no request elsewhere, nothing that WCAG 2.2 AA forbids."""

import importlib.util
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser import ColorScheme, PageOpener
from tests.support.requirements import unavailable

from .conftest import Site

PAGES = ("/", "/tasks", "/tasks/shown", "/tasks?new=1", "/runs", "/log", "/jobs", "/groups", "/nodes", "/settings")
SCHEMES: tuple[ColorScheme, ...] = ("light", "dark")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def ready(page: Page) -> None:
    """Wait until the page has its first data."""
    expect(page.locator(".pill")).to_have_text("live")
    expect(page.locator(".skeleton")).to_have_count(0)


def axe_source() -> str:
    """The accessibility checker, from the package that carries it."""
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        unavailable("axe-core", "pip install axe-playwright-python")
    return Path(found.origin).with_name("axe.min.js").read_text()


@pytest.fixture(scope="module", autouse=True)
def _content(site: Site) -> None:
    site.create_task("shown", "quick")
    site.trigger("quick")
    site.trigger("broken")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_accessible_in_both_themes(path: str, site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    page.goto(path)
    ready(page)
    page.evaluate(axe_source())
    backgrounds: set[str] = set()
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        backgrounds.add(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
        answer = page.evaluate("(rules) => axe.run(document, { runOnly: rules })", RULES)
        assert [(found["id"], found["nodes"][0]["target"]) for found in answer["violations"]] == [], scheme
    assert len(backgrounds) == 2


@pytest.mark.parametrize("path", PAGES)
def test_nothing_is_wider_than_a_phone(path: str, site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url, viewport={"width": 360, "height": 740})
    page.goto(path)
    ready(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


class TestShell:
    def test_the_theme_is_remembered(self, site: Site, new_page: PageOpener) -> None:
        page = new_page(site.url)
        page.goto("/")
        page.get_by_role("button", name="Theme is auto").click()
        page.get_by_role("button", name="Theme is light").click()
        page.reload()
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")

    def test_times_switch_between_utc_and_local_on_the_whole_page(self, site: Site, new_page: PageOpener) -> None:
        page = new_page(site.url, timezone_id="Asia/Kolkata")
        page.goto("/tasks/shown")
        created = (
            page.get_by_role("region", name="Facts").locator("dt", has_text="Created").locator("..").locator("time")
        )
        instant = datetime.fromisoformat(created.get_attribute("datetime") or "")
        expect(created).to_have_text(f"{instant:%Y-%m-%d %H:%M:%S} UTC")
        page.get_by_role("button", name="Times are shown in UTC").click()
        expect(created).to_have_text(f"{instant + timedelta(hours=5, minutes=30):%Y-%m-%d %H:%M:%S} UTC+5:30")

    def test_an_unknown_address_is_answered_with_a_way_back(self, site: Site, new_page: PageOpener) -> None:
        page = new_page(site.url)
        page.goto("/log/not-a-number")
        page.get_by_role("link", name="Go to the overview").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


class TestKeys:
    def test_two_keys_go_to_a_page(self, site: Site, new_page: PageOpener) -> None:
        page = new_page(site.url)
        page.goto("/")
        ready(page)
        page.keyboard.press("g")
        page.keyboard.press("t")
        expect(page.get_by_role("heading", level=1)).to_have_text("Tasks")

    def test_a_slash_goes_to_the_filter_and_keys_do_nothing_there(self, site: Site, new_page: PageOpener) -> None:
        page = new_page(site.url)
        page.goto("/tasks")
        ready(page)
        page.keyboard.press("/")
        page.keyboard.type("gt?shown")
        expect(page.get_by_label("Name, job or owner")).to_have_value("gt?shown")
        expect(page.get_by_role("dialog")).to_have_count(0)

    def test_rows_are_walked_selected_and_opened(self, site: Site, new_page: PageOpener) -> None:
        page = new_page(site.url)
        page.goto("/tasks?q=shown")
        expect(page.locator("tbody tr")).to_have_count(1)
        page.keyboard.press("j")
        page.keyboard.press("x")
        expect(page.get_by_label("Select shown")).to_be_checked()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text("shown")

    def test_help_opens_and_closes(self, site: Site, new_page: PageOpener) -> None:
        page = new_page(site.url)
        page.goto("/")
        ready(page)
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keys and words")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
