"""Each main flow with a finger on the smallest screen: nothing wider than it, and no target smaller than a finger."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Site
from tests.e2e.hands import SCREEN, Finger, Hands
from tests.support.browser import BrowserWatch, PageOpener
from tests.support.waiting import wait_until

PASSWORD = "correct horse battery staple"


@pytest.mark.costly
def test_everything_is_done_with_a_finger_on_a_small_phone(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url, viewport={"width": SCREEN, "height": 640}, touch=True)
    finger = Finger(page)
    page.goto("/")
    expect(page.locator(".pill")).to_have_text("live")
    make_a_task(page, finger, site)
    trigger_it_and_cancel_the_run(page, finger, site)
    filter_what_was_run(page, finger)
    pause_a_group(page, finger)


def make_a_task(page: Page, finger: Finger, site: Site) -> None:
    """The form, whose buttons stay in sight."""
    finger.visit("Tasks", "Tasks")
    finger.press("New task")
    form = page.get_by_role("dialog")
    finger.write(form.get_by_label("Name", exact=True), "by-finger")
    finger.write(form.get_by_label("Job", exact=True), "gated")
    finger.write(form.get_by_label("When", exact=True), "0 30 9 1 1 *")
    expect(form.locator(".next-times tbody tr")).to_have_count(3)
    create = form.get_by_role("button", name="Create task")
    expect(create).to_be_in_viewport(ratio=1)
    finger.tap(create)
    expect(form).to_have_count(0)
    assert site.task("by-finger")["schedule"]["value"] == "0 30 9 1 1 *"


def trigger_it_and_cancel_the_run(page: Page, finger: Finger, site: Site) -> None:
    """From the list to the task, to its run, to the end of that."""
    row = page.locator("tbody tr", has_text="by-finger")
    finger.tap(row.get_by_role("link", name="by-finger", exact=True))
    finger.arrive("by-finger")
    finger.press("Run now")
    execution = page.get_by_role("region", name="Executions").locator("tbody tr a.row-main")
    expect(execution).to_have_count(1)
    finger.tap(execution)
    finger.arrive("running")
    finger.press("Cancel")
    expect(page.get_by_role("heading", level=1)).to_contain_text("cancelled")
    newest = site.ask('{ runs(first: 1, filter: { taskName: { eq: "by-finger" } }) { nodes { state } } }')
    assert newest["runs"]["nodes"] == [{"state": "CANCELLED"}]


def filter_what_was_run(page: Page, finger: Finger) -> None:
    """The filters are a sheet, and close with what they found in sight."""
    finger.visit("Log", "Execution log")
    finger.press("Filters")
    sheet = page.get_by_role("dialog", name="Filters")
    task = sheet.get_by_role("combobox", name="Task", exact=True)
    finger.write(task, "by-finger")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("task=by-finger"))
    finger.press("Show the list", sheet)
    expect(sheet).to_have_count(0)
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_be_in_viewport(ratio=0.5)


def pause_a_group(page: Page, finger: Finger) -> None:
    """A group is paused with a reason, and resumed."""
    finger.visit("Groups", "Groups")
    finger.press("Pause group default")
    reason = page.get_by_role("dialog").get_by_label("Reason")
    finger.write(reason, "on the train")
    finger.press("Pause", page.get_by_role("dialog"))
    expect(page.locator("tbody tr", has_text="default")).to_contain_text("on the train")
    finger.press("Resume group default")
    expect(page.get_by_role("button", name="Pause group default")).to_be_visible()


LATER = "2090-01-01T00:00:00Z"
ENQUEUE = "mutation($runs: [EnqueueRunInput!]!) { enqueueRuns(input: { runs: $runs }) { runs { id } } }"


@pytest.mark.costly
@pytest.mark.timeout(120)
def test_everything_is_steered_with_a_finger_on_a_small_phone(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url, viewport={"width": SCREEN, "height": 640}, touch=True)
    finger = Finger(page)
    waiting = [{"jobName": "chatty", "group": "fingers", "runAt": LATER, "args": {"lines": 3}}] * 3
    runs = [run["id"] for run in site.ask(ENQUEUE, runs=waiting)["enqueueRuns"]["runs"]]
    page.goto("/")
    expect(page.locator(".pill")).to_have_text("live")
    change_a_run(page, finger, runs[0])
    act_on_many_runs(page, finger, site, runs)
    keep_a_view(page, finger)
    pause_a_task(page, finger, site)
    drain_a_node(page, finger)
    choose_settings(page, finger)


def change_a_run(page: Page, finger: Finger, run: str) -> None:
    """The run page: other arguments, and what was asked for."""
    finger.visit("Runs", "Runs")
    finger.tap(page.get_by_role("navigation", name="State of the runs").get_by_role("button", name="waiting"))
    expect(page).to_have_url(re.compile("state=WAITING"))
    finger.tap(page.get_by_role("link", name=run, exact=True))
    finger.arrive(f"Run {run}")
    finger.press("Change")
    dialog = page.get_by_role("dialog", name=f"Change run {run}")
    lines = dialog.get_by_label("lines")
    lines.fill("")
    finger.write(lines, "4")
    finger.press("Save", dialog)
    expect(page.get_by_role("region", name="Arguments")).to_contain_text("4")


def act_on_many_runs(page: Page, finger: Finger, site: Site, runs: list[str]) -> None:
    """Chosen runs are cancelled, then all that match get high priority."""
    finger.visit("Runs", "Runs")
    finger.tap(page.locator("label.check", has=page.get_by_label(f"Select run {runs[0]}", exact=True)))
    finger.press("Cancel", page.get_by_role("toolbar", name="Selected runs"))
    finger.press("Cancel them", page.get_by_role("dialog"))
    wait_until(lambda: site.run_state(runs[0]) == "CANCELLED", message="the chosen run to be cancelled")
    finger.press("Filters")
    sheet = page.get_by_role("dialog", name="Filters")
    group = sheet.get_by_role("combobox", name="Group", exact=True)
    finger.write(group, "fingers")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("group=fingers"))
    finger.press("Show the list", sheet)
    finger.press("High priority", page.get_by_role("group", name="All that match"))
    finger.press("Set high", page.get_by_role("dialog", name="Give runs high priority?"))
    expect(page.locator(".notice", has_text="2 runs set to high priority")).to_be_visible()


def keep_a_view(page: Page, finger: Finger) -> None:
    """What the list shows is kept under a name, and found by it."""
    finger.press("Filters, 1 set")
    sheet = page.get_by_role("dialog", name="Filters")
    expect(sheet).to_be_visible()
    finger.tap(sheet.get_by_text("Views"))
    finger.write(sheet.get_by_label("Name of this view"), "by fingers")
    finger.press("Save", sheet)
    expect(sheet.get_by_role("link", name="by fingers")).to_be_visible()
    finger.press("Clear filters", sheet)
    expect(page).not_to_have_url(re.compile("group="))
    finger.tap(sheet.get_by_text("Views"))
    finger.tap(sheet.get_by_role("link", name="by fingers"))
    expect(page).to_have_url(re.compile("group=fingers"))
    finger.press("Show the list", sheet)
    expect(page.locator("tbody tr")).to_have_count(2)


def pause_a_task(page: Page, finger: Finger, site: Site) -> None:
    """A task is paused from the list, and the pause is taken back."""
    site.create_task("finger-paused", "quick")
    finger.visit("Tasks", "Tasks")
    finger.press("Pause finger-paused")
    finger.write(page.get_by_role("dialog").get_by_label("Reason"), "on the train")
    finger.press("Pause", page.get_by_role("dialog"))
    wait_until(lambda: site.task("finger-paused")["pauseReason"] == "on the train", message="the task to be paused")
    finger.press("Undo", page.locator(".notice", has_text="finger-paused is paused"))
    wait_until(lambda: site.task("finger-paused")["pausedAt"] is None, message="the task to go on")


def drain_a_node(page: Page, finger: Finger) -> None:
    """A node takes nothing new for a while."""
    finger.visit("Nodes", "Nodes")
    row = page.locator("tbody tr", has_text="active")
    finger.tap(row.get_by_role("button", name=re.compile("^Drain ")))
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("It takes nothing new")
    finger.press("Keep it", dialog)
    expect(dialog).to_have_count(0)
    expect(row).to_have_count(1)


def choose_settings(page: Page, finger: Finger) -> None:
    """What holds for this browser."""
    finger.visit("Settings", "Settings")
    theme = page.get_by_label("Theme", exact=True)
    finger.tap(theme)
    page.keyboard.press("Escape")
    theme.select_option("dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    finger.tap(page.get_by_role("button", name="Times are shown in UTC; switch"))
    expect(page.get_by_label("Times", exact=True)).to_have_value("local")


@pytest.mark.costly
def test_signing_in_and_out_goes_with_a_finger_and_by_keys_alone(
    guarded: tuple[str, str], new_page: PageOpener, browser_watch: BrowserWatch
) -> None:
    browser_watch.allow("status of 401|WebSocket")
    url, link = guarded
    page = new_page(url, viewport={"width": SCREEN, "height": 640}, touch=True)
    finger = Finger(page)
    page.goto("/tasks?q=cleanup")
    expect(page.get_by_role("main")).to_contain_text("Open the one-time link that it printed when it started")
    page.goto(link)
    finger.write(page.get_by_label("Name"), "boss")
    finger.write(page.get_by_label("Password"), PASSWORD)
    finger.press("Make the administrator")
    expect(page.locator(".pill")).to_have_text("live")
    finger.tap(page.locator(".who"))
    finger.arrive("Account")
    finger.press("Sign out")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.goto("/tasks?q=cleanup")
    expect(page.get_by_label("Name")).to_be_focused()
    finger.write(page.get_by_label("Name"), "boss")
    finger.write(page.get_by_label("Password"), "not this one")
    finger.press("Sign in")
    expect(page.get_by_role("alert").first).to_have_text("The name or the password is wrong.")
    expect(page.get_by_label("Name")).to_have_value("boss")
    expect(page.get_by_label("Password")).to_be_focused()
    finger.write(page.get_by_label("Password"), PASSWORD)
    finger.press("Sign in")
    expect(page).to_have_url(f"{url}/tasks?q=cleanup")
    finger.arrive("Tasks")
    hands = Hands(page)
    hands.use(page.locator(".who"))
    hands.arrive("Account")
    hands.use(page.get_by_role("button", name="Sign out", exact=True))
    expect(page.get_by_label("Name")).to_be_focused()
    page.keyboard.type("boss")
    hands.write(page.get_by_label("Password"), PASSWORD)
    hands.press("Enter")
    expect(page).to_have_url(f"{url}/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
