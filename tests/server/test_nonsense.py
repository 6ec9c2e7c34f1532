"""Nonsense sent to a real server: each time a clear refusal, nothing stored, a short log, and it goes on."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest

from tests.support.forking import Nursery
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.web import open_client

LOG_PER_REQUEST = 2000
"""Bytes that one refused request may add to the log."""
LONGEST_ANSWER = 4000

SCHEDULES = {
    "five fields": ("CRON", "0 9 * * 1", "0 0 9 * * 1"),
    "seven fields": ("CRON", "0 0 9 * * 1 2026", "must have six"),
    "nothing": ("CRON", "", "empty"),
    "blanks": ("CRON", "      ", "empty"),
    "words": ("CRON", "every day at nine o'clock sharp", ""),
    "a bare step": ("CRON", "0 /5 * * * *", "*/5"),
    "step zero": ("CRON", "*/0 * * * * *", "step"),
    "too large": ("CRON", "0 60 * * * *", "59"),
    "a backward range": ("CRON", "0 0 22-2 * * *", "backwards"),
    "a wrapped weekday": ("CRON", "0 0 0 * * SAT-MON", "backwards"),
    "never": ("CRON", "0 0 0 31 2 *", "never"),
    "a control character": ("CRON", "0 0 0 * * \x1b[31m", ""),
    "a NUL": ("CRON", "0 0 0 * * \0", ""),
    "other digits": ("CRON", "\u0660 0 0 * * *", ""),
    "an injection": ("CRON", "0 0 0 * * '; DROP TABLE periodic_task; --", ""),
    "very long": ("CRON", "0," * 30_000 + "0 * * * * *", ""),
    "an unknown word": ("CRON", "@fortnightly", "@"),
    "L in the seconds": ("CRON", "L * * * * *", "second"),
    "an impossible date": ("CALENDAR", "2026-02-30", ""),
    "a calendar of noise": ("CALENDAR", "Frobday *-*-* noon o'clock", ""),
    "interval zero": ("INTERVAL", "0", "second"),
    "a negative interval": ("INTERVAL", "-5m", ""),
    "an endless interval": ("INTERVAL", "9" * 400 + "h", ""),
    "the past": ("TIMESTAMP", "1999-12-31T23:59:59Z", "past"),
    "an instant that is none": ("TIMESTAMP", "2026-13-45T99:99:99Z", ""),
}

BODIES: dict[str, tuple[bytes, str]] = {
    "no body": (b"", "application/json"),
    "null": (b"null", "application/json"),
    "a string": (b'"x"', "application/json"),
    "a number": (b"17", "application/json"),
    "a batch": (b'[{"query": "{ viewer { name } }"}]', "application/json"),
    "half an object": (b'{"query": "{ viewer', "application/json"),
    "deep brackets": (b"[" * 20_000, "application/json"),
    "deep objects": (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "application/json"),
    "a number of 5,000 digits": (
        b'{"query": "{ viewer { name } }", "variables": ' + b"9" * 5_000 + b"}",
        "application/json",
    ),
    "no text": (b'{"query": "\xff\xfe"}', "application/json"),
    "half a surrogate pair": (b'{"query": "{ viewer { name } }", "variables": {"a": "\\ud800"}}', "application/json"),
    "no query": (b'{"variables": {}}', "application/json"),
    "a query that is a list": (b'{"query": []}', "application/json"),
    "variables that are a string": (b'{"query": "{ viewer { name } }", "variables": "x"}', "application/json"),
    "plain text": (b'{"query": "{ viewer { name } }"}', "text/plain"),
    "a form": (b"query=%7Bviewer%7Bname%7D%7D", "application/x-www-form-urlencoded"),
    "too large": (b'{"query": "' + b" " * 600_000 + b'"}', "application/json"),
}

DOCUMENTS = {
    "nothing": "",
    "no document": "SELECT * FROM periodic_task",
    "an unknown field": "{ taskz { nodes { name } } }",
    "an unclosed brace": "{ tasks { nodes { name }",
    "a deep query": "{ a" * 500 + "}" * 500,
    "twenty doubling fragments": "{ viewer { ...f0 } }"
    + "".join(f" fragment f{n} on Viewer {{ ...f{n + 1} ...f{n + 1} }}" for n in range(20))
    + " fragment f20 on Viewer { name }",
    "a circle of fragments": "{ viewer { ...a } } fragment a on Viewer { ...b } fragment b on Viewer { ...a }",
    "many aliases": "{ " + " ".join(f"a{n}: viewer {{ name }}" for n in range(60)) + " }",
    "a wrong type": "{ tasks(first: {a: 1}) { nodes { name } } }",
    "too many": "{ tasks(first: 1000000000000) { nodes { name } } }",
    "a negative page": "{ tasks(first: -1) { nodes { name } } }",
    "a tampered cursor": '{ tasks(after: "%%%") { nodes { name } } }',
    "a subscription by POST": "subscription { nothing }",
    "two operations": "query A { viewer { name } } query B { viewer { name } }",
    "an id that is none": '{ run(id: "1 OR 1=1") { id } }',
    "an enormous id": '{ run(id: "' + "9" * 400 + '") { id } }',
    "a mutation without input": "mutation { createTask { errors { message } } }",
    "a variable that is missing": "query ($id: ID!) { run(id: $id) { id } }",
    "control characters": '{ task(name: "a\\u0000\\u001b[31m") { name } }',
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Iterator[CronographProcess]:
    """One server that all the nonsense goes to."""
    starter = ProcessStarter(tmp_path_factory.mktemp("nonsense"), nursery)
    yield starter.serve(f"sqlite:///{starter.folder / 'nonsense.db'}")
    starter.end_all()


@pytest.fixture
def client(server: CronographProcess) -> Iterator[httpx.Client]:
    """Asks the server, and sees afterwards that it is well and has said little about it."""
    before = len(server.output())
    with open_client(server.url) as client:
        yield client
        assert client.post("/graphql", json={"query": "{ viewer { name } }"}).json()["data"]["viewer"]
    said = server.output()[before:]
    assert "Traceback" not in said
    assert len(said) < 3 * LOG_PER_REQUEST, said[:2000]


def answered(response: httpx.Response) -> dict[str, Any]:
    """The answer, which is short JSON and no inner fault."""
    assert response.status_code < 500, response.text[:500]
    assert len(response.content) < LONGEST_ANSWER
    assert "Internal error" not in response.text
    answer: dict[str, Any] = response.json()
    return answer


@pytest.mark.costly
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_that_is_none_is_refused_with_its_reason_and_not_stored(
    client: httpx.Client, server: CronographProcess, name: str
) -> None:
    syntax, value, says = SCHEDULES[name]
    schedule = {"syntax": syntax, "value": value}
    fields = "isValid error { message position suggestion }"
    judge = f"query ($s: ScheduleInput!) {{ validateSchedule(schedule: $s) {{ {fields} }} }}"
    judged = answered(client.post("/graphql", json={"query": judge, "variables": {"s": schedule}}))
    verdict = judged["data"]["validateSchedule"]
    assert not verdict["isValid"]
    assert says in verdict["error"]["message"] + (verdict["error"]["suggestion"] or "")
    create = "mutation ($i: CreateTaskInput!) { createTask(input: $i) { task { id } errors { code message path } } }"
    wanted = {"name": "nonsense", "jobName": "prune_history", "schedule": schedule}
    refused = answered(client.post("/graphql", json={"query": create, "variables": {"i": wanted}}))
    result = refused["data"]["createTask"]
    assert result["task"] is None
    assert result["errors"][0]["path"][0] == "schedule"
    with closing(sqlite3.connect(server.output_file.parent / "nonsense.db")) as database:
        assert database.execute("SELECT count(*) FROM periodic_task WHERE name = 'nonsense'").fetchone() == (0,)


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_is_none_is_refused(client: httpx.Client, name: str) -> None:
    body, kind = BODIES[name]
    response = client.post("/graphql", content=body, headers={"Content-Type": kind})
    answer = answered(response)
    assert 400 <= response.status_code < 500
    assert len(answer["errors"][0]["message"]) > 10


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_that_is_none_is_refused(client: httpx.Client, name: str) -> None:
    answer = answered(client.post("/graphql", json={"query": DOCUMENTS[name]}))
    assert len(answer["errors"][0]["message"]) > 10
    data: dict[str, Any] = answer.get("data") or {}
    assert not any(data.values())


def test_a_query_by_get_is_refused(client: httpx.Client) -> None:
    assert client.get("/graphql", params={"query": "{ viewer { name } }"}).status_code in (400, 405, 406)


@pytest.mark.costly
def test_json_that_is_sent_five_hundred_times_floods_no_log(client: httpx.Client, server: CronographProcess) -> None:
    before = len(server.output())
    for _ in range(500):
        client.post("/graphql", content=json.dumps("x"), headers={"Content-Type": "application/json"})
    assert len(server.output()) - before < 5000
