"""The page of a flow in a real browser: few runs are drawn each, thousands folded by job; what it shows is live."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Site
from tests.support.browser import PageOpener

ENQUEUE = """mutation($runs: [FlowRunInput!]!) {
    enqueueFlow(input: { name: "orders", runs: $runs }) { flow { id } errors { message } }
}"""


@pytest.fixture
def page(site: Site, new_page: PageOpener) -> Page:
    """A page with nothing opened."""
    return new_page(site.url)


def member(key: str, job: str, *after: str, **args: object) -> dict[str, Any]:
    return {"key": key, "jobName": job, "after": after, "args": args}


def enqueue(site: Site, runs: Sequence[dict[str, Any]]) -> str:
    """A new flow; its id."""
    made = site.ask(ENQUEUE, runs=runs)["enqueueFlow"]
    assert made["errors"] == []
    flow_id: str = made["flow"]["id"]
    return flow_id


@pytest.mark.costly
def test_the_runs_of_a_small_flow_are_drawn_as_they_go(page: Page, site: Site) -> None:
    runs = (
        member("first", "gated", gate="flow-gate"),
        member("second", "quick", "first"),
        member("third", "broken", "second"),
    )
    flow = enqueue(site, runs)
    page.goto(f"/flows/{flow}")
    boxes = page.get_by_role("group", name="Runs in layers").get_by_role("listitem")
    expect(boxes).to_have_text([re.compile(r"first.*running"), re.compile(r"second.*suspended"), re.compile("third")])
    (site.folder / "flow-gate").touch()
    expect(boxes).to_have_text([re.compile(r"first.*success"), re.compile(r"second.*success"), re.compile("failed")])
    boxes.nth(1).get_by_role("link").click()
    expect(page.get_by_role("region", name="Facts")).to_contain_text(f"flow {flow}")
    # The flow is over: it is made again from this run on.
    page.get_by_role("button", name="Flow again from here").click()
    expect(page).to_have_url(re.compile(f"/flows/{flow}$"))
    expect(boxes).to_have_text([re.compile(r"first.*success"), re.compile(r"second.*success"), re.compile("failed")])
    again = site.ask("query($id: ID!) { flow(id: $id) { runs { totalCount } } }", id=flow)
    assert again["flow"]["runs"]["totalCount"] == 5


@pytest.mark.costly
def test_ten_thousand_runs_are_folded_by_job(page: Page, site: Site) -> None:
    parts = [member(f"part-{number}", "quick", "begin") for number in range(9_998)]
    end = member("end", "broken", *(part["key"] for part in parts))
    flow = enqueue(site, (member("begin", "gated", gate="never"), *parts, end))
    page.goto(f"/flows/{flow}")
    boxes = page.get_by_role("group", name="Runs in layers").get_by_role("listitem")
    expect(boxes).to_have_text(
        [
            re.compile(r"gated.*1 run.*running"),
            re.compile(r"quick.*9.998 runs.*suspended"),
            re.compile(r"broken.*1 run"),
        ]
    )
    expect(page.locator(".flow-edge")).to_have_count(2)
    expect(page.get_by_text("10,000, folded by job")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(boxes.nth(1)).to_contain_text("cancelled")
