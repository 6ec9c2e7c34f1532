"""The next times of a schedule in zones with long names, on windows of any width."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import Site
from tests.e2e.hands import TOO_WIDE
from tests.e2e.test_pages import ready
from tests.support.browser import PageOpener

WIDTHS = (320, 360, 480, 640, 701, 768, 900, 1024, 1200, 1440)
LONG_ZONE = "America/Argentina/ComodRivadavia"
READERS = (LONG_ZONE, "Asia/Kathmandu")
"""The clock of the schedule, and another one, whose column stands beside it."""

OUT_OF_SIGHT = """(frame) => {
  const panel = (frame.closest('dialog, .panel') ?? document.body).getBoundingClientRect()
  const shown = frame.getBoundingClientRect()
  const wrong = []
  if (frame.scrollWidth > frame.clientWidth + 1) wrong.push(`${frame.scrollWidth} px in ${frame.clientWidth}`)
  if (shown.right > panel.right + 1 || panel.right > innerWidth + 1) wrong.push(`its panel ends at ${panel.right} px`)
  for (const cell of frame.querySelectorAll('tr > :last-child')) {
    if (cell.getBoundingClientRect().right > shown.right + 1) wrong.push(`a last cell ends beyond ${shown.right} px`)
  }
  const columns = [...frame.querySelectorAll('th')].map((cell) => cell.getBoundingClientRect().width)
  if (columns.some((width) => width > 0 && width < 40)) wrong.push(`columns of ${columns} px`)
  return wrong.join(', ')
}"""


def fits_at_all_widths(page: Page, frame: Locator) -> None:
    """All columns are in sight, and the page is as wide as its window."""
    wrong: list[str] = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function("(width) => innerWidth === width", arg=width)
        expect(frame.locator("tbody tr").first).to_be_visible()
        said = frame.evaluate(OUT_OF_SIGHT)
        if page.evaluate(TOO_WIDE) > 0:
            said += f" the page is {page.evaluate(TOO_WIDE)} px too wide"
        wrong += [f"{width}: {said}"] if said else []
    assert wrong == []


@pytest.mark.costly
@pytest.mark.parametrize("reader", READERS)
def test_the_next_times_of_a_new_task_fit_any_window(site: Site, new_page: PageOpener, reader: str) -> None:
    page = new_page(site.url, timezone_id=reader)
    page.goto("/tasks?new=1&job=quick")
    form = page.get_by_role("dialog")
    form.get_by_label("When", exact=True).fill("0 30 9 * * *")
    form.get_by_label("Time zone", exact=True).fill(LONG_ZONE)
    frame = form.locator(".next-times-frame")
    expect(frame.locator("th").nth(1)).to_contain_text("Rivadavia")
    fits_at_all_widths(page, frame)


@pytest.mark.costly
@pytest.mark.parametrize("reader", READERS)
def test_the_next_times_of_a_task_fit_any_window(site: Site, new_page: PageOpener, reader: str) -> None:
    name = f"far south, seen from {reader.rpartition('/')[2]}"
    schedule = {"syntax": "CRON", "value": "0 30 9 * * *", "timezone": LONG_ZONE}
    site.create_task(name, "quick", schedule=schedule)
    page = new_page(site.url, timezone_id=reader)
    page.goto(f"/tasks/{name}?tab=schedule")
    ready(page)
    frame = page.locator(".next-times-frame")
    expect(frame.locator("th").nth(1)).to_contain_text("Rivadavia")
    fits_at_all_widths(page, frame)
