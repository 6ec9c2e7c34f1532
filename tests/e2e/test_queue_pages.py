"""The pages of groups and nodes: many rows, found by filter and read page by page."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.conftest import Site
from tests.e2e.test_truth import live
from tests.support.browser import BrowserWatch, PageOpener, asked_document
from tests.support.waiting import wait_until

ENQUEUE = "mutation($input: EnqueueRunsInput!) { enqueueRuns(input: $input) { errors { message } } }"
LATER = "2090-01-01T00:00:00Z"


def name_groups(site: Site, prefix: str, number: int) -> None:
    """Put a run that is far from due into each of so many groups."""
    for start in range(0, number, 50):
        runs: list[dict[str, Any]] = [
            {"jobName": "quick", "group": f"{prefix}-{place:03}", "runAt": LATER}
            for place in range(start, min(start + 50, number))
        ]
        assert site.ask(ENQUEUE, input={"runs": runs})["enqueueRuns"]["errors"] == []


@pytest.mark.costly
def test_more_groups_than_a_page_holds_are_reached_by_pages_and_by_name(site: Site, new_page: PageOpener) -> None:
    name_groups(site, "tenant", 130)
    page = new_page(site.url)
    page.goto("/groups?q=tenant")
    rows = page.locator("table.groups tbody tr")
    expect(rows).to_have_count(100)
    expect(page.get_by_text("130 groups")).to_be_visible()
    page.get_by_role("button", name="Next").click()
    expect(rows).to_have_count(30)
    expect(rows.last).to_contain_text("tenant-129")
    page.get_by_role("button", name="First").click()
    expect(rows).to_have_count(100)
    page.get_by_label("Name").fill("tenant-07")
    expect(rows).to_have_count(10)
    page.get_by_label("Name").fill("nobody")
    expect(page.get_by_text("No group matches")).to_be_visible()


@pytest.mark.costly
def test_a_paused_group_is_found_among_the_paused_ones(site: Site, new_page: PageOpener) -> None:
    site.ask('mutation { pauseGroup(input: { name: "halted", reason: "audit" }) { errors { message } } }')
    page = new_page(site.url)
    page.goto("/groups?state=paused")
    row = page.locator("table.groups tbody tr", has_text="halted")
    expect(row).to_contain_text("audit")
    page.get_by_role("button", name="Resume group halted").click()
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(row).to_contain_text("audit")


@pytest.mark.costly
def test_the_limits_of_a_group_are_set_and_taken_away_by_hand(site: Site, new_page: PageOpener) -> None:
    name_groups(site, "mail", 1)
    page = new_page(site.url)
    page.goto("/groups?q=mail-000")
    row = page.locator("table.groups tbody tr", has_text="mail-000")
    row.get_by_role("button", name="Set limits for group mail-000").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Runs at once").fill("3")
    dialog.get_by_label("Starts, on all nodes").fill("often")
    expect(dialog.get_by_text("Must be a whole number of at least 1, or empty")).to_be_visible()
    dialog.get_by_label("Starts, on all nodes").fill("100")
    dialog.get_by_label("… within").fill("60")
    dialog.get_by_label("low priority waits").fill("600")
    expect(dialog.get_by_label("when one more comes")).to_have_count(0)
    dialog.get_by_label("Runs that wait").fill("500")
    dialog.get_by_label("when one more comes").select_option("skip the oldest run")
    dialog.get_by_label("The history of its finished runs").fill("7")
    dialog.get_by_role("button", name="Set the limits").click()
    expect(dialog).to_have_count(0)
    asked = (
        'query { group(name: "mail-000") '
        "{ maxRunning maxWaitLow keep cap { limit whenFull } rate { limit per burst } } }"
    )
    group = {"maxRunning": 3, "maxWaitLow": 600.0, "keep": 604800.0, "rate": {"limit": 100, "per": 60.0, "burst": 5}}
    assert site.ask(asked)["group"] == {**group, "cap": {"limit": 500, "whenFull": "DROP_OLDEST"}}
    expect(row).to_contain_text("1 of 500 wait")
    expect(row).to_contain_text("history kept 7 d 00 h")
    row.get_by_role("link", name="mail-000").click()
    used = page.get_by_text("Of its limits were used at most")
    expect(used).to_contain_text("0 of 3 at once; 0 executions in 1 m 00 s, of which its rate lets 100 start;")
    expect(used).to_contain_text("of 500 that wait")
    page.go_back()
    row.get_by_role("button", name="Set limits for group mail-000").click()
    for label in (
        "Runs at once",
        "Starts, on all nodes",
        "… within",
        "at once after a pause",
        "low priority",
        "Runs that wait",
        "The history of its finished runs",
    ):
        dialog.get_by_label(label).fill("")
    dialog.get_by_role("button", name="Set the limits").click()
    expect(dialog).to_have_count(0)
    assert site.ask(asked)["group"] == {"maxRunning": None, "maxWaitLow": None, "keep": None, "cap": None, "rate": None}


def test_nodes_that_are_up_are_distinguished_from_those_that_are_gone(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    page.goto("/nodes")
    rows = page.locator("table.nodes tbody tr")
    expect(rows).to_have_count(1)
    page.get_by_label("Name", exact=True).fill("state:gone ")
    expect(page.get_by_text("No node matches")).to_be_visible()
    page.get_by_label("Name", exact=True).fill("state:up ")
    expect(rows).to_have_count(1)


class Held:
    """A mutation that does not reach the server: it is held until the test lets it fail."""

    def __init__(self, page: Page, name: str) -> None:
        self.page, self.name = page, name
        self.routes: list[Route] = []
        page.route("**/graphql", self._see)

    def _see(self, route: Route) -> None:
        if f"mutation {self.name}(" in asked_document(route.request.post_data):
            self.routes.append(route)
        else:
            route.continue_()

    def fail(self) -> None:
        """The connection breaks under it."""
        wait_until(lambda: self.page.evaluate("true") and self.routes != [], message=f"{self.name} to be sent")
        self.routes.pop().abort()


@pytest.mark.costly
@pytest.mark.parametrize(
    ("path", "mutation", "press", "meanwhile", "before"),
    [
        ("/tasks?q=tried-task", "PauseTasks", "Pause tried-task", "paused", "on"),
        ("/groups?q=tried-group", "PauseGroup", "Pause group tried-group", "paused", "on"),
        ("/runs?group=tried-group-000", "CancelRun", "Cancel run", "cancelled", "waiting"),
        ("/nodes", "DrainNode", "Drain", "draining", "active"),
    ],
)
def test_what_is_asked_for_shows_at_once_and_is_taken_back_with_a_reason_if_it_comes_to_nothing(
    path: str,
    mutation: str,
    press: str,
    meanwhile: str,
    before: str,
    site: Site,
    new_page: PageOpener,
    browser_watch: BrowserWatch,
) -> None:
    browser_watch.allow("ERR_FAILED")
    if site.task("tried-task") is None:
        site.create_task("tried-task", "quick")
        name_groups(site, "tried-group", 1)
    page = new_page(site.url)
    live(page, path)
    held = Held(page, mutation)
    rows = page.locator("main tbody tr")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text(before)
    rows.get_by_role("button", name=press).click()
    dialog = page.get_by_role("dialog")
    if mutation != "CancelRun":
        dialog.get_by_role("button", name=re.compile("^(Pause|Drain it)$")).click()
    expect(rows).to_contain_text(meanwhile)
    held.fail()
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    expect(rows).to_contain_text(before)
    expect(rows).not_to_contain_text(meanwhile)
