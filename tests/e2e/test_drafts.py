"""What is typed is never lost: neither by a session that ends, nor by a reload."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Site
from tests.e2e.test_truth import live
from tests.support.browser import BrowserWatch, PageOpener

PASSWORD = "correct horse battery staple"


def fill_new_task(page: Page) -> None:
    """Open the form of a new task, and type most of it."""
    live(page, "/tasks?new=1")
    form = page.get_by_role("dialog", name="New task")
    form.get_by_label("Name").fill("typed")
    form.get_by_label("Job", exact=True).fill("quick")
    form.get_by_label("When").fill("0 0 3 * * *")
    form.get_by_label("Description").fill("what took long to write")


def signed_in(guarded: tuple[str, str], new_page: PageOpener) -> Page:
    """A page of the first administrator."""
    url, link = guarded
    page = new_page(url)
    page.goto(link)
    page.get_by_label("Name").fill("boss")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.locator(".who")).to_have_text("boss")
    return page


@pytest.mark.costly
def test_a_session_that_ends_under_a_form_asks_above_it_and_then_sends_it(
    guarded: tuple[str, str], new_page: PageOpener, browser_watch: BrowserWatch
) -> None:
    browser_watch.allow("status of 401|WebSocket")
    page = signed_in(guarded, new_page)
    fill_new_task(page)
    # Else the preview that is asked for while one types may find the session ended before the form does.
    expect(page.get_by_role("dialog")).to_contain_text("03:00")
    page.context.clear_cookies()
    page.get_by_role("button", name="Create task").click()
    again = page.get_by_role("dialog", name="Sign in again")
    expect(again.get_by_label("Name")).to_have_value("boss")
    again.get_by_label("Password").fill("not this one")
    again.get_by_role("button", name="Sign in", exact=True).click()
    expect(again.get_by_role("alert")).to_be_visible()
    again.get_by_label("Password").fill(PASSWORD)
    again.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("tbody tr").filter(has_text="typed")).to_be_visible()
    live(page, "/tasks/typed")
    expect(page.locator("main")).to_contain_text("what took long to write")


@pytest.mark.costly
def test_a_new_password_in_one_tab_disturbs_no_form_in_another(
    guarded: tuple[str, str], new_page: PageOpener, browser_watch: BrowserWatch
) -> None:
    browser_watch.allow("status of 401|WebSocket")
    page = signed_in(guarded, new_page)
    fill_new_task(page)
    # What the socket says when its session ends, and that it is opened again with the new one.
    with page.expect_event("websocket"):
        account = page.context.new_page()
        live(account, f"{guarded[0]}/account")
        account.get_by_label("Password").get_by_role("button", name="Change it").click()
        account.get_by_label("Present password").fill(PASSWORD)
        for field in ("New password", "Repeat it"):
            account.get_by_label(field).fill("another horse altogether")
        account.keyboard.press("Enter")
        expect(account.get_by_text("Your password is changed")).to_be_visible()
    expect(page.locator(".pill")).to_have_text("live")
    expect(page.get_by_role("dialog")).to_have_count(1)
    page.get_by_role("button", name="Create task").click()
    expect(page.locator("tbody tr").filter(has_text="typed")).to_be_visible()
    account.close()


@pytest.mark.costly
def test_a_draft_survives_a_reload_and_can_be_thrown_away(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    fill_new_task(page)
    page.reload()
    form = page.get_by_role("dialog", name="New task")
    expect(form.get_by_label("Description")).to_have_value("what took long to write")
    expect(form.get_by_label("When")).to_have_value("0 0 3 * * *")
    form.get_by_role("button", name="Start over").click()
    expect(form.get_by_label("Description")).to_have_value("")
    form.get_by_label("Description").fill("something else")
    form.get_by_role("button", name="Cancel").click()
    live(page, "/tasks?new=1")
    expect(form.get_by_label("Description")).to_have_value("")
