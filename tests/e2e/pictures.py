"""Takes pictures of every page of a running server, at five widths and in both themes, to be looked at.

    cronograph demo --port 8080
    python -m tests.e2e.pictures http://127.0.0.1:8080 /tmp/pictures            everything
    python -m tests.e2e.pictures http://127.0.0.1:8080 /tmp/pictures /runs      one page

It judges nothing: what can be asserted is in `test_pages.py`.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.e2e.addresses import PAGES
from tests.support.browser import LAUNCH_OPTIONS, ColorScheme, find_chromium

DETAILS = {"/tasks": "a[href^='/tasks/']", "/runs?state=success": "a[href^='/runs/']", "/log": "a[href*='?attempt=']"}
"""Lists, and the link whose page is shown too."""

WIDTHS = (360, 768, 1280, 1600, 2560)
THEMES: tuple[ColorScheme, ...] = ("light", "dark")
HEIGHT = 900


def rest(page: Page) -> None:
    """Wait until the page has its data."""
    page.locator(".pill", has_text="live").wait_for()
    expect(page.locator(".skeleton")).to_have_count(0)
    page.wait_for_load_state("networkidle")


def details(page: Page, url: str) -> Iterator[str]:
    """The addresses of a task, a run and an execution that are there."""
    for path, link in DETAILS.items():
        page.goto(f"{url}{path}")
        rest(page)
        address = page.locator("table.table").locator(link).first.get_attribute("href")
        if address is not None:
            yield address


def named(path: str) -> str:
    """A page's name in that of its picture."""
    name, _, query = path.strip("/").partition("?")
    part = "-new" if "new=" in query else query.removeprefix("view=").join(("-", "")) if "view=" in query else ""
    return name.replace("/", "-") + part or "overview"


def take(browser: Browser, url: str, folder: Path, paths: Sequence[str]) -> None:
    """Take all pictures of these pages, or of all there are."""
    folder.mkdir(parents=True, exist_ok=True)
    page = browser.new_page()
    shown = list(paths) or [*PAGES, *details(page, url)]
    for path in shown:
        page.goto(f"{url}{path}")
        rest(page)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": HEIGHT})
            for theme in THEMES:
                page.emulate_media(color_scheme=theme)
                page.screenshot(path=folder / f"{named(path)}-{width}-{theme}.png", full_page=width < WIDTHS[2])


def main() -> None:
    """Take the pictures that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="where the server is")
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("paths", nargs="*", help="pages, all unless given")
    chosen = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=LAUNCH_OPTIONS)
        take(browser, chosen.url.rstrip("/"), chosen.folder, chosen.paths)
        browser.close()


if __name__ == "__main__":
    main()
