"""Channels in the dashboard: made, tested, changed and deleted by a form, which shows no secret part of an address."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import Site
from tests.e2e.test_alarms import alarmed, changed, create_alarm, fits
from tests.e2e.test_pages import violations
from tests.e2e.test_truth import live
from tests.support.browser import PageOpener
from tests.support.waiting import wait_until
from tests.support.webhooks import Receiver

STORED = "{ channels { nodes { name address definition } } }"

__all__ = ["alarmed"]


def stored(site: Site) -> dict[str, dict[str, object]]:
    """The channels as files have them, by their names."""
    return {one["name"]: one["definition"] for one in site.ask(STORED)["channels"]["nodes"]}


def made_and_tested(page: Page, dialog: Locator, url: str) -> None:
    """Fill in the form by keys, with faults at first, and look at what the receiver says."""
    page.get_by_role("button", name="New channel").press("Enter")
    dialog.get_by_label("Name").fill("ops")
    dialog.get_by_label("It sends to").select_option("webhook")
    dialog.get_by_label("URL").fill("example.com")
    dialog.get_by_label("URL").press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("There is a channel 'ops'")
    expect(dialog.get_by_label("Name")).to_be_focused()
    dialog.get_by_label("Name").fill("night")
    dialog.get_by_label("hook", exact=True).check()
    dialog.get_by_label("Name").press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("example.com")
    expect(dialog.get_by_label("URL")).to_be_focused()
    dialog.get_by_label("URL").fill(f"{url}?token=abc")
    dialog.get_by_role("button", name="Create and test it").press("Enter")
    expect(dialog.get_by_role("status")).to_contain_text("It answered 200 ok")
    expect(page.get_by_role("dialog", name="Channel night")).to_be_visible()


def routed(page: Page, dialog: Locator) -> None:
    """Choose alarms that do not name it, on a phone."""
    page.set_viewport_size({"width": 390, "height": 844})
    dialog.get_by_label("It gets").select_option("routed")
    dialog.get_by_label("Labels").fill("team")
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("Write key=value")
    dialog.get_by_label("Labels").fill("")
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("must have severities, groups or labels")
    dialog.get_by_label("Labels").fill("team=data, tier=1")
    dialog.get_by_label("critical").check()
    assert dialog.evaluate("(dialog) => dialog.scrollWidth - dialog.clientWidth") == 0
    assert violations(page, "dialog[open]") == []
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog).to_have_count(0)


def not_overwritten(site: Site, row: Locator, dialog: Locator, url: str) -> None:
    """Change a channel in the form, while somebody else does so."""
    row.get_by_role("button", name="Change").click()
    expect(dialog.get_by_label("Groups")).to_have_value("nightly, reports")
    settings = f'settings: {{ webhook: {{ url: "{url}", secrets: ["hook"] }} }}'
    changed(site, f'setChannel(input: {{ name: "night", {settings} }})')
    dialog.get_by_label("Groups").fill("weekly")
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("Channel 'night' is at version 5, got 4")
    assert stored(site)["night"] == {"kind": "webhook", "url": url, "secrets": ["hook"]}
    dialog.get_by_role("button", name="Cancel").click()


@pytest.mark.costly
@pytest.mark.timeout(180)
def test_a_channel_is_made_tested_changed_and_deleted(alarmed: tuple[Site, Receiver], new_page: PageOpener) -> None:
    site, receiver = alarmed
    create_alarm(site, "moody-failing")
    url = str(stored(site)["ops"]["url"])
    page = new_page(site.url)
    live(page, "/alarms")
    channels, dialog = page.get_by_role("region", name="Channels"), page.get_by_role("dialog")
    made_and_tested(page, dialog, url)
    receiver.status = 404
    dialog.get_by_role("button", name="Save and test").click()
    expect(dialog.get_by_role("status")).to_contain_text("the receiver answered 404")
    expect(dialog.get_by_role("status")).to_contain_text("The next try is")
    receiver.status = 200
    routed(page, dialog)
    route = {"severities": ["critical"], "labels": {"team": "data", "tier": "1"}}
    night = {"kind": "webhook", "url": f"{url}?token=abc", "secrets": ["hook"], "route": route}
    assert stored(site)["night"] == night
    fits(page)

    live(page, "/alarms")
    row = channels.locator("tbody tr", has_text="night")
    row.get_by_role("button", name="Change").click()
    expect(dialog.get_by_label("Labels")).to_have_value("team=data, tier=1")
    expect(dialog.get_by_label("URL")).to_have_value("")
    expect(dialog.get_by_label("URL")).to_have_attribute("placeholder", url)
    assert "token=abc" not in page.content()
    dialog.get_by_label("Groups").fill("nightly, reports")
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog).to_have_count(0)
    assert stored(site)["night"] == {**night, "route": {**route, "groups": ["nightly", "reports"]}}
    not_overwritten(site, row, dialog, url)
    row.get_by_role("button", name="Change").click()
    dialog.get_by_label("It sends to").select_option("chat")
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    dialog.get_by_label("Secret with the URL").select_option("hook")
    dialog.get_by_label("Messages are").select_option("TEAMS")
    dialog.get_by_label("It gets").select_option("named")
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(row).to_contain_text("secret 'hook'")
    assert stored(site)["night"] == {"kind": "chat", "url_secret": "hook", "form": "teams"}

    page.get_by_role("button", name="Delete channel ops").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(dialog.get_by_role("alert")).to_contain_text("is used by the alarms 'moody-failing'")
    assert violations(page, "dialog[open]") == []
    dialog.get_by_label("Also if alarms notify it").check()
    dialog.get_by_role("button", name="Delete").click()
    expect(channels.locator("tbody tr")).to_have_count(1)
    wait_until(lambda: list(stored(site)) == ["night"], message="the channel to be deleted")
