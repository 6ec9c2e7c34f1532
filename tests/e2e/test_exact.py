"""What a page says is what the server knows: counts, slots, reasons, the course of a run, the plan."""

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.e2e.conftest import Site, says_why
from tests.e2e.test_truth import COUNT, enqueue, live
from tests.support.browser import BrowserWatch, PageOpener, asked_document
from tests.support.waiting import wait_until

PAUSE_GROUP = "mutation($name: String!) { pauseGroup(input: { name: $name }) { errors { message } } }"


def pause_groups(site: Site, *names: str) -> None:
    """Hold the runs of these groups back."""
    for name in names:
        site.ask(PAUSE_GROUP, name=name)


def tabs(page: Page) -> Locator:
    """The tabs of the runs."""
    return page.get_by_role("navigation", name="State of the runs")


def held_back(page: Page, operation: str) -> list[Route]:
    """The first question of that name, as soon as the page has asked it: it waits until the test lets it go on."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        if not held and f"query {operation}" in asked_document(route.request.post_data):
            held.append(route)
        else:
            route.continue_()

    page.route("**/graphql", hold)
    return held


class TestCounts:
    @pytest.mark.costly
    def test_a_change_between_the_counts_and_the_rows_is_in_both(self, site: Site, new_page: PageOpener) -> None:
        pause_groups(site, "between")
        enqueue(site, 3, group="between")
        page = new_page(site.url)
        rows = held_back(page, "RunsPage")
        page.goto("/runs?group=between&state=waiting")
        expect(tabs(page).get_by_role("button", name="unfinished")).to_contain_text("3")
        enqueue(site, 3, group="between")
        rows[0].continue_()
        expect(page.locator("tbody tr")).to_have_count(6)
        for tab in ("waiting", "unfinished"):
            expect(tabs(page).get_by_role("button", name=tab)).to_contain_text("6")
        expect(page.get_by_role("button", name="Cancel 6 runs")).to_be_visible()

    def test_the_open_tab_counts_its_own_rows(
        self, site: Site, new_page: PageOpener, browser_watch: BrowserWatch
    ) -> None:
        browser_watch.allow("ERR_FAILED")
        pause_groups(site, "own")
        enqueue(site, 2, group="own")
        page = new_page(site.url)
        # As if the counts of all tabs never came: the open tab does not need them.

        def lose_counts(route: Route) -> None:
            if "query RunCounts" in asked_document(route.request.post_data):
                route.abort()
            else:
                route.continue_()

        page.route("**/graphql", lose_counts)
        live(page, "/runs?group=own&state=waiting")
        expect(page.locator("tbody tr")).to_have_count(2)
        expect(tabs(page).get_by_role("button", name="waiting")).to_contain_text("2")
        enqueue(site, 3, group="own")
        expect(page.locator("tbody tr")).to_have_count(5)
        expect(tabs(page).get_by_role("button", name="waiting")).to_contain_text("5")
        expect(page.get_by_role("button", name="Cancel 5 runs")).to_be_visible()

    @pytest.mark.costly
    def test_a_dialog_counts_on_while_it_is_open(self, site: Site, new_page: PageOpener) -> None:
        pause_groups(site, "dialog")
        enqueue(site, 2, group="dialog")
        page = new_page(site.url)
        live(page, "/runs?group=dialog&state=waiting")
        page.get_by_role("button", name="Cancel 2 runs").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("2 runs")
        enqueue(site, 3, group="dialog")
        expect(dialog).to_contain_text("5 runs")
        dialog.get_by_role("button", name="Cancel them").click()
        expect(page.locator(".notice")).to_contain_text("5 runs cancelled")

    def test_a_dialog_whose_last_run_has_gone_says_so(self, site: Site, new_page: PageOpener) -> None:
        [run] = enqueue(site, 1, group="dialog", runAt="2090-01-01T00:00:00Z")
        page = new_page(site.url)
        live(page, "/runs?group=dialog&state=waiting")
        page.get_by_role("button", name="Cancel 1 run").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("1 run, all that match")
        site.ask("mutation($id: ID!) { cancelRun(input: { id: $id }) { errors { message } } }", id=run)
        expect(dialog).to_contain_text("0 runs")
        says_why(dialog.get_by_role("button", name="Cancel them"), "There is no run left that this would change")


MOST_ROWS = """() => {
  window.mostRows = 0;
  const count = () => (window.mostRows = Math.max(window.mostRows, document.querySelectorAll('tbody tr').length));
  new MutationObserver(count).observe(document.querySelector('main'), { childList: true, subtree: true });
}"""
"""Notes the most rows that the page ever has."""


class TestSlots:
    @pytest.mark.costly
    def test_slots_in_use_follow_the_runs(self, site: Site, new_page: PageOpener) -> None:
        page = new_page(site.url)
        live(page, "/nodes?state=up")
        row = page.locator("tbody tr")
        expect(row).to_contain_text("0 of")
        beats = row.locator("time").first.get_attribute("datetime")
        run = site.trigger("gated", gate="slots")
        expect(row).to_contain_text("1 of", timeout=4_000)
        assert row.locator("time").first.get_attribute("datetime") == beats or site.run_state(run) == "RUNNING"
        site.open_gate("slots")
        expect(row).to_contain_text("0 of", timeout=4_000)

    @pytest.mark.costly
    def test_the_overview_counts_them_too(self, site: Site, new_page: PageOpener) -> None:
        page = new_page(site.url)
        live(page, "/")
        slots = page.get_by_role("region", name="Queue and nodes").locator(".num", has_text="slots")
        expect(slots).to_have_text(re.compile(r"^0 of \d+ slots"))
        site.trigger("gated", gate="overview-slots")
        expect(slots).to_have_text(re.compile(r"^1 of \d+ slots"), timeout=8_000)
        site.open_gate("overview-slots")
        expect(slots).to_have_text(re.compile(r"^0 of \d+ slots"), timeout=8_000)

    def test_the_jobs_of_a_node_are_drawn_only_while_they_are_looked_at(self, site: Site, new_page: PageOpener) -> None:
        page = new_page(site.url)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(asked_document(request.post_data)))
        live(page, "/nodes?state=up")
        row = page.locator("tbody tr")
        known = len(site.ask("{ nodes(first: 1) { nodes { jobs } } }")["nodes"]["nodes"][0]["jobs"])
        jobs = row.locator("details li")
        expect(row).to_contain_text(f"{known} jobs")
        expect(jobs).to_have_count(0)
        # Nor are they read before: with 40 nodes of 200 jobs they were most of what the page read.
        assert not any(re.search(r"\bjobs\b", one) for one in asked)
        row.locator("summary").click()
        expect(jobs).to_have_count(known)
        row.locator("summary").click()
        expect(jobs).to_have_count(0)


BURST = 1_000
PAGE = 50
"""Rows of a page; between two answers it grows to twice as many, however slow the machine is."""
QUESTIONS_A_SECOND = 3
"""The list asks at most once a second, its charts once in ten; a slow machine asks less."""


@pytest.mark.costly
def test_a_burst_costs_a_page_few_questions_and_few_elements(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    live(page, "/log?job=quick")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/graphql") else None)
    page.evaluate(MOST_ROWS)
    began = page.evaluate("performance.now()")
    # In a group of their own: others of this job may wait in a group that is paused.
    runs = [{"jobName": "quick", "group": "burst"}] * BURST
    site.ask(
        "mutation($runs: [EnqueueRunInput!]!) { enqueueRuns(input: { runs: $runs }) { count: runs { id } } }", runs=runs
    )
    under_way = (
        '{ runs(first: 0, filter: { state: { in: [WAITING, RUNNING] }, group: { eq: "burst" } }) { totalCount } }'
    )
    wait_until(lambda: site.ask(under_way)["runs"]["totalCount"] == 0, message="the burst to end")
    order = "orderBy: [{ field: ID, direction: DESC }]"
    newest = f'{{ executions(first: 1, {order}, filter: {{ jobName: {{ eq: "quick" }} }}) {{ nodes {{ id }} }} }}'
    last = site.ask(newest)["executions"]["nodes"][0]["id"]
    expect(page.locator("tbody a.row-main").first).to_have_text(f"#{last}")
    expect(page.locator("tbody a.row-main")).to_have_count(PAGE)
    assert site.ask(COUNT, job="quick")["executions"]["totalCount"] >= BURST
    seconds = (page.evaluate("performance.now()") - began) / 1e3
    assert 0 < len(asked) <= QUESTIONS_A_SECOND * (seconds + 1)
    assert page.evaluate("window.mostRows") <= 2 * PAGE


@pytest.mark.costly
def test_the_next_page_can_be_asked_for_in_a_burst(site: Site, new_page: PageOpener) -> None:
    enqueue(site, PAGE + 1, jobName="quick", group="next")
    over = '{ runs(first: 0, filter: { state: { in: [WAITING, RUNNING] }, group: { eq: "next" } }) { totalCount } }'
    wait_until(lambda: site.ask(over)["runs"]["totalCount"] == 0, message="more than a page")
    page = new_page(site.url)
    live(page, "/log?job=quick")
    further = page.get_by_role("navigation", name="Pages of the list").get_by_role("button", name="Next")
    expect(further).to_be_visible()
    # Where the page ends, nobody says for a while.
    held = held_back(page, "LogPage")
    enqueue(site, 2 * PAGE, jobName="quick", group="next")
    expect(page.locator("tbody a.row-main")).to_have_count(2 * PAGE)
    wait_until(lambda: bool(held) or page.evaluate("false"), message="the page to ask")
    further.click()
    expect(further).to_have_attribute("aria-busy", "true")
    assert "after=" not in page.url
    held[0].continue_()
    expect(page).to_have_url(re.compile("after="))
    expect(page.get_by_role("button", name="First")).to_be_visible()


class TestReasons:
    def test_only_equal_reasons_are_folded(self, site: Site, new_page: PageOpener) -> None:
        pause_groups(site, "g-1", "g-2")
        first = enqueue(site, 2, group="g-1", jobName="chatty")
        second = enqueue(site, 1, group="g-2", jobName="chatty")
        page = new_page(site.url)
        live(page, "/runs?job=chatty")
        rows = page.locator("tbody tr")
        expect(rows).to_have_count(3)
        assert [row.locator("a.row-main").inner_text() for row in rows.all()] == [*first, *second]
        expect(rows.nth(0).locator(".why")).to_contain_text("g-1")
        expect(rows.nth(1)).to_contain_text("as above")
        expect(rows.nth(2).locator(".why")).to_contain_text("g-2")


class TestCourse:
    def test_a_run_shows_its_failures_and_the_waits_between_them(self, site: Site, new_page: PageOpener) -> None:
        site.create_task("flaky", "flaky", retries=3, retryDelay=0.2)
        site.ask('mutation { triggerTask(input: { name: "flaky" }) { run { id } errors { message } } }')
        wait_until(lambda: flaky(site)["state"] == "SUCCESS", message="the third attempt to succeed")
        page = new_page(site.url)
        live(page, f"/runs/{flaky(site)['id']}")
        course = page.get_by_role("region", name="Course")
        steps = course.get_by_role("listitem")
        expect(steps.locator(".course-name")).to_have_text(
            ["queued", "attempt 1", "back-off", "attempt 2", "back-off", "attempt 3"]
        )
        expect(steps.nth(1)).to_contain_text("retried, succeeded")
        expect(steps.nth(5)).to_contain_text("success")
        steps.nth(1).get_by_role("link", name="attempt 1").click()
        expect(page.get_by_role("region", name="Attempt 1")).to_contain_text("attempt 1 has no luck")
        page.get_by_label("Compare with").select_option("attempt 3")
        comparison = page.get_by_role("region", name="Comparison").get_by_role("row")
        expect(comparison.filter(has_text="Error")).to_contain_text("attempt 1 has no luck")
        expect(comparison.filter(has_text="Outcome")).to_have_text(re.compile("failed.*success"))


def flaky(site: Site) -> dict[str, str]:
    """The run of that task."""
    query = '{ runs(first: 1, filter: { taskName: { eq: "flaky" } }) { nodes { id state } } }'
    run: dict[str, str] = site.ask(query)["runs"]["nodes"][0]
    return run


class TestAddresses:
    @pytest.mark.costly
    def test_what_an_address_asks_for_and_there_is_not_is_named(self, site: Site, new_page: PageOpener) -> None:
        page = new_page(site.url)
        for path, said in (
            ("/log?sort=duration", "Order “duration” is not known"),
            ("/log?run=abc", "Run “abc” is not known"),
            ("/runs?state=lost", "State “lost” is not known"),
            ("/tasks?sort=size", "Order “size” is not known"),
            ("/nodes?state=dead", "State “dead” is not known"),
            ("/?range=2h", "Span “2h” is not known"),
        ):
            live(page, path)
            expect(page.locator(".chip-unknown")).to_contain_text(said)
        page.get_by_role("button", name="Leave out span").click()
        expect(page.locator(".chip-unknown")).to_have_count(0)
        live(page, "/log?sort=newest&outcome=failures")
        expect(page.locator(".chip-unknown")).to_have_count(0)


class TestTimes:
    def test_sentences_of_the_server_are_in_local_time_when_that_is_chosen(
        self, site: Site, new_page: PageOpener
    ) -> None:
        [run] = enqueue(site, 1, runAt="2090-01-01T12:00:00Z")
        page = new_page(site.url, timezone_id="Asia/Kolkata")
        live(page, f"/runs/{run}")
        sentence = page.locator(".explain-sentence")
        expect(sentence).to_contain_text("2090-01-01 12:00:00 UTC")
        page.get_by_role("button", name="Times are shown in UTC").click()
        expect(sentence).to_contain_text("2090-01-01 17:30:00 UTC+5:30")
        page.get_by_role("button", name="Change").click()
        expect(page.get_by_role("dialog").get_by_label("Not before (local time)")).to_have_value("2090-01-01T17:30")


class TestLiveness:
    def test_the_audit_log_shows_what_happens_while_it_is_open(self, site: Site, new_page: PageOpener) -> None:
        page = new_page(site.url)
        live(page, "/audit?subject=watched")
        expect(page.get_by_text("No entry matches")).to_be_visible()
        site.create_task("watched-alone", "quick")
        expect(page.locator("tbody tr")).to_contain_text("watched-alone")

    def test_rows_that_were_pruned_leave_the_page(self, site: Site, new_page: PageOpener) -> None:
        run = site.trigger("broken")
        wait_until(lambda: site.run_state(run) == "FAILED", message="the run to fail")
        page = new_page(site.url)
        live(page, "/runs?state=failed&job=broken")
        expect(page.locator("tbody tr")).to_have_count(1)
        pruned = site.ask("mutation { pruneHistory(input: { maxAgeDays: 0.000001 }) { errors { message } } }")
        assert pruned["pruneHistory"]["errors"] == []
        expect(page.get_by_text("No run matches")).to_be_visible()


class TestPlan:
    @pytest.mark.costly
    def test_the_plan_reaches_its_end_however_frequent_tasks_are(self, site: Site, new_page: PageOpener) -> None:
        names = [f"often-{number}" for number in range(3)]
        for name in names:
            site.create_task(name, "quick", "* * * * * *")
        page = new_page(site.url)
        live(page, "/")
        timeline = page.get_by_role("region", name="Timeline")
        expect(timeline).to_contain_text("and next hour")
        expect(timeline.locator(".planned").first).to_be_visible()
        expect(timeline.locator(".beyond-plan")).to_have_count(0)
        plot = timeline.locator(".timeline-plot svg")
        plot.scroll_into_view_if_needed()
        plot.drag_to(plot, source_position={"x": 20, "y": 6}, target_position={"x": 140, "y": 6})
        expect(page).to_have_url(re.compile("from=.*&to="))
        timeline.get_by_role("button", name="24 h").click()
        expect(page).to_have_url(f"{site.url}/?range=24h")
        span = timeline.get_by_role("slider", name="Span to zoom to")
        span.focus()
        for key in ("Home", "ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight"):
            span.press(key)
        expect(span).to_have_attribute("aria-valuetext", re.compile(" to "))
        expect(timeline.locator(".timeline-brush")).to_be_visible()
        span.press("Escape")
        expect(timeline.locator(".timeline-brush")).to_have_count(0)
        for key in ("Home", "Shift+End", "Enter"):
            span.press(key)
        expect(page).to_have_url(re.compile("from=.*&to="))
        timeline.get_by_role("button", name="24 h").click()
        expect(timeline).to_contain_text("last 24 h and next 4 h")
        for name in names:
            site.ask("mutation($n: String!) { deleteTask(input: { name: $n }) { errors { message } } }", n=name)
