"""Durable steps: what a run has done and waits for, and what people decide."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Site
from tests.support.browser import PageOpener
from tests.support.waiting import wait_until

SIGNAL = """mutation($id: ID!) {
    signalRun(input: { id: $id, name: "approved", payload: { limit: 5 } }) { errors { message } }
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


def test_a_run_shows_its_steps_by_attempt_as_they_end_and_goes_on_from_one(page: Page, site: Site) -> None:
    run = suspended(site)
    page.goto(f"/runs/{run}")
    expect(page.get_by_role("region", name="Waits for")).to_contain_text("approved")
    first, second = (page.get_by_role("region", name=f"Steps of attempt {number}") for number in (1, 2))
    expect(first.get_by_role("listitem")).to_have_text([re.compile("charge.*done"), re.compile("mail.*failed")])
    expect(second).to_contain_text("so far")
    first.get_by_role("button", name="mail").click()
    expect(first).to_contain_text("the mail server is down")
    assert site.ask(SIGNAL, id=run)["signalRun"]["errors"] == []
    third = page.get_by_role("region", name="Steps of attempt 3")
    expect(third.get_by_role("listitem")).to_have_text([re.compile("approved.*done"), re.compile("ship.*done")])
    third.get_by_role("button", name="ship", exact=True).click()
    expect(third).to_contain_text("receipt for order 7, at most 5")
    third.get_by_role("button", name="Retry from step ship").click()
    taken_over = page.get_by_role("region", name=f"Steps of run {run}")
    expect(taken_over.get_by_role("listitem")).to_have_text(
        [re.compile("charge"), re.compile("mail"), re.compile("approved")]
    )


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
