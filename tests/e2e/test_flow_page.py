"""The page of a flow in a real browser: few runs are drawn each, thousands folded by job; what it shows is live."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Site, site_with
from tests.support.browser import PageOpener
from tests.support.forking import Nursery
from tests.support.waiting import wait_until

ENQUEUE = """mutation($runs: [FlowRunInput!]!) {
    enqueueFlow(input: { name: "orders", runs: $runs }) { flow { id } errors { message } }
}"""

PICKY = """

@job("picky", description="Fails for one number, once")
async def picky(number: int = 0, bad: int = -1) -> int:
    if number == bad and not Path("repaired").exists():
        raise PermanentFailure(f"order {number} has no address")
    return number
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Iterator[Site]:
    """A server with jobs of which some runs fail."""
    with site_with(tmp_path_factory.mktemp("flows"), nursery, PICKY) as site:
        yield site


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


STATES = "query($id: ID!) { flow(id: $id) { state progress { total success failed } } }"


def progress(site: Site, flow: str) -> dict[str, int]:
    """How many runs of a flow are in which state."""
    found: dict[str, int] = site.ask(STATES, id=flow)["flow"]["progress"]
    return found


@pytest.mark.costly
@pytest.mark.timeout(180)
def test_one_failed_run_of_five_thousand_is_two_clicks_away_and_tried_again(page: Page, site: Site) -> None:
    parts = [member(f"part-{number}", "picky", "begin", number=number, bad=3_210) for number in range(4_998)]
    flow = enqueue(site, (member("begin", "quick"), *parts, member("end", "quick", *(one["key"] for one in parts))))
    page.goto(f"/flows/{flow}")
    boxes = page.get_by_role("group", name="Runs in layers").get_by_role("listitem")
    wait_until(lambda: progress(site, flow)["failed"] == 1, message="the one to fail", within=60)
    wait_until(lambda: site.ask(STATES, id=flow)["flow"]["state"] == "FAILED", message="the flow to be over", within=60)
    counts = progress(site, flow)
    assert counts == {"total": 5_000, "success": 4_998, "failed": 1}
    # The bar of the box is split by state, and the one failure can be seen in it.
    bar = boxes.filter(has_text="picky").get_by_role("img")
    expect(bar).to_have_accessible_name("4,997 success, 1 failed")
    failed_part = bar.locator(".state-failed").bounding_box()
    assert failed_part is not None
    assert failed_part["width"] >= 2
    boxes.filter(has_text="picky").get_by_role("link", name="failed").click()
    rows = page.get_by_role("region", name="Runs of the flow").locator("tbody tr")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("part-3210")
    expect(rows).to_contain_text("order 3210 has no address")
    rows.locator("a.row-main").click()
    expect(page.get_by_role("region", name="Facts")).to_contain_text(f"flow {flow}")
    page.go_back()
    # The whole box is a list, too, and it can be searched.
    boxes.filter(has_text="picky").get_by_role("link", name="picky").click()
    tabs = page.get_by_role("navigation", name="State of the runs")
    expect(tabs).to_contain_text("all 4,998")
    expect(rows).to_have_count(50)
    page.get_by_label("Job", exact=True).fill("arg:number=77 ")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("part-77")
    page.get_by_role("link", name="Change many in Runs").click()
    expect(page).to_have_url(re.compile(f"/runs.*flow={flow}"))
    expect(page.locator("tbody tr")).to_have_count(1)
    page.go_back()
    page.goto(f"/flows/{flow}?state=FAILED")
    expect(rows).to_have_count(1)
    (site.folder / "repaired").touch()
    page.get_by_role("button", name="Retry what failed").click()
    # The failed run has another in its place: it is of the past.
    expect(page.get_by_text("No run of this flow matches")).to_be_visible()
    expect(page.get_by_role("img", name="5,000 success")).to_be_visible()


@pytest.mark.costly
def test_a_drawing_larger_than_its_frame_is_moved_and_drawn_smaller_with_a_map_of_the_whole(
    page: Page, site: Site
) -> None:
    chain = [member("n0", "quick"), *(member(f"n{one}", "quick", f"n{one - 1}") for one in range(1, 40))]
    flow = enqueue(site, chain)
    page.goto(f"/flows/{flow}")
    frame = page.get_by_role("group", name="Runs in layers")
    expect(frame.get_by_role("listitem")).to_have_count(40)
    sight = page.locator(".mini-map-sight")
    expect(sight).to_be_visible()
    frame.focus()
    frame.press("-")
    size = page.get_by_role("group", name="Size of the drawing")
    expect(size).to_contain_text("80 %")
    box = frame.bounding_box()
    assert box is not None
    # Dragged to the left, more of the right is seen.
    page.mouse.move(box["x"] + 600, box["y"] + 4)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 4)
    page.mouse.up()
    wait_until(lambda: frame.evaluate("one => one.scrollLeft") == 300, message="the drawing to move")
    wait_until(lambda: float(sight.get_attribute("x") or 0) == 375, message="the map to show it")
    # A press in the map goes there.
    page.locator(".mini-map").click(position={"x": 210, "y": 6})
    wait_until(lambda: frame.evaluate("one => one.scrollLeft") > 3_000, message="the drawing to go to the end")
    size.get_by_role("button", name="Fit").click()
    expect(size).to_contain_text("20 %")
    expect(size.get_by_role("button", name="Smaller")).to_be_disabled()
    size.get_by_role("button", name="%").click()
    expect(size).to_contain_text("100 %")
