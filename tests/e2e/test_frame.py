"""The frame of the dashboard is in its page: it stands before any file has come, and nothing jumps then."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.conftest import Site
from tests.support.browser import PageOpener
from tests.support.waiting import wait_until

BOXES = """() => {
  const parts = '.header, .brand img, .nav-toggle, .nav-link, .nav-link svg, .nav-link span:first-of-type';
  const seen = [...document.querySelectorAll(parts)].filter((element) => element.checkVisibility());
  return seen.map((element) => {
    const { x, y, width, height } = element.getBoundingClientRect();
    return [element.className.baseVal ?? element.className, x, y, width, height].join(' ');
  });
}"""
"""Where the parts of the frame are that the script draws again."""


class Held:
    """Files of the dashboard that do not come before they are let go."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.routes: list[Route] = []
        self.free = False
        page.route("**/assets/**", self._hold)

    def _hold(self, route: Route) -> None:
        if self.free:
            route.continue_()
        else:
            self.routes.append(route)

    def asked(self, *names: str) -> Callable[[], object]:
        """Return whether these, and no other code of pages, are asked for."""
        # The page is asked something, so that what it asks for is heard of.
        return lambda: self.page.evaluate("1") and sorted(self.code()) == sorted(names)

    def code(self) -> list[str]:
        """Return which scripts of pages are asked for, without the hash in their names."""
        found = (re.search(r"/assets/([a-z]+)-[^/]+\.js$", route.request.url) for route in self.routes)
        return [match[1] for match in found if match is not None and match[1] != "rolldown"]

    def let_go(self) -> None:
        """Let them come, and all that follow."""
        self.free = True
        for route in self.routes:
            route.continue_()


@pytest.mark.costly
@pytest.mark.parametrize(("width", "links"), [(360, 0), (900, 17), (1280, 17)])
def test_the_frame_stands_before_any_file_and_stays_where_it_is(
    site: Site, new_page: PageOpener, width: int, links: int
) -> None:
    page = new_page(site.url, viewport={"width": width, "height": 800}, first_visit=True)
    held = Held(page)
    page.goto("/tasks", wait_until="commit")
    expect(page.locator(".nav-link:visible")).to_have_count(links)
    expect(page.locator(".header")).to_have_css("height", "48px")
    expect(page.locator(".skeleton")).to_be_visible()
    expect(page.locator(".pill")).to_have_count(0)
    before = page.evaluate(BOXES)
    held.let_go()
    expect(page.locator(".pill-live")).to_be_visible()
    expect(page.locator("main h1")).to_have_text("Tasks")
    assert page.evaluate(BOXES) == before


def test_the_chosen_theme_is_there_from_the_beginning(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    page.goto("/health/live")
    page.evaluate("localStorage.setItem('cronograph.theme', 'dark')")
    held = Held(page)
    page.goto("/", wait_until="commit")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("html")).to_have_css("background-color", "rgb(16, 19, 24)")
    held.let_go()
    expect(page.locator(".pill-live")).to_be_visible()


FRAME = ("base", "frame", "shared")


@pytest.mark.costly
@pytest.mark.parametrize(
    ("path", "code"),
    [("/", ["overview"]), ("/runs", ["lists"]), ("/log?sort=longest", ["lists"]), ("/nodes", ["more"]),
     ("/tasks/nightly", ["lists", "more", "one", "overview"])],
)  # fmt: skip
def test_the_code_of_a_page_comes_beside_that_of_the_frame(
    site: Site, new_page: PageOpener, path: str, code: list[str]
) -> None:
    page = new_page(site.url, first_visit=True)
    held = Held(page)
    page.goto(path, wait_until="commit")
    wait_until(held.asked(*FRAME, *code), message=f"the code of {path} to be asked for")
    held.let_go()
    expect(page.locator(".pill-live")).to_be_visible()
