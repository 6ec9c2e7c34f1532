"""Alarms of a real server: a node that is killed loses nothing, and sends nothing under another id."""

import json
from typing import Any

import pytest
from standardwebhooks import Webhook

from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import wait_until
from tests.support.web import post
from tests.support.webhooks import LOOPBACK, SECRET, receiving

JOBS = """
from cronograph.jobs import PermanentFailure, job

@job("broken", retries=0)
async def broken() -> None:
    raise PermanentFailure("no luck")

@job("well")
async def well() -> None:
    pass
"""


def ask(server: CronographProcess, query: str, **variables: object) -> Any:
    """The data of a GraphQL operation that is not refused."""
    answer = post(f"{server.url}/graphql", {"query": query, "variables": variables}).json()
    assert "errors" not in answer, answer
    data: dict[str, Any] = answer["data"]
    assert [payload["errors"] for payload in data.values() if payload.get("errors")] == []
    return data


def set_up(server: CronographProcess, url: str) -> None:
    """Set a webhook, and an alarm that notifies it of each failure."""
    ask(server, f'mutation {{ setSecret(input: {{ name: "hook", value: "{SECRET}" }}) {{ errors {{ message }} }} }}')
    settings = f'{{ webhook: {{ url: "{url}", secrets: ["hook"] }} }}'
    ask(server, f'mutation {{ setChannel(input: {{ name: "ops", settings: {settings} }}) {{ errors {{ message }} }} }}')
    alarm = 'name: "broken", subject: { job: "broken" }, condition: { failing: { failedRuns: 1 } }, channels: ["ops"]'
    ask(server, f"mutation {{ createAlarm(input: {{ {alarm} }}) {{ errors {{ message }} }} }}")


def run(server: CronographProcess, job: str) -> None:
    """Start one run of a job."""
    ask(server, f'mutation {{ triggerJob(jobName: "{job}") {{ errors {{ message }} }} }}')


OF_JOB = """subscription {
  events(filter: { kinds: [EXECUTION_FINISHED], jobName: "broken" }) { ... on ExecutionEvent { runId } }
}"""
CREATE = "mutation($input: CreateWebhookInput!) { createWebhook(input: $input) { errors { message } } }"


@pytest.mark.costly
def test_a_server_that_is_killed_between_recorded_and_sent_sends_the_same_messages(
    database_url: str, processes: ProcessStarter
) -> None:
    """The message of an alarm and that of a webhook; the next server sends them at once, since it knows of the end."""
    (processes.folder / "alarm_jobs.py").write_text(JOBS)
    node = ("--jobs", "alarm_jobs", "--heartbeat", "1", "--lease", "3")
    with receiving() as (receiver, url):
        receiver.hangs.set()
        server = processes.serve(database_url, *node, env=LOOPBACK)
        set_up(server, url)
        ask(server, CREATE, input={"name": "feed", "url": url, "document": OF_JOB, "secrets": ["hook"]})
        run(server, "broken")
        wait_until(lambda: len(receiver.messages) == 2, message="the first tries")
        server.kill()
        receiver.hangs.clear()
        receiver.over.set()
        server = processes.serve(database_url, *node, env=LOOPBACK)
        wait_until(lambda: len(receiver.messages) >= 4, message="the second tries")
        bodies = {headers["webhook-id"]: Webhook(SECRET).verify(body, headers) for headers, body in receiver.messages}
        assert sorted(one["type"] for one in bodies.values()) == ["alarm.fired", "subscription.events"]
        assert sorted(receiver.ids) == sorted([*bodies, *bodies])
        assert len({body for _, body in receiver.messages}) == 2
        found = "{ alarmFirings { totalCount } alarmDeliveries { nodes { state attempts messageId answer } } }"

        def are_sent() -> bool:
            return {one["state"] for one in ask(server, found)["alarmDeliveries"]["nodes"]} == {"SENT"}

        wait_until(are_sent, message="the outcomes to be stored")
        answer = ask(server, found)
        assert answer["alarmFirings"]["totalCount"] == 1
        for delivery in answer["alarmDeliveries"]["nodes"]:
            assert delivery.pop("messageId") in bodies
            assert delivery == {"state": "SENT", "attempts": 2, "answer": "ok"}


@pytest.mark.costly
def test_a_channel_is_tested_and_a_delivery_repeated_from_the_command_line(
    sqlite_url: str, processes: ProcessStarter
) -> None:
    (processes.folder / "alarm_jobs.py").write_text(JOBS)
    with receiving() as (receiver, url):
        server = processes.serve(sqlite_url, "--jobs", "alarm_jobs", env=LOOPBACK)
        set_up(server, url)
        here = {"CRONOGRAPH_URL": server.url}
        assert processes.run("channels", "test", "ops", env=here) == (0, "Channel ops accepted the message: 200 ok\n")
        run(server, "broken")
        wait_until(lambda: len(receiver.messages) == 2, message="the alarm")
        run(server, "well")
        status, said = processes.run("alarms", "firings", "--json", env=here)
        assert status == 0
        (firing,) = json.loads(said)["firings"]
        status, said = processes.run("alarms", "acknowledge", firing["id"], "--note", "on it", env=here)
        assert (status, said) == (0, "1 firing acknowledged\n")
        about = json.loads(processes.run("alarms", "deliveries", firing["id"], "--json", env=here)[1])["deliveries"]
        assert [row["event"] for row in about] == ["FIRED"]
        assert "there is no firing 99" in processes.run("alarms", "deliveries", "99", env=here)[1]
        rows = json.loads(processes.run("channels", "deliveries", "--json", env=here)[1])["deliveries"]
        (sent,) = [row for row in rows if row["event"] == "FIRED"]
        wait_until(lambda: ended(processes, here, sent["id"]), message="the outcome to be stored")
        assert processes.run("channels", "redeliver", sent["id"], env=here)[0] == 0
        wait_until(lambda: len(receiver.messages) == 3, message="the repetition")
        assert receiver.ids[1] == receiver.ids[2]
        receiver.status = 404
        status, said = processes.run("channels", "test", "ops", env=here)
        assert status == 1
        assert "the receiver answered 404; it said 'ok'" in said


def ended(processes: ProcessStarter, here: dict[str, str], delivery_id: str) -> bool:
    """Return whether a delivery was accepted."""
    rows = json.loads(processes.run("channels", "deliveries", "--json", env=here)[1])["deliveries"]
    return any(row["id"] == delivery_id and row["state"] == "SENT" for row in rows)
