"""Each kind of channel against a real server: the right message, at least once, with the same id over all tries."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import Message
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiosmtpd.smtp import SMTP
from standardwebhooks import Webhook

from cronograph.jobs.accounts.actions.secrets import delete_secret, set_secret
from cronograph.jobs.core.alarms import Condition, Severity, SubjectKind
from cronograph.jobs.core.base.errors import UserError
from cronograph.jobs.core.outcome import Failed
from cronograph.jobs.delivery import actions
from cronograph.jobs.delivery.rules import ROUTE, ChannelKind, DeliveryEvent, DeliveryState, Route
from cronograph.jobs.runtime.duties.alarms import LOST_AFTER
from tests.builtin.http_server import Asked, answering, reply
from tests.delivery.conftest import KEYS, SECRET, Alarms
from tests.support.ports import free_port
from tests.support.requirements import unavailable
from tests.support.storage import Stored, Worker
from tests.support.waiting import eventually, wait_until
from tests.traces.told import Told, told

__all__ = ["told"]

FAILED = Failed("ValueError", "no such <invoice> & more", permanent=True)
OPS = ("ops",)


async def fire(alarms: Alarms, stored: Stored, *, resolve: bool = False) -> Worker:
    """Let an alarm of channel ``ops`` fire, and perhaps resolve."""
    worker = stored.node()
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, channels=OPS, failed_runs=1)
    stored.enqueue(retries=0)
    worker.end(worker.start(), FAILED)
    await alarms.look(1)
    if resolve:
        stored.enqueue()
        worker.end(worker.start())
        await alarms.look(1)
    return worker


def body(asked: Asked) -> Any:
    """The JSON of a request."""
    return json.loads(asked.body)


def ok(_: Asked) -> bytes:
    """Accept everything."""
    return reply(200, b"thanks")


async def test_a_webhook_is_signed_and_its_answer_is_kept(alarms: Alarms, stored: Stored) -> None:
    async with answering(ok) as server:
        alarms.webhook(server.port)
        await fire(alarms, stored)
        stored.now = datetime.now(UTC)
        (sent,) = await alarms.send()
    assert (sent.state, sent.status, sent.answer, sent.attempts) == (DeliveryState.SENT, 200, "thanks", 1)
    (asked,) = server.asked
    found = Webhook(SECRET).verify(asked.body, asked.headers)
    assert found["type"] == "alarm.fired"
    assert asked.headers["webhook-id"] == sent.message_id


async def test_old_and_new_secret_sign_during_a_rotation(alarms: Alarms, stored: Stored) -> None:
    other = "whsec_" + "A" * 32
    async with answering(ok) as server:
        alarms.channel(url=f"http://127.0.0.1:{server.port}/", secrets=[other, SECRET])
        await fire(alarms, stored)
        stored.now = datetime.now(UTC)
        await alarms.send()
    (asked,) = server.asked
    assert Webhook(SECRET).verify(asked.body, asked.headers) == Webhook(other).verify(asked.body, asked.headers)


async def test_secrets_are_kept_apart_from_the_channel(alarms: Alarms, stored: Stored) -> None:
    async with answering(ok) as server:
        stored.do(set_secret, "hook", SECRET, KEYS)
        alarms.channel(url=f"http://127.0.0.1:{server.port}/", secrets=[{"$secret": "hook"}])
        await fire(alarms, stored)
        stored.now = datetime.now(UTC)
        await alarms.send()
    (asked,) = server.asked
    assert Webhook(SECRET).verify(asked.body, asked.headers)


async def test_no_part_of_a_secret_address_is_in_deliveries_logs_or_traces(
    alarms: Alarms, stored: Stored, caplog: pytest.LogCaptureFixture, told: Told
) -> None:
    async with answering(lambda asked: reply(404, f"no_team at {asked.target}".encode())) as server:
        url = f"http://127.0.0.1:{server.port}/services/T0/B0/abcdef?key=ghijkl"
        stored.do(set_secret, "chat-url", url, KEYS)
        alarms.channel(ChannelKind.CHAT, url={"$secret": "chat-url"}, form="slack")
        await fire(alarms, stored)
        (refused,) = await alarms.send()
    assert (refused.status, refused.answer) == (404, "no_team at [secret chat-url]")
    (failed,) = await alarms.send(3600)
    assert (failed.error or "").startswith(f"POST http://127.0.0.1:{server.port}[secret chat-url]: no connection")
    spans = [span.to_json() for span in told.all("POST")]
    assert [f'"http://127.0.0.1:{server.port}[secret chat-url]"' in one for one in spans] == [True, True]
    assert "no connection" in spans[1]
    for text in (caplog.text, *spans):
        assert "abcdef" not in text
        assert "ghijkl" not in text


async def test_a_secret_that_is_missing_is_named_and_tried_again(alarms: Alarms, stored: Stored) -> None:
    async with answering(ok) as server:
        with pytest.raises(UserError, match="secret 'hook'"):
            alarms.channel(url=f"http://127.0.0.1:{server.port}/", secrets=[{"$secret": "hook"}])
        stored.do(set_secret, "hook", SECRET, KEYS)
        alarms.channel(url=f"http://127.0.0.1:{server.port}/", secrets=[{"$secret": "hook"}])
        stored.do(delete_secret, "hook", force=True)
        await fire(alarms, stored)
        (failed,) = await alarms.send()
        assert failed.state is DeliveryState.PENDING
        assert "secret 'hook'" in (failed.error or "")
        stored.do(set_secret, "hook", SECRET, KEYS)
        (sent,) = await alarms.send(10)
    assert sent.state is DeliveryState.SENT


async def test_all_tries_carry_the_same_id_and_body_with_growing_pauses(alarms: Alarms, stored: Stored) -> None:
    answers = [reply(500, b"broken"), reply(503, b"later", retry_after="200"), reply(200)]
    async with answering(lambda _: answers.pop(0)) as server:
        alarms.webhook(server.port)
        await fire(alarms, stored)
        (first,) = await alarms.send()
        assert (first.state, first.status, first.answer) == (DeliveryState.PENDING, 500, "broken")
        assert first.next_attempt_at is not None
        assert timedelta(seconds=2.5) <= first.next_attempt_at - stored.now <= timedelta(seconds=5)
        (second,) = await alarms.send(5)
        assert second.next_attempt_at == stored.now + timedelta(seconds=200)
        assert (await alarms.send(199))[0].attempts == 2
        (third,) = await alarms.send(1)
    assert (third.state, third.attempts) == (DeliveryState.SENT, 3)
    assert len({asked.headers["webhook-id"] for asked in server.asked}) == 1
    assert len({asked.body for asked in server.asked}) == 1


async def test_it_is_given_up_after_75_hours_or_at_410(alarms: Alarms, stored: Stored) -> None:
    statuses = [500, 500, 410]
    async with answering(lambda _: reply(statuses.pop(0))) as server:
        alarms.webhook(server.port)
        await fire(alarms, stored)
        await alarms.send()
        (given_up,) = await alarms.send(75 * 3600)
        assert (given_up.state, given_up.attempts) == (DeliveryState.FAILED, 2)
        alarms.acting(lambda tx: actions.redeliver(tx, given_up.id))
        (gone,) = await alarms.send()
        assert (gone.state, gone.status, gone.message_id) == (DeliveryState.FAILED, 410, given_up.message_id)


@pytest.mark.costly
@pytest.mark.parametrize("url", ["http://10.0.0.7/hook", "http://169.254.169.254/latest"])
async def test_addresses_that_jobs_may_not_reach_are_refused(alarms: Alarms, stored: Stored, url: str) -> None:
    alarms.channel(url=url, secrets=[SECRET])
    await fire(alarms, stored)
    (refused,) = await alarms.send()
    assert refused.state is DeliveryState.FAILED
    assert "must have public addresses only" in (refused.error or "")


async def test_a_redirect_is_not_followed(alarms: Alarms, stored: Stored) -> None:
    async with answering(lambda _: reply(302, location="http://169.254.169.254/")) as server:
        alarms.webhook(server.port)
        await fire(alarms, stored)
        (sent,) = await alarms.send()
    assert (sent.state, sent.status) == (DeliveryState.PENDING, 302)
    assert len(server.asked) == 1


async def test_a_receiver_that_hangs_holds_up_no_other(alarms: Alarms, stored: Stored) -> None:
    async with answering(lambda _: None) as hanging, answering(ok) as well:
        alarms.webhook(hanging.port, "hanging")
        alarms.webhook(well.port, "well")
        for _ in range(6):
            alarms.acting(lambda tx: actions.send_test(tx, "hanging"))
        await alarms.sender.look()
        for _ in range(3):
            alarms.acting(lambda tx: actions.send_test(tx, "well"))
        await alarms.sender.look()
        await eventually(lambda: len(well.asked) == 3, message="three messages to the other receiver")
        await eventually(lambda: len(hanging.asked) == 4, message="four messages to the one that hangs")
        await alarms.sender.look()
        assert len(hanging.asked) == 4
        await alarms.sender.stop()


async def test_what_a_dead_node_was_sending_is_sent_by_another_with_the_same_id(alarms: Alarms, stored: Stored) -> None:
    answers: list[bytes | None] = [None, reply(200)]
    async with answering(lambda _: answers.pop(0)) as server:
        alarms.webhook(server.port)
        await fire(alarms, stored)
        await alarms.sender.look()
        await eventually(lambda: len(server.asked) == 1, message="the first try")
        # The node is gone between the try and its outcome.
        await alarms.sender.stop()
        alarms.sender = alarms.another_sender()
        assert (await alarms.send(LOST_AFTER.total_seconds() - 1))[0].attempts == 1
        (sent,) = await alarms.send(1)
    assert (sent.state, sent.attempts) == (DeliveryState.SENT, 2)
    assert len({asked.headers["webhook-id"] for asked in server.asked}) == 1


@pytest.mark.costly
async def test_an_hour_of_errors_and_a_clock_that_is_set_back_lose_nothing_and_harm_no_other(
    alarms: Alarms, stored: Stored
) -> None:
    begun = stored.now

    def broken(_: Asked) -> bytes:
        return reply(500 if stored.now - begun < timedelta(hours=1) else 200)

    async with answering(broken) as bad, answering(ok) as well:
        alarms.webhook(bad.port, "bad")
        alarms.webhook(well.port, "well")
        for step in range(12):
            if step < 3:
                for name in ("bad", "well"):
                    alarms.acting(partial(actions.send_test, name=name))
            # The fourth step goes ten seconds back.
            await alarms.send(-10 if step == 3 else 2.0**step)
        assert len(well.asked) == 3
        assert len(bad.asked) > 6
        await alarms.send(7200)
        assert {one.state for one in alarms.deliveries()} == {DeliveryState.SENT}
    accepted = {one.message_id for one in alarms.deliveries() if one.channel == "bad"}
    assert {asked.headers["webhook-id"] for asked in bad.asked} == accepted
    assert len(accepted) == 3


async def test_two_senders_send_a_delivery_once(alarms: Alarms, stored: Stored) -> None:
    async with answering(ok) as server:
        alarms.webhook(server.port)
        other = alarms.another_sender()
        for _ in range(8):
            alarms.acting(lambda tx: actions.send_test(tx, "ops"))
            await other.look()
            await alarms.send()
        await alarms.send()
        await other.stop()
        assert len({asked.headers["webhook-id"] for asked in server.asked}) == 8
        assert len(server.asked) == 8


async def test_a_chat_gets_blocks_that_slack_takes(alarms: Alarms, stored: Stored) -> None:
    async with answering(ok) as server:
        alarms.channel(ChannelKind.CHAT, url=f"http://127.0.0.1:{server.port}/", form="slack")
        await fire(alarms, stored)
        await alarms.send()
    sent = body(server.asked[0])
    assert sent["text"].startswith("Alarm: Job 'work' failed 1 time in a row")
    assert sent["blocks"][2]["elements"][0]["url"].startswith("https://cron.test/runs/")
    assert {block["type"] for block in sent["blocks"]} == {"section", "actions"}


async def test_a_chat_gets_a_card_that_teams_takes(alarms: Alarms, stored: Stored) -> None:
    async with answering(ok) as server:
        alarms.channel(ChannelKind.CHAT, url=f"http://127.0.0.1:{server.port}/", form="teams")
        await fire(alarms, stored)
        await alarms.send()
    (attachment,) = body(server.asked[0])["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    assert attachment["content"]["body"][0]["text"].startswith("Alarm: Job 'work'")


async def test_alertmanager_gets_the_end_of_what_it_was_sent(alarms: Alarms, stored: Stored) -> None:
    async with answering(ok) as server:
        alarms.channel(ChannelKind.ALERTMANAGER, url=f"http://127.0.0.1:{server.port}/base/")
        await fire(alarms, stored, resolve=True)
        await alarms.send()
        assert {asked.target for asked in server.asked} == {"/base/api/v2/alerts"}
    (fired,), (resolved,) = sorted(map(body, server.asked), key=lambda one: one[0]["endsAt"], reverse=True)
    assert fired["labels"] == resolved["labels"]
    assert fired["labels"]["alertname"] == "alarm"
    assert fired["labels"]["job"] == "work"
    assert fired["startsAt"] == resolved["startsAt"]
    assert datetime.fromisoformat(fired["endsAt"]) > stored.now + timedelta(days=300)
    assert datetime.fromisoformat(resolved["endsAt"]) <= stored.now


@contextmanager
def alertmanager(folder: Path) -> Generator[httpx.Client]:
    """Debian's Alertmanager on a port of its own, and a client of its API."""
    program = shutil.which("prometheus-alertmanager")
    if program is None:
        unavailable("Prometheus' Alertmanager", "as root, make prometheus")
    config = folder / "alertmanager.yml"
    config.write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
    url, peers = f"127.0.0.1:{free_port()}", "--cluster.listen-address="
    words = [program, f"--config.file={config}", f"--storage.path={folder}", f"--web.listen-address={url}", peers]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log)
    client = httpx.Client(base_url=f"http://{url}", trust_env=False)

    def is_ready() -> bool:
        try:
            return client.get("/-/ready").status_code == 200
        except httpx.ConnectError:
            return False

    try:
        wait_until(is_ready, message="Alertmanager answers")
        yield client
    finally:
        client.close()
        process.terminate()
        process.wait()


@pytest.mark.costly
async def test_a_real_alertmanager_shows_an_alarm_until_it_is_resolved(
    alarms: Alarms, stored: Stored, tmp_path: Path
) -> None:
    stored.now = datetime.now(UTC) - timedelta(seconds=5)
    with alertmanager(tmp_path) as client:
        alarms.channel(ChannelKind.ALERTMANAGER, url=str(client.base_url))
        worker = await fire(alarms, stored)
        (sent,) = await alarms.send()
        assert (sent.state, sent.status) == (DeliveryState.SENT, 200)
        (alert,) = client.get("/api/v2/alerts").json()
        assert alert["status"]["state"] == "active"
        assert (alert["labels"]["alertname"], alert["labels"]["job"]) == ("alarm", "work")
        assert alert["annotations"]["summary"].startswith("Job 'work' failed 1 time in a row")
        assert alert["generatorURL"].startswith("https://cron.test/runs/")
        # The same message again is no second alert.
        alarms.acting(lambda tx: actions.redeliver(tx, sent.id))
        await alarms.send()
        assert len(client.get("/api/v2/alerts").json()) == 1
        alarms.acting(lambda tx: actions.send_test(tx, "ops"))
        stored.enqueue()
        worker.end(worker.start())
        await alarms.look(1)
        assert {one.state for one in await alarms.send()} == {DeliveryState.SENT}
        await eventually(lambda: client.get("/api/v2/alerts").json() == [], message="the end of the alert")


class Mailbox:
    """Accepts mails, or answers what the test says."""

    def __init__(self) -> None:
        self.mails: list[Message] = []
        self.answers: list[str] = []

    async def handle_DATA(self, _server: object, _session: object, envelope: Any) -> str:  # noqa: N802 - its name
        """Keep a mail."""
        if self.answers:
            return self.answers.pop(0)
        self.mails.append(message_from_bytes(envelope.content))
        return "250 kept"


@pytest.fixture
async def mailbox() -> AsyncIterator[tuple[Mailbox, int]]:
    """A real mail server on loopback, and its port."""
    box = Mailbox()
    server = await asyncio.get_running_loop().create_server(lambda: SMTP(box), "127.0.0.1", 0)
    yield box, server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()


def mail_settings(port: int) -> dict[str, Any]:
    """A mail channel to a server of the test."""
    recipients = ["ops@example.com", "anna@example.com"]
    return {"host": "127.0.0.1", "port": port, "tls": "none", "sender": "cron@example.com", "recipients": recipients}


async def test_a_mail_has_two_forms_and_an_id(alarms: Alarms, stored: Stored, mailbox: tuple[Mailbox, int]) -> None:
    box, port = mailbox
    alarms.channel(ChannelKind.MAIL, **mail_settings(port))
    await fire(alarms, stored)
    (sent,) = await alarms.send()
    assert (sent.state, sent.error, sent.status) == (DeliveryState.SENT, None, 250)
    (mail,) = box.mails
    assert mail["To"] == "ops@example.com, anna@example.com"
    assert mail["Message-ID"] == f"<{sent.message_id}@example.com>"
    assert mail["Subject"].replace("\r\n", "").startswith("Alarm: Job 'work' failed 1 time in a row")
    plain, html = [part for part in mail.walk() if not part.is_multipart()]
    assert (plain.get_content_type(), html.get_content_type()) == ("text/plain", "text/html")
    text = plain.get_payload(decode=True)
    assert isinstance(text, bytes)
    assert "Last success: never" in text.decode()


@pytest.mark.costly
async def test_a_full_disk_of_the_mail_server_is_tried_again(
    alarms: Alarms, stored: Stored, mailbox: tuple[Mailbox, int]
) -> None:
    box, port = mailbox
    box.answers = ["452 4.3.1 insufficient system storage"]
    alarms.channel(ChannelKind.MAIL, **mail_settings(port))
    await fire(alarms, stored)
    (failed,) = await alarms.send()
    assert (failed.state, failed.status) == (DeliveryState.PENDING, 452)
    assert "insufficient system storage" in (failed.answer or "")
    (sent,) = await alarms.send(10)
    assert sent.state is DeliveryState.SENT
    assert [mail["Message-ID"] for mail in box.mails] == [f"<{sent.message_id}@example.com>"]


async def test_a_mail_server_without_encryption_is_not_sent_anything(
    alarms: Alarms, stored: Stored, mailbox: tuple[Mailbox, int]
) -> None:
    box, port = mailbox
    alarms.channel(ChannelKind.MAIL, **{**mail_settings(port), "tls": "starttls"})
    await fire(alarms, stored)
    (failed,) = await alarms.send()
    assert (failed.state, failed.status) == (DeliveryState.PENDING, None)
    assert failed.error == "SMTPNotSupportedError: STARTTLS extension not supported by server."
    assert box.mails == []


async def test_a_mail_server_at_a_private_address_is_refused(alarms: Alarms, stored: Stored) -> None:
    alarms.channel(ChannelKind.MAIL, **{**mail_settings(25), "host": "10.1.2.3"})
    await fire(alarms, stored)
    (refused,) = await alarms.send()
    assert refused.state is DeliveryState.FAILED
    assert "must have public addresses only" in (refused.error or "")


async def test_a_test_message_reaches_every_kind(alarms: Alarms, stored: Stored) -> None:
    async with answering(ok) as server:
        url = f"http://127.0.0.1:{server.port}/"
        alarms.webhook(server.port, "hook")
        alarms.channel(ChannelKind.CHAT, "slack", url=url, form="slack")
        alarms.channel(ChannelKind.CHAT, "teams", url=url, form="teams")
        alarms.channel(ChannelKind.ALERTMANAGER, "am", url=url)
        for name in ("hook", "slack", "teams", "am"):
            alarms.acting(partial(actions.send_test, name=name))
        sent = await alarms.send()
    assert {(one.event, one.state) for one in sent} == {(DeliveryEvent.TEST, DeliveryState.SENT)}
    assert len(server.asked) == 4


async def test_a_message_to_a_deleted_channel_fails(alarms: Alarms, stored: Stored) -> None:
    alarms.webhook(1)
    await fire(alarms, stored)
    with pytest.raises(UserError, match="used by the alarms 'alarm'"):
        alarms.acting(lambda tx: actions.delete_channel(tx, "ops"))
    alarms.acting(lambda tx: actions.delete_channel(tx, "ops", force=True))
    (failed,) = await alarms.send()
    assert (failed.state, failed.error) == (DeliveryState.FAILED, "channel 'ops' was deleted")


@pytest.mark.costly
@pytest.mark.parametrize(
    ("kind", "settings", "fault"),
    [
        (ChannelKind.WEBHOOK, {"url": "ftp://example.com/", "secrets": [SECRET]}, "url: must be an absolute http"),
        (
            ChannelKind.WEBHOOK,
            {"url": f"https://x.io/{'a' * 4_000}", "secrets": [SECRET]},
            "url: must have at most 4,000",
        ),
        (ChannelKind.WEBHOOK, {"url": "https://example.com/", "secrets": ["abc"]}, "secrets: the secret of a webhook"),
        (ChannelKind.MAIL, {**mail_settings(0)}, "port: must be from 1 to 65535"),
        (ChannelKind.MAIL, {**mail_settings(25), "recipients": ["a\nb@x"]}, "recipients: must be a mail address"),
        *(
            (ChannelKind.MAIL, {**mail_settings(25), "sender": text}, "sender: must be a mail address")
            for text in ("", "nobody", "ops@", "@x", "a@b@c", "a@[", "a..b@x", "a@b c", "<a@b>", "\x00@x", "ü@x")
        ),
        (ChannelKind.CHAT, {"url": {"$secret": 7}, "form": "slack"}, "a secret must be named as"),
    ],
)
async def test_a_channel_that_cannot_work_is_refused(
    alarms: Alarms, kind: ChannelKind, settings: dict[str, Any], fault: str
) -> None:
    with pytest.raises(UserError, match=fault):
        alarms.channel(kind, **settings)


async def test_a_route_chooses_alarms_and_the_end_goes_where_the_begin_went(alarms: Alarms, stored: Stored) -> None:
    async with answering(ok) as named, answering(ok) as routed, answering(ok) as others:
        alarms.webhook(named.port, "named")
        for name, port, route in (
            ("payments", routed.port, Route((Severity.CRITICAL,), ("payments",), {"team": "billing"})),
            ("other-group", others.port, Route((), ("reports",), {})),
            ("other-severity", others.port, Route((Severity.INFO,), (), {})),
            ("other-label", others.port, Route((), (), {"team": "search"})),
        ):
            chosen: dict[str, Any] = {"secrets": [SECRET], ROUTE: route.to_json()}
            alarms.channel(name=name, url=f"http://127.0.0.1:{port}/", **chosen)
        worker = stored.node()
        task = stored.task(group="payments", labels={"team": "billing", "country": "de"})
        alarms.create(Condition.FAILING, channels=("named",), failed_runs=1)
        of_task = {"task_id": task.id, "task_name": task.name, "group": "payments"}
        stored.enqueue(retries=0, **of_task)
        worker.end(worker.start(), FAILED)
        (firing,) = await alarms.look(1)
        assert firing.channels == ("named", "payments")
        alarms.channel(name="payments", url=f"http://127.0.0.1:{routed.port}/", secrets=[SECRET])
        stored.enqueue(**of_task)
        worker.end(worker.start())
        await alarms.look(1)
        await alarms.send()
    assert sorted(body(one)["type"] for one in routed.asked) == ["alarm.fired", "alarm.resolved"]
    assert len(named.asked) == 2
    assert others.asked == []


@pytest.mark.parametrize(
    ("route", "message"),
    [
        (Route((), (), {}), "route: must have severities, groups or labels"),
        (Route((), (), {"": "x"}), "route.labels: a key must have"),
        (Route((), tuple(f"g{n}" for n in range(51)), {}), "route.groups: must be at most 50"),
    ],
)
async def test_routes_that_choose_nothing_are_refused(alarms: Alarms, route: Route, message: str) -> None:
    settings: dict[str, Any] = {"url": "https://example.com", ROUTE: route.to_json()}
    with pytest.raises(UserError, match=message):
        alarms.channel(ChannelKind.ALERTMANAGER, **settings)


@pytest.mark.costly
@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
async def test_apprise_sends_to_schemes_that_are_allowed(alarms: Alarms, stored: Stored) -> None:
    async with answering(ok) as server:
        alarms.channel(ChannelKind.APPRISE, url=f"json://127.0.0.1:{server.port}/hook")
        alarms.channel(ChannelKind.APPRISE, "other", url=f"xml://127.0.0.1:{server.port}/hook")
        alarms.acting(lambda tx: actions.send_test(tx, "other"))
        await fire(alarms, stored)
        other, sent = await alarms.send()
        assert (sent.state, sent.answer) == (DeliveryState.SENT, "accepted")
        assert (other.state, other.error) == (
            DeliveryState.PENDING,
            "the scheme 'xml' is not in the setting 'apprise_schemes' of the node",
        )
    (asked,) = server.asked
    assert body(asked)["title"].startswith("Alarm: Job 'work' failed 1 time in a row")
    assert sent.message_id in body(asked)["message"]


@pytest.mark.costly
@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
async def test_what_apprise_could_not_send_is_tried_again(alarms: Alarms, stored: Stored) -> None:
    async with answering(lambda _: reply(500)) as server:
        alarms.channel(ChannelKind.APPRISE, url=f"json://user:password@127.0.0.1:{server.port}/hook")
        await fire(alarms, stored)
        (failed,) = await alarms.send()
    assert (failed.state, failed.error) == (DeliveryState.PENDING, "Apprise could not send it")
    assert "500" in (failed.answer or "")
    assert "password" not in (failed.answer or "")
