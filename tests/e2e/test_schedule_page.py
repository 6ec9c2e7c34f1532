"""What is planned: an agenda, a calendar of the week, the load of each minute, and a quieter slot for a task."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Site
from tests.e2e.test_truth import live
from tests.support.browser import PageOpener

HOUR = timedelta(hours=1)
BROKEN_WORDS = """(names) => names.flatMap((name) => [...name.childNodes].filter((part) => {
  const range = document.createRange();
  range.selectNodeContents(part);
  return new Set([...range.getClientRects()].map(({ top }) => top)).size > 1;
}).map((part) => part.textContent))"""
"""The parts of names, which break between them, that stand on two lines."""


@pytest.fixture
def page(site: Site, new_page: PageOpener) -> Page:
    """A page with nothing opened."""
    return new_page(site.url)


def tomorrow(hour: int) -> datetime:
    """An hour of the day that comes."""
    return datetime.now(UTC).replace(hour=hour, minute=0, second=0, microsecond=0) + timedelta(days=1)


def test_the_agenda_shows_what_comes_next_and_a_task_is_paused_there_until_a_time_for_a_reason(
    page: Page, site: Site
) -> None:
    site.create_task("agenda-rare", "quick", "0 0 3 * * *")
    site.create_task("agenda-often", "quick", "0 */5 * * * *")
    live(page, "/tasks")
    page.get_by_role("link", name="Schedule").click()
    agenda = page.get_by_role("region", name="What comes next")
    rows = agenda.get_by_role("listitem")
    expect(rows.filter(has_text="agenda-rare").first).to_contain_text("03:00:00")
    # Once a day each, however often it comes, unless all are asked for: a page is full of this one then.
    expect(rows.filter(has_text="agenda-often").nth(99)).to_have_count(0)
    agenda.get_by_label("Every occurrence").check()
    expect(rows).to_have_count(100)
    expect(page).to_have_url(re.compile("every=1"))
    agenda.get_by_label("Every occurrence").uncheck()
    rows.filter(has_text="agenda-rare").first.get_by_role("button", name="Pause agenda-rare").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("the warehouse moves")
    until = tomorrow(12)
    dialog.get_by_label("Until (UTC)").fill(until.strftime("%Y-%m-%dT%H:%M"))
    dialog.get_by_role("button", name="Pause", exact=True).click()
    expect(rows.filter(has_text="agenda-rare")).to_have_count(0)
    found = site.ask('{ task(name: "agenda-rare") { pauseReason resumeAt } }')["task"]
    assert found == {"pauseReason": "the warehouse moves", "resumeAt": until.strftime("%Y-%m-%dT%H:%M:%SZ")}


def test_the_calendar_of_the_week_names_what_comes_rarely_and_leads_to_the_hour(page: Page, site: Site) -> None:
    at = tomorrow(4)
    site.create_task("week-rare", "quick", f"0 30 4 {at.day} {at.month} *")
    for number in range(3):
        site.create_task(f"week-often-{number}", "quick", "0 15 * * * *")
    live(page, "/schedule?view=week&q=week-")
    calendar = page.get_by_role("group", name="Calendar of the week")
    hour = calendar.get_by_role("row", name="04:00").get_by_role("link").filter(has_text="week-rare")
    expect(hour).to_contain_text("4 tasks")
    hour.click()
    agenda = page.get_by_role("region", name=re.compile("^From "))
    expect(agenda.get_by_role("listitem")).to_have_count(4)
    expect(agenda.get_by_role("listitem").last).to_contain_text("week-rare")
    expect(agenda).to_contain_text(at.strftime("%Y-%m-%d 04:00 UTC"))


def test_a_busy_minute_shows_its_tasks_and_one_is_moved_to_a_quieter_slot(page: Page, site: Site) -> None:
    # The drawing begins with the present hour, whose begin is over.
    hour = (datetime.now(UTC).hour + 3) % 24
    for name in ("load-0", "load-1", "load-2", "load-3", "load-4", "load-renewed_certificate_challenges"):
        site.create_task(name, "quick", f"0 20 {hour} * * *")
    site.create_task("load-interval", "quick", "0 0/20 * * * *")
    live(page, "/schedule?view=load&q=load-")
    section = page.get_by_role("region", name="Next 24 hours")
    expect(section.get_by_role("img", name="Planned load by minute: at most 7 tasks")).to_be_visible()
    section.get_by_role("button", name=f"{hour:02}:20, 7 tasks").click()
    due = page.get_by_role("region", name=f"Due at {hour:02}:20")
    expect(due.get_by_role("listitem")).to_have_count(7)
    # On a phone names break after their separators, and not within a word.
    page.set_viewport_size({"width": 360, "height": 800})
    assert due.locator(".agenda-what a").evaluate_all(BROKEN_WORDS) == []
    page.set_viewport_size({"width": 1280, "height": 800})
    due.get_by_role("button", name="Move load-3 to a quieter slot").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("radio").first).to_be_checked()
    dialog.get_by_role("button", name="Move to minute 19").click()
    expect(due.get_by_role("listitem")).to_have_count(6)
    assert site.task("load-3")["schedule"]["value"] == f"0 19 {hour} * * *"
    expect(section.get_by_role("button", name=f"{hour:02}:20, 6 tasks")).to_be_visible()
    # A schedule that names no single minute is changed in its form.
    due.get_by_role("button", name="Move load-interval to a quieter slot").click()
    expect(dialog).to_contain_text("names no single minute")
    dialog.get_by_role("button", name="Edit load-interval").click()
    expect(page.get_by_label("Description", exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    # The drawing can be pressed too, and has a table.
    section.locator("[data-at]").first.click()
    expect(page.get_by_role("region", name=re.compile("^Due at"))).to_be_visible()
    section.get_by_role("button", name="show as a table").click()
    expect(section.get_by_role("row").filter(has_text=f"{hour:02}:19")).to_contain_text("load-3")
