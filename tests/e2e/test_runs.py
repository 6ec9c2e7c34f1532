"""The queue: why a run waits, and what can be done about it, for one and for many."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Site
from tests.support.browser import PageOpener
from tests.support.waiting import wait_until

PAUSE = "mutation($name: String!) { pauseGroup(input: { name: $name }) { errors { message } } }"
ENQUEUE = (
    "mutation($runs: [EnqueueRunInput!]!) { enqueueRuns(input: { runs: $runs }) { runs { id } errors { message } } }"
)


def enqueue(site: Site, group: str, count: int) -> list[str]:
    """Runs that wait, because their group is paused."""
    site.ask(PAUSE, name=group)
    runs = [{"jobName": "quick", "group": group} for _ in range(count)]
    return [run["id"] for run in site.ask(ENQUEUE, runs=runs)["enqueueRuns"]["runs"]]


@pytest.fixture
def page(site: Site, new_page: PageOpener) -> Page:
    """A page with nothing opened."""
    return new_page(site.url)


@pytest.mark.costly
def test_a_waiting_run_says_why_it_waits(page: Page, site: Site) -> None:
    [run] = enqueue(site, "why", 1)
    page.goto("/runs?group=why")
    row = page.locator("tbody tr")
    expect(row).to_contain_text(run)
    expect(row.locator(".why")).to_contain_text("paused")


@pytest.mark.costly
def test_what_waits_gets_other_arguments_and_another_time(page: Page, site: Site) -> None:
    [run] = enqueue(site, "change", 1)
    page.goto(f"/runs/{run}")
    page.get_by_role("button", name="Change").click()
    dialog = page.get_by_role("dialog", name=f"Change run {run}")
    dialog.get_by_label("Not before (UTC)").fill("2090-01-01T00:00:00")
    dialog.get_by_label("batch").fill("nine")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_label("batch")).to_be_focused()
    dialog.get_by_label("batch").fill("1001")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("1000")
    expect(dialog.get_by_label("batch")).to_be_focused()
    dialog.get_by_label("batch").fill("9")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("region", name="Arguments")).to_contain_text("9")
    changed = site.ask("query($id: ID!) { run(id: $id) { args availableAt } }", id=run)["run"]
    assert changed == {"args": {"batch": 9}, "availableAt": "2090-01-01T00:00:00Z"}


@pytest.mark.costly
def test_what_is_refused_of_a_run_again_stands_at_its_field(page: Page, site: Site) -> None:
    run = site.trigger("quick")
    wait_until(lambda: site.run_state(run) == "SUCCESS", message="the run to end")
    page.goto(f"/runs/{run}")
    page.get_by_role("button", name="Run again with…").click()
    dialog = page.get_by_role("dialog", name="Run quick again")
    dialog.get_by_label("batch").fill("1001")
    dialog.get_by_role("button", name="Run again").click()
    expect(dialog.get_by_role("alert")).to_contain_text("1000")
    expect(dialog.get_by_label("batch")).to_be_focused()
    dialog.get_by_label("batch").fill("8")
    dialog.get_by_role("button", name="Run again").click()
    expect(page.get_by_role("region", name="Arguments")).to_contain_text("8")
    expect(page).not_to_have_url(f"{site.url}/runs/{run}")


@pytest.mark.costly
def test_the_counts_of_the_tabs_obey_the_filters(page: Page, site: Site) -> None:
    enqueue(site, "counted", 3)
    enqueue(site, "other", 2)
    page.goto("/runs?group=counted")
    expect(page.get_by_role("button", name="waiting")).to_contain_text("3")
    page.get_by_label("Task or job").fill("group:other")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="waiting")).to_contain_text("2")
    expect(page).to_have_url(f"{site.url}/runs?group=other")


@pytest.mark.costly
def test_a_run_is_cancelled_and_the_row_shows_it_without_a_reload(page: Page, site: Site) -> None:
    [run] = enqueue(site, "cancel-one", 1)
    page.goto("/runs?group=cancel-one")
    page.get_by_role("button", name=f"Cancel run {run}").click()
    wait_until(lambda: site.run_state(run) == "CANCELLED", message="the run to be cancelled")
    expect(page.get_by_role("button", name="cancelled")).to_contain_text("1")


def test_a_failed_run_is_run_again_as_a_new_one(page: Page, site: Site) -> None:
    run = site.trigger("broken")
    wait_until(lambda: site.run_state(run) == "FAILED", message="the run to fail")
    page.goto("/runs?state=FAILED")
    page.get_by_role("button", name=f"Run {run} again").click()
    expect(page.locator(".notice")).to_contain_text(f"Run {run} is tried again as run")


@pytest.mark.costly
def test_all_that_match_are_cancelled_after_the_server_has_counted_them(page: Page, site: Site) -> None:
    runs = enqueue(site, "cancel-all", 60)
    page.goto("/runs?group=cancel-all")
    page.get_by_role("button", name="Cancel 60 runs").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("60 runs, all that match the filter")
    dialog.get_by_role("button", name="Cancel them").click()
    expect(page.get_by_text("No run matches")).to_be_visible()
    assert {site.run_state(run) for run in (runs[0], runs[-1])} == {"CANCELLED"}


@pytest.mark.costly
def test_all_that_match_get_high_priority_after_the_server_has_counted_them(page: Page, site: Site) -> None:
    enqueue(site, "priority-all", 3)
    enqueue(site, "priority-other", 1)
    page.goto("/runs?group=priority-all")
    page.get_by_role("group", name="All that match").get_by_role("button", name="High priority").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("3 runs, all that match the filter")
    dialog.get_by_role("button", name="Set high").click()
    expect(page.locator("td[data-label=Group]", has_text="high")).to_have_count(3)
    page.goto("/runs?group=priority-other")
    expect(page.locator("td[data-label=Group]")).to_contain_text("low")


def test_the_state_in_the_address_may_be_in_small_letters(page: Page) -> None:
    page.goto("/runs?state=cancelled")
    expect(page.get_by_role("button", name="cancelled")).to_have_attribute("aria-current", "true")


@pytest.mark.costly
def test_enter_opens_details_beside_the_list_where_there_is_room(site: Site, new_page: PageOpener) -> None:
    first, second = enqueue(site, "beside", 2)
    page = new_page(site.url, viewport={"width": 1920, "height": 900})
    page.goto("/runs?group=beside")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)
    page.keyboard.press("j")
    expect(rows.first).to_be_focused()
    page.keyboard.press("Enter")
    details = page.get_by_role("complementary", name="Details of run")
    expect(details.get_by_role("link", name=f"quick {first}")).to_be_visible()
    expect(details).to_contain_text("is paused")
    expect(page).to_have_url(f"{site.url}/runs?group=beside")
    expect(rows.first).to_be_focused()
    page.keyboard.press("j")
    expect(details.get_by_role("link", name=f"quick {second}")).to_be_visible()
    page.keyboard.press("Escape")
    expect(details).to_have_count(0)
    expect(rows.nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(details.get_by_role("link", name=f"quick {second}")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{site.url}/runs/{second}")


def test_enter_goes_to_the_page_of_a_row_where_there_is_no_room(page: Page, site: Site) -> None:
    [run] = enqueue(site, "narrow", 1)
    page.goto("/runs?group=narrow")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.keyboard.press("j")
    expect(page.locator("tbody tr")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{site.url}/runs/{run}")


def test_where_nothing_is_unfinished_all_runs_are_shown_and_a_tab_stays_chosen(
    site: Site, new_page: PageOpener
) -> None:
    run = site.trigger("quick", batch=77)
    wait_until(lambda: site.run_state(run) == "SUCCESS", message="the run to end")
    page = new_page(site.url)
    page.goto("/runs?arg=batch:77")
    tabs = page.get_by_role("navigation", name="State of the runs")
    expect(tabs.get_by_role("button", name="all")).to_have_attribute("aria-current", "true")
    expect(page.locator("tbody tr")).to_have_count(1)
    tabs.get_by_role("button", name="unfinished").click()
    expect(page.get_by_text("No run matches")).to_be_visible()
    page.reload()
    expect(page.get_by_text("No run matches")).to_be_visible()
    expect(tabs.get_by_role("button", name="unfinished")).to_have_attribute("aria-current", "true")
