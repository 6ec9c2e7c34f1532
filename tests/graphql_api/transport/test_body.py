"""How long a request may be: mutations of many rows need more than other requests, and get it from who may write."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from cronograph.graphql.guard.admission import Admission
from cronograph.graphql.guard.limits import MIB, Limits
from tests.graphql_api.transport.sample import sample_app
from tests.support.job_modules import write_example_jobs
from tests.support.processes import ProcessStarter
from tests.support.waiting import eventually
from tests.support.web import open_client

MANY: Final = (
    "mutation($runs: [EnqueueRunInput!]!) { enqueueRuns(input: { runs: $runs }) { runs { id } errors { message } } }"
)
JSON: Final = {"content-type": "application/json"}


def padded(document: str, size: int) -> bytes:
    """A request of this size."""
    body = json.dumps({"query": document, "extensions": {"padding": ""}}).encode()
    return body.replace(b'""', b'"' + b"x" * (size - len(body)) + b'"')


@pytest.mark.costly
def test_ten_thousand_runs_with_arguments_fit_into_one_request(
    processes: ProcessStarter, database_url: str, tmp_path: Path
) -> None:
    server = processes.serve(database_url, "--jobs", write_example_jobs(tmp_path))
    one = {"jobName": "nap", "args": {"seconds": 0}, "description": "x" * 600, "runAt": "2099-01-01T00:00:00Z"}
    with open_client(server.url) as http:
        answer = http.post("/graphql", json={"query": MANY, "variables": {"runs": [one] * 10_000}}).json()
        assert answer["data"]["enqueueRuns"]["errors"] == []
        assert len(answer["data"]["enqueueRuns"]["runs"]) == 10_000
        for content, limit in (
            (padded('mutation { triggerJob(jobName: "nap") { success } }', 8 * MIB + 1), "8,388,608"),
            (padded("{ serverTime }", 600_000), "524,288"),
            (padded("query { serverTime }", 8 * MIB), "524,288"),
        ):
            refused = http.post("/graphql", content=content, headers=JSON)
            (error,) = refused.json()["errors"]
            assert (refused.status_code, error["extensions"]["code"]) == (413, "LIMIT_BODY_BYTES")
            assert f"the limit is {limit}, got at least" in error["message"]


def app_of(*, may_write: bool, **limits: Any) -> Any:
    """The sample application, asked by somebody who may change things or not."""
    wanted = Limits(**limits)
    return sample_app(wanted, admission=Admission(wanted, may_write=lambda _: may_write)).app


def browser(app: Any) -> httpx.AsyncClient:
    """A client in this process."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost", timeout=60)


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
async def test_who_may_only_look_sends_short_requests(accept: str) -> None:
    async with browser(app_of(may_write=accept == "text/event-stream")) as client:
        content = padded("{ hello }", 600_000)
        answer = await client.post("/graphql", content=content, headers={**JSON, "accept": accept})
    assert (answer.status_code, "the limit is 524,288" in answer.text) == (413, True)


async def test_few_long_requests_are_read_at_a_time() -> None:
    go_on = asyncio.Event()
    read = 0

    async def slowly() -> AsyncIterator[bytes]:
        nonlocal read
        body = padded("{ hello }", 3_000)
        for start in range(0, 3_000, 1_000):
            yield body[start : start + 1_000]
            read += 1
            if read == 2:
                await go_on.wait()

    async with browser(app_of(may_write=True, body_bytes=1_000, wide_bodies=1)) as client:
        first = asyncio.create_task(client.post("/graphql", content=slowly(), headers=JSON))
        await eventually(lambda: read == 2)
        refused = await client.post("/graphql", content=padded("{ hello }", 3_000), headers=JSON)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
        (error,) = refused.json()["errors"]
        assert error["extensions"] == {
            "code": "LIMIT_WIDE_BODIES",
            "classification": "UNAVAILABLE",
            "retryAfter": 2,
            "limit": "wide_bodies",
            "maximum": 1,
        }
        # What is short is read meanwhile; and a long one that is no mutation is refused in the end.
        assert (await client.post("/graphql", content=padded("{ hello }", 900), headers=JSON)).status_code == 200
        go_on.set()
        assert "the limit is 1,000, got at least 3,000" in (await first).text
