"""Lists that are too long for what is asked of them say so in their own words, with ways to fewer rows."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from cronograph.graphql.guard.limits import LimitExceeded
from tests.e2e.conftest import Site
from tests.e2e.hands import TOO_WIDE
from tests.support.browser import PageOpener, asked_document

TOO_MANY = LimitExceeded(
    "sorted_rows",
    200_000,
    300_020,
    "No index orders `executions` by duration, and there are too many to be sorted",
    advice="Indexes find them by jobName: eq, taskId: eq, taskName: eq, startedAt: gte, lt, and order them by id.",
)
TOO_DEAR = LimitExceeded(
    "cost", 20_000, 23_456, "The estimated cost of this operation is too high with what it searches"
)


def refuse(page: Page, query: str, error: LimitExceeded, when: Callable[[Mapping[str, Any]], bool]) -> None:
    """Answer a query as the API does where there are more rows than a test can make."""

    def answer(route: Route) -> None:
        body = route.request.post_data or "{}"
        if f"query {query}" in asked_document(body) and when(json.loads(body)["variables"]):
            route.fulfill(json={"data": None, "errors": [{**error.formatted, "path": ["executions"]}]})
        else:
            route.continue_()

    page.route("**/graphql", answer)


def longest_of_all(variables: Mapping[str, Any]) -> bool:
    """Return whether a query of the log asks for the longest executions of all time."""
    return variables["orderBy"][0]["field"] == "DURATION" and "startedAt" not in (variables["filter"] or {})


def refusal(page: Page) -> Locator:
    """Return what the list says instead of its rows."""
    return page.get_by_role("alert").filter(has_text="too many")


@pytest.mark.costly
def test_a_log_too_long_for_an_order_offers_a_time_and_keeps_the_filters(site: Site, new_page: PageOpener) -> None:
    site.trigger("quick")
    page = new_page(site.url)
    refuse(page, "LogPage", TOO_MANY, longest_of_all)
    page.goto("/log?sort=longest&job=quick")
    expect(refusal(page)).to_contain_text("There are too many executions to be ordered by duration: more than 200,000.")
    expect(refusal(page)).to_contain_text("task:")
    expect(refusal(page)).not_to_contain_text("No index")
    expect(refusal(page).get_by_role("button")).to_have_text(
        ["Last 24 h", "Last 7 d", "Last 30 d", "Newest first", "Retry"]
    )
    refusal(page).get_by_role("button", name="Last 7 d").click()
    expect(page).to_have_url(f"{site.url}/log?sort=longest&job=quick&range=7d")
    expect(page.locator("tbody tr").first).to_contain_text("quick")
    expect(refusal(page)).to_have_count(0)
    page.go_back()
    refusal(page).get_by_role("button", name="Newest first").click()
    expect(page).to_have_url(f"{site.url}/log?job=quick")
    expect(page.locator("tbody tr").first).to_contain_text("quick")


def test_of_a_time_that_is_still_too_long_shorter_ones_are_offered(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url, viewport={"width": 320, "height": 640})
    refuse(page, "LogPage", TOO_MANY, lambda variables: variables["orderBy"][0]["field"] == "RECORDS_PROCESSED")
    page.goto("/log?sort=records&range=24h")
    expect(refusal(page)).to_contain_text("by records")
    expect(refusal(page).get_by_role("button")).to_have_text(["Last 1 h", "Last 6 h", "Newest first", "Retry"])
    assert page.evaluate(TOO_WIDE) <= 0


def test_a_search_that_costs_too_much_says_what_is_found_quickly(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    refuse(page, "RunsPage", TOO_DEAR, lambda _: True)
    page.goto("/runs?q=import")
    expect(refusal(page)).to_contain_text("There are too many runs to be looked through for this.")
    expect(refusal(page)).to_contain_text("job:")


def test_another_order_is_offered_for_too_many_tasks(site: Site, new_page: PageOpener) -> None:
    site.create_task("one of many", "quick")
    page = new_page(site.url)
    refuse(page, "TasksPage", TOO_MANY, lambda variables: variables["orderBy"][0]["field"] == "CREATED_AT")
    page.goto("/tasks?sort=created")
    expect(refusal(page)).to_contain_text("There are too many tasks to be ordered by age")
    refusal(page).get_by_role("button", name="Order by name").click()
    expect(page).to_have_url(f"{site.url}/tasks")
    expect(page.locator("tbody tr", has_text="one of many")).to_be_visible()
