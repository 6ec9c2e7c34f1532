"""What is done less often goes with a finger on the smallest screen, too: decisions, flows, log lines, accounts."""

import re
from functools import partial

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Site
from tests.e2e.hands import SCREEN, Finger, enqueue_flow
from tests.support.browser import PageOpener
from tests.support.waiting import wait_until

RESULT = "query($id: ID!) { run(id: $id) { result } }"


@pytest.fixture
def page(site: Site, new_page: PageOpener) -> Page:
    """The overview on a small phone."""
    page = new_page(site.url, viewport={"width": SCREEN, "height": 640}, touch=True)
    page.goto("/")
    expect(page.locator(".pill")).to_have_text("live")
    return page


def is_in(site: Site, run: str, state: str) -> bool:
    """Return whether a run is in that state."""
    return site.run_state(run) == state


@pytest.mark.costly
def test_what_waits_for_a_person_is_answered_and_rejected(page: Page, site: Site) -> None:
    finger = Finger(page)
    approved, rejected = (site.trigger("ordered", order=order) for order in (7, 8))
    for run in (approved, rejected):
        wait_until(partial(is_in, site, run, "SUSPENDED"), message="the run to wait for its signal")
    finger.visit("Inbox", "Waiting for people")
    finger.press(f"Answer approved of run {approved}")
    dialog = page.get_by_role("dialog")
    finger.press("Answer", dialog)
    limit = dialog.get_by_label("limit")
    expect(limit).to_be_focused()
    finger.write(limit, "9")
    finger.press("Answer", dialog)
    expect(page.get_by_role("article", name=f"Run {approved}", exact=True)).to_have_count(0)
    finger.press(f"Reject approved of run {rejected}")
    finger.write(dialog.get_by_label("Reason"), "too dear")
    finger.press("Reject", dialog)
    expect(page.get_by_text("No run waits for a person")).to_be_visible()
    results = {approved: "receipt for order 7, at most 9", rejected: "rejected: too dear"}
    for run, result in results.items():
        wait_until(partial(is_in, site, run, "SUCCESS"), message="the run to end")
        assert site.ask(RESULT, id=run)["run"]["result"] == result


@pytest.mark.costly
def test_a_flow_is_opened_cancelled_and_tried_again(page: Page, site: Site) -> None:
    finger = Finger(page)
    enqueue_flow(site, "under fingers", "finger-gate")
    finger.visit("Flows", "Flows")
    finger.tap(page.get_by_role("link", name="under fingers"))
    finger.arrive("under fingers")
    boxes = page.get_by_role("group", name="Runs in layers").get_by_role("listitem")
    expect(boxes).to_have_text([re.compile("hold.*running"), re.compile("mail.*suspended")])
    finger.press("Cancel")
    expect(boxes).to_have_text([re.compile("hold.*cancelled"), re.compile("mail.*(skipped|cancelled)")])
    finger.press("Retry what failed")
    expect(boxes).to_have_text([re.compile("hold.*running"), re.compile("mail.*suspended")])
    site.open_gate("finger-gate")
    expect(page.get_by_role("heading", level=1)).to_contain_text("success")
    finger.tap(boxes.first.get_by_role("link"))
    finger.arrive("success")


@pytest.mark.costly
def test_lines_of_logs_are_searched(page: Page, site: Site) -> None:
    finger = Finger(page)
    run = site.trigger("chatty", lines=30)
    wait_until(lambda: site.run_state(run) == "SUCCESS", message="the lines to be said")
    finger.visit("Log", "Execution log")
    finger.tap(page.get_by_role("link", name="Log lines"))
    finger.arrive("Log lines")
    finger.press("Filters")
    sheet = page.get_by_role("dialog", name="Filters")
    finger.write(sheet.get_by_label("Text in log lines"), "number 2")
    finger.write(sheet.get_by_role("combobox", name="Job", exact=True), "chatty")
    page.keyboard.press("Enter")
    finger.choose(sheet.get_by_label("Started within"), "24h")
    expect(page).to_have_url(re.compile("job=chatty"))
    finger.press("Show the list", sheet)
    lines = page.locator(".lines > li")
    expect(lines).to_have_count(11)
    expect(lines.first).to_be_in_viewport(ratio=0.5)
    finger.tap(lines.first.get_by_role("link"))
    finger.arrive("success")
    expect(page).to_have_url(re.compile("#L[0-9]+$"))
    expect(page.get_by_role("log")).to_contain_text("line number 2")


@pytest.mark.costly
def test_secrets_are_set_changed_and_deleted(page: Page) -> None:
    finger = Finger(page)
    dialog, row = page.get_by_role("dialog"), page.get_by_role("row", name="FINGER_KEY")
    finger.visit("Secrets", "Secrets")
    finger.press("Add a secret")
    finger.write(dialog.get_by_label("Name"), "FINGER_KEY")
    finger.write(dialog.get_by_label("Value"), "nobody reads this")
    finger.press("Set it", dialog)
    expect(row).to_contain_text("no task")
    finger.press("Set secret FINGER_KEY again")
    finger.write(dialog.get_by_label("Value"), "nor this")
    finger.press("Set it", dialog)
    expect(dialog).to_have_count(0)
    expect(page.locator(".notice", has_text="Secret FINGER_KEY is set")).to_have_count(2)
    finger.press("Delete secret FINGER_KEY")
    finger.press("Delete", dialog)
    expect(row).to_have_count(0)
    expect(page.get_by_text("nobody reads this")).to_have_count(0)


@pytest.mark.costly
def test_accounts_are_made_changed_and_ended_and_the_audit_log_tells_of_it(page: Page) -> None:
    finger = Finger(page)
    dialog, row = page.get_by_role("dialog"), page.get_by_role("row", name="touched")
    finger.visit("Users", "Users")
    finger.press("Add a user")
    finger.write(dialog.get_by_label("Name"), "touched")
    finger.choose(dialog.get_by_label("Role"), "OPERATOR")
    finger.press("Add", dialog)
    expect(page.get_by_role("dialog", name="A link for touched")).to_contain_text("/recover?token=cgl_")
    finger.press("I have it", dialog)
    expect(row).to_contain_text("operator")
    finger.press("Change the role of touched")
    finger.choose(dialog.get_by_label("Role"), "VIEWER")
    finger.press("Change", dialog)
    expect(row).to_contain_text("viewer")
    finger.press("Disable touched")
    finger.press("Disable", dialog)
    expect(row.get_by_role("cell", name="disabled", exact=True)).to_be_visible()
    finger.press("Enable touched")
    expect(row.get_by_role("cell", name="on", exact=True)).to_be_visible()
    finger.visit("Audit", "Audit log")
    finger.press("Filters")
    sheet = page.get_by_role("dialog", name="Filters")
    finger.choose(sheet.get_by_label("What", exact=True), "account")
    finger.write(sheet.get_by_label("Of what"), "touched")
    # Who is quick does not lose what takes effect only when one pauses.
    finger.press("Show the list", sheet)
    expect(page).to_have_url(re.compile("action=account&subject=touched|subject=touched&action=account"))
    expect(page.locator("tbody tr")).to_have_count(5)
    change = page.get_by_role("row", name="account.role").get_by_role("listitem")
    expect(change).to_have_text("role: operator → became viewer")
    finger.press("Filters, 2 set")
    finger.press("Clear filters", sheet)
    finger.press("Show the list", sheet)
    expect(page).to_have_url(re.compile("/audit$"))


@pytest.mark.costly
def test_settings_are_chosen_and_lead_on(page: Page) -> None:
    finger = Finger(page)
    finger.visit("Settings", "Settings")
    for label, value in (("Theme", "light"), ("Times", "local"), ("Rows of lists", "comfortable")):
        field = page.get_by_label(label, exact=True)
        finger.choose(field, value)
        expect(field).to_have_value(value)
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    finger.tap(page.get_by_role("link", name="prune_history").first)
    finger.arrive("prune_history")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    finger.visit("Settings", "Settings")
    expect(page.get_by_label("Times", exact=True)).to_have_value("local")
