"""The page of alarms: what fires shows at once, and each of its buttons does what it says."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import MODULE, SOURCE, Site, need_dashboard, start_site
from tests.e2e.test_pages import CUT_OFF, TOO_SMALL, WIDTHS, violations
from tests.e2e.test_truth import live
from tests.support.browser import PageOpener
from tests.support.forking import Nursery
from tests.support.ports import free_port
from tests.support.processes import ProcessStarter
from tests.support.waiting import wait_until
from tests.support.webhooks import LOOPBACK, SECRET, Receiver, receiving

MOODY = """

@job("moody", retries=0)
async def moody() -> None:
    if not Path("calm").exists():
        raise PermanentFailure("in a bad mood")
"""


@pytest.fixture
def alarmed(tmp_path: Path, nursery: Nursery) -> Iterator[tuple[Site, Receiver]]:
    """A server with a channel to a receiver, and without an alarm yet."""
    need_dashboard()
    (tmp_path / f"{MODULE}.py").write_text(SOURCE + MOODY)
    starter = ProcessStarter(tmp_path, nursery)
    try:
        with receiving() as (receiver, url):
            site = start_site(tmp_path, starter, free_port(), env=LOOPBACK)
            changed(site, f'setSecret(input: {{ name: "hook", value: "{SECRET}" }})')
            settings = f'{{ webhook: {{ url: "{url}", secrets: ["hook"] }} }}'
            changed(site, f'setChannel(input: {{ name: "ops", settings: {settings} }})')
            yield site, receiver
    finally:
        starter.end_all()


def changed(site: Site, mutation: str) -> None:
    """Change something that is not refused."""
    payload = site.ask(f"mutation {{ done: {mutation} {{ errors {{ message }} }} }}")["done"]
    assert payload["errors"] == []


def create_alarm(site: Site, name: str) -> None:
    """An alarm that fires when the moody job fails, and notifies the receiver."""
    subject = 'subject: { job: "moody" }, condition: { failing: { failedRuns: 1 } }'
    changed(site, f'createAlarm(input: {{ name: "{name}", {subject}, channels: ["ops"], severity: CRITICAL }})')


def fits(page: Page) -> None:
    """The page fits every width and is accessible."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        wait_until(lambda: page.evaluate(CUT_OFF) == [], message=f"the page to fit {width} px")
        assert page.evaluate(TOO_SMALL) == []
    assert violations(page) == []
    page.set_viewport_size({"width": 1360, "height": 900})


@pytest.mark.costly
@pytest.mark.timeout(180)
def test_what_fires_shows_at_once_and_is_acknowledged(alarmed: tuple[Site, Receiver], new_page: PageOpener) -> None:
    site, _ = alarmed
    page = new_page(site.url)
    live(page, "/alarms")
    firing, history = (page.get_by_role("region", name=name) for name in ("Firing now", "History"))
    expect(firing).to_contain_text("There is no alarm yet")
    expect(firing).to_contain_text("cronograph alarms create")
    for name in ("moody-first", "moody-second"):
        create_alarm(site, name)
    live(page, "/alarms")
    expect(firing).to_contain_text("No alarm fires")
    expect(history).to_contain_text("No alarm has fired")
    entry = page.get_by_role("navigation", name="Pages").get_by_role("link", name=re.compile("^Alarms"))
    expect(entry).to_have_text("Alarms")
    run = site.trigger("moody")
    expect(firing.locator("tbody tr")).to_have_count(2)
    expect(firing).to_contain_text(f"Job 'moody' failed 1 time in a row, last in run {run}")
    expect(entry).to_have_text("Alarms2 firing")
    expect(firing.get_by_role("link", name=f"run {run}").first).to_have_attribute("href", f"/runs/{run}")
    fits(page)

    other = new_page(site.url)
    live(other, "/alarms")
    newest = firing.locator("tbody tr").first
    newest.get_by_role("button", name="Acknowledge").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Note").fill("on it")
    dialog.get_by_role("button", name="Acknowledge").click()
    acknowledged = page.get_by_role("region", name="Acknowledged")
    expect(acknowledged).to_contain_text("takes care of it")
    expect(acknowledged).to_contain_text("on it")
    # Another person sees it at once, too.
    expect(other.get_by_role("region", name="Acknowledged")).to_contain_text("on it")
    changed(site, 'silenceAlarm(input: { name: "moody-first", endsAt: "2040-01-01T00:00:00Z", reason: "a move" })')
    expect(other.get_by_role("main")).to_contain_text("a move")
    changed(site, 'silenceAlarm(input: { name: "moody-first" })')
    expect(other.get_by_role("main")).not_to_contain_text("a move")
    expect(firing.locator("tbody tr")).to_have_count(1)
    expect(entry).to_have_text("Alarms1 firing")
    page.get_by_role("link", name="Overview").click()
    verdict = page.get_by_role("region", name="Is anything wrong?")
    expect(verdict).to_contain_text("1 alarm fires")
    verdict.get_by_role("link", name="moody-first").click()
    page.get_by_role("button", name="Acknowledge all").click()
    dialog.get_by_role("button", name="Acknowledge").click()
    expect(acknowledged.locator("tbody tr")).to_have_count(2)
    expect(entry).to_have_text("Alarms")


@pytest.mark.costly
def test_what_is_over_is_in_the_history_with_its_messages_which_can_be_sent_again(
    alarmed: tuple[Site, Receiver], new_page: PageOpener
) -> None:
    site, receiver = alarmed
    create_alarm(site, "moody-failing")
    page = new_page(site.url)
    live(page, "/alarms")
    firing, history = (page.get_by_role("region", name=name) for name in ("Firing now", "History"))
    dialog = page.get_by_role("dialog")
    site.trigger("moody")
    expect(firing.locator("tbody tr")).to_have_count(1)
    site.open_gate("calm")
    site.trigger("moody")
    expect(history.locator("tbody tr")).to_have_count(1)
    expect(firing).to_contain_text("No alarm fires")
    history.get_by_role("button", name="Details").first.click()
    expect(dialog).to_contain_text("Values that decided")
    expect(dialog.get_by_role("listitem")).to_have_count(2)
    expect(dialog.get_by_role("listitem").last).to_contain_text("It answered 200 ok")
    assert violations(page, "dialog[open]") == []
    before = len(receiver.messages)
    dialog.get_by_role("button", name="Send message").first.click()
    wait_until(lambda: len(receiver.messages) == before + 1, message="the message to be sent again")
    assert receiver.ids[-1] in receiver.ids[:-1]
    expect(dialog.get_by_role("listitem").first).to_contain_text("accepted")
    expect(dialog.get_by_role("button", name="Send message").first).to_be_enabled()


@pytest.mark.costly
def test_an_alarm_is_silenced_with_a_reason_and_a_channel_tested(
    alarmed: tuple[Site, Receiver], new_page: PageOpener
) -> None:
    site, receiver = alarmed
    create_alarm(site, "moody-failing")
    page = new_page(site.url)
    live(page, "/alarms")
    dialog = page.get_by_role("dialog")
    page.get_by_role("button", name="Silence alarm moody-failing").click()
    until = dialog.get_by_label(re.compile("^Until"))
    chosen = until.input_value()
    until.fill("")
    dialog.get_by_role("button", name="Silence it").click()
    expect(dialog.get_by_role("alert")).to_have_text("Say until when it is quiet")
    until.fill("2020-01-01T00:00:00")
    dialog.get_by_role("button", name="Silence it").click()
    expect(until).to_have_attribute("aria-invalid", "true")
    until.fill(chosen)
    dialog.get_by_label("Reason").fill("deploy")
    dialog.get_by_role("button", name="Silence it").click()
    silenced = page.get_by_role("region", name="Silenced")
    expect(silenced).to_contain_text("deploy")
    stored = "{ alarms { nodes { silenceEndsAt silenceReason } } }"
    assert site.ask(stored)["alarms"]["nodes"] == [
        {"silenceEndsAt": f"{chosen}Z", "silenceReason": "deploy"},
    ]
    site.trigger("moody")
    expect(page.get_by_role("region", name="Firing now")).to_contain_text("no channel was notified")
    assert receiver.messages == []
    silenced.get_by_role("button", name="End the silence").click()
    expect(silenced).to_have_count(0)
    wait_until(lambda: len(receiver.messages) == 1, message="the message after the silence")

    page.get_by_role("button", name="Test channel ops").click()
    expect(dialog).to_contain_text("It answered 200 ok")
    dialog.get_by_role("button", name="Done").click()
    receiver.status = 404
    page.get_by_role("button", name="Test channel ops").click()
    expect(dialog).to_contain_text("the receiver answered 404")
    expect(dialog).to_contain_text("The next try is")
    assert violations(page, "dialog[open]") == []


@pytest.mark.costly
def test_an_alarm_is_made_at_its_task(alarmed: tuple[Site, Receiver], new_page: PageOpener) -> None:
    site, _ = alarmed
    site.create_task("night", "moody")
    page = new_page(site.url)
    live(page, "/tasks/night")
    page.get_by_role("button", name="alarms").click()
    alarms = page.get_by_role("region", name="Alarms")
    expect(alarms).to_contain_text("No alarm watches it")
    alarms.get_by_role("button", name="New alarm").click()
    dialog = page.get_by_role("dialog", name="New alarm for task night")
    expect(dialog.get_by_label("Name")).to_have_value("night-late")
    dialog.get_by_label("It fires when").select_option(label="It is not done in time")
    dialog.get_by_role("button", name="Create it").click()
    expect(dialog.get_by_role("alert")).to_have_text("Fill in one of the two")
    expect(dialog.get_by_label("Not done by")).to_be_focused()
    dialog.get_by_label("It fires when").select_option(label="It takes too long")
    dialog.get_by_label("Longer than").first.fill("1.5")
    dialog.get_by_label("Unit").select_option("hours")
    dialog.get_by_label("Severity").select_option("critical")
    dialog.get_by_role("checkbox", name="ops").check()
    assert violations(page, "dialog[open]") == []
    dialog.get_by_role("button", name="Create it").click()
    expect(alarms.locator("tbody tr")).to_have_count(1)
    stored = "{ alarms { nodes { name severity channels settings { after } subject { kind name } } } }"
    assert site.ask(stored)["alarms"]["nodes"] == [
        {
            "name": "night-slow",
            "severity": "CRITICAL",
            "channels": ["ops"],
            "settings": {"after": 5400},
            "subject": {"kind": "TASK", "name": "night"},
        }
    ]
    alarms.get_by_role("button", name="Delete alarm night-slow").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(alarms).to_contain_text("No alarm watches it")


@pytest.mark.costly
@pytest.mark.timeout(180)
def test_what_fires_is_seen_and_handled_at_its_task(alarmed: tuple[Site, Receiver], new_page: PageOpener) -> None:
    site, receiver = alarmed
    site.create_task("night", "moody")
    # It watches the job of the task, and notices the same.
    create_alarm(site, "moody-failing")
    page = new_page(site.url)
    live(page, "/tasks/night?tab=alarms")
    tab = page.get_by_role("button", name=re.compile("^alarms"))
    bell = page.locator("a.bell")
    alarms = page.get_by_role("region", name="Alarms")
    expect(bell).to_have_accessible_name("No alarm fires")
    site.trigger("moody")
    expect(tab).to_have_text("alarms1 firing")
    expect(bell).to_have_accessible_name("1 alarm fires")
    row = alarms.locator("tbody tr", has_text="moody-failing")
    expect(row).to_contain_text("fires")
    expect(row).to_contain_text("failed 1 time in a row")
    fits(page)
    row.get_by_role("button", name="Acknowledge").click()
    page.get_by_role("dialog").get_by_role("button", name="Acknowledge").click()
    expect(row).to_contain_text("acknowledged")
    expect(tab).to_have_text("alarms")
    row.get_by_role("button", name="Silence alarm moody-failing").click()
    page.get_by_role("dialog").get_by_role("button", name="Silence it").click()
    expect(row).to_contain_text("silenced")
    row.get_by_role("button", name="End the silence").click()
    expect(row).to_contain_text("acknowledged")
    row.get_by_role("button", name="Details").click()
    expect(page.get_by_role("dialog")).to_contain_text("Values that decided")
    page.keyboard.press("Escape")
    wait_until(lambda: receiver.messages != [], message="the message of the alarm that fired")


@pytest.mark.costly
def test_alarms_of_jobs_and_groups_are_made_on_their_pages_and_of_anything_on_that_of_alarms(
    alarmed: tuple[Site, Receiver], new_page: PageOpener
) -> None:
    site, _ = alarmed
    site.create_task("night", "moody", group="billing")
    page = new_page(site.url)
    live(page, "/jobs/moody")
    page.get_by_role("region", name="Alarms").get_by_role("button", name="New alarm").click()
    dialog = page.get_by_role("dialog", name=re.compile("^New alarm"))
    dialog.get_by_role("button", name="Create it").click()
    expect(page.get_by_role("region", name="Alarms").locator("tbody tr")).to_contain_text("moody-failing")
    live(page, "/groups")
    page.get_by_role("button", name="Alarms of group billing").click()
    page.get_by_role("button", name="New alarm").click()
    dialog.get_by_label("It fires when").select_option(label="Its runs wait too long, or too many wait")
    dialog.get_by_label("… or more wait than").fill("many")
    dialog.get_by_role("button", name="Create it").click()
    expect(dialog.get_by_role("alert")).to_have_text("Must be a whole number, or empty")
    dialog.get_by_label("… or more wait than").fill("10")
    dialog.get_by_role("button", name="Create it").click()
    expect(page.get_by_role("dialog").locator("tbody tr")).to_contain_text("billing-backlog")
    live(page, "/alarms")
    page.get_by_role("button", name="New alarm").click()
    dialog.get_by_label("It watches").select_option(label="a task")
    dialog.get_by_role("button", name="Create it").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    dialog.get_by_label("It watches").select_option(label="nodes")
    expect(dialog.get_by_label("Name")).to_have_value("node")
    dialog.get_by_role("button", name="Create it").click()
    expect(page.get_by_role("region", name="All alarms").locator("tbody tr")).to_have_count(3)
    found = site.ask("{ alarms { nodes { name condition subject { kind name } } } }")["alarms"]["nodes"]
    assert sorted(
        (each["name"], each["condition"], each["subject"]["kind"], each["subject"]["name"]) for each in found
    ) == [
        ("billing-backlog", "BACKLOG", "GROUP", "billing"),
        ("moody-failing", "FAILING", "JOB", "moody"),
        ("node", "NODE", "NODE", None),
    ]


@pytest.mark.costly
def test_every_message_is_listed_with_its_request_and_answer_and_sent_again(
    alarmed: tuple[Site, Receiver], new_page: PageOpener
) -> None:
    site, receiver = alarmed
    create_alarm(site, "moody-failing")
    page = new_page(site.url)
    live(page, "/alarms")
    page.get_by_role("link", name="Deliveries").click()
    messages = page.get_by_role("region", name="Deliveries")
    expect(messages).to_contain_text("Nothing was sent yet")
    receiver.status = 500
    site.trigger("moody")
    row = messages.locator("tbody tr")
    expect(row).to_contain_text("moody-failing")
    expect(row).to_contain_text("the receiver answered 500")
    expect(row).to_contain_text("The next try is")
    again = row.get_by_role("button", name=re.compile("^Send message"))
    expect(again).to_have_attribute("aria-disabled", "true")
    fits(page)
    receiver.status = 200
    expect(row).to_contain_text("It answered 200 ok")
    before = len(receiver.messages)
    again.click()
    wait_until(lambda: len(receiver.messages) == before + 1, message="the message to be sent again")
    row.get_by_role("button", name=re.compile("^Details")).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Request").click()
    expect(dialog.locator("pre")).to_contain_text('"alarm": "moody-failing"')
    assert violations(page, "dialog[open]") == []
    page.keyboard.press("Escape")
    live(page, "/deliveries?state=failed")
    expect(messages).to_contain_text("No message matches")
    live(page, "/deliveries?state=sent&channel=ops&event=fired")
    expect(row).to_have_count(1)
