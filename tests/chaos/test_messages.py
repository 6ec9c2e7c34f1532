"""Messages of alarms and webhooks while nodes are killed between recorded and sent, beside receivers in trouble.

A checker reads the history of the receivers: nothing is lost, nothing comes under two ids, and no receiver has to wait
for another one. It is shown to see each of these faults.
"""

import json
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import pytest
from standardwebhooks import Webhook

from tests.server.test_alarms import JOBS, ask
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import wait_until
from tests.support.webhooks import LOOPBACK, SECRET, Receiver, receiving

NODE = ("--jobs", "alarm_jobs", "--heartbeat", "1", "--lease", "3")
ENDED = "subscription { events(filter: { kinds: [EXECUTION_FINISHED] }) { ... on ExecutionEvent { runId } } }"
TROUBLES = ("failing", "hanging", "private")
ROUNDS = 2


class Message(NamedTuple):
    """A message as a receiver got it: its id, and the things that it is about."""

    id: str
    about: tuple[str, ...]


def faults(messages: Iterable[Message], wanted: Iterable[str]) -> list[str]:
    """Return the promises that the history of one receiver breaks."""
    ids: dict[str, set[str]] = {}
    bodies: dict[str, set[tuple[str, ...]]] = {}
    for message in messages:
        bodies.setdefault(message.id, set()).add(message.about)
        for thing in message.about:
            ids.setdefault(thing, set()).add(message.id)
    found = [f"{thing} was lost" for thing in wanted if thing not in ids]
    found += [f"{thing} came under {len(under)} ids" for thing, under in ids.items() if len(under) > 1]
    return found + [f"message {one} had {len(others)} bodies" for one, others in bodies.items() if len(others) > 1]


def test_the_checker_sees_each_fault() -> None:
    good = [Message("a", ("1", "2")), Message("a", ("1", "2")), Message("b", ("3",))]
    assert faults(good, ["1", "2", "3"]) == []
    assert faults(good, ["1", "4"]) == ["4 was lost"]
    assert faults([*good, Message("c", ("2",))], ["1"]) == ["2 came under 2 ids"]
    assert faults([*good, Message("b", ("3", "4"))], ["1"]) == ["message b had 2 bodies"]


def runs_of(receiver: Receiver) -> list[Message]:
    """The messages of a webhook, about runs."""
    return [
        Message(headers["webhook-id"], tuple(one["data"]["events"]["runId"] for one in data(body)["events"]))
        for headers, body in list(receiver.messages)
        if headers.get("webhook-id") and "events" in data(body)
    ]


def firings_of(receiver: Receiver) -> list[Message]:
    """The messages of alarms, about the beginnings and ends of firings."""
    return [
        Message(headers["webhook-id"], tuple(f"{kind(body)} {one['id']}" for one in data(body)["alarms"]))
        for headers, body in list(receiver.messages)
        if "alarms" in data(body)
    ]


def data(body: bytes) -> dict[str, Any]:
    """The data of a message."""
    found: dict[str, Any] = json.loads(body)["data"]
    return found


def kind(body: bytes) -> str:
    """The type of a message."""
    return str(json.loads(body)["type"])


def set_up(server: CronographProcess, well: str, troubles: Sequence[str]) -> None:
    """Keep an alarm, a webhook of each order to the receiver that is well, and one to each other receiver."""
    ask(server, f'mutation {{ setSecret(input: {{ name: "hook", value: "{SECRET}" }}) {{ errors {{ message }} }} }}')
    create = "mutation($input: CreateWebhookInput!) { createWebhook(input: $input) { errors { message } } }"
    named = {"unordered": well, "ordered": f"{well}/ordered", **dict(zip(TROUBLES, troubles, strict=True))}
    for name, url in named.items():
        given = {"name": name, "url": url, "document": ENDED, "secrets": ["hook"], "ordered": name == "ordered"}
        ask(server, create, input=given)
    settings = f'{{ webhook: {{ url: "{well}", secrets: ["hook"] }} }}'
    ask(server, f'mutation {{ setChannel(input: {{ name: "ops", settings: {settings} }}) {{ errors {{ message }} }} }}')
    alarm = 'name: "broken", subject: { job: "broken" }, condition: { failing: { failedRuns: 1 } }, channels: ["ops"]'
    ask(server, f"mutation {{ createAlarm(input: {{ {alarm} }}) {{ errors {{ message }} }} }}")
    alarm = 'name: "well", subject: { job: "well" }, condition: { empty: { leastRecords: 1 } }, channels: ["ops"]'
    ask(server, f"mutation {{ createAlarm(input: {{ {alarm} }}) {{ errors {{ message }} }} }}")


def run(server: CronographProcess, job: str) -> str:
    """Start one run of a job, and return its id."""
    answer = ask(server, f'mutation {{ triggerJob(jobName: "{job}") {{ run {{ id }} errors {{ message }} }} }}')
    return str(answer["triggerJob"]["run"]["id"])


@pytest.mark.chaos
@pytest.mark.costly
@pytest.mark.timeout(600)
def test_kills_between_recorded_and_sent_lose_nothing_and_harm_no_other(
    postgres_url: str, processes: ProcessStarter
) -> None:
    (processes.folder / "alarm_jobs.py").write_text(JOBS)
    with receiving() as (well, url), receiving() as (failing, bad), receiving() as (hanging, slow):
        failing.status = 500
        hanging.hangs.set()
        servers = [processes.serve(postgres_url, *NODE, env=LOOPBACK) for _ in range(2)]
        set_up(servers[0], url, (bad, slow, "http://10.255.255.1/hook"))
        made: list[str] = []
        for _ in range(ROUNDS):
            made += [run(servers[0], job) for job in ("well", "broken", "well")]
            begun = len(well.messages)
            well.over.clear()
            well.hangs.set()
            made += [run(servers[1], job) for job in ("broken", "well", "well")]
            wait_until(partial(has_more, well, begun), within=60, message="a message on its way")
            # Its outcome is not stored: the message was recorded, and perhaps accepted.
            for server in servers:
                server.kill()
            well.hangs.clear()
            well.over.set()
            servers = [processes.serve(postgres_url, *NODE, env=LOOPBACK) for _ in range(2)]

        def all_is_there() -> bool:
            return {thing for one in runs_of(well) for thing in one.about} >= set(made) and is_calm(servers[0])

        wait_until(all_is_there, within=300, message="every run at the receiver that is well")
        found = ask(servers[0], "{ alarmFirings(first: 200) { nodes { id resolvedAt isNotified } } }")
        firings = [f"alarm.fired {one['id']}" for one in found["alarmFirings"]["nodes"] if one["isNotified"]]
        ends = [f"alarm.resolved {one['id']}" for one in found["alarmFirings"]["nodes"] if one["resolvedAt"]]
        for webhook in ("ordered", "unordered"):
            assert faults(split(well, webhook), made) == []
        assert faults(firings_of(well), [*firings, *ends]) == []
        wait_until(
            lambda: failing_webhooks(servers[0]) == {*TROUBLES}, message="the hanging receiver to count as failing"
        )
        for headers, body in well.messages:
            assert Webhook(SECRET).verify(body, headers)
        # Those in trouble get what they missed.
        failing.status = 200
        hanging.hangs.clear()
        hanging.over.set()
        for receiver in (failing, hanging):
            wait_until(partial(has_all, receiver, made), within=300, message="what it missed")


def failing_webhooks(server: CronographProcess) -> set[str]:
    """Return the names of the webhooks whose receivers fail."""
    states = ask(server, "{ webhooks { nodes { name state } } }")["webhooks"]["nodes"]
    return {one["name"] for one in states if one["state"] == "FAILING"}


def has_more(receiver: Receiver, number: int) -> bool:
    """Return whether a receiver has got more messages than these."""
    return len(receiver.messages) > number


def has_all(receiver: Receiver, runs: Sequence[str]) -> bool:
    """Return whether a receiver has got messages about all of these runs, and each under one id."""
    return faults(runs_of(receiver), runs) == []


def split(receiver: Receiver, webhook: str) -> list[Message]:
    """The messages of one webhook."""
    return [
        Message(headers["webhook-id"], tuple(one["data"]["events"]["runId"] for one in data(body)["events"]))
        for headers, body in list(receiver.messages)
        if data(body).get("webhook") == webhook
    ]


def is_calm(server: CronographProcess) -> bool:
    """Return whether no message waits for the receiver that is well."""
    asked = '{ alarmDeliveries(filter: { state: { eq: PENDING }, channel: { in: ["ops", "ordered", "unordered"] } }) '
    found = ask(server, f"{asked} {{ totalCount }} }}")
    return bool(found["alarmDeliveries"]["totalCount"] == 0)
