"""Receivers in trouble, dead nodes and a clock that steps, all at once: nothing is lost, nothing comes under two ids.

A play by a seed at a moved clock, so that an hour of errors takes a moment. `test_messages.py` has the same with real
processes.
"""

import json
from collections.abc import Iterator
from random import Random

import pytest

from cronograph.jobs.core.alarms import Condition, SubjectKind
from cronograph.jobs.core.outcome import Failed, Succeeded
from cronograph.jobs.delivery.rules import ChannelKind, DeliveryState
from tests.builtin.http_server import Asked, answering, reply
from tests.chaos.test_messages import Message, faults
from tests.delivery.conftest import SECRET, Alarms, alarms
from tests.delivery.test_sending import Mailbox, mail_settings, mailbox
from tests.delivery.test_webhooks import Hooks, hooks

__all__ = ["alarms", "hooks", "mailbox"]

pytestmark = [pytest.mark.costly, pytest.mark.timeout(300)]

FAILED = Failed("ValueError", "no such invoice", permanent=True)
STEPS = (1, 5, 60, -600, 300, 900, -3600, 1800, 2, 2700)
"""Seconds by which the clock goes on, or is set back."""
TROUBLES = {"failing": reply(500), "redirecting": reply(302, location="http://10.255.255.1/hook")}
FULL = "452 4.3.1 insufficient system storage"
QUIET = 4_000
"""Seconds after which the longest pause between two tries is over."""


class Receivers:
    """Receivers by the paths of their URLs; those in trouble accept nothing before that is over."""

    def __init__(self) -> None:
        self.are_well = False
        self.accepted: dict[str, list[Asked]] = {"well": [], **{name: [] for name in TROUBLES}}

    def answer(self, asked: Asked) -> bytes:
        """Answer as the receiver of the path does."""
        name = asked.target.strip("/")
        if name in TROUBLES and not self.are_well:
            return TROUBLES[name]
        self.accepted[name].append(asked)
        return reply(204)

    def messages(self, name: str) -> Iterator[Message]:
        """The messages that a receiver has accepted: about runs, and about the begins and ends of firings."""
        for asked in self.accepted[name]:
            body = json.loads(asked.body)
            events = [f"run {one['data']['events']['runId']}" for one in body["data"].get("events", ())]
            firings = [f"{body['type']} {one['id']}" for one in body["data"].get("alarms", ())]
            yield Message(asked.headers["webhook-id"], (*events, *firings))


@pytest.mark.parametrize("seed", range(2))
async def test_troubles_of_some_lose_nothing_and_harm_no_other(
    alarms: Alarms, hooks: Hooks, mailbox: tuple[Mailbox, int], seed: int
) -> None:
    chance, stored, receivers = Random(seed), alarms.stored, Receivers()
    box, mail_port = mailbox
    worker = stored.node("w1")
    async with answering(receivers.answer) as server:
        for name in receivers.accepted:
            url = f"http://127.0.0.1:{server.port}/{name}"
            alarms.channel(name=name, url=url, secrets=[SECRET])
            hooks.create(server.port, f"feed-{name}")
            hooks.change(f"feed-{name}", url=url)
        alarms.channel(ChannelKind.MAIL, "mail", **mail_settings(mail_port))
        channels = (*receivers.accepted, "mail")
        alarms.create(Condition.FAILING, "work", SubjectKind.JOB, channels=channels, failed_runs=1)
        box.answers = [FULL] * 20
        made: list[str] = []
        for number, step in enumerate(STEPS):
            for outcome in chance.choices((FAILED, Succeeded()), k=2):
                made.append(f"run {stored.enqueue(retries=0).id}")
                worker.end(worker.start(), outcome)
            if chance.random() < 0.5:
                # The node is gone, with all that it had not stored; the next one has another number.
                for reader in (alarms.reader, hooks.reader, alarms.sender):
                    await reader.stop()
                alarms.reader, hooks.reader = alarms.another_reader(number + 2), hooks.another_reader(number + 2)
                alarms.sender = alarms.another_sender(number + 2)
            stored.pass_time(step)
            for _ in range(2):
                await alarms.reader.look()
                await hooks.reader.look()
                await alarms.send()
        box.answers.clear()
        receivers.are_well = True
        for _ in range(12):
            stored.pass_time(QUIET)
            await alarms.reader.look()
            await hooks.reader.look()
            await alarms.send()
    assert {one.state for one in alarms.deliveries()} == {DeliveryState.SENT}
    firings = alarms.firings()
    begins = [f"alarm.fired {one.id}" for one in firings]
    ends = [f"alarm.resolved {one.id}" for one in firings if one.resolved_at is not None]
    for name in receivers.accepted:
        assert faults(receivers.messages(name), [*made, *begins, *ends]) == [], name
    # A receiver that is well gets each message at the first try, however others do.
    of_well = [one for one in alarms.deliveries() if one.channel in {"well", "feed-well"}]
    assert {one.attempts for one in of_well} == {1}
    mails = [mail["Message-ID"] for mail in box.mails]
    assert len(mails) == len(set(mails)) == sum(one.channel == "mail" for one in alarms.deliveries())
