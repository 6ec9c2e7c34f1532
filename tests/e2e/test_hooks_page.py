"""Hooks and addresses for programs without an account: made, tried, changed, rotated and deleted in the dashboard."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import MODULE, SOURCE, Site, need_dashboard, start_site
from tests.e2e.test_alarms import changed, fits
from tests.e2e.test_pages import violations
from tests.e2e.test_truth import live
from tests.support.browser import PageOpener
from tests.support.forking import Nursery
from tests.support.ports import free_port
from tests.support.processes import ProcessStarter
from tests.support.waiting import wait_until
from tests.support.webhooks import LOOPBACK

WORD = "a-word-that-nobody-guesses"


@pytest.fixture
def keyed(tmp_path: Path, nursery: Nursery) -> Iterator[Site]:
    """A server that can keep secrets, with one of them."""
    need_dashboard()
    (tmp_path / f"{MODULE}.py").write_text(SOURCE)
    starter = ProcessStarter(tmp_path, nursery)
    try:
        site = start_site(tmp_path, starter, free_port(), env=LOOPBACK)
        changed(site, f'setSecret(input: {{ name: "shop", value: "{WORD}" }})')
        yield site
    finally:
        starter.end_all()


def call(site: Site, name: str) -> int:
    """What the hook answers to a request that knows the secret."""
    headers = {"authorization": f"Bearer {WORD}"}
    return httpx.post(f"{site.url}/hooks/{name}", json={}, headers=headers, trust_env=False).status_code


@pytest.mark.costly
def test_a_hook_is_made_used_changed_and_deleted(keyed: Site, new_page: PageOpener) -> None:
    page = new_page(keyed.url)
    live(page, "/hooks")
    hooks = page.get_by_role("region", name="Hooks")
    dialog = page.get_by_role("dialog")
    expect(hooks).to_contain_text("No hook yet")
    page.get_by_role("button", name="New hook").click()
    dialog.get_by_label("Name").fill("orders")
    dialog.get_by_label("Job that it starts").fill("no-such-job")
    dialog.get_by_label("Senders prove").select_option("BEARER")
    dialog.get_by_role("checkbox", name="shop").check()
    dialog.get_by_role("button", name="Create it").click()
    expect(dialog.get_by_label("Job that it starts")).to_have_attribute("aria-invalid", "true")
    dialog.get_by_label("Job that it starts").fill("quick")
    assert violations(page, "dialog[open]") == []
    dialog.get_by_role("button", name="Create it").click()
    row = hooks.locator("tbody tr", has_text="orders")
    expect(row).to_contain_text("/hooks/orders")
    assert call(keyed, "orders") == 202
    made = '{ runs(filter: { jobName: { eq: "quick" } }) { totalCount } }'
    assert keyed.ask(made)["runs"]["totalCount"] == 1
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    row.get_by_role("button", name="Copy the address").click()
    wait_until(
        lambda: page.evaluate("navigator.clipboard.readText()") == f"{keyed.url}/hooks/orders", message="the copy"
    )
    row.get_by_role("button", name="Disable").click()
    expect(row).to_contain_text("disabled")
    assert call(keyed, "orders") == 404
    row.get_by_role("button", name="Enable").click()
    row.get_by_role("button", name="Change").click()
    dialog.get_by_label("Job that it starts").fill("broken")
    dialog.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("broken")
    fits(page)
    row.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(hooks).to_contain_text("No hook yet")
    assert call(keyed, "orders") == 404


def shown(page: Page) -> str:
    """The address that is shown this once."""
    dialog = page.get_by_role("dialog", name="The address")
    url = dialog.locator("code").inner_text()
    dialog.get_by_role("button", name="I have it").click()
    return url


@pytest.mark.costly
def test_an_address_is_shown_once_rotated_and_deleted(keyed: Site, new_page: PageOpener) -> None:
    keyed.create_task("nightly", "quick")
    page = new_page(keyed.url)
    live(page, "/hooks")
    addresses = page.get_by_role("region", name="Addresses")
    dialog = page.get_by_role("dialog")
    expect(addresses).to_contain_text("No address yet")
    page.get_by_role("button", name="New address").click()
    dialog.get_by_label("What it is for").select_option("BADGE")
    dialog.get_by_role("button", name="Create it").click()
    expect(dialog.get_by_role("alert")).to_contain_text("a badge is of one task")
    dialog.get_by_label("Task").fill("nightly")
    dialog.get_by_role("button", name="Create it").click()
    first = shown(page)
    assert first.startswith(f"{keyed.url}/badge/")
    answer = httpx.get(first, trust_env=False)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml")
    row = addresses.locator("tbody tr")
    expect(row).to_contain_text("nightly")
    expect(page.get_by_text(first)).to_have_count(0)
    fits(page)
    row.get_by_role("button", name=re.compile("^Rotate")).click()
    dialog.get_by_role("button", name="Rotate").click()
    second = shown(page)
    assert [httpx.get(url, trust_env=False).status_code for url in (first, second)] == [404, 200]
    expect(row).to_have_count(1)
    row.get_by_role("button", name=re.compile("^Delete")).click()
    dialog.get_by_role("button", name="Delete").click()
    expect(addresses).to_contain_text("No address yet")
    assert httpx.get(second, trust_env=False).status_code == 404


@pytest.mark.costly
def test_a_ping_of_an_address_is_a_run_of_its_task(keyed: Site, new_page: PageOpener) -> None:
    keyed.create_task("backup", "foreign_job")
    page = new_page(keyed.url)
    live(page, "/hooks")
    page.get_by_role("button", name="New address").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What it is for").select_option("PING")
    dialog.get_by_label("Task").fill("backup")
    dialog.get_by_role("button", name="Create it").click()
    url = shown(page)
    live(page, "/tasks/backup")
    assert httpx.get(f"{url}/start", trust_env=False).text == "OK"
    assert httpx.post(url, content="copied 12 files", trust_env=False).text == "OK"
    expect(page.get_by_role("main")).to_contain_text("success")
