"""People who use the dashboard without a mouse: by keys alone, or with a finger on a small phone."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import Site
from tests.support.waiting import wait_until

FLOW = "mutation($input: EnqueueFlowInput!) { enqueueFlow(input: $input) { errors { message } } }"
MOST_TABS = 150
FOCUSED = "(element) => element === document.activeElement"
LOST = "() => document.activeElement === null || document.activeElement === document.body"

SCREEN = 320
LEAST = 24
"""Pixels that a target has each way, as WCAG 2.2 asks for."""

TOO_WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def enqueue_flow(site: Site, name: str, gate: str) -> None:
    """A flow of two runs: one holds until the gate is opened, the other comes after it."""
    runs = [
        {"key": "hold", "jobName": "gated", "args": {"gate": gate}},
        {"key": "mail", "jobName": "quick", "after": ["hold"]},
    ]
    assert site.ask(FLOW, input={"name": name, "runs": runs})["enqueueFlow"]["errors"] == []


class Hands:
    """Somebody without a mouse."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, *keys: str) -> None:
        """Press keys one after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def reach(self, goal: Locator, *, back: bool = False) -> None:
        """Press Tab until something has the focus."""
        expect(goal).to_be_visible()
        for _ in range(MOST_TABS):
            if goal.evaluate(FOCUSED):
                return
            self.press("Shift+Tab" if back else "Tab")
        raise AssertionError(f"{goal} cannot be reached by Tab")

    def walk_to(self, row: Locator) -> None:
        """Go down a list to a row; between those that a test has made, others may come and go."""
        for _ in range(MOST_TABS):
            self.press("j")
            if row.evaluate(FOCUSED):
                return
        raise AssertionError(f"{row} cannot be reached by j")

    def use(self, goal: Locator) -> None:
        """Go to a button or a link, and press it once that can be done."""
        self.reach(goal)
        expect(goal).to_be_enabled()
        self.press("Enter")

    def keep(self, goal: Locator | None = None) -> None:
        """What was done has left the focus there; without a place: somewhere, and not at the beginning of the page."""
        if goal is not None:
            expect(goal).to_be_focused()
        else:
            wait_until(lambda: not self.page.evaluate(LOST), message="the focus to be somewhere")

    def write(self, field: Locator, text: str) -> None:
        """Go to a field and type over what it holds."""
        self.reach(field)
        self.press("Control+a")
        self.page.keyboard.type(text)
        expect(field).to_have_value(text)

    def arrive(self, title: str) -> None:
        """The page of that title has the focus on its heading, and its data."""
        heading = self.page.get_by_role("heading", level=1)
        expect(heading).to_contain_text(title)
        expect(self.page.locator(".skeleton")).to_have_count(0)
        expect(heading).to_be_focused()


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

    def choose(self, field: Locator, value: str) -> None:
        """Touch a list of choices, which the phone itself shows, and take one."""
        self.tap(field)
        self.page.keyboard.press("Escape")
        field.select_option(value)

    def visit(self, label: str, title: str) -> None:
        """Go to another page by the menu."""
        self.tap(self.page.locator("button[aria-controls='pages']"))
        # The inbox counts what waits behind its name.
        name = re.compile(rf"^{label}(\W|\d|$)")
        self.tap(self.page.get_by_role("navigation", name="Pages").get_by_role("link", name=name))
        self.arrive(title)

    def arrive(self, title: str) -> None:
        """The page of that title has its data, and fits."""
        expect(self.page.get_by_role("heading", level=1)).to_contain_text(title)
        expect(self.page.locator(".skeleton")).to_have_count(0)
        wait_until(lambda: self.page.evaluate(TOO_WIDE) <= 0, message=f"{title} to fit {SCREEN} px")
