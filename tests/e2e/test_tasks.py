"""Tasks are made, changed and deleted in the browser; the server judges every schedule while one types."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Site
from tests.support.browser import PageOpener
from tests.support.waiting import wait_until

IN_WORDS = (
    ("CALENDAR", "Mon..Fri 02:30", "At 02:30 from Monday to Friday"),
    ("INTERVAL", "1h30m", "Every 1 hour 30 minutes"),
    ("TIMESTAMP", "2126-01-31T12:00:00Z", "Once, on Thursday, 31 January 2126 at 12:00"),
)
"""Kind, value, sentence."""
LONG = "a-task-with-a-long-name-of-the-northern-region"
NONSENSE = (
    ("CRON", "0 0 0 31 2 *", "never fires"),
    ("CRON", "0 0 0 * * FRI-MON", "runs backwards"),
    ("CRON", "*/5 * * * *", "0 */5 * * * *"),
    ("INTERVAL", "0", "at least one second"),
    ("TIMESTAMP", "2020-01-01T00:00:00Z", "in the past"),
    ("CALENDAR", "daily Mars/Olympus", "unknown zone 'Mars/Olympus'"),
)
"""Kind, value, reason; five fields are answered with the form of six."""


@pytest.fixture
def page(site: Site, new_page: PageOpener) -> Page:
    """A page on the list of tasks."""
    page = new_page(site.url)
    page.goto("/tasks")
    expect(page.locator(".pill")).to_have_text("live")
    return page


class TestScheduleField:
    @pytest.mark.costly
    def test_the_sentence_and_the_next_times_come_while_typing(self, page: Page) -> None:
        page.get_by_role("button", name="New task").click()
        page.get_by_label("When", exact=True).fill("0 30 9 * * MON-FRI")
        expect(page.locator(".preview-sentence")).to_contain_text("At 09:30 from Monday to Friday")
        expect(page.locator(".next-times tbody tr")).to_have_count(3)
        days = page.get_by_role("list", name="The next days").get_by_role("listitem")
        expect(days).to_have_count(42)
        expect(days.filter(has_text="Mo ").nth(1)).to_contain_text("at 09:30:00")
        expect(days.filter(has_text="Sa ").first).to_contain_text("no run")
        expect(page.locator(".next-times th").first).to_have_text("UTC")
        row = page.locator(".next-times tbody tr").first
        expect(row).to_contain_text("09:30:00")
        # Those of a zone are shown on its clock too.
        page.get_by_label("When", exact=True).fill("0 30 9 15 1 *")
        page.get_by_label("Time zone", exact=True).fill("Asia/Tokyo")
        expect(page.locator(".next-times th")).to_contain_text(["UTC", "Asia/Tokyo", "Here (UTC+1)"])
        expect(row.locator("td")).to_contain_text(["-01-15 00:30:00", "-01-15 09:30:00", "-01-15 01:30:00"])

    @pytest.mark.costly
    def test_every_kind_of_schedule_is_put_into_words(self, page: Page) -> None:
        page.get_by_role("button", name="New task").click()
        for kind, value, sentence in IN_WORDS:
            page.get_by_label("Kind", exact=True).select_option(kind)
            page.get_by_label("When", exact=True).fill(value)
            expect(page.locator(".preview-sentence")).to_contain_text(sentence)
            # Another kind of schedule is no reason to open the policies.
            expect(page.get_by_label("Overlap", exact=True)).to_be_hidden()

    @pytest.mark.costly
    def test_nonsense_is_refused_with_its_reason(self, page: Page) -> None:
        page.get_by_role("button", name="New task").click()
        for kind, value, reason in NONSENSE:
            page.get_by_label("Kind", exact=True).select_option(kind)
            page.get_by_label("When", exact=True).fill(value)
            expect(page.locator(".fault")).to_contain_text(reason)
            expect(page.get_by_label("When", exact=True)).to_have_attribute("aria-invalid", "true")

    @pytest.mark.costly
    def test_a_mistyped_zone_is_marked_at_its_field_and_the_near_name_can_be_used(self, page: Page) -> None:
        page.get_by_role("button", name="New task").click()
        page.get_by_label("When", exact=True).fill("0 30 9 * * *")
        zone = page.get_by_label("Time zone", exact=True)
        zone.fill("Europe/Berlim")
        expect(zone).to_have_attribute("aria-invalid", "true")
        expect(page.get_by_label("When", exact=True)).to_have_attribute("aria-invalid", "false")
        page.get_by_role("button", name="Use Europe/Berlin").click()
        expect(zone).to_have_value("Europe/Berlin")
        expect(page.locator(".preview-sentence")).to_contain_text("At 09:30 every day")

    @pytest.mark.costly
    def test_an_error_is_marked_where_it_is_and_its_suggestion_can_be_used(self, page: Page) -> None:
        page.get_by_role("button", name="New task").click()
        field = page.get_by_label("When", exact=True)
        field.fill("0 /5 * * * *")
        expect(page.locator(".fault mark")).to_have_text("/5")
        expect(field).to_have_attribute("aria-invalid", "true")
        page.get_by_role("button", name="Use 0 */5 * * * *").click()
        expect(field).to_have_value("0 */5 * * * *")
        expect(page.locator(".preview-sentence")).to_contain_text("Every 5 minutes")

    @pytest.mark.costly
    def test_the_strip_of_days_shows_weekends_and_the_next_change_of_a_zones_clocks(self, page: Page) -> None:
        page.get_by_role("button", name="New task").click()
        page.get_by_label("When", exact=True).fill("0 30 9 * * Mon")
        strip = page.get_by_role("list", name="The next days")
        expect(strip.locator("li").first).to_be_visible()
        weeks = strip.locator("li").count() / 7
        assert strip.locator(".weekend").count() >= weeks * 2 - 2
        expect(strip.locator(".weekend").first).to_contain_text("weekend")
        change = page.locator(".calendar-note")
        expect(change).to_have_count(0)
        page.get_by_label("Time zone", exact=True).fill("Europe/Berlin")
        expect(change).to_have_text(
            re.compile(r"Clocks in Europe/Berlin go (forward|back) 60 min on Su \d+ (Mar|Oct) \d{4}\.")
        )


class TestRows:
    def test_a_name_that_is_cut_is_copied_by_key_by_tab_and_by_finger(self, site: Site, new_page: PageOpener) -> None:
        site.create_task(LONG, "quick")
        page = new_page(site.url, viewport={"width": 1024, "height": 800}, touch=True)
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.goto(f"/tasks?q={LONG}")
        row = page.locator("tbody tr")
        expect(row).to_have_count(1)
        copy = page.get_by_role("button", name=f"Copy {LONG}")
        expect(copy).to_have_count(0)
        read = "navigator.clipboard.readText()"
        page.keyboard.press("j")
        expect(copy).to_be_visible()
        page.keyboard.press("y")
        wait_until(lambda: page.evaluate(read) == LONG, message="the name to be copied by a key")
        page.keyboard.press("Escape")
        page.evaluate("navigator.clipboard.writeText('nothing')")
        page.evaluate("document.activeElement.blur()")
        expect(copy).to_have_count(0)
        row.locator("td").nth(2).tap()
        copy.tap()
        wait_until(lambda: page.evaluate(read) == LONG, message="the name to be copied by a finger")


class TestForm:
    @pytest.mark.costly
    def test_refusals_of_the_server_stand_at_their_field(self, page: Page, site: Site) -> None:
        site.create_task("taken", "quick")
        page.get_by_role("button", name="New task").click()
        page.get_by_label("Name", exact=True).fill("taken")
        page.get_by_label("Job", exact=True).fill("quick")
        page.get_by_label("When", exact=True).fill("0 0 4 * * *")
        page.get_by_role("button", name="Create task").click()
        name_field = page.locator(".field", has=page.get_by_label("Name", exact=True))
        expect(name_field.get_by_role("alert")).to_contain_text("taken")

    @pytest.mark.costly
    def test_only_what_was_edited_changes(self, page: Page, site: Site) -> None:
        site.create_task("edited", "quick", description="as it was")
        page.goto("/tasks/edited")
        page.get_by_role("button", name="Edit").click()
        page.get_by_label("When", exact=True).fill("0 0 6 * * *")
        page.get_by_role("button", name="Save changes").click()
        page.get_by_role("button", name="schedule", exact=True).click()
        expect(page.get_by_role("region", name="Schedule", exact=True)).to_contain_text("At 06:00 every day")
        assert site.task("edited")["description"] == "as it was"

    @pytest.mark.costly
    def test_a_copy_of_a_task_has_all_but_its_name(self, page: Page, site: Site) -> None:
        site.create_task("original", "quick", description="as it was", args={"batch": 3})
        page.goto("/tasks/original")
        page.get_by_role("button", name="Duplicate").click()
        page.get_by_label("Name", exact=True).fill("copied")
        page.get_by_role("button", name="Create task").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        original, copied = site.task("original"), site.task("copied")
        assert copied["name"] == "copied"
        assert {**copied, "name": "original"} == original

    def test_an_open_dialog_survives_live_updates(self, page: Page, site: Site) -> None:
        page.get_by_role("button", name="New task").click()
        page.get_by_label("Name", exact=True).fill("half-typed")
        site.create_task("came-meanwhile", "quick")
        expect(page.locator("tr", has_text="came-meanwhile")).to_be_attached()
        expect(page.get_by_label("Name", exact=True)).to_have_value("half-typed")


class TestTaskPage:
    def test_it_says_in_words_what_happens_next_and_by_which_policies(self, page: Page, site: Site) -> None:
        site.create_task("explained", "quick")
        page.goto("/tasks/explained")
        expect(page.get_by_role("region", name="What happens next")).to_contain_text("next time")
        page.get_by_role("button", name="policies", exact=True).click()
        expect(page).to_have_url(re.compile("tab=policies$"))
        expect(page.get_by_role("region", name="Policies")).to_contain_text("further occurrences are skipped")

    @pytest.mark.costly
    def test_it_draws_what_its_executions_took_and_counted(self, page: Page, site: Site) -> None:
        site.create_task("drawn", "quick")
        page.goto("/tasks/drawn")
        for count in (1, 2):
            page.get_by_role("button", name="Run now").click()
            expect(page.get_by_role("region", name="Executions").locator("tbody tr")).to_have_count(count)
        expect(page.get_by_role("region", name="What happens next")).to_contain_text("2 successes in a row")
        page.get_by_role("button", name="statistics", exact=True).click()
        expect(page.get_by_role("region", name="Durations").locator("circle")).to_have_count(2)
        records = page.get_by_role("region", name="Records")
        expect(records.locator("rect")).to_have_count(2)
        records.get_by_role("button", name="show as a table").click()
        expect(records.locator("tbody tr").first).to_contain_text("7")

    @pytest.mark.costly
    def test_deleting_asks_first_and_leads_back_to_the_list(self, page: Page, site: Site) -> None:
        site.create_task("doomed", "quick")
        page.goto("/tasks/doomed")
        page.get_by_role("button", name="Delete").click()
        page.get_by_role("button", name="Delete the task").click()
        expect(page).to_have_url(f"{site.url}/tasks")
        wait_until(lambda: site.task("doomed") is None, message="the task to be gone")

    @pytest.mark.costly
    def test_the_question_before_a_deletion_says_how_many_runs_go_with_it(self, page: Page, site: Site) -> None:
        site.create_task("busy", "gated", args={"gate": "busy"})
        site.ask('mutation { triggerTask(input: { name: "busy" }) { run { id } } }')
        page.goto("/tasks/busy")
        page.get_by_role("button", name="Delete").click()
        expect(page.get_by_role("dialog")).to_contain_text("With it, 1 unfinished run will be cancelled.")
        page.get_by_role("button", name="Keep it").click()
        assert site.task("busy") is not None
        site.open_gate("busy")

    def test_a_task_that_is_not_there_is_said_to_be_missing(self, page: Page) -> None:
        page.goto("/tasks/nobody")
        expect(page.get_by_text("There is no task 'nobody'")).to_be_visible()


@pytest.mark.costly
def test_rows_have_one_line_unless_the_reader_has_chosen_otherwise(site: Site, new_page: PageOpener) -> None:
    name = "a-name-with-many-places-where-it-could-break"
    site.create_task(name, "quick")
    page = new_page(site.url)
    page.goto("/tasks")
    row = page.locator("tbody tr", has_text=name)
    wait_until(lambda: row.evaluate("(row) => row.clientHeight") < 36, message="rows of one line")
    site.trigger("gated", gate="one-line")
    page.goto("/runs")
    running = page.locator("tbody tr", has_text="waiting at the gate")
    wait_until(lambda: running.evaluate("(row) => row.clientHeight") < 36, message="progress in one line")
    site.open_gate("one-line")
    page.goto("/settings")
    page.get_by_label("Rows of lists").select_option("comfortable")
    page.goto("/tasks")
    expect(row.locator(".cell-sub").first).to_have_css("display", "block")
    wait_until(lambda: row.evaluate("(row) => row.clientHeight") > 36, message="rows of several lines")
