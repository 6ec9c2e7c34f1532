"""Sign-in in a browser: two people of different roles, each with what they may do, and a passkey on a device."""

import re
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.test_pages import CUT_OFF, WIDTHS, ready, violations
from tests.support.browser import BrowserWatch, PageOpener
from tests.support.waiting import wait_until

PASSWORD = "correct horse battery staple"
PATIENCE = 60_000
"""Milliseconds for what takes the server some seconds, such as to notice that a role has changed."""

PAGES_WITH_ACTIONS = ("/", "/tasks", "/tasks/shown", "/runs", "/runs/1", "/log/1", "/groups", "/nodes", "/jobs")
ACTIONS = re.compile("^(New|Run|Pause|Resume|Edit|Delete|Cancel|Retry|Set|Drain|High|Low)\\b")
"""What a button is called that changes something, by its first word."""


def fits_and_is_accessible(page: Page) -> None:
    """Nothing is cut off at any width, and axe finds nothing in either theme."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        wait_until(lambda: page.evaluate(CUT_OFF) == [], message=f"{page.url} to fit {width} px")
    assert violations(page) == []
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 800})


def give_device(page: Page) -> None:
    """Put a device that keeps passkeys, and knows its user, beside the page."""
    session: Any = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "internal", "automaticPresenceSimulation": True}
    user = {"hasResidentKey": True, "hasUserVerification": True, "isUserVerified": True}
    session.send("WebAuthn.addVirtualAuthenticator", {"options": {**options, **user}})


def shown_secret(page: Page) -> str:
    """Return what a dialog shows this once; the dialog is closed."""
    dialog = page.get_by_role("dialog")
    secret = dialog.locator("code").inner_text()
    dialog.get_by_role("button", name="I have it").click()
    expect(dialog).to_have_count(0)
    return secret


@pytest.mark.costly
@pytest.mark.timeout(180)
def test_two_people_of_different_roles_do_what_each_may(
    guarded: tuple[str, str], new_page: PageOpener, browser_watch: BrowserWatch
) -> None:
    browser_watch.allow(r"status of 40[01]|WebSocket|ERR_")
    url, link = guarded
    boss = new_page(url)
    becomes_the_first_administrator(boss, link)
    # Somebody else, as a viewer.
    boss.goto("/users")
    ready(boss)
    boss.get_by_role("button", name="Add a user").click()
    boss.get_by_role("dialog").get_by_label("Name").fill("boss")
    boss.get_by_role("dialog").get_by_role("button", name="Add").click()
    expect(boss.get_by_role("dialog").get_by_role("alert")).to_contain_text("exists already")
    boss.get_by_role("dialog").get_by_label("Name").fill("ada")
    boss.keyboard.press("Enter")
    expect(boss.get_by_role("dialog", name="A link for ada")).to_be_visible()
    recovery = shown_secret(boss)
    assert recovery.startswith(f"{url}/recover?token=cgl_")
    expect(boss.get_by_role("row", name="ada")).to_contain_text("viewer")
    fits_and_is_accessible(boss)
    ada = new_page(url)
    give_device(ada)
    ada.goto(recovery)
    fits_and_is_accessible(ada)
    ada.get_by_label("Password").fill(PASSWORD)
    ada.get_by_role("button", name="Set the password").click()
    ready(ada)
    something_is_there_to_change(boss, url)
    what_a_viewer_cannot_do(ada)
    a_passkey_is_made_and_signed_in_by(ada)
    a_token_is_shown_once(ada, url)
    # A new role ends the sign-ins, and who was looking at something comes back to it.
    ada.goto("/jobs?q=quick")
    ready(ada)
    boss.get_by_role("button", name="Change the role of ada").click()
    boss.get_by_role("dialog").get_by_label("Role").select_option("operator")
    boss.get_by_role("dialog").get_by_role("button", name="Change").click()
    expect(boss.get_by_role("row", name="ada")).to_contain_text("operator")
    expect(ada).to_have_url(f"{url}/login?ended&next=%2Fjobs%3Fq%3Dquick", timeout=PATIENCE)
    ada.get_by_role("button", name="Sign in with a passkey").click()
    expect(ada).to_have_url(f"{url}/jobs?q=quick")
    ready(ada)
    expect(ada.get_by_role("button", name="Run quick…")).to_be_enabled()
    a_secret_is_set_and_never_shown(boss)
    the_audit_log_tells_of_it(boss)


def becomes_the_first_administrator(page: Page, link: str) -> None:
    """By the link that the server printed, once a password is good enough."""
    page.goto(link)
    fits_and_is_accessible(page)
    page.get_by_label("Name").fill("boss")
    page.get_by_label("Password").fill("short")
    page.get_by_label("Password").evaluate("field => field.removeAttribute('minlength')")
    page.get_by_role("button", name="Make the administrator").click()
    expect(page.get_by_role("alert")).to_contain_text("must have 12 to 1024 characters")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    ready(page)
    expect(page.locator(".who")).to_have_text("boss")


def something_is_there_to_change(page: Page, url: str) -> None:
    """A task, an execution, and a run that waits for years."""
    task = 'createTask(input: {name: "shown", jobName: "quick", schedule: {syntax: CRON, value: "0 0 3 * * *"}})'
    runs = 'enqueueRuns(input: {runs: [{jobName: "quick"}, {jobName: "quick", runAt: "2100-01-01T00:00:00Z"}]})'
    query = f"mutation {{ {task} {{ errors {{ message }} }} {runs} {{ errors {{ message }} }} }}"
    answer = page.request.post(f"{url}/graphql", data={"query": query}, headers={"origin": url})
    assert answer.json()["data"] == {"createTask": {"errors": []}, "enqueueRuns": {"errors": []}}, answer.text()


def what_a_viewer_cannot_do(page: Page) -> None:
    """On every page: it is there, cannot be pressed, and says why."""
    for path in PAGES_WITH_ACTIONS:
        page.goto(path)
        ready(page)
        buttons = page.get_by_role("main").get_by_role("button", name=ACTIONS)
        expect(buttons).not_to_have_count(0)
        for button in buttons.all():
            expect(button).to_be_disabled()
            expect(button).to_have_attribute(
                "title", re.compile("^This needs the role (operator|admin), and you are a viewer$")
            )
    page.goto("/users")
    ready(page)
    expect(page.get_by_text("This needs the role admin, and you are a viewer.")).to_be_visible()
    page.goto("/audit")
    ready(page)
    expect(page.get_by_text("Not permitted")).to_be_visible()
    assert violations(page) == []
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 800})


def a_passkey_is_made_and_signed_in_by(page: Page) -> None:
    """Made on the page of the account, renamed, and used in the place of name and password."""
    page.locator(".who").click()
    ready(page)
    expect(page).to_have_title(re.compile("Account"))
    page.get_by_role("button", name="Add a passkey").click()
    page.get_by_role("dialog").get_by_label("Name").fill("phone")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row", name="phone")).to_contain_text("never")
    page.get_by_role("button", name="Add a passkey").click()
    page.get_by_role("dialog").get_by_label("Name").fill("again")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("This device has a passkey")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Discard it").click()
    page.get_by_role("button", name="Rename passkey phone").click()
    page.get_by_role("dialog").get_by_label("Name").fill("my phone")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row", name="my phone")).to_be_visible()
    page.get_by_role("button", name="Sign out", exact=True).click()
    # Nobody is told of a sign-in that has ended who has ended it.
    expect(page).to_have_url(re.compile("/login$"))
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    # By keys alone: name, password, the button, the passkey.
    expect(page.get_by_label("Name")).to_be_focused()
    fits_and_is_accessible(page)
    page.goto("/account?from=here")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    passkey = page.get_by_role("button", name="Sign in with a passkey")
    expect(passkey).to_be_visible()
    page.get_by_label("Name").focus()
    for _ in range(3):
        page.keyboard.press("Tab")
    expect(passkey).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/account\?from=here$"))
    ready(page)
    expect(page.get_by_role("row", name="my phone")).not_to_contain_text("never")
    expect(page.get_by_role("row", name="this browser")).to_be_visible()
    others = page.get_by_role("button", name="End all others")
    expect(others).to_be_disabled()
    # It says why to the keyboard and to a screen reader too.
    others.focus()
    expect(others).to_be_focused()
    expect(others).to_have_accessible_description("There is none but this one")


def a_token_is_shown_once(page: Page, url: str) -> None:
    """And is good until it is revoked."""
    page.get_by_role("button", name="Make a token").click()
    page.get_by_role("dialog").get_by_label("Name").fill("nightly")
    expect(page.get_by_role("dialog").get_by_label("Role").get_by_role("option")).to_have_count(1)
    page.get_by_role("dialog").get_by_role("button", name="Make it").click()
    expect(page.get_by_role("dialog", name="Your new token")).to_be_visible()
    secret = shown_secret(page)
    bearer = {"authorization": f"Bearer {secret}"}
    query = {"query": "{ viewer { name role } }"}
    answer = httpx.post(f"{url}/graphql", json=query, headers=bearer, trust_env=False).json()
    assert answer["data"]["viewer"] == {"name": "ada", "role": "VIEWER"}
    expect(page.get_by_role("row", name="nightly")).to_contain_text(secret[:8])
    assert secret not in page.content()
    fits_and_is_accessible(page)
    page.get_by_role("button", name="Revoke token nightly").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("No token yet")).to_be_visible()


def a_secret_is_set_and_never_shown(page: Page) -> None:
    """Its name is listed, its value nowhere."""
    page.goto("/secrets")
    ready(page)
    page.get_by_role("button", name="Add a secret").click()
    page.get_by_role("dialog").get_by_label("Name").fill("database")
    page.get_by_role("dialog").get_by_label("Value").fill("a very secret word")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row", name="database")).to_contain_text("no task")
    assert "a very secret word" not in page.content()
    page.reload()
    ready(page)
    fits_and_is_accessible(page)
    page.get_by_role("button", name="Delete secret database").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No secret yet")).to_be_visible()


def the_audit_log_tells_of_it(page: Page) -> None:
    """Filtered by who and what, with the values of a change."""
    page.goto("/audit")
    ready(page)
    change = page.get_by_role("row", name="account.role").get_by_role("listitem")
    expect(change).to_have_text("role: viewer → became operator")
    fits_and_is_accessible(page)
    page.get_by_label("Who", exact=True).fill("what:passkey ada")
    expect(page).to_have_url(re.compile(r"actor=ada&action=passkey|action=passkey&actor=ada"))
    expect(page.get_by_role("row", name="passkey.renamed")).to_have_count(1)
    expect(page.get_by_role("row", name="account.role")).to_have_count(0)
