"""In an incident: many runs are changed and watched, two people edit one task, nodes fall silent and come back."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.conftest import Site, need_dashboard
from tests.e2e.test_truth import enqueue, live
from tests.support.browser import PageOpener, asked_document
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import wait_until
from tests.support.web import post

PAUSE_GROUP = "mutation($name: String!) { pauseGroup(input: { name: $name }) { errors { message } } }"
NUMBER = "query($filter: RunFilter!) { runs(first: 0, filter: $filter) { totalCount } }"
EDIT = "mutation($input: UpdateTaskInput!) { updateTask(input: $input) { errors { message } } }"


def number(site: Site, group: str, **more: object) -> int:
    """How many runs of a group there are."""
    found: int = site.ask(NUMBER, filter={"group": {"eq": group}, **more})["runs"]["totalCount"]
    return found


class TestBulkActions:
    @pytest.mark.costly
    def test_many_runs_are_changed_by_the_server_and_the_change_is_undone(
        self, site: Site, new_page: PageOpener
    ) -> None:
        site.ask(PAUSE_GROUP, name="flood")
        enqueue(site, 450, group="flood")
        page = new_page(site.url)
        live(page, "/runs?group=flood")
        page.get_by_role("button", name="Cancel 450 runs").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("This concerns 450 runs")
        dialog.get_by_role("button", name="Cancel them").click()
        expect(dialog).to_contain_text("450 of 450 cancelled or asked to stop")
        assert number(site, "flood", state={"eq": "CANCELLED"}) == 450
        dialog.get_by_role("button", name="Undo").click()
        expect(dialog).to_contain_text("450 of 450 retried")
        expect(dialog.get_by_role("link", name=re.compile("run "))).to_be_visible()
        dialog.get_by_role("button", name="Close").last.click()
        expect(page.get_by_role("button", name="Cancel 450 runs")).to_be_visible()
        assert number(site, "flood", state={"eq": "WAITING"}) == 450

    def test_a_few_runs_are_changed_at_once_and_the_notice_undoes_it(self, site: Site, new_page: PageOpener) -> None:
        site.ask(PAUSE_GROUP, name="trickle")
        enqueue(site, 3, group="trickle")
        page = new_page(site.url)
        live(page, "/runs?group=trickle")
        page.get_by_role("group", name="All that match").get_by_role("button", name="High priority").click()
        page.get_by_role("dialog").get_by_role("button", name="Set high").click()
        expect(page.locator(".notice")).to_contain_text("3 runs set to high priority")
        assert number(site, "trickle", priority={"eq": "HIGH"}) == 3
        page.locator(".notice").get_by_role("button", name="Undo").click()
        wait_until(lambda: number(site, "trickle", priority={"eq": "HIGH"}) == 0, message="the priority of before")


def edit(site: Site, name: str, **fields: object) -> None:
    """Somebody else saves a task."""
    assert site.ask(EDIT, input={"name": name, **fields})["updateTask"]["errors"] == []


def opened(page: Page, name: str) -> None:
    """Open the form of a task."""
    live(page, f"/tasks/{name}")
    page.get_by_role("button", name="Edit").click()
    expect(page.get_by_label("Description", exact=True)).to_be_visible()


class TestTwoEditors:
    def test_the_form_says_at_once_that_another_one_has_saved_and_one_chooses_field_by_field(
        self, site: Site, new_page: PageOpener
    ) -> None:
        site.create_task("shared", "quick", description="old", retries=1)
        page = new_page(site.url)
        opened(page, "shared")
        page.get_by_label("Description", exact=True).fill("mine")
        edit(site, "shared", description="theirs", retries=5, owner="them")
        conflict = page.get_by_role("region", name="Saved by somebody else")
        expect(conflict).to_contain_text("Somebody else has saved this task")
        expect(conflict.get_by_role("row", name="Description")).to_contain_text("mine")
        expect(conflict.get_by_role("row", name="Description")).to_contain_text("theirs")
        expect(conflict.get_by_role("row", name="Retries")).to_contain_text("not changed: 1")
        save = page.get_by_role("button", name="Save changes")
        save.click()
        # Nothing is sent before one has chosen, and the focus is where one does.
        expect(conflict.get_by_label("Keep mine: Description")).to_be_focused()
        conflict.get_by_label("Keep mine: Description").check()
        save.click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        found = site.ask('{ task(name: "shared") { description retries owner } }')["task"]
        assert found == {"description": "mine", "retries": 5, "owner": "them"}

    def test_theirs_can_be_taken_and_a_save_that_comes_too_late_loses_nothing(
        self, site: Site, new_page: PageOpener
    ) -> None:
        site.create_task("raced", "quick", description="old")
        page = new_page(site.url)
        opened(page, "raced")
        description = page.get_by_label("Description", exact=True)
        description.fill("mine")
        # As if the notice had not come yet: what the form asks again is held back.
        held: list[Route] = []

        def hold(route: Route) -> None:
            if not held and "query EditTask" in asked_document(route.request.post_data):
                held.append(route)
            else:
                route.continue_()

        page.route("**/graphql", hold)
        edit(site, "raced", description="theirs")
        wait_until(lambda: bool(held) or page.evaluate("false"), message="the form to ask again")
        save = page.get_by_role("button", name="Save changes")
        save.click()
        expect(page.get_by_text("Nothing was saved, since somebody else has saved this task")).to_be_visible()
        expect(save).to_be_focused()
        expect(page.get_by_text("VERSION_CONFLICT")).to_have_count(0)
        conflict = page.get_by_role("region", name="Saved by somebody else")
        conflict.get_by_label("Take theirs: Description").check()
        expect(description).to_have_value("theirs")
        conflict.get_by_label("Keep mine: Description").check()
        expect(description).to_have_value("mine")
        assert site.task("raced")["description"] == "theirs"


def test_charts_of_a_filtered_log_hatch_the_time_that_was_not_counted(site: Site, new_page: PageOpener) -> None:
    run = site.trigger("broken", reason="charts")
    wait_until(lambda: site.run_state(run) == "FAILED", message="the run to fail")
    page = new_page(site.url)
    since = (datetime.now(UTC) - timedelta(hours=2)).isoformat()

    def cut(route: Route) -> None:
        if "executionCounts" not in asked_document(route.request.post_data):
            return route.continue_()
        answer = route.fetch()
        body = answer.json()
        body["data"]["executionCounts"]["beginsAt"] = since
        return route.fulfill(response=answer, body=json.dumps(body))

    live(page, "/log?job=broken&range=6h")
    chart = page.get_by_role("region", name="Executions over time")
    expect(chart.locator("rect.fill-bad").first).to_be_visible()
    expect(chart).not_to_contain_text("not counted")
    page.route("**/graphql", cut)
    live(page, "/log?job=broken&range=24h")
    expect(chart.locator("svg.plot")).to_contain_text("not counted")
    expect(chart.locator("rect.fill-bad").first).to_be_visible()
    chart.get_by_role("button", name="show as a table").click()
    expect(chart.locator("tbody tr").first).to_contain_text("not counted")
    expect(chart.locator("tbody tr").last).not_to_contain_text("not counted")


STATE = "query($name: StringFilter!) { nodes(first: 5, filter: { name: $name }) { nodes { state stall } } }"


def state_of(server: CronographProcess, name: str) -> list[dict[str, str | None]]:
    """The nodes of a name as the API has them."""
    asked = {"query": STATE, "variables": {"name": {"eq": name}}}
    found: list[dict[str, str | None]] = post(f"{server.url}/graphql", asked).json()["data"]["nodes"]["nodes"]
    return found


@pytest.mark.postgres
@pytest.mark.costly
def test_a_silent_node_is_warned_of_before_its_lease_ends_and_a_lost_one_goes_when_it_is_back(
    postgres_url: str, processes: ProcessStarter, new_page: PageOpener
) -> None:
    need_dashboard()
    beat = ("--heartbeat", "0.3")
    watcher = processes.serve(postgres_url, *beat, "--lease", "4", "--node-name", "watcher")
    other = processes.serve(postgres_url, *beat, "--lease", "60", "--node-name", "other")
    page = new_page(watcher.url)
    live(page, "/")
    verdict = page.get_by_role("region", name="Is anything wrong?")
    other.pause()
    expect(verdict).to_contain_text("is silent since")
    assert state_of(watcher, "other") == [{"state": "STALLED", "stall": "heartbeat"}]
    live(page, "/nodes")
    expect(page.locator("table").get_by_text("silent since")).to_be_visible()
    expect(page.locator("tr", has_text="watcher")).to_contain_text("on time")
    expect(page.locator("tr", has_text="other")).not_to_contain_text("on time")
    other.resume()
    expect(page.locator("tr", has_text="other")).to_contain_text("on time")
    expect(page.get_by_text("silent since")).to_have_count(0)
    assert state_of(watcher, "other") == [{"state": "ACTIVE", "stall": None}]
    lost = processes.serve(postgres_url, *beat, "--lease", "2", "--node-name", "lost")
    lost.kill()
    live(page, "/")
    expect(verdict).to_contain_text("was lost")
    back = processes.serve(postgres_url, *beat, "--lease", "2", "--node-name", "lost")
    expect(verdict).not_to_contain_text("was lost")
    back.kill()
    expect(verdict).to_contain_text("was lost")
    verdict.get_by_role("button", name="Dismiss lost").first.click()
    expect(verdict).not_to_contain_text("was lost")
    page.reload()
    expect(verdict).not_to_contain_text("Looking whether")
    expect(verdict).not_to_contain_text("was lost")


def test_the_page_of_a_job_shows_a_month_its_errors_and_what_was_changed(site: Site, new_page: PageOpener) -> None:
    site.create_task("breaks", "broken")
    runs = [site.trigger("broken", reason="a month"), site.trigger("broken", reason="a month")]
    wait_until(lambda: {site.run_state(run) for run in runs} == {"FAILED"}, message="the runs to fail")
    page = new_page(site.url)
    live(page, "/jobs")
    page.get_by_role("link", name="broken", exact=True).first.click()
    expect(page).to_have_url(re.compile("/jobs/broken$"))
    figures = site.ask('{ statistics(jobName: "broken") { count failures } }')["statistics"]
    expect(page.get_by_role("region", name="30 days")).to_contain_text(f"Executions{figures['count']}")
    expect(page.get_by_role("region", name="Errors")).to_contain_text("it broke: a month")
    durations = page.get_by_role("region", name="Durations")
    expect(durations.locator(".change-mark title", has_text="Task breaks was made")).to_have_count(1)
    expect(durations.locator("svg.plot")).to_contain_text("p95")
    expect(page.get_by_role("region", name="Facts").get_by_role("link", name="breaks")).to_be_visible()


@pytest.mark.costly
def test_a_change_is_shown_field_by_field_and_taken_back(site: Site, new_page: PageOpener) -> None:
    site.create_task("tuned", "quick", retries=1, args={"batch": 3})
    edit(site, "tuned", retries=5, args={"batch": 4}, description="faster")
    page = new_page(site.url)
    live(page, "/tasks/tuned?tab=changes")
    changes = page.get_by_role("region", name="What changed")
    newest = changes.get_by_role("listitem").filter(has_text="changed it")
    expect(newest).to_contain_text("retries: 1 → ")
    expect(newest).to_contain_text("argument batch: 3 → ")
    expect(newest).to_contain_text("description: none → ")
    # The newest one is how it is: nothing to go back to.
    expect(newest.get_by_role("button")).to_have_count(0)
    changes.get_by_role("listitem").filter(has_text="made it").get_by_role("button", name="Revert to this").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("retries: 5 → ")
    edit(site, "tuned", description="by somebody else")
    expect(page.get_by_role("dialog")).to_contain_text("description: by somebody else → ")
    dialog.get_by_role("button", name="Revert", exact=True).click()
    expect(dialog).to_have_count(0)
    found = site.ask('{ task(name: "tuned") { description retries args } }')["task"]
    assert found == {"description": "", "retries": 1, "args": {"batch": 3}}
    expect(changes.get_by_role("listitem").filter(has_text="changed it")).to_have_count(3)
    # A group has a history, too, and the audit log shows values.
    site.ask('mutation { updateGroup(input: { name: "tuned", maxRunning: 3 }) { errors { message } } }')
    site.ask('mutation { updateGroup(input: { name: "tuned", maxRunning: 7 }) { errors { message } } }')
    live(page, "/groups?q=tuned")
    page.get_by_role("button", name="What changed of group tuned").click()
    expect(page.get_by_role("dialog")).to_contain_text("max running: 3 → ")
    page.get_by_role("button", name="Revert to this").click()
    page.get_by_role("button", name="Revert", exact=True).click()
    expect(page.locator(".notice")).to_contain_text("tuned has its former settings again")
    assert site.ask('{ groups(filter: { name: { eq: "tuned" } }) { nodes { maxRunning } } }')["groups"]["nodes"] == [
        {"maxRunning": 3}
    ]
    live(page, "/audit?subject=tuned")
    expect(page.get_by_role("row").filter(has_text="revertToRevision").first).to_contain_text("max running: 7 → ")


@pytest.mark.costly
def test_the_failed_runs_of_one_customer_are_found_by_argument_and_tried_again(
    site: Site, new_page: PageOpener
) -> None:
    failed = [site.trigger("broken", reason=reason) for reason in ("42", "42", "43")]
    wait_until(lambda: {site.run_state(run) for run in failed} == {"FAILED"}, message="the runs to fail")
    page = new_page(site.url)
    live(page, "/runs?state=FAILED&range=7d")
    page.get_by_label("Task or job").fill("reason=42 ")
    page.get_by_role("button", name="Look for arg:reason=42").click()
    expect(page.locator("tbody tr")).to_have_count(2)
    page.get_by_role("button", name="Run 2 runs again").click()
    page.get_by_role("dialog").get_by_role("button", name="Try them again").click()
    expect(page.locator(".notice").first).to_contain_text("2 runs tried again")
    live(page, "/runs?state=ALL&error=it+broke:+42")
    expect(page.locator("tbody tr")).to_have_count(4)


@pytest.mark.costly
def test_an_error_has_a_page_with_its_course_its_executions_and_its_runs_are_retried_there(
    site: Site, new_page: PageOpener
) -> None:
    failed = [site.trigger("broken", reason=f"the gauge of pump {number}") for number in (1, 2, 3)]
    wait_until(lambda: {site.run_state(run) for run in failed} == {"FAILED"}, message="the runs to fail")
    page = new_page(site.url)
    live(page, "/")
    page.get_by_role("region", name="Last failures").get_by_role("link", name="it broke: the gauge of pump 3").click()
    expect(page).to_have_url(re.compile(r"/errors/[0-9a-f]{16}\?job=broken&range=24h$"))
    expect(page.get_by_role("region", name="What happened")).to_contain_text(
        "3 executions of broken failed so on 1 node"
    )
    expect(page.get_by_role("region", name="Failures over time").locator("rect.fill-bad")).not_to_have_count(0)
    expect(page.get_by_role("region", name="Where").get_by_role("link", name="broken")).to_be_visible()
    rows = page.get_by_role("region", name="Newest executions").locator("tbody tr")
    expect(rows).to_have_count(3)
    page.get_by_role("button", name="Retry these runs").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("This concerns 3 runs")
    dialog.get_by_role("button", name="Try them again").click()
    # They fail again: the page counts them without being opened again.
    expect(page.get_by_role("region", name="What happened")).to_contain_text("6 executions of broken failed so")
    expect(rows).to_have_count(6)
    page.get_by_role("button", name="last 30 d").click()
    expect(page.get_by_role("region", name="What happened")).to_contain_text("in the last 30 d")
    page.get_by_role("link", name="Failed runs").click()
    expect(page.locator("tbody tr")).to_have_count(6)
    live(page, "/errors/0123456789abcdef")
    expect(page.get_by_text("No such failure in the last 7 d")).to_be_visible()


@pytest.mark.costly
def test_an_error_is_silenced_and_solved_and_the_overview_is_red_again_when_it_comes_back(
    site: Site, new_page: PageOpener
) -> None:
    def fail() -> None:
        run = site.trigger("broken", reason="the valve sticks")
        wait_until(lambda: site.run_state(run) == "FAILED", message="the run to fail")

    fail()
    page, overview = new_page(site.url), new_page(site.url)
    live(overview, "/")
    wrong = overview.get_by_role("region", name="Is anything wrong?")
    wait_until(lambda: fresh_errors(wrong.inner_text()) > 0, message="the verdict")
    before, counted = fresh_errors(wrong.inner_text()), news(overview)
    assert counted > 0
    live(page, "/errors")
    errors = page.get_by_role("region", name="Errors")
    item = errors.get_by_role("listitem").filter(has_text="the valve sticks")
    item.get_by_role("link", name="it broke: the valve sticks").click()
    page.get_by_role("button", name="Silence…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("the spare part comes on Friday")
    dialog.get_by_role("button", name="Silence it").click()
    happened = page.get_by_role("region", name="What happened")
    expect(happened).to_contain_text(re.compile("silenced until .* by .*: the spare part comes on Friday"))
    # Nobody has opened it again.
    wait_until(lambda: fresh_errors(wrong.inner_text()) == before - 1, message="one error less")
    expect(overview.get_by_role("region", name="Last failures")).to_contain_text("of errors that people know of")
    expect(overview.get_by_role("region", name="Last failures")).not_to_contain_text("the valve sticks")
    wait_until(lambda: news(overview) == counted - 1, message="the title to count what is news")
    wait_until(lambda: has_red_icon(overview) == (counted > 1), message="an icon that is as red as the title")
    expect(overview.locator(".tile").filter(has_text="Failed, 24")).to_contain_text("of known errors")
    page.get_by_role("button", name="End the silence").click()
    wait_until(lambda: fresh_errors(wrong.inner_text()) == before, message="the error to count again")
    wait_until(lambda: news(overview) == counted, message="the title to count it again")
    page.get_by_role("button", name="Solved…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("The code of broken says no version")
    dialog.get_by_role("button", name="It is solved").click()
    expect(happened).to_contain_text("solved")
    wait_until(lambda: fresh_errors(wrong.inner_text()) == before - 1, message="one error less")
    fail()
    expect(happened).to_contain_text("came back")
    wait_until(lambda: fresh_errors(wrong.inner_text()) == before, message="the error to count again")
    live(page, "/errors")
    page.get_by_role("navigation", name="State of the errors").get_by_role("button", name="came back").click()
    expect(item).to_have_count(1)
    expect(errors.get_by_role("listitem")).to_have_count(1)
    item.get_by_role("link", name="it broke: the valve sticks").click()
    page.get_by_role("button", name="Reopen").click()
    expect(page.get_by_role("button", name="Reopen")).to_have_count(0)


def news(page: Page) -> int:
    """Return how many failures the title of a page counts."""
    found = re.match(r"\((\d+)\) ", page.title())
    return 0 if found is None else int(found[1])


def has_red_icon(page: Page) -> bool:
    """Return whether the icon of a page shows that something failed."""
    return (page.locator('link[rel="icon"]').get_attribute("href") or "").endswith("icon-failed.svg")


def fresh_errors(headline: str) -> int:
    """Return how many errors of the last hour the overview counts."""
    found = re.search(r"(\d+) errors? in", headline)
    return 0 if found is None else int(found[1])
