"""Secrets, users, flows, audit, log lines, saved views and one's own account go by keys alone, and no focus is lost."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Site
from tests.e2e.hands import Hands, enqueue_flow
from tests.support.browser import BrowserWatch, PageOpener
from tests.support.waiting import wait_until

PASSWORD = "correct horse battery staple"
NEW_PASSWORD = "another horse altogether"


@pytest.fixture
def page(site: Site, new_page: PageOpener) -> Page:
    """The overview."""
    page = new_page(site.url)
    page.goto("/")
    expect(page.locator(".pill")).to_have_text("live")
    return page


@pytest.mark.costly
def test_secrets_are_set_changed_and_deleted(page: Page) -> None:
    hands = Hands(page)
    dialog, row = page.get_by_role("dialog"), page.get_by_role("row", name="KEYS_KEY")
    hands.press("g", "e")
    hands.arrive("Secrets")
    hands.use(page.get_by_role("button", name="Add a secret"))
    hands.keep(dialog.get_by_label("Name"))
    page.keyboard.type("KEYS_KEY")
    hands.write(dialog.get_by_label("Value"), "nobody reads this")
    hands.press("Enter")
    expect(row).to_contain_text("no task")
    hands.keep(page.get_by_role("button", name="Add a secret"))
    again = page.get_by_role("button", name="Set secret KEYS_KEY again")
    hands.use(again)
    hands.keep(dialog.get_by_label("Value"))
    page.keyboard.type("nor this")
    hands.press("Enter")
    expect(dialog).to_have_count(0)
    hands.keep(again)
    hands.use(page.get_by_role("button", name="Delete secret KEYS_KEY"))
    hands.keep(dialog.get_by_role("button", name="Keep it"))
    hands.use(dialog.get_by_role("button", name="Delete"))
    expect(row).to_have_count(0)
    hands.keep()


@pytest.mark.costly
def test_accounts_are_made_changed_and_ended(page: Page) -> None:
    hands = Hands(page)
    dialog, row = page.get_by_role("dialog"), page.get_by_role("row", name="typist")
    hands.press("g", "u")
    hands.arrive("Users")
    hands.use(page.get_by_role("button", name="Add a user"))
    hands.keep(dialog.get_by_label("Name"))
    page.keyboard.type("typist")
    hands.reach(dialog.get_by_label("Role"))
    hands.press("o")
    hands.use(dialog.get_by_role("button", name="Add"))
    expect(page.get_by_role("dialog", name="A link for typist")).to_contain_text("/recover?token=cgl_")
    hands.use(dialog.get_by_role("button", name="I have it"))
    expect(row).to_contain_text("operator")
    hands.keep()
    role = page.get_by_role("button", name="Change the role of typist")
    hands.use(role)
    hands.keep(dialog.get_by_label("Role"))
    hands.press("v")
    hands.use(dialog.get_by_role("button", name="Change"))
    expect(row).to_contain_text("viewer")
    hands.keep(role)
    hands.use(page.get_by_role("button", name="Disable typist"))
    hands.use(dialog.get_by_role("button", name="Disable"))
    expect(row).to_contain_text("disabled")
    hands.keep()
    hands.use(page.get_by_role("button", name="Enable typist"))
    expect(row).not_to_contain_text("disabled")
    hands.keep(page.get_by_role("button", name="Disable typist"))


@pytest.mark.costly
def test_a_flow_is_opened_cancelled_and_tried_again(page: Page, site: Site) -> None:
    hands = Hands(page)
    enqueue_flow(site, "under keys", "keys-flow-gate")
    hands.press("g", "f")
    hands.arrive("Flows")
    hands.press("/")
    page.keyboard.type("under keys")
    expect(page).to_have_url(re.compile(r"q=under"))
    hands.press("Escape")
    hands.walk_to(page.locator("tbody tr", has_text="under keys"))
    hands.press("Enter")
    hands.arrive("under keys")
    boxes = page.get_by_role("group", name="Runs in layers").get_by_role("listitem")
    expect(boxes).to_have_text([re.compile("hold.*running"), re.compile("mail.*suspended")])
    hands.use(page.get_by_role("button", name="Cancel"))
    retry = page.get_by_role("button", name="Retry what failed")
    expect(retry).to_be_visible()
    hands.keep(retry)
    hands.press("Enter")
    expect(boxes).to_have_text([re.compile("hold.*running"), re.compile("mail.*suspended")])
    hands.keep()
    site.open_gate("keys-flow-gate")
    expect(page.get_by_role("heading", level=1)).to_contain_text("success")
    hands.keep()
    hands.use(boxes.last.get_by_role("link"))
    hands.arrive("success")


@pytest.mark.costly
def test_the_audit_log_is_filtered_and_walked(page: Page, site: Site) -> None:
    hands = Hands(page)
    site.create_task("audited", "quick")
    hands.press("g", "a")
    hands.arrive("Audit log")
    hands.press("/")
    page.keyboard.type("what:Task subject:audited ")
    expect(page).to_have_url(re.compile("action=Task"))
    expect(page).to_have_url(re.compile("subject=audited"))
    hands.press("Escape", "Escape")
    row = page.locator("tbody tr")
    expect(row).to_have_count(1)
    hands.walk_to(row)
    expect(row).to_contain_text("createTask")
    hands.press("/")
    hands.press("Backspace", "Control+a", "Delete", "Backspace", "Control+a", "Delete", "Enter")
    expect(page).to_have_url(re.compile("/audit$"))
    hands.keep(page.get_by_role("combobox", name="Who"))


@pytest.mark.costly
def test_lines_of_logs_are_searched(page: Page, site: Site) -> None:
    hands = Hands(page)
    run = site.trigger("chatty", lines=30)
    wait_until(lambda: site.run_state(run) == "SUCCESS", message="the lines to be said")
    hands.press("g", "l")
    hands.arrive("Execution log")
    hands.use(page.get_by_role("link", name="Log lines"))
    hands.arrive("Log lines")
    hands.press("/")
    page.keyboard.type("job:chatty number 2")
    hands.press("Enter")
    lines = page.locator(".lines > li")
    expect(lines).to_have_count(11)
    hands.press("Escape", "j", "j")
    hands.keep(lines.nth(1))
    hands.press("Enter")
    hands.arrive("success")
    expect(page).to_have_url(re.compile("#L[0-9]+$"))


@pytest.mark.costly
def test_a_view_is_kept_renamed_deleted_and_taken_back(page: Page) -> None:
    hands = Hands(page)
    hands.press("g", "t")
    hands.arrive("Tasks")
    hands.press("/")
    page.keyboard.type("state:on ")
    expect(page).to_have_url(re.compile("state=on"))
    hands.press("Escape", "Escape")
    hands.use(page.locator("summary", has_text="Views"))
    name = page.get_by_label("Name of this view")
    hands.write(name, "what is on")
    hands.press("Enter")
    expect(page.get_by_role("link", name="what is on")).to_be_visible()
    hands.keep(name)
    hands.reach(page.get_by_role("button", name="Change the view what is on"), back=True)
    hands.press("Enter")
    hands.keep(name)
    hands.write(name, "all that is on")
    hands.press("Enter")
    renamed = page.get_by_role("link", name="all that is on")
    expect(renamed).to_be_visible()
    change = page.get_by_role("button", name="Change the view all that is on")
    hands.keep(change)
    hands.press("Enter")
    hands.keep(name)
    hands.use(page.get_by_role("button", name="Leave it as it is"))
    hands.keep(change)
    hands.use(page.get_by_role("button", name="Delete the view all that is on"))
    expect(renamed).to_have_count(0)
    hands.keep()
    hands.use(page.get_by_role("button", name="Undo"))
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    hands.keep()
    hands.use(page.locator("summary", has_text="Views"))
    hands.use(renamed)
    hands.keep(page.locator("summary", has_text="Views"))


@pytest.mark.costly
@pytest.mark.timeout(120)
def test_a_token_is_made_and_revoked_and_the_password_changed(
    guarded: tuple[str, str], new_page: PageOpener, browser_watch: BrowserWatch
) -> None:
    browser_watch.allow("status of 401|WebSocket")
    url, link = guarded
    page = new_page(url)
    hands = Hands(page)
    page.goto(link)
    hands.write(page.get_by_label("Name"), "boss")
    hands.write(page.get_by_label("Password"), PASSWORD)
    hands.press("Enter")
    expect(page.locator(".pill")).to_have_text("live")
    hands.press("g", "p")
    hands.arrive("Account")
    dialog = page.get_by_role("dialog")
    make = page.get_by_role("button", name="Make a token")
    hands.use(make)
    hands.keep(dialog.get_by_label("Name"))
    page.keyboard.type("nightly")
    hands.reach(dialog.get_by_label("Role"))
    hands.press("o")
    hands.reach(dialog.get_by_label("Lasts"))
    hands.press("3")
    hands.use(dialog.get_by_role("button", name="Make it"))
    expect(page.get_by_role("dialog", name="Your new token")).to_be_visible()
    hands.use(dialog.get_by_role("button", name="I have it"))
    expect(page.get_by_role("row", name="nightly")).to_contain_text("operator")
    hands.keep(make)
    hands.use(page.get_by_role("button", name="Revoke token nightly"))
    hands.use(dialog.get_by_role("button", name="Revoke"))
    expect(page.get_by_text("No token yet")).to_be_visible()
    hands.keep()
    change = page.get_by_role("button", name="Change it")
    hands.use(change)
    hands.keep(dialog.get_by_label("Present password"))
    page.keyboard.type("not this one")
    for field in ("New password", "Repeat it"):
        hands.write(dialog.get_by_label(field), NEW_PASSWORD)
    hands.press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text("This is not your password.")
    hands.keep(dialog.get_by_label("Present password"))
    hands.write(dialog.get_by_label("Present password"), PASSWORD)
    hands.press("Enter")
    expect(page.get_by_text("Your password is changed")).to_be_visible()
    hands.keep(change)
