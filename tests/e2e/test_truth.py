"""Lists stay true while things happen elsewhere, and nothing on a page freezes in silence."""

import json
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.e2e.conftest import Site
from tests.e2e.views import watching
from tests.support.browser import PATIENCE, PageOpener, asked_document
from tests.support.waiting import wait_until

PAUSE = "mutation($name: String!) { pauseTask(input: { name: $name }) { errors { message } } }"
RESUME = "mutation($name: String!) { resumeTask(input: { name: $name }) { errors { message } } }"
MOVE = """mutation($name: String!, $schedule: ScheduleInput!) {
  updateTask(input: { name: $name, schedule: $schedule }) { errors { message } }
}"""
ENQUEUE = (
    "mutation($runs: [EnqueueRunInput!]!) { enqueueRuns(input: { runs: $runs }) { runs { id } errors { message } } }"
)
COUNT = """query($job: String!) {
  executions(first: 1, filter: { jobName: { eq: $job }, outcome: { isNull: false } }) { totalCount }
}"""


def live(page: Page, path: str) -> None:
    """Open a page and wait until it follows the feed."""
    page.goto(path)
    expect(page.locator(".pill")).to_have_text("live")
    expect(page.locator(".skeleton")).to_have_count(0)


def once(year: int) -> dict[str, str]:
    """A schedule with one time, far from now."""
    return {"syntax": "TIMESTAMP", "value": f"{year}-01-01T00:00:00Z"}


def enqueue(site: Site, count: int, **fields: Any) -> list[str]:
    """Put runs into the queue."""
    runs = [{"jobName": "quick", **fields} for _ in range(count)]
    return [run["id"] for run in site.ask(ENQUEUE, runs=runs)["enqueueRuns"]["runs"]]


class TestLists:
    @pytest.mark.costly
    def test_tasks_enter_leave_and_move_as_others_change_them(self, site: Site, new_page: PageOpener) -> None:
        for name, year in (("list-a", 2081), ("list-b", 2083), ("list-c", 2082)):
            site.create_task(name, "quick", schedule=once(year))
        page = new_page(site.url)
        live(page, "/tasks?state=paused&q=list-")
        expect(page.get_by_text("No task matches")).to_be_visible()
        site.ask(PAUSE, name="list-b")
        rows = page.locator("tbody tr")
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text("list-b")
        site.ask(RESUME, name="list-b")
        expect(rows).to_have_count(0)
        live(page, "/tasks?sort=next&q=list-")
        expect(rows).to_contain_text(["list-a", "list-c", "list-b"])
        site.ask(MOVE, name="list-a", schedule=once(2084))
        expect(rows).to_contain_text(["list-c", "list-b", "list-a"])

    @pytest.mark.costly
    def test_a_burst_stands_in_order_and_every_row_is_reachable_page_by_page(
        self, site: Site, new_page: PageOpener
    ) -> None:
        page = new_page(site.url)
        live(page, "/log?job=quick")
        enqueue(site, 130)
        wait_until(lambda: site.ask(COUNT, job="quick")["executions"]["totalCount"] >= 130, message="the burst to end")
        total = site.ask(COUNT, job="quick")["executions"]["totalCount"]
        seen: list[int] = []
        expect(page.locator("tbody tr").first).to_contain_text(f"#{self.newest(site)}")
        # A burst lets the first page grow until it is asked for again.
        expect(page.locator("tbody a.row-main")).to_have_count(50)
        while True:
            links = page.locator("tbody a.row-main").all_text_contents()
            seen += [int(text.removeprefix("#")) for text in links]
            more = page.get_by_role("button", name="Next")
            if more.count() == 0:
                break
            more.click()
            expect(page.locator("tbody a.row-main").first).not_to_have_text(links[0])
        assert seen == sorted(set(seen), reverse=True)
        assert len(seen) == total

    @staticmethod
    def newest(site: Site) -> str:
        """The newest execution of the job."""
        order = "orderBy: [{ field: ID, direction: DESC }]"
        query = f'{{ executions(first: 1, filter: {{ jobName: {{ eq: "quick" }} }}, {order}) {{ nodes {{ id }} }} }}'
        newest: str = site.ask(query)["executions"]["nodes"][0]["id"]
        return newest

    @pytest.mark.costly
    def test_a_choice_reaches_over_pages_and_never_hides(self, site: Site, new_page: PageOpener) -> None:
        site.ask('mutation { pauseGroup(input: { name: "chosen" }) { errors { message } } }')
        runs = enqueue(site, 60, group="chosen")
        page = new_page(site.url)
        live(page, "/runs?group=chosen")
        page.get_by_label(f"Select run {runs[0]}", exact=True).check()
        page.get_by_role("button", name="Next").click()
        everything = page.get_by_label("Select all rows of this page")
        expect(page.locator("tbody tr")).to_have_count(10)
        expect(everything).not_to_be_checked()
        everything.check()
        bar = page.get_by_role("toolbar")
        expect(bar).to_contain_text("11 runs selected, 1 of them on other pages")
        bar.get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("dialog")).to_contain_text("11 runs")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(bar).to_contain_text("11 runs selected")
        page.get_by_label("Task or job").fill("nothing-of-that-name")
        expect(page.get_by_text("No run matches")).to_be_visible()
        expect(bar).to_have_count(0)

    @pytest.mark.costly
    def test_charts_count_what_the_list_beside_them_shows(self, site: Site, new_page: PageOpener) -> None:
        runs = [site.trigger(job) for job in ("broken", "broken", "quick")]
        wait_until(lambda: all(site.run_state(run) in {"SUCCESS", "FAILED"} for run in runs), message="the runs to end")
        page = new_page(site.url)
        live(page, "/log?job=brok&outcome=failures")
        rows = page.locator("table.executions tbody tr")
        expect(rows.first).to_contain_text("it broke")
        chart = page.get_by_role("region", name="Executions over time")
        chart.get_by_role("button", name="show as a table").click()
        counts = chart.locator("tbody tr td:nth-child(2)")
        expect(counts.last).to_have_text(str(rows.count()))
        live(page, "/runs?job=broken&state=unfinished")
        throughput = page.get_by_role("region", name="Throughput over time")
        throughput.get_by_role("button", name="show as a table").click()
        failed = throughput.locator("tbody tr td:nth-child(3)")
        wait_until(lambda: sum(int(each) for each in failed.all_inner_texts()) == rows_of(site, "broken"))
        page.get_by_label("Task or job").fill("priority:low ")
        expect(throughput).to_have_count(0)
        expect(page.get_by_text("Clear the other filters to see it")).to_be_visible()


def rows_of(site: Site, job: str) -> int:
    """Return how many executions of a job there were."""
    found = site.ask("query($job: String!) { statistics(jobName: $job) { count } }", job=job)
    return int(found["statistics"]["count"])


class TestFeed:
    @pytest.mark.costly
    def test_only_what_a_page_shows_is_asked_of_events(self, site: Site, new_page: PageOpener) -> None:
        page = new_page(site.url)
        asked: list[dict[str, Any]] = []

        def note(frame: str | bytes) -> None:
            message = json.loads(frame)
            if message["type"] == "subscribe" and "events(" in asked_document(json.dumps(message["payload"])):
                asked.append(message["payload"]["variables"])

        page.on("websocket", lambda socket: socket.on("framesent", note))
        live(page, "/groups")
        assert [(each["tasks"], each["runs"], each["executions"], each["nodes"]) for each in asked] == [(False,) * 4]
        page.get_by_role("link", name="Nodes").click()
        wait_until(lambda: page.evaluate("1") and asked[-1]["nodes"], message="the page of nodes to ask for nodes")
        assert asked[-1]["after"]

    @pytest.mark.costly
    def test_a_subscription_that_ends_with_an_error_is_resumed_and_says_its_age_meanwhile(
        self, site: Site, new_page: PageOpener
    ) -> None:
        page = new_page(site.url)
        refused: list[str] = []
        hiccups = [True]

        def route(socket: WebSocketRoute) -> None:
            server = socket.connect_to_server()

            def from_page(text: str | bytes) -> None:
                message = json.loads(text)
                subscribes = message["type"] == "subscribe"
                ticks = subscribes and "overview(seconds" in asked_document(json.dumps(message["payload"]))
                if not ticks or not hiccups:
                    return server.send(text)
                refused.append(message["id"])
                fault = {"message": "hiccup", "extensions": {"classification": "INTERNAL_SERVER_ERROR"}}
                return socket.send(json.dumps({"id": message["id"], "type": "error", "payload": [fault]}))

            socket.on_message(from_page)

        page.route_web_socket("**/graphql", route)
        live(page, "/")
        tile = page.locator(".tile").first
        expect(tile).to_contain_text("as of")
        expect(page.locator(".pill")).to_have_text("live")
        hiccups.clear()
        expect(tile).to_contain_text("right now")
        assert len(refused) > 3

    @pytest.mark.costly
    def test_the_pill_says_how_far_the_feed_is_behind(self, site: Site, new_page: PageOpener) -> None:
        page = new_page(site.url)
        late = [True]

        def route(socket: WebSocketRoute) -> None:
            server = socket.connect_to_server()

            def from_server(text: str | bytes) -> None:
                message: dict[str, Any] = json.loads(text)
                is_event = message["type"] == "next" and "events" in message["payload"].get("data", {})
                if late and is_event:
                    happened: dict[str, str] = message["payload"]["data"]["events"]
                    # As if it had been on its way for so long.
                    moved = datetime.fromisoformat(happened["at"]) - timedelta(seconds=30)
                    happened["at"] = moved.isoformat()
                socket.send(json.dumps(message))

            server.on_message(from_server)

        page.route_web_socket("**/graphql", route)
        live(page, "/")
        enqueue(site, 1)
        expect(page.locator(".pill")).to_have_text(re.compile(r"^\d\d s behind$"))
        late.clear()
        enqueue(site, 1)
        expect(page.locator(".pill")).to_have_text("live")


class TestArguments:
    @pytest.mark.costly
    def test_a_form_with_a_fault_cannot_be_sent(self, site: Site, new_page: PageOpener) -> None:
        site.create_task("careful", "quick")
        page = new_page(site.url)
        live(page, "/tasks/careful")
        page.get_by_role("button", name="Run with…").click()
        dialog = page.get_by_role("dialog")
        field = dialog.get_by_label("batch")
        expect(field).to_be_focused()
        field.fill("12")
        field.fill("12x")
        dialog.get_by_role("button", name="Run now").click()
        expect(dialog.get_by_role("alert").first).to_contain_text("Must be a whole number")
        expect(field).to_be_focused()
        page.keyboard.press("Escape")
        expect(dialog.get_by_text("What you have entered will be lost")).to_be_visible()
        dialog.get_by_role("button", name="Go on editing").click()
        field.fill("13")
        dialog.get_by_role("button", name="Run now").click()
        expect(dialog).to_have_count(0)
        expect(page.get_by_role("region", name="Executions").locator("tbody tr")).to_have_count(1)
        expect(page.get_by_role("region", name="Executions")).to_contain_text("13")


class TestRunPage:
    @pytest.mark.costly
    def test_it_says_why_the_run_waits_and_then_what_became_of_it(self, site: Site, new_page: PageOpener) -> None:
        site.ask('mutation { pauseGroup(input: { name: "run-page" }) { errors { message } } }')
        first, second = enqueue(site, 2, group="run-page")
        page = new_page(site.url)
        live(page, "/runs?group=run-page")
        page.get_by_role("link", name=second, exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_contain_text(f"Run {second} quick")
        expect(page.get_by_role("heading", level=1)).to_be_focused()
        next_step = page.get_by_role("region", name="What happens next")
        expect(next_step).to_contain_text("paused")
        expect(next_step).to_contain_text("1 run of priority low is before it")
        page.get_by_role("button", name="High priority").click()
        expect(next_step).to_contain_text("No run of priority high is before it")
        site.ask('mutation { resumeGroup(input: { name: "run-page" }) { errors { message } } }')
        expect(page.get_by_role("heading", level=1)).to_contain_text("success")
        page.get_by_role("region", name="Course").get_by_role("link", name="attempt 1").click()
        expect(page).to_have_url(f"{site.url}/runs/{second}?attempt=1")
        page.go_back()
        expect(page).to_have_url(f"{site.url}/runs/{second}")
        page.go_back()
        expect(page).to_have_url(f"{site.url}/runs?group=run-page")
        assert first


def test_the_row_that_was_left_has_the_focus_again(site: Site, new_page: PageOpener) -> None:
    site.ask('mutation { pauseGroup(input: { name: "left-row" }) { errors { message } } }')
    first, second = enqueue(site, 2, group="left-row")
    page = new_page(site.url)
    live(page, "/runs?group=left-row")
    expect(page.locator("tbody td.cell-why")).to_contain_text(["paused", "as above"])
    page.get_by_role("link", name=second, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    page.go_back()
    expect(page.locator(f"tbody tr[data-id='{second}']")).to_be_focused()
    assert int(first) < int(second)


def test_a_job_without_arguments_asks_for_none(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    live(page, "/jobs")
    page.get_by_role("button", name="Run cleanup_expired_sessions…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("This job takes no arguments.")
    expect(dialog.locator("textarea, input")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


@pytest.mark.costly
def test_views_that_are_open_come_to_say_what_the_api_says(site: Site, new_page: PageOpener) -> None:
    """The short form of `views.py`, with what follows the runs at once and what no event tells of."""
    with watching(site, new_page(site.url).context, ("nodes", "secrets", "users")) as watch:
        for name, change in watch.story.changes():
            if name in {"a run begins", "it ends", "a secret is set", "an account is made"}:
                change()
                watch.arrive(name, within=PATIENCE / 1000)


@pytest.mark.costly
@pytest.mark.timeout(180)
def test_pages_of_what_is_wrong_and_of_what_comes_say_what_the_api_says_after_a_burst(
    site: Site, new_page: PageOpener
) -> None:
    pages = ("alarms", "errors", "schedule", "flows", "overview, tiles", "groups")
    with watching(site, new_page(site.url).context, pages, "watched-after-a-burst") as watch:
        enqueue(site, 300, jobName="broken", retries=0, group="storm")
        enqueue(site, 300, group="storm")
        changes = {
            "a run fails", "the alarm is acknowledged", "its error is silenced", "a task is made",
            "a task is due tomorrow", "a task is disabled", "a flow runs",
        }  # fmt: skip
        for name, change in watch.story.changes():
            if name in changes:
                change()
        wait_until(lambda: unfinished(site, "storm") == 0, message="the burst to end")
        watch.arrive("the burst", within=PATIENCE / 1000)
        # Quiet again, each change is seen by itself.
        for name, change in watch.story.changes():
            if name in {"the silence ends", "its error is solved", "a run fails"}:
                change()
                watch.arrive(name, within=PATIENCE / 1000)


def unfinished(site: Site, group: str) -> int:
    """Return how many runs of a group have not ended."""
    found = site.ask(
        """query($group: String!) { runs(first: 0, filter: {
          group: { eq: $group }, state: { in: [WAITING, SCHEDULED, RUNNING] }
        }) { totalCount } }""",
        group=group,
    )
    return int(found["runs"]["totalCount"])
