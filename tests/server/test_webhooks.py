"""Webhooks of a real server: a node that is killed loses nothing and tells nothing twice; the receiver of the guide."""

import json
from http.server import HTTPServer
from threading import Thread
from typing import Any

import pytest
from standardwebhooks import Webhook

from tests.docs.blocks import all_blocks
from tests.server.test_alarms import JOBS, ask, run
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import wait_until
from tests.support.webhooks import LOOPBACK, SECRET, receiving

ENDED = "subscription { events(filter: { kinds: [EXECUTION_FINISHED] }) { ... on ExecutionEvent { runId outcome } } }"
CREATE = (
    """mutation($input: CreateWebhookInput!) { createWebhook(input: $input) { webhook { name } errors { message } } }"""
)


def set_up(server: CronographProcess, url: str, **chosen: object) -> None:
    """Keep the secret and a webhook of ended executions."""
    ask(server, f'mutation {{ setSecret(input: {{ name: "hook", value: "{SECRET}" }}) {{ errors {{ message }} }} }}')
    ask(server, CREATE, input={"name": "ours", "url": url, "document": ENDED, "secrets": ["hook"], **chosen})


@pytest.mark.costly
@pytest.mark.timeout(240)
def test_a_server_that_is_killed_between_recorded_and_sent_sends_the_same_message(
    database_url: str, processes: ProcessStarter
) -> None:
    (processes.folder / "alarm_jobs.py").write_text(JOBS)
    with receiving() as (receiver, url):
        receiver.hangs.set()
        server = processes.serve(database_url, "--jobs", "alarm_jobs", "--heartbeat", "1", "--lease", "3", env=LOOPBACK)
        set_up(server, url)
        run(server, "well")
        wait_until(lambda: len(receiver.messages) == 1, message="the first try")
        server.kill()
        receiver.hangs.clear()
        receiver.over.set()
        server = processes.serve(database_url, "--jobs", "alarm_jobs", env=LOOPBACK)
        run(server, "broken")
        wait_until(lambda: len(set(receiver.ids)) == 2 and len(receiver.ids) >= 3, within=120, message="both messages")
        bodies = {one["webhook-id"]: Webhook(SECRET).verify(body, one)["data"] for one, body in receiver.messages}
        outcomes = sorted(one["data"]["events"]["outcome"] for body in bodies.values() for one in body["events"])
        assert outcomes == ["FAILED", "SUCCESS"]
        assert receiver.messages[0][1] in [body for _, body in receiver.messages[1:]]


@pytest.mark.costly
def test_the_receiver_of_the_guide_takes_what_the_commands_set_up(sqlite_url: str, processes: ProcessStarter) -> None:
    (processes.folder / "alarm_jobs.py").write_text(JOBS)
    (block,) = (one for one in all_blocks() if one.document == "docs/webhooks.md" and "class Receiver" in one.text)
    printed: list[str] = []
    namespace: dict[str, Any] = {"__name__": "receiver", "print": lambda *words: printed.append(str(words))}
    exec(compile(block.text, block.place, "exec"), namespace)
    receiver = HTTPServer(("127.0.0.1", 0), namespace["Receiver"])
    server = processes.serve(sqlite_url, "--jobs", "alarm_jobs", env=LOOPBACK)
    here = {"CRONOGRAPH_URL": server.url}
    ask(server, f'mutation {{ setSecret(input: {{ name: "hook", value: "{SECRET}" }}) {{ errors {{ message }} }} }}')
    address = f"http://127.0.0.1:{receiver.server_port}/"
    words = ("webhooks", "create", "ours", address, "--secret", "hook")
    status, said = processes.run(*words, "--document", "runs", env=here)
    assert (status, said) == (0, "Webhook ours created\n")
    thread = Thread(target=receiver.serve_forever)
    thread.start()
    try:
        run(server, "well")
        wait_until(lambda: any("SUCCESS" in line for line in printed), message="the run to be printed by the receiver")
    finally:
        receiver.shutdown()
        thread.join()
        receiver.server_close()
    rows = json.loads(processes.run("webhooks", "deliveries", "ours", "--json", env=here)[1])["deliveries"]
    assert {row["event"] for row in rows} == {"EVENTS"}
    status, said = processes.run("webhooks", "update", "ours", "--document", "executions", "--dry-run", env=here)
    assert status == 0
    assert "about the last hour it would have sent 2 results" in said
    assert "ACTIVE" in processes.run("webhooks", "list", env=here)[1]
