"""The API by hand: `curl` and nothing else."""

import json
import shutil
import subprocess
from typing import Any

import pytest

from tests.support.processes import CronographProcess
from tests.support.requirements import unavailable

AVAILABLE_JOBS = "{ availableJobs { name description schedule } }"
JOB_LOGS = """
query Logs($limit: Int = 100, $jobName: String, $onlyFailures: Boolean = false) {
  jobLogs(limit: $limit, jobName: $jobName, onlyFailures: $onlyFailures) {
    id jobName startedAt completedAt success errorMessage recordsProcessed
  }
}
"""
TRIGGER_JOB = "mutation { triggerJob(jobName: %s) { success message jobName } }"


@pytest.fixture(scope="session")
def curl() -> str:
    """The program."""
    return shutil.which("curl") or unavailable("curl", "as root, apt-get install curl")


def ask(curl: str, server: CronographProcess, query: str, *options: str, **variables: Any) -> str:
    """Return what curl prints for a POST of this operation."""
    body = json.dumps({"query": query, "variables": variables})
    command = [curl, "--silent", "--show-error", "--noproxy", "*", "--max-time", "30", *options]
    command += ["--header", "content-type: application/json", "--data", body, f"{server.url}/graphql"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_documented_documents_give_the_documented_answers(curl: str, server: CronographProcess) -> None:
    jobs = json.loads(ask(curl, server, AVAILABLE_JOBS))["data"]["availableJobs"]
    assert {"name": "tick", "description": "Every second", "schedule": "* * * * * *"} in jobs
    done = json.loads(ask(curl, server, TRIGGER_JOB % '"fail"'))["data"]["triggerJob"]
    assert done == {"success": True, "message": "Job fail triggered successfully", "jobName": "fail"}
    unknown = json.loads(ask(curl, server, TRIGGER_JOB % '"nope"'))
    assert "errors" not in unknown
    refused = {"success": False, "message": "Unknown job: nope", "jobName": "nope"}
    assert unknown["data"]["triggerJob"] == refused
    logs = json.loads(ask(curl, server, JOB_LOGS, limit=5, jobName="tick"))["data"]["jobLogs"]
    assert all(entry["jobName"] == "tick" for entry in logs)


def test_the_stream_of_events_is_plain_text(curl: str, server: CronographProcess) -> None:
    place = json.loads(ask(curl, server, "{ asOf }"))["data"]["asOf"]
    made = json.loads(ask(curl, server, 'mutation { triggerJob(jobName: "nap", args: { seconds: 0 }) { run { id } } }'))
    run = made["data"]["triggerJob"]["run"]["id"]
    document = "subscription F($id: ID!) { run(id: $id) { state } }"
    stream = ask(curl, server, document, "--no-buffer", "--header", "accept: text/event-stream", id=run)
    events = [event.split("\n") for event in stream.split("\n\n") if event.startswith("event: ")]
    assert [lines[0] for lines in events] == [*["event: next"] * (len(events) - 1), "event: complete"]
    last = json.loads(events[-2][1].removeprefix("data: "))
    assert last["data"]["run"]["state"] == "SUCCESS"
    assert place


def test_the_schema_is_there_for_download(curl: str, server: CronographProcess) -> None:
    command = [curl, "--silent", "--show-error", "--fail", "--noproxy", "*", f"{server.url}/schema.graphql"]
    sdl = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "type Query {" in sdl
