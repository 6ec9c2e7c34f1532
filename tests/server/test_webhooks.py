"""Webhooks of a real server: the receiver of the guide."""

import json
from http.server import HTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.docs.blocks import all_blocks
from tests.server.test_alarms import JOBS, ask, run
from tests.support.processes import ProcessStarter
from tests.support.waiting import wait_until
from tests.support.webhooks import LOOPBACK, SECRET

OF_JOB = """subscription($job: String) {
  events(filter: { kinds: [EXECUTION_FINISHED], jobName: $job }) { ... on ExecutionEvent { runId outcome } }
}"""


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
    # Of one job: each quarter of an hour a built-in one runs, too.
    (processes.folder / "of-one-job.graphql").write_text(OF_JOB)
    chosen = ("--document", "of-one-job.graphql", "--variables", '{"job": "well"}')
    status, said = processes.run("webhooks", "update", "ours", *chosen, "--dry-run", env=here)
    assert status == 0
    assert "about the last hour it would have sent 1 result\n" in said
    assert "ACTIVE" in processes.run("webhooks", "list", env=here)[1]
