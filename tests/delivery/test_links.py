"""Messages lead to the pages of what they are about, whoever recorded them."""

from collections.abc import Callable

import pytest

from cronograph.jobs.core.alarms import Condition, Settings, SubjectKind
from cronograph.jobs.delivery import actions
from cronograph.jobs.delivery.rules import ChannelKind, DeliveryState
from cronograph.jobs.store.db.transaction import Tx
from tests.builtin.http_server import answering
from tests.delivery.conftest import Alarms
from tests.delivery.test_sending import FAILED, body, fire, ok
from tests.support.storage import Stored
from tests.support.waiting import eventually


async def test_chats_and_mails_have_buttons_that_lead_to_the_pages(alarms: Alarms, stored: Stored) -> None:
    async with answering(ok) as server:
        for name, form in (("slack", "slack"), ("teams", "teams")):
            alarms.channel(ChannelKind.CHAT, name, url=f"http://127.0.0.1:{server.port}/", form=form)
        worker = stored.node()
        alarms.create(Condition.FAILING, "work", SubjectKind.JOB, channels=("slack", "teams"), failed_runs=1)
        run = stored.enqueue(retries=0)
        worker.end(worker.start(), FAILED)
        await alarms.look(1)
        await alarms.send()
    slack, teams = sorted((body(one) for one in server.asked), key=lambda one: "blocks" not in one)
    wanted = {
        "Open in Cronograph": f"https://cron.test/runs/{run.id}",
        "Retry": f"https://cron.test/runs/{run.id}",
        "Silence": "https://cron.test/alarms",
    }
    (buttons,) = [one["elements"] for one in slack["blocks"] if one["type"] == "actions"]
    assert {one["text"]["text"]: one["url"] for one in buttons} == wanted
    actions_of_card = teams["attachments"][0]["content"]["actions"]
    assert {one["title"]: one["url"] for one in actions_of_card} == wanted


@pytest.mark.parametrize(
    "act",
    [
        lambda tx: actions.update_alarm(tx, "alarm", {"enabled": False}),
        lambda tx: actions.delete_alarm(tx, "alarm"),
        lambda tx: actions.update_alarm(tx, "alarm", {"condition": Condition.SLOW, "settings": Settings(after=9.0)}),
    ],
    ids=["disabled", "deleted", "another condition"],
)
async def test_what_a_person_resolves_leads_to_its_page(
    alarms: Alarms, stored: Stored, act: Callable[[Tx], object]
) -> None:
    async with answering(ok) as server:
        alarms.webhook(server.port)
        await fire(alarms, stored)
        alarms.acting(act)
        await alarms.send()
    (notice,) = next(body(one) for one in server.asked if body(one)["type"] == "alarm.resolved")["data"]["alarms"]
    page = f"https://cron.test/runs/{notice['runId']}"
    assert (notice["url"], notice["links"]["Open in Cronograph"]) == (page, page)


async def test_a_node_that_people_cannot_reach_sends_no_addresses_of_pages(alarms: Alarms, stored: Stored) -> None:
    async with answering(ok) as server:
        alarms.webhook(server.port)
        await fire(alarms, stored)
        unknown = alarms.another_sender(public_url=None)
        await unknown.look()
        await eventually(lambda: alarms.deliveries()[0].state is DeliveryState.SENT, message="the outcome")
        await unknown.stop()
    (notice,) = body(server.asked[0])["data"]["alarms"]
    assert (notice["url"], notice["links"]) == (None, {})
