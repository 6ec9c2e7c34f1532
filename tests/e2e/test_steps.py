"""Durable steps: what a run has done and waits for, and what people decide."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Site, says_why
from tests.support.browser import PageOpener
from tests.support.waiting import wait_until

SIGNAL = """mutation($id: ID!) {
    signalRun(input: { run: { id: $id }, name: "approved", payload: { limit: 5 } }) { errors { message } }
}"""


def suspended(site: Site, **args: object) -> str:
    """A run that waits for the signal `approved`, after a failed attempt."""
    run = site.trigger("ordered", **args)
    wait_until(lambda: site.run_state(run) == "SUSPENDED", message="the run to wait for its signal")
    return run


@pytest.fixture
def page(site: Site, new_page: PageOpener) -> Page:
    """A page with nothing opened."""
    return new_page(site.url)


@pytest.mark.costly
def test_a_run_shows_its_steps_by_attempt_as_they_end_and_goes_on_from_one(page: Page, site: Site) -> None:
    run = suspended(site)
    page.goto(f"/runs/{run}")
    expect(page.get_by_role("region", name="Waits for")).to_contain_text("approved")
    first, second = (page.get_by_role("region", name=f"Steps of attempt {number}") for number in (1, 2))
    expect(first.get_by_role("listitem")).to_have_text([re.compile("charge.*done"), re.compile("mail.*failed")])
    expect(second).to_contain_text("so far")
    first.get_by_role("button", name="mail").click()
    expect(first).to_contain_text("the mail server is down")
    # How long it waited is said of its first attempt alone: a later one began after others.
    expect(page.locator(".attempt-facts")).not_to_contain_text("waited")
    assert site.ask(SIGNAL, id=run)["signalRun"]["errors"] == []
    third = page.get_by_role("region", name="Steps of attempt 3")
    expect(third.get_by_role("listitem")).to_have_text([re.compile("ship.*done")])
    expect(second.get_by_role("listitem")).to_have_text([re.compile("mail.*done"), re.compile("approved.*done")])
    third.get_by_role("button", name="ship", exact=True).click()
    expect(third).to_contain_text("receipt for order 7, at most 5")
    third.get_by_role("button", name="Retry from step ship").click()
    taken_over = page.get_by_role("region", name=f"Steps of run {run}")
    expect(taken_over.get_by_role("listitem")).to_have_text(
        [re.compile("charge"), re.compile("mail"), re.compile("approved")]
    )
    page.goto(f"/runs/{run}?attempt=1")
    expect(page.locator(".attempt-facts")).to_contain_text("waited")


@pytest.mark.costly
def test_very_many_steps_are_shown_page_by_page(page: Page, site: Site) -> None:
    run = site.trigger("hundreds")
    wait_until(lambda: site.run_state(run) == "SUCCESS", message="all steps to be taken")
    page.goto(f"/runs/{run}")
    steps = page.get_by_role("region", name="Steps of attempt 1").get_by_role("listitem")
    expect(steps).to_have_count(300)
    earlier, later = (page.get_by_role("button", name=name) for name in ("Earlier", "Later"))
    says_why(earlier, "These are the first steps")
    later.click()
    expect(page.get_by_text("steps 301 to 302")).to_be_visible()
    says_why(later, "These are the last steps")
    expect(steps).to_have_count(2)
    name = steps.last.get_by_role("button").first
    label = name.inner_text()
    name.click()
    expect(page.get_by_label(f"Value of {label}", exact=True)).to_have_text(label.removeprefix("do[").removesuffix("]"))
    earlier.click()
    expect(steps).to_have_count(300)


@pytest.mark.costly
def test_the_head_of_a_run_says_why_it_leads_nowhere_and_cannot_be_stopped_twice(page: Page, site: Site) -> None:
    first, second = site.trigger("deaf", gate="deaf-gate"), site.trigger("deaf", gate="deaf-gate")
    wait_until(lambda: site.run_state(first) == "RUNNING", message="the run to start")
    page.goto(f"/runs/{first}")
    says_why(page.get_by_role("button", name="Previous"), "There is no run before it of the same job")
    page.get_by_role("button", name="Cancel", exact=True).click()
    says_why(page.get_by_role("button", name="Asked to stop"), "It was asked to stop; its job decides when it does")
    page.get_by_role("link", name="Next").click()
    expect(page).to_have_url(f"{site.url}/runs/{second}")
    says_why(page.get_by_role("button", name="Next"), "There is no run after it of the same job")
    site.open_gate("deaf-gate")


@pytest.mark.costly
def test_a_label_leads_from_the_run_to_all_runs_and_executions_with_it(page: Page, site: Site) -> None:
    run, _other = suspended(site, order=91), suspended(site, order=92)
    page.goto(f"/runs/{run}")
    page.get_by_role("region", name="Facts").get_by_role("link", name="order 91").click()
    expect(page).to_have_url(f"{site.url}/runs?label=order%3A91")
    row = page.locator("tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text(run)
    page.goto("/log?range=24h")
    page.get_by_role("link", name="order 91").first.click()
    expect(page).to_have_url(f"{site.url}/log?range=24h&label=order%3A91")
    expect(row).to_have_count(2)


@pytest.mark.costly
def test_people_answer_and_reject_what_waits_for_them(page: Page, site: Site) -> None:
    approved, rejected = suspended(site, order=7), suspended(site)
    page.goto("/inbox")
    expect(page.get_by_label(f"arguments of run {approved}", exact=True)).to_contain_text('"order": 7')
    page.get_by_role("button", name=f"Answer approved of run {approved}", exact=True).click()
    dialog = page.get_by_role("dialog", name=f"Answer approved of run {approved}")
    dialog.get_by_role("button", name="Answer").click()
    expect(dialog.get_by_label("limit")).to_be_focused()
    dialog.get_by_label("limit").fill("9")
    dialog.get_by_role("button", name="Answer").click()
    expect(page.get_by_role("article", name=f"Run {approved}", exact=True)).to_have_count(0)
    page.get_by_role("button", name=f"Reject approved of run {rejected}", exact=True).click()
    page.get_by_label("Reason").fill("too dear")
    page.get_by_role("dialog").get_by_role("button", name="Reject").click()
    expect(page.get_by_role("article", name=f"Run {rejected}", exact=True)).to_have_count(0)
    wait_until(lambda: site.run_state(rejected) == "SUCCESS", message="the rejected run to end")
    results = [
        site.ask("query($id: ID!) { run(id: $id) { result } }", id=run)["run"]["result"] for run in (approved, rejected)
    ]
    assert results == ["receipt for order 7, at most 9", "rejected: too dear"]


@pytest.mark.costly
def test_more_than_the_overview_lists_are_in_the_inbox(page: Page, site: Site) -> None:
    runs = [site.trigger("ordered", order=order) for order in range(6)]
    wait_until(lambda: {site.run_state(run) for run in runs} == {"SUSPENDED"}, message="all runs to wait")
    page.goto("/")
    needs = page.get_by_role("region", name="Is anything wrong?")
    more = needs.get_by_role("link", name="All runs that wait for a person are in the inbox")
    # The line stands where the names above it stand.
    places = [
        link.evaluate("link => link.getBoundingClientRect().x")
        for link in (needs.locator(".attention-name").first, more)
    ]
    assert places[0] == places[1]
    more.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Waiting for people")


FLOW = "mutation($input: EnqueueFlowInput!) { enqueueFlow(input: $input) { flow { id } errors { message } } }"


@pytest.mark.costly
def test_a_flow_shows_what_failed_and_what_it_blocks_and_is_tried_again(page: Page, site: Site) -> None:
    runs = [
        {"key": "import", "jobName": "quick"},
        {"key": "merge", "jobName": "broken", "after": ["import"]},
        {"key": "mail", "jobName": "quick", "after": ["merge"]},
    ]
    flow = site.ask(FLOW, input={"name": "monthly report", "runs": runs})["enqueueFlow"]["flow"]["id"]
    page.goto("/flows")
    page.get_by_role("link", name="monthly report").click()
    boxes = page.get_by_role("group", name="Runs in layers").get_by_role("listitem")
    expect(boxes).to_have_text(
        [re.compile("import.*success"), re.compile("merge.*failed"), re.compile("mail.*skipped")]
    )
    before = boxes.get_by_role("link", name="merge").get_attribute("href")
    page.get_by_role("button", name="Retry what failed").click()
    merge = boxes.get_by_role("link", name="merge")
    expect(merge).not_to_have_attribute("href", str(before))
    expect(boxes).to_have_text(
        [re.compile("import.*success"), re.compile("merge.*failed"), re.compile("mail.*skipped")]
    )
    merge.click()
    facts = page.get_by_role("region", name="Facts")
    expect(facts).to_contain_text(f"flow {flow}, merge")
