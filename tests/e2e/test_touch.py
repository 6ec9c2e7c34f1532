"""Each main flow with a finger on the smallest screen: nothing wider than it, and no target smaller than a finger."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import Site
from tests.support.browser import PageOpener
from tests.support.waiting import wait_until

SCREEN = 320
LEAST = 24
"""Pixels that a target has each way, as WCAG 2.2 asks for."""

TOO_WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


class Finger:
    """Somebody with a small phone."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def tap(self, goal: Locator) -> None:
        """Touch something that is large enough for it, on a page that fits."""
        expect(goal).to_be_visible()
        wait_until(lambda: self.page.evaluate(TOO_WIDE) <= 0, message=f"{self.page.url} to fit {SCREEN} px")
        box = goal.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= LEAST, f"{goal} is {box['width']} × {box['height']} px"
        goal.tap()

    def press(self, name: str, within: Locator | None = None) -> None:
        """Touch the button of that name."""
        self.tap((within or self.page.locator("body")).get_by_role("button", name=name, exact=True))

    def write(self, field: Locator, text: str) -> None:
        """Touch a field and type."""
        self.tap(field)
        expect(field).to_be_focused()
        self.page.keyboard.type(text)

    def visit(self, label: str, title: str) -> None:
        """Go to another page by the menu."""
        self.tap(self.page.locator("button[aria-controls='pages']"))
        self.tap(self.page.get_by_role("navigation", name="Pages").get_by_role("link", name=label, exact=True))
        self.arrive(title)

    def arrive(self, title: str) -> None:
        """The page of that title has its data, and fits."""
        expect(self.page.get_by_role("heading", level=1)).to_contain_text(title)
        expect(self.page.locator(".skeleton")).to_have_count(0)
        wait_until(lambda: self.page.evaluate(TOO_WIDE) <= 0, message=f"{title} to fit {SCREEN} px")


@pytest.mark.costly
def test_everything_is_done_with_a_finger_on_a_small_phone(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url, viewport={"width": SCREEN, "height": 640}, touch=True)
    finger = Finger(page)
    page.goto("/")
    expect(page.locator(".pill")).to_have_text("live")
    make_a_task(page, finger, site)
    trigger_it_and_cancel_the_run(page, finger, site)
    filter_what_was_run(page, finger)
    pause_a_group(page, finger)


def make_a_task(page: Page, finger: Finger, site: Site) -> None:
    """The form, whose buttons stay in sight."""
    finger.visit("Tasks", "Tasks")
    finger.press("New task")
    form = page.get_by_role("dialog")
    finger.write(form.get_by_label("Name", exact=True), "by-finger")
    finger.write(form.get_by_label("Job", exact=True), "gated")
    finger.write(form.get_by_label("When", exact=True), "0 30 9 1 1 *")
    expect(form.locator(".next-times tbody tr")).to_have_count(3)
    create = form.get_by_role("button", name="Create task")
    expect(create).to_be_in_viewport(ratio=1)
    finger.tap(create)
    expect(form).to_have_count(0)
    assert site.task("by-finger")["schedule"]["value"] == "0 30 9 1 1 *"


def trigger_it_and_cancel_the_run(page: Page, finger: Finger, site: Site) -> None:
    """From the list to the task, to its run, to the end of that."""
    row = page.locator("tbody tr", has_text="by-finger")
    finger.tap(row.get_by_role("link", name="by-finger", exact=True))
    finger.arrive("by-finger")
    finger.press("Run now")
    execution = page.get_by_role("region", name="Executions").locator("tbody tr a.row-main")
    expect(execution).to_have_count(1)
    finger.tap(execution)
    finger.arrive("running")
    finger.press("Cancel")
    expect(page.get_by_role("heading", level=1)).to_contain_text("cancelled")
    newest = site.ask('{ runs(first: 1, filter: { taskName: { eq: "by-finger" } }) { nodes { state } } }')
    assert newest["runs"]["nodes"] == [{"state": "CANCELLED"}]


def filter_what_was_run(page: Page, finger: Finger) -> None:
    """The filters are a sheet, and close with what they found in sight."""
    finger.visit("Log", "Execution log")
    finger.press("Filters")
    sheet = page.get_by_role("dialog", name="Filters")
    task = sheet.get_by_role("combobox", name="Task", exact=True)
    finger.write(task, "by-finger")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("task=by-finger"))
    finger.press("Show the list", sheet)
    expect(sheet).to_have_count(0)
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_be_in_viewport(ratio=0.5)


def pause_a_group(page: Page, finger: Finger) -> None:
    """A group is paused with a reason, and resumed."""
    finger.visit("Groups", "Groups")
    finger.press("Pause group default")
    reason = page.get_by_role("dialog").get_by_label("Reason")
    finger.write(reason, "on the train")
    finger.press("Pause", page.get_by_role("dialog"))
    expect(page.locator("tbody tr", has_text="default")).to_contain_text("on the train")
    finger.press("Resume group default")
    expect(page.get_by_role("button", name="Pause group default")).to_be_visible()
