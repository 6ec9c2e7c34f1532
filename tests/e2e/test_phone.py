"""On a phone: what a page is about is in its first screen, and what can be done is where the thumb is."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Site
from tests.e2e.hands import TOO_WIDE
from tests.e2e.test_pages import ready
from tests.support.browser import PageOpener
from tests.support.waiting import wait_until

BUSY = "counts-what-came-in-from-all-shops-of-the-northern-region"
FIRST_ROW_COVERED = """() => {
  const row = document.querySelector('main tbody tr, main .inbox article, main .lines li')
  if (row === null) return 'no row'
  const box = row.getBoundingClientRect()
  const seen = document.elementFromPoint(box.left + box.width / 2, box.top + 20)
  return row.contains(seen) ? '' : `the first row begins at ${box.top} px under ${seen?.outerHTML.slice(0, 60)}`
}"""
OUT_OF_REACH = """() => [...document.querySelectorAll('.page-actions')]
  .map((bar) => bar.getBoundingClientRect())
  .filter((box) => box.top < innerHeight / 2 || box.bottom > innerHeight || box.height > 110).length"""


def first_row_covered(page: Page) -> str:
    """Empty if the first row of a list is seen in the first screen, else what is in its place."""
    covered: str = page.evaluate(FIRST_ROW_COVERED)
    return covered


def test_on_a_phone_all_pages_are_behind_a_button_that_names_the_present_one(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url, viewport={"width": 390, "height": 740})
    page.goto("/runs")
    menu = page.get_by_role("button", name="Runs", exact=True)
    expect(page.get_by_role("navigation", name="Pages")).to_be_hidden()
    menu.click()
    links = page.get_by_role("navigation", name="Pages").get_by_role("link")
    expect(links).to_have_count(17)
    for index in range(16):
        expect(links.nth(index)).to_be_in_viewport(ratio=1)
    page.get_by_role("link", name="Nodes").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Nodes")
    expect(page.get_by_role("button", name="Nodes", exact=True)).to_have_attribute("aria-expanded", "false")


def test_on_a_phone_filters_are_behind_a_button(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url, viewport={"width": 390, "height": 740})
    page.goto("/runs")
    page.get_by_role("button", name="Filters", exact=True).click()
    sheet = page.get_by_role("dialog", name="Filters")
    group = sheet.get_by_role("combobox", name="Group", exact=True)
    group.fill("halted")
    group.press("Enter")
    expect(page).to_have_url(re.compile("group=halted"))
    expect(sheet.get_by_role("button", name="Clear filters")).to_be_visible()
    sheet.get_by_role("button", name="Show the list").click()
    expect(sheet).to_have_count(0)
    expect(page.get_by_role("button", name="Filters, 1 set")).to_be_focused()
    # The tabs stand in one row, which scrolls.
    box = page.get_by_role("navigation", name="State of the runs").bounding_box()
    assert box is not None
    assert box["height"] < 60


BEYOND_THE_PANEL = """() => [...document.querySelectorAll('.as-cards tbody tr')].filter((row) => {
  const [inner, outer] = [row.getBoundingClientRect(), row.closest('.panel').getBoundingClientRect()];
  return inner.left < outer.left || inner.right > outer.right;
}).length"""
"""Counts the rows whose lines go beyond their panel."""


@pytest.mark.costly
def test_on_a_small_phone_the_first_row_of_every_list_is_in_sight_and_the_thumb_reaches_what_can_be_done(
    site: Site, new_page: PageOpener
) -> None:
    site.ask('mutation { pauseGroup(input: { name: "halted", reason: "audit" }) { errors { message } } }')
    site.ask(
        'mutation { enqueueRuns(input: { runs: [{ jobName: "quick", group: "halted" }] }) { errors { message } } }'
    )
    reason = "the archive of the northern region is being moved to another place"
    site.create_task(BUSY, "quick", description="Counts what came in from all shops of the region, " * 4)
    site.ask("mutation($name: String!) { triggerTask(input: { name: $name }) { run { id } } }", name=BUSY)
    said, waits = site.trigger("chatty", lines=3), site.trigger("ordered")
    wait_until(lambda: site.run_state(said) == "SUCCESS", message="the lines to be said")
    wait_until(lambda: site.run_state(waits) == "SUSPENDED", message="the run to wait for a person")
    lists = ("/tasks", "/runs?group=halted", "/log", "/lines?job=chatty&q=line", "/jobs", "/groups", "/nodes", "/inbox")
    page = new_page(site.url, viewport={"width": 320, "height": 640})
    for path in (*lists, f"/tasks/{BUSY}"):
        page.goto(path)
        ready(page)
        wait_until(lambda: first_row_covered(page) == "", message=f"the first row of {path}")
        assert page.evaluate(OUT_OF_REACH) == 0
        assert page.evaluate(BEYOND_THE_PANEL) == 0
    actions = page.locator(".page-actions")
    expect(actions.get_by_role("button", name="Run now")).to_be_in_viewport(ratio=1)
    actions.get_by_role("button", name="Pause").click()
    page.get_by_role("dialog").get_by_label("Reason").fill(reason)
    page.keyboard.press("Enter")
    expect(page.locator(".page-sub")).to_contain_text(reason)
    # A notice with its Undo lies there for some seconds.
    wait_until(lambda: first_row_covered(page) == "", message="the first row below a long reason")


@pytest.mark.costly
def test_at_twice_the_size_the_first_row_of_a_task_is_in_sight_below_all_that_is_said_of_it(
    site: Site, new_page: PageOpener
) -> None:
    name = f"{BUSY}-at-twice-the-size"
    site.create_task(name, "quick", description="Counts what came in from all shops of the region, " * 4)
    site.ask("mutation($name: String!) { triggerTask(input: { name: $name }) { run { id } } }", name=name)
    page = new_page(site.url, viewport={"width": 640, "height": 450})
    page.goto(f"/tasks/{name}")
    ready(page)
    wait_until(lambda: first_row_covered(page) == "", message="the first row")
    expect(page.locator(".strip-wide")).to_be_hidden()
    page.get_by_text("What happens next, and why").click()
    expect(page.locator(".strip-wide")).to_be_visible()
    page.get_by_text("What happens next, and why").click()
    reason = "the archive of the northern region is being moved to another place"
    pause = "mutation($name: String!, $reason: String!) { pauseTask(input: { name: $name, reason: $reason }) "
    site.ask(pause + "{ errors { message } } }", name=name, reason=reason)
    expect(page.locator("main")).to_contain_text(reason)
    wait_until(lambda: first_row_covered(page) == "", message="the first row below a long reason")
    # What does not fit beside the others is reached all the same.
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("Delete")
    assert page.evaluate(TOO_WIDE) <= 0
