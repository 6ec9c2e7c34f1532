"""Press every button of every page and of its dialogs once: the server can do what each of them asks."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.e2e.conftest import Site, site_with
from tests.e2e.test_pages import DRAWN, EVERY_PAGE, fill_what_is_seldom_full, hold_one, ready
from tests.support.browser import BrowserWatch, PageOpener
from tests.support.forking import Nursery
from tests.support.waiting import wait_until

REPORT_REFUSALS = """() => {
  const ask = window.fetch
  window.underWay = 0
  window.fetch = async (...request) => {
    window.underWay += 1
    try {
      const answer = await ask(...request)
      if (String(request[0]).endsWith('/graphql')) {
        const { errors } = await answer.clone().json()
        if (errors?.length) console.error(`refused: ${errors[0].message} ${request[1].body}`)
      }
      return answer
    } finally { window.underWay -= 1 }
  }
}"""
"""Has every answer of the API that holds an error shown as an error of the console, which fails the test."""

PRESSABLE = """(part) => {
  const seen = new Set()
  return [...document.querySelectorAll(`${part} button`)].flatMap((button, place) => {
    const name = (button.getAttribute('aria-label') ?? button.textContent).trim()
    const blocked = button.disabled || button.getAttribute('aria-disabled') === 'true' || !button.checkVisibility()
    // Rows repeat their buttons with other names in them.
    const kind = button.closest('tbody') ? `${button.className} ${name.split(' ')[0]}` : name
    if (blocked || seen.has(kind)) return []
    seen.add(kind)
    return [[place, name]]
  })
}"""
"""Lists the buttons within a part of the page that can be pressed: the place and the name of each, one of a kind."""

DIALOG = "dialog[open]"
LEAVES = re.compile("Sign out|Export|Download")
"""Buttons that leave the page or hand a file to the browser."""


@pytest.fixture
def filled(tmp_path: Path, nursery: Nursery) -> Iterator[Site]:
    """A server of its own for each page: what its buttons do is missed by none of the others."""
    with site_with(tmp_path, nursery) as site:
        site.create_task("shown", "quick", owner="channel:42")
        runs = [site.trigger("quick"), site.trigger("broken"), site.trigger("chatty", lines=3)]
        hold_one(site)
        fill_what_is_seldom_full(site)
        wait_until(lambda: all(site.run_state(run) in {"SUCCESS", "FAILED"} for run in runs), message="the runs to end")
        yield site


def opened(page: Page, path: str) -> None:
    """Open the page anew, with all that it asks for answered."""
    page.goto(path)
    ready(page)
    settled(page)


def settled(page: Page) -> None:
    """Wait until everything is drawn and answered."""
    page.evaluate(DRAWN)
    page.wait_for_function("() => window.underWay === 0")
    page.evaluate(DRAWN)


def press(page: Page, part: str, place: int) -> None:
    """Press the button at this place, if it is still there."""
    button = page.locator(f"{part} button").nth(place)
    if button.count() and button.is_enabled():
        button.click()
        settled(page)


def pressable(page: Page, part: str) -> list[tuple[int, str]]:
    """Return the places and names of the buttons to press."""
    found: list[tuple[int, str]] = page.evaluate(PRESSABLE, part)
    return [(place, name) for place, name in found if not LEAVES.search(name)]


@pytest.mark.costly
@pytest.mark.timeout(300)
@pytest.mark.parametrize("path", EVERY_PAGE)
def test_the_server_can_do_what_every_button_asks_for(
    path: str, filled: Site, new_page: PageOpener, browser_watch: BrowserWatch
) -> None:
    page = new_page(filled.url)
    page.add_init_script(f"({REPORT_REFUSALS})()")
    opened(page, path)
    part = "body" if path == "/" else DIALOG if page.locator(DIALOG).count() else "main"
    for place, name in pressable(page, part):
        opened(page, path)
        press(page, part, place)
        if part == DIALOG or not page.locator(DIALOG).count():
            continue
        for inner, _ in pressable(page, DIALOG):
            if not page.locator(DIALOG).count():
                opened(page, path)
                press(page, part, place)
            press(page, DIALOG, inner)
        assert browser_watch.remaining() == [], name
