"""Webhooks in the dashboard: tried, made, signed, changed, stopped, resumed, and their messages sent again."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from standardwebhooks import Webhook as Verifier

from tests.e2e.conftest import MODULE, SOURCE, Site, need_dashboard, start_site
from tests.e2e.test_alarms import changed, fits
from tests.e2e.test_pages import violations
from tests.e2e.test_truth import live
from tests.support.browser import PageOpener
from tests.support.forking import Nursery
from tests.support.ports import free_port
from tests.support.processes import ProcessStarter
from tests.support.waiting import wait_until
from tests.support.webhooks import LOOPBACK, Receiver, receiving

OWN = "subscription($job: String) { events(filter: { kinds: [EXECUTION_FINISHED], jobName: $job }) { kind at } }"


@pytest.fixture
def posting(tmp_path: Path, nursery: Nursery) -> Iterator[tuple[Site, Receiver, str]]:
    """A server without a webhook yet, and a receiver with its address."""
    need_dashboard()
    (tmp_path / f"{MODULE}.py").write_text(SOURCE)
    starter = ProcessStarter(tmp_path, nursery)
    try:
        with receiving() as (receiver, url):
            yield start_site(tmp_path, starter, free_port(), env=LOOPBACK), receiver, url
    finally:
        starter.end_all()


def tried_and_made(page: Page, url: str, site: Site) -> None:
    """Fill in the form, with faults at first, and look at what would have been sent."""
    dialog = page.get_by_role("dialog")
    page.get_by_role("button", name="New webhook").click()
    dialog.get_by_label("Name").fill("orders")
    dialog.get_by_label("URL").fill(f"{url}?token=abc")
    dialog.get_by_label("It posts").select_option("own")
    dialog.get_by_label("Subscription").fill("{ runs { totalCount } }")
    dialog.get_by_label("Variables").fill("{job")
    dialog.get_by_role("button", name="Try it").click()
    expect(dialog.get_by_role("alert")).to_contain_text("must be a JSON object")
    dialog.get_by_label("Variables").fill('{"job": "quick"}')
    dialog.get_by_role("button", name="Try it").click()
    expect(dialog.get_by_role("alert")).to_contain_text("must be a subscription with one field")
    expect(dialog.get_by_label("Subscription")).to_be_focused()
    dialog.get_by_label("Subscription").fill(OWN)
    dialog.get_by_role("button", name="Try it").click()
    expect(dialog.get_by_role("status")).to_contain_text("it would have sent 1 result in 1 message")
    expect(dialog.get_by_role("status")).to_contain_text('"kind": "EXECUTION_FINISHED"')
    assert dialog.evaluate("(dialog) => dialog.scrollWidth - dialog.clientWidth") == 0
    assert violations(page, "dialog[open]") == []
    assert site.ask("{ webhooks { totalCount } }")["webhooks"]["totalCount"] == 0
    dialog.get_by_role("button", name="Create it").click()


@pytest.mark.costly
@pytest.mark.timeout(180)
def test_a_webhook_is_tried_made_signed_changed_and_deleted(
    posting: tuple[Site, Receiver, str], new_page: PageOpener
) -> None:
    site, receiver, url = posting
    page = new_page(site.url)
    live(page, "/webhooks")
    hooks = page.get_by_role("region", name="Webhooks")
    dialog = page.get_by_role("dialog")
    expect(hooks).to_contain_text("No webhook yet")
    site.trigger("quick")
    tried_and_made(page, url, site)
    row = hooks.locator("tbody tr", has_text="orders")
    expect(row).to_contain_text("active")
    expect(row).to_contain_text("none yet")
    expect(page.get_by_text("token=abc")).to_have_count(0)
    row.get_by_role("button", name="Details").click()
    dialog.get_by_role("button", name="New secret").click()
    page.get_by_role("dialog", name="Sign messages").get_by_role("button", name="Make it").click()
    once = page.get_by_role("dialog", name="The secret")
    secret = once.locator("code").inner_text()
    once.get_by_role("button", name="I have it").click()
    expect(page.get_by_text(secret)).to_have_count(0)
    site.trigger("quick")
    wait_until(lambda: len(receiver.messages) == 1, message="the message")
    headers, body = receiver.messages[0]
    Verifier(secret).verify(body, headers)
    # The page hears of it without being asked to.
    expect(row).not_to_contain_text("none yet")
    fits(page)
    row.get_by_role("button", name="Disable").click()
    expect(row).to_contain_text("disabled")
    row.get_by_role("button", name="Enable").click()
    expect(row).to_contain_text("active")
    row.get_by_role("button", name="Change").click()
    expect(dialog.get_by_label("Subscription")).to_have_value(OWN)
    dialog.get_by_label("It posts").select_option("runs")
    dialog.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("runs")
    stored = site.ask("{ webhooks { nodes { document secrets url } } }")["webhooks"]["nodes"][0]
    assert (stored["document"].split()[1], stored["secrets"], stored["url"]) == ("Runs", ["orders-key"], url)
    row.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(hooks).to_contain_text("No webhook yet")


def failed_and_resumed(page: Page, receiver: Receiver) -> None:
    """The receiver wants nothing more; somebody resumes the webhook once it does."""
    row = page.get_by_role("region", name="Webhooks").locator("tbody tr", has_text="orders")
    expect(row).to_contain_text("stopped")
    expect(row).to_contain_text("the receiver answered 410")
    expect(row).to_contain_text("1 message waiting")
    fits(page)
    row.get_by_role("button", name="Details").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("listitem")).to_contain_text("the receiver answered 410")
    assert violations(page, "dialog[open]") == []
    receiver.status = 200
    dialog.get_by_role("button", name="Resume", exact=True).click()
    expect(dialog.get_by_role("listitem")).to_contain_text("It answered 200 ok")
    expect(row).to_contain_text("nothing waits")


@pytest.mark.costly
@pytest.mark.timeout(180)
def test_a_stopped_webhook_says_why_is_resumed_and_sends_again_from_an_event(
    posting: tuple[Site, Receiver, str], new_page: PageOpener
) -> None:
    site, receiver, url = posting
    receiver.status = 410
    ended = "subscription { events(filter: { kinds: [EXECUTION_FINISHED] }) { kind } }"
    changed(site, f'createWebhook(input: {{ name: "orders", url: "{url}", document: "{ended}" }})')
    page = new_page(site.url)
    live(page, "/webhooks")
    site.trigger("quick")
    failed_and_resumed(page, receiver)
    dialog = page.get_by_role("dialog")
    before = len(receiver.messages)
    dialog.get_by_role("button", name="Send again from an event").click()
    dialog.get_by_label("Behind the event").fill("yesterday")
    dialog.get_by_role("button", name="Send again").click()
    expect(dialog.get_by_role("alert")).to_contain_text("must be an event cursor")
    dialog.get_by_label("Behind the event").fill("0.0")
    dialog.get_by_role("button", name="Send again").click()
    wait_until(lambda: len(receiver.messages) == before + 1, message="the message to be sent again")
    assert len(set(receiver.ids)) == 1
    page.get_by_role("link", name="Deliveries").click()
    messages = page.get_by_role("region", name="Deliveries").locator("tbody tr")
    expect(messages).to_have_count(1)
    expect(messages).to_contain_text("1 result")
    # It is live: a further message shows by itself, with what comes of it.
    site.trigger("quick")
    expect(messages).to_have_count(2)
    expect(messages.first).to_contain_text("It answered 200 ok")
    receiver.status = 500
    site.trigger("quick")
    expect(messages.first).to_contain_text("the receiver answered 500")
    receiver.status = 200
    expect(messages.first).to_contain_text("It answered 200 ok")
    expect(messages.first.get_by_role("button", name=re.compile("^Send message"))).to_be_enabled()
