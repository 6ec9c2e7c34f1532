"""The execution log, its filters in the address, and an execution with its live log."""

from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from cronograph.jobs.store.schema.tables import history_archive
from tests.e2e.conftest import Site
from tests.support.browser import PageOpener
from tests.support.history import add
from tests.support.storage import Stored
from tests.support.waiting import wait_until

MOST_DRAWN = 500
"""Lines of a log that the page draws at the most: those in view, and some around them."""


@pytest.fixture
def page(site: Site, new_page: PageOpener) -> Page:
    """A page with nothing opened."""
    return new_page(site.url)


def ended(site: Site, job: str, **args: object) -> str:
    """The id of an execution that has ended."""
    run = site.trigger(job, **args)
    wait_until(lambda: site.run_state(run) in {"SUCCESS", "FAILED"}, message=f"{job} to end")
    execution = site.execution_of(run)
    assert execution is not None
    return execution


def run_of(site: Site, execution: str) -> str:
    """The run of an execution."""
    query = "query($id: ID!) { execution(id: $id) { run { id } } }"
    run: str = site.ask(query, id=execution)["execution"]["run"]["id"]
    return run


def begun(site: Site, job: str, **args: object) -> str:
    """The id of an execution that has begun."""
    run = site.trigger(job, **args)
    return wait_until(lambda: site.execution_of(run), message=f"{job} to begin") or ""


class TestFilters:
    @pytest.mark.costly
    def test_they_live_in_the_address_and_come_back_with_it(self, page: Page, site: Site) -> None:
        ended(site, "quick")
        failed = ended(site, "broken")
        page.goto("/log")
        field = page.get_by_label("Job, task or error")
        field.fill("outcome:failures")
        field.press("Enter")
        expect(page).to_have_url(f"{site.url}/log?outcome=failures")
        expect(page.locator("tbody .status", has_text="success")).to_have_count(0)
        page.locator("tbody a", has_text=f"#{failed}").click()
        expect(page.get_by_role("region", name="Attempt 1")).to_contain_text(f"#{failed}")
        page.go_back()
        expect(page.get_by_role("button", name="Change outcome:failures")).to_be_visible()
        expect(page.locator("tbody .status", has_text="success")).to_have_count(0)

    @pytest.mark.costly
    def test_only_matching_executions_join_live(self, page: Page, site: Site) -> None:
        page.goto("/log?job=broken")
        expect(page.locator(".pill")).to_have_text("live")
        other = ended(site, "quick")
        failed = ended(site, "broken")
        expect(page.locator("tbody tr").first).to_contain_text(f"#{failed}")
        expect(page.locator("tbody a", has_text=f"#{other}")).to_have_count(0)

    def test_new_rows_wait_while_the_pointer_is_on_the_list(self, page: Page, site: Site) -> None:
        shown = ended(site, "broken")
        page.goto("/log?job=broken")
        page.locator("tbody tr").first.hover()
        ended(site, "broken")
        expect(page.get_by_role("button", name="+1 new")).to_be_visible()
        expect(page.locator("tbody tr").first).to_contain_text(f"#{shown}")
        page.get_by_role("button", name="+1 new").click()
        expect(page.locator("tbody tr").first).not_to_contain_text(f"#{shown}")

    def test_nothing_that_matches_is_said_with_a_way_out(self, page: Page) -> None:
        page.goto("/log?job=nobody-knows-it")
        expect(page.get_by_text("No execution matches")).to_be_visible()
        page.get_by_role("region", name="Executions").get_by_role("button", name="Clear filters").click()
        expect(page).to_have_url(page.url.split("?")[0])

    def test_where_deleted_history_is_archived_is_said_at_the_end_of_a_list_that_reaches_so_far(
        self, page: Page, site: Site
    ) -> None:
        ended(site, "broken")
        with closing(Stored(f"sqlite:///{site.folder / 'e2e.db'}")) as stored:
            through = datetime.now(UTC) - timedelta(days=10)
            stored.do(lambda tx: add(tx.conn, history_archive, id=1, location="s3://history", through=through))
        note = page.get_by_role("note")
        page.goto("/log?task=nobody-knows-it&range=30d")
        expect(note).to_contain_text("cronograph log --archive")
        page.goto("/log?task=nobody-knows-it&range=24h")
        expect(page.get_by_text("No execution matches")).to_be_visible()
        page.wait_for_load_state("networkidle")
        expect(note).to_have_count(0)
        page.goto("/log?job=broken&sort=oldest")
        expect(note).to_contain_text("it is in the archive")


class TestExecution:
    def test_its_log_follows_the_job_and_ends_with_a_mark(self, page: Page, site: Site) -> None:
        execution = begun(site, "gated", gate="log-gate")
        page.goto(f"/log/{execution}")
        log = page.get_by_role("log")
        expect(log).to_contain_text("arrived at the gate")
        expect(page.locator(".log-bar")).to_contain_text("live")
        expect(page.locator(".big-progress")).to_contain_text("25 %")
        site.open_gate("log-gate")
        expect(log).to_contain_text("through the gate")
        expect(log).to_contain_text("end of the log")
        expect(page.get_by_role("heading", level=1)).to_contain_text("success")

    def test_a_long_log_is_whole_and_shows_its_end(self, page: Page, site: Site) -> None:
        execution = ended(site, "chatty", lines=1000)
        page.goto(f"/log/{execution}")
        expect(page.locator(".log-bar")).to_contain_text("1,000 lines · complete")
        expect(page.locator("#L1000")).to_be_in_viewport()
        assert page.locator(".log-line").count() < MOST_DRAWN
        # Lines may get their height, or a scroll its event, after the end was shown.
        page.get_by_role("log").evaluate(
            "(log) => { for (const line of log.querySelectorAll('.log-line')) line.style.minHeight = '40px' }"
        )
        page.get_by_role("log").dispatch_event("scroll")
        expect(page.locator("#L1000")).to_be_in_viewport()
        page.get_by_role("log").evaluate("(log) => { log.scrollTop -= 500 }")
        expect(page.locator("#L1000")).not_to_be_in_viewport()
        page.get_by_role("log").dispatch_event("scroll")
        expect(page.locator("#L1000")).not_to_be_in_viewport()
        page.get_by_role("log").evaluate("(log) => { log.scrollTop = 0 }")
        expect(page.locator("#L1")).to_be_in_viewport()
        assert page.locator(".log-line").count() < MOST_DRAWN

    @pytest.mark.costly
    def test_of_a_noisy_one_the_newest_lines_are_kept_and_those_that_are_read_stay(
        self, page: Page, site: Site
    ) -> None:
        execution = begun(site, "noisy", gate="more-noise")
        page.goto(f"/log/{execution}")
        bar, log = page.locator(".log-bar"), page.get_by_role("log")
        expect(bar).to_contain_text("9,000 lines")
        log.evaluate("(log) => { log.scrollTop = 0 }")
        expect(page.locator("#L1")).to_be_in_viewport()
        site.open_gate("more-noise")
        expect(bar).to_contain_text("18,000 lines, 8,000 cut · ended")
        expect(page.locator("#L1")).to_be_in_viewport()
        page.get_by_role("button", name="9,000 new lines").click()
        expect(page.locator("#L18000")).to_be_in_viewport()
        log.evaluate("(log) => { log.scrollTop = 0 }")
        expect(page.locator("#L8001")).to_be_visible()
        assert page.locator(".log-line").count() < MOST_DRAWN

    def test_a_text_is_found_line_by_line(self, page: Page, site: Site) -> None:
        execution = ended(site, "chatty", lines=1000)
        page.goto(f"/log/{execution}")
        expect(page.locator("#L1000")).to_be_in_viewport()
        field = page.get_by_label("Find in the log")
        field.fill("NUMBER 77")
        expect(page.locator(".log-find")).to_contain_text("11 lines")
        field.press("Enter")
        expect(page.locator("#L77.found mark")).to_be_in_viewport()
        expect(page.locator(".log-find")).to_contain_text("1 of 11")
        page.get_by_role("button", name="Previous match").click()
        expect(page.locator("#L779.found")).to_be_in_viewport()
        page.get_by_role("button", name="Next match").click()
        expect(page.locator("#L77.found")).to_be_in_viewport()

    def test_colours_are_shown_and_json_is_folded(self, page: Page, site: Site) -> None:
        execution = ended(site, "coloured")
        page.goto(f"/log/{execution}")
        expect(page.locator("#L1 .ansi-red")).to_have_text("red")
        expect(page.locator("#L1 .log-message")).to_have_text("a red word")
        page.locator("#L2 summary").click()
        expect(page.locator("#L2 pre")).to_have_text('{\n  "order": 7\n}')
        wrap = page.get_by_role("button", name="Wrap")
        expect(wrap).to_have_attribute("aria-pressed", "true")
        wrap.click()
        page.reload()
        expect(wrap).to_have_attribute("aria-pressed", "false")

    def test_scrolling_up_stops_following(self, page: Page, site: Site) -> None:
        execution = ended(site, "chatty", lines=500)
        page.goto(f"/log/{execution}#L120")
        expect(page.locator("#L120")).to_be_in_viewport()
        expect(page.locator("#L120")).to_have_class("log-line level-info marked")

    def test_a_failure_shows_its_error_and_its_traceback(self, page: Page, site: Site) -> None:
        execution = ended(site, "broken", reason="no ink")
        page.goto(f"/log/{execution}")
        expect(page.locator(".error-full")).to_contain_text("it broke: no ink")
        page.get_by_text("Traceback", exact=True).click()
        expect(page.locator(".traceback pre")).to_contain_text(f"{'dashboard_jobs'}.py")

    def test_its_address_leads_to_its_run_between_its_neighbours(self, page: Page, site: Site) -> None:
        before, here, after = (run_of(site, ended(site, "chatty", lines=1)) for _ in range(3))
        page.goto(f"/log/{site.execution_of(here)}?level=INFO#L1")
        expect(page).to_have_url(f"{site.url}/runs/{here}?attempt=1&level=INFO#L1")
        expect(page.locator("#L1.marked")).to_be_visible()
        expect(page.get_by_role("link", name="Previous")).to_have_attribute("href", f"/runs/{before}")
        page.get_by_role("link", name="Next").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text(f"Run {after}")
        expect(page.get_by_role("link", name="Previous")).to_have_attribute("href", f"/runs/{here}")

    def test_its_log_can_be_downloaded(self, page: Page, site: Site) -> None:
        execution = ended(site, "chatty", lines=3)
        page.goto(f"/log/{execution}")
        with page.expect_download() as waiting:
            page.get_by_role("button", name="Download").click()
        text = waiting.value.path().read_text()
        assert [line.rpartition(" ")[2] for line in text.splitlines()] == ["1", "2", "3"]


QUIET = """() => {
  const seen = (word) => {
    const status = [...document.querySelectorAll('tbody .status')].find((each) => each.textContent === word)
    const row = status.closest('tr').querySelector('td')
    const style = getComputedStyle(status)
    return [style.color, Number(style.fontWeight), getComputedStyle(row).boxShadow]
  }
  const [good, bad] = [seen('success'), seen('failed')]
  const dim = getComputedStyle(document.querySelector('tbody .dim')).color
  const once = good[2] === 'none' && bad[2] === 'none'
  return { quiet: good[0] === dim && good[1] < bad[1], loud: bad[0] !== dim, once }
}"""


def test_success_is_quiet_in_the_log_and_failure_is_loud(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url, viewport={"width": 1360, "height": 800})
    for job in ("quick", "broken"):
        site.trigger(job)
    page.goto("/log")
    for outcome in ("success", "failed"):
        expect(page.locator("tbody .status", has_text=outcome).first).to_be_visible()
    # By its status, and by no further sign beside it.
    assert page.evaluate(QUIET) == {"quiet": True, "loud": True, "once": True}


@pytest.mark.costly
def test_a_failure_whose_run_succeeded_later_is_shown_as_that_and_is_not_loud(site: Site, page: Page) -> None:
    made = site.ask(
        'mutation { enqueueRuns(input: { runs: [{ jobName: "flaky", retries: 3, retryDelay: 0.05 }] }) '
        "{ runs { id } errors { message } } }"
    )["enqueueRuns"]
    assert made["errors"] == []
    run = made["runs"][0]["id"]
    wait_until(lambda: site.run_state(run) == "SUCCESS", message="the third attempt to succeed")
    page.goto(f"/log?run={run}")
    rows = page.locator("tbody tr")
    expect(rows.locator(".status")).to_have_text(["success", "retried, succeeded", "retried, succeeded"])
    expect(page.locator("tbody .tone-bad")).to_have_count(0)
    page.goto(f"/runs/{run}?attempt=1")
    expect(page.get_by_role("region", name="Attempt 1").locator(".status")).to_have_text("retried, succeeded")
    failed = ended(site, "broken")
    page.goto(f"/log?run={run_of(site, failed)}")
    expect(page.locator("tbody .tone-bad")).to_have_count(1)


def test_columns_are_as_wide_as_what_they_say_and_the_error_gets_the_rest(site: Site, new_page: PageOpener) -> None:
    run = site.trigger("broken", reason="the supplier did not answer within ten seconds, as so often " * 3)
    wait_until(lambda: site.run_state(run) == "FAILED", message="the run to fail")
    page = new_page(site.url, viewport={"width": 1440, "height": 900})
    page.goto(f"/log?run={run}")
    error = page.locator("tbody td.cell-error")

    def widths() -> dict[str, float]:
        cells = page.locator("tbody tr").first.locator("td")
        return {
            str(cell.get_attribute("class")).split()[0]: box["width"]
            for cell in cells.all()
            if (box := cell.bounding_box())
        }

    expect(error).to_contain_text("the supplier")
    wait_until(lambda: widths()["cell-error"] > 300, message="the error to get what is left")
    assert widths()["cell-outcome"] < 130
    # The facts of a cell are told apart where they are copied.
    page.goto("/runs?state=ALL")
    expect(page.locator("tbody td.cell-group").first).to_be_visible()
    assert (page.locator("tbody td.cell-group").first.text_content() or "").endswith(" low")
