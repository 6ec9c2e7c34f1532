"""The overview shows what happens while it happens."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Site
from tests.support.browser import PageOpener
from tests.support.waiting import wait_until

BEFORE_OTHERS = "0 0 0 31 12 *"
"""When a task is due that is to be among the next eight beside what other tests left on the site."""
PAUSE = "mutation($name: String!) { pauseTask(input: { name: $name }) { errors { message } } }"
MOVE = """mutation($name: String!, $schedule: ScheduleInput!) {
  updateTask(input: { name: $name, schedule: $schedule }) { errors { message } }
}"""

TRIGGER = "mutation($name: String!) { triggerTask(input: { name: $name }) { errors { message } } }"
OTHER_JOB = """mutation($name: String!) {
  updateTask(input: { name: $name, jobName: "quick", args: {} }) { errors { message } }
}"""
BROKEN_JOB = """mutation($name: String!) {
  updateTask(input: { name: $name, jobName: "broken", args: {} }) { errors { message } }
}"""
DELETE = "mutation($name: String!) { deleteTask(input: { name: $name }) { errors { message } } }"
ENQUEUE = "mutation($runs: [EnqueueRunInput!]!) { enqueueRuns(input: { runs: $runs }) { errors { message } } }"


def in_hours(number: int) -> dict[str, str]:
    """A schedule with one time, so many hours from now."""
    at = datetime.now(UTC) + timedelta(hours=number)
    return {"syntax": "TIMESTAMP", "value": at.isoformat(timespec="seconds").replace("+00:00", "Z")}


class TestLive:
    @pytest.mark.costly
    def test_a_run_started_elsewhere_shows_with_its_progress_and_then_its_outcome(
        self, site: Site, new_page: PageOpener
    ) -> None:
        page = new_page(site.url)
        page.goto("/")
        expect(page.locator(".pill")).to_have_text("live")
        site.trigger("gated", gate="overview-gate")
        running = page.get_by_role("region", name="Running now").locator("[data-row]", has_text="gated")
        expect(running).to_contain_text("25 % · waiting at the gate")
        site.open_gate("overview-gate")
        expect(running.locator(".status")).to_have_text("success")
        newest = page.get_by_role("region", name="Newest executions").locator("tr", has_text="gated").first
        expect(newest).to_contain_text("success")
        expect(newest).to_contain_text("4")

    @pytest.mark.costly
    def test_a_failure_shows_with_its_error_and_in_the_title(self, site: Site, new_page: PageOpener) -> None:
        page = new_page(site.url)
        page.goto("/")
        site.trigger("broken", reason="the disk is full")
        failures = page.get_by_role("region", name="Last failures")
        expect(failures).to_contain_text("it broke: the disk is full")
        expect(page).to_have_title(re.compile(r"^\(\d+\) Overview"))
        # No task fails, and all is not well.
        verdict = page.get_by_role("region", name="Is anything wrong?")
        expect(verdict).to_contain_text(re.compile(r"\d errors? in \d jobs? within the last hour"))
        verdict.get_by_role("link", name="Show failures").click()
        expect(page).to_have_url(f"{site.url}/log?outcome=failures&range=1h")

    @pytest.mark.costly
    def test_what_needs_a_person_stands_first_with_what_can_be_done_about_it(
        self, site: Site, new_page: PageOpener
    ) -> None:
        site.create_task("overview-healed", "broken")
        page = new_page(site.url)
        page.goto("/")
        first = page.get_by_role("region", name="Is anything wrong?")
        expect(first).not_to_contain_text("Looking")
        expect(first.get_by_role("listitem")).to_have_count(0)
        site.ask(TRIGGER, name="overview-healed")
        failing = first.get_by_role("listitem").filter(has_text="overview-healed")
        expect(failing).to_contain_text(re.compile("fails at least since .*it broke: no luck"))
        expect(first).to_contain_text("1 task fails")
        group = "overview-halted"
        site.ask('mutation { pauseGroup(input: { name: "overview-halted", reason: "audit" }) { errors { message } } }')
        site.ask(ENQUEUE, runs=[{"jobName": "quick", "group": group}])
        expect(first.get_by_role("listitem").filter(has_text=group)).to_contain_text(re.compile("holds 1 back.*audit"))
        # Each goes by what is offered beside it.
        first.get_by_role("button", name=f"Resume group {group}").click()
        expect(first.get_by_role("listitem")).to_have_count(1)
        first.get_by_role("button", name="Run overview-healed now").click()
        expect(failing).to_contain_text("2 times in a row")
        site.ask(OTHER_JOB, name="overview-healed")
        first.get_by_role("button", name="Run overview-healed now").click()
        expect(first).not_to_contain_text("task fails")
        expect(first.get_by_role("listitem")).to_have_count(0)

    @pytest.mark.costly
    def test_a_task_that_fails_since_it_was_changed_is_said_to_have_been(
        self, site: Site, new_page: PageOpener
    ) -> None:
        name = "overview-turned"
        site.create_task(name, "quick")
        site.ask(TRIGGER, name=name)
        ended = "query($name: String!) { task(name: $name) { lastStatus { outcome } } }"
        wait_until(lambda: site.ask(ended, name=name)["task"]["lastStatus"] is not None, message="the first run to end")
        site.ask(BROKEN_JOB, name=name)
        site.ask(TRIGGER, name=name)
        page = new_page(site.url)
        page.goto("/")
        item = page.get_by_role("region", name="Is anything wrong?").get_by_role("listitem").filter(has_text=name)
        expect(item).to_contain_text(re.compile("fails since .*; changed before that"))
        item.get_by_role("link", name="changed").click()
        expect(page.get_by_role("region", name="Facts")).to_be_visible()
        site.ask(DELETE, name=name)

    @pytest.mark.costly
    def test_a_late_task_says_why_and_goes_on_by_what_is_offered(self, site: Site, new_page: PageOpener) -> None:
        name = group = "overview-owed"
        site.ask('mutation { pauseGroup(input: { name: "overview-owed", reason: "audit" }) { errors { message } } }')
        due = {"syntax": "INTERVAL", "value": "1s"}
        site.create_task(name, "quick", schedule=due, group=group, misfireGrace=1)
        page = new_page(site.url)
        page.goto("/")
        first = page.get_by_role("region", name="Is anything wrong?")
        late = first.get_by_role("listitem").filter(has_text="did not start when it was due")
        expect(late).to_contain_text(re.compile(f"{name}.*group '{group}' is paused"))
        expect(first).to_contain_text("1 task is late")
        late.get_by_role("button", name=f"Run {name} now").click()
        expect(page.locator(".notice", has_text=f"{name}: run")).to_be_visible()
        first.get_by_role("button", name=f"Resume group {group}").click()
        expect(late).to_have_count(0)
        site.ask(DELETE, name=name)

    @pytest.mark.costly
    def test_the_page_does_not_poll(self, site: Site, new_page: PageOpener) -> None:
        site.create_task("quiet", "quick")
        page = new_page(site.url)
        page.goto("/tasks/quiet")
        expect(page.locator(".pill")).to_have_text("live")
        expect(page.get_by_role("region", name="What happens next")).to_be_visible()
        # What the page asks for when it is opened has been answered.
        page.wait_for_load_state("networkidle")
        asked: list[str | None] = []
        page.on(
            "request", lambda request: asked.append(request.post_data) if request.url.endswith("/graphql") else None
        )
        # Nothing happens to this task: ticking clocks and what others do must not make the page ask.
        site.trigger("quick")
        first = page.evaluate("Date.now()")
        wait_until(lambda: page.evaluate("Date.now()") - first > 2500, message="two and a half seconds of silence")
        assert asked == []


class TestNextUp:
    @pytest.mark.costly
    def test_what_is_due_next_follows_the_clock_and_what_others_change(self, site: Site, new_page: PageOpener) -> None:
        site.create_task("next-ticking", "quick", schedule={"syntax": "INTERVAL", "value": "2s"})
        for name, hours in (("next-late", 3), ("next-soon", 2)):
            site.create_task(name, "quick", schedule=in_hours(hours))
        page = new_page(site.url)
        page.goto("/")
        names = page.locator(".next-item .next-name")
        own = names.filter(has_text=re.compile("next-(late|soon)"))
        expect(own).to_have_text(["next-soon", "next-late"])
        site.ask(MOVE, name="next-late", schedule=in_hours(1))
        expect(own).to_have_text(["next-late", "next-soon"])
        site.ask(PAUSE, name="next-late")
        expect(own).to_have_text(["next-soon"])
        ticking = page.locator(".next-item", has_text="next-ticking").locator("time")
        for _ in range(2):
            expect(ticking).not_to_have_attribute("datetime", ticking.get_attribute("datetime") or "")
        site.ask(PAUSE, name="next-ticking")


PHONE = 640
"""The height of a small phone's screen."""


class TestPhone:
    @pytest.mark.costly
    def test_three_screens_have_all_of_the_overview_however_much_there_is(
        self, site: Site, new_page: PageOpener
    ) -> None:
        failing = [f"phone-failing-shop-of-the-northern-region-{number}" for number in range(10)]
        for number, name in enumerate(failing):
            reason = f"{'abcd'[number % 4] * 8} {'no luck ' * 9}"
            site.create_task(name, "broken", args={"reason": reason}, group=f"phone-{number}")
            site.ask(TRIGGER, name=name)
            # Behind the tasks of other tests in the list of what is next.
            site.create_task(f"phone-{number}", "quick", "0 0 0 29 2 *", group=f"phone-{number}")
            run = {"jobName": "gated", "args": {"gate": "phone-gate"}, "group": f"phone-{number % 5}"}
            site.ask(ENQUEUE, runs=[run])
        page = new_page(site.url, viewport={"width": 320, "height": PHONE})
        page.goto("/")
        expect(page.locator(".skeleton")).to_have_count(0)
        expect(page.get_by_role("region", name="Is anything wrong?")).to_contain_text("10 tasks fail")
        timeline = page.get_by_role("region", name="Timeline")
        expect(timeline.get_by_role("listitem")).to_have_count(8)
        expect(page.locator(".run-item")).to_have_count(10)
        expect(page.locator(".next-item")).to_have_count(4)
        failures = page.get_by_role("region", name="Last failures")
        expect(failures.get_by_role("listitem")).to_have_count(1)
        expect(page.get_by_role("region", name="Queue and nodes")).to_contain_text("2 running")
        assert page.evaluate("document.documentElement.scrollHeight") <= 3 * PHONE
        # What is folded is one press away.
        for name in ("Is anything wrong?", "Last failures", "Queue and nodes", "Timeline"):
            part = page.get_by_role("region", name=name)
            shown = part.get_by_role("listitem").count()
            part.get_by_role("button", name=re.compile("^Show [0-9]+ more$")).click()
            assert part.get_by_role("listitem").count() > shown
            part.get_by_role("button", name="Show fewer").click()
            expect(part.get_by_role("listitem")).to_have_count(shown)
        newest = page.get_by_role("region", name="Newest executions")
        expect(newest.locator("tbody tr").first).to_be_hidden()
        newest.get_by_text("Newest executions").click()
        expect(newest.locator("tbody tr").first).to_be_visible()
        site.open_gate("phone-gate")
        for name in failing:
            site.ask(DELETE, name=name)


class TestActions:
    def test_run_now_makes_a_run_at_once(self, site: Site, new_page: PageOpener) -> None:
        site.create_task("overview-run", "quick", BEFORE_OTHERS)
        page = new_page(site.url)
        page.goto("/")
        page.get_by_role("button", name="Run overview-run now").click()
        expect(page.locator(".notice")).to_contain_text("is on its way")
        row = page.get_by_role("region", name="Newest executions").locator("tr", has_text="overview-run")
        expect(row.locator(".status")).to_have_text("success")

    @pytest.mark.costly
    def test_pausing_asks_for_a_reason_and_can_be_undone(self, site: Site, new_page: PageOpener) -> None:
        site.create_task("overview-pause", "quick", BEFORE_OTHERS)
        page = new_page(site.url)
        page.goto("/")
        # By keys: where the pointer is after the dialog, on the list or not, is a matter of what else the page shows.
        page.get_by_role("button", name="Pause overview-pause").press("Enter")
        page.get_by_label("Reason").fill("moving house")
        page.get_by_role("button", name="Pause", exact=True).press("Enter")
        row = page.locator(".next-item", has_text="overview-pause")
        expect(row).to_have_class("next-item left")
        wait_until(lambda: site.task("overview-pause")["pauseReason"] == "moving house", message="the pause to arrive")
        page.get_by_role("button", name="Undo").click()
        expect(row).to_have_class("next-item")
        wait_until(lambda: site.task("overview-pause")["pausedAt"] is None, message="the pause to be undone")
