"""Nonsense of every kind: an answer that says what is wrong, never an internal error, and nothing in the log."""

import json
import logging
import math
import re
from dataclasses import dataclass
from typing import Any

import pytest

from cronograph.graphql.operations.base.changes import input_faults
from tests.graphql_api.api import Api
from tests.support.processor import counting

TASK = 'createTask(input: { name: "a", jobName: "work", schedule: { syntax: CRON, value: "@daily" }, %s })'
ENQUEUE = 'enqueueRuns(input: { runs: [{ jobName: "work", %s }] })'
DOCUMENTS = [
    '{ task(name: "\\u0000") { id } }',
    '{ task(name: "\\ud800") { id } }',
    '{ job(name: "\\u0000") { name } }',
    '{ jobLogs(jobName: "a\\u0000") { id } }',
    "{ jobLogs(limit: 2147483647) { id } }",
    "{ jobLogs(limit: 2147483648) { id } }",
    '{ run(id: "") { id } }',
    '{ run(id: "-1") { id } }',
    '{ run(id: "1e3") { id } }',
    '{ run(id: "٣") { id } }',
    '{ run(id: "9223372036854775808") { id } }',
    '{ execution(id: "0x10") { id } }',
    '{ executions(filter: { duration: { gt: 1e400 } }) { nodes { id } } }',
    '{ executions(filter: { recordsProcessed: { gt: 9223372036854775808 } }) { nodes { id } } }',
    '{ executions(filter: { jobName: { contains: "\\u0000" } }) { nodes { id } } }',
    '{ executions(filter: { startedAt: { gt: "yesterday" } }) { nodes { id } } }',
    '{ runs(filter: { state: { eq: waiting } }) { nodes { id } } }',
    '{ runs(orderBy: [{ field: NOTHING }]) { nodes { id } } }',
    '{ runs(first: 2147483648) { nodes { id } } }',
    '{ validateSchedule(schedule: { syntax: CRON, value: "@daily" }, count: 1000) { isValid } }',
    '{ validateSchedule(schedule: { syntax: CRON, value: null }) { isValid } }',
    '{ validateSchedule(schedule: { syntax: CRONTAB, value: "" }) { isValid } }',
    '{ upcoming(after: "x") { nodes { scheduledFor } } }',
    '{ upcoming(first: -1) { nodes { scheduledFor } } }',
    "{ failureGroups(first: 0) { message } }",
    '{ failureHistory(fingerprint: "x") { beginsAt } }',
    "mutation { triggerJob { success } }",
    "mutation { triggerJob(jobName: null) { success } }",
    'mutation { createTask(input: { name: "a" }) { errors { code } } }',
    "mutation { cancelRuns(input: null) { errors { code } } }",
    f"mutation {{ {TASK % 'startAt: 5'} {{ errors {{ code }} }} }}",
    f"mutation {{ {TASK % 'retries: 2147483648'} {{ errors {{ code }} }} }}",
]  # fmt: skip
REFUSED_AS_DATA = [
    TASK % 'args: "text"',
    TASK % "args: [1]",
    TASK % "args: { a: 1e999 }",
    TASK % 'args: { a: "\\u0000" }',
    TASK % "timeout: 1e400",
    TASK % "jitter: -1",
    TASK % "misfireGrace: 1e300",
    TASK % 'group: "\\u0000"',
    TASK % 'group: ""',
    TASK % 'owner: "\\u0001"',
    TASK % "retries: 2147483647",
    ENQUEUE % "args: 5",
    ENQUEUE % 'group: "a/b"',
    ENQUEUE % 'uniqueKey: ""',
    ENQUEUE % 'uniqueKey: "\\u0000"',
    ENQUEUE % "retryDelay: 1e400",
    ENQUEUE % "timeout: 0",
    'pauseGroup(input: { name: "" })',
    'pauseGroup(input: { name: "a\\u0007" })',
    'pauseTask(input: { name: "a", reason: "\\u0000" })',
    'drainNode(input: { name: "\\u0000" })',
    'resumeNode(input: { name: "\\u0000" })',
    'deleteTask(input: { name: "\\u0000" })',
    'deleteTasksOfOwner(input: { owner: "\\u0000" })',
    'triggerTask(input: { name: "" })',
    'cancelRun(input: { id: "99999999999999999999" })',
]
VALUES = [
    "", "x", "* * * * *", "*" * 256, "*" * 257, "@hourly", "0 0 0 31 2 *", "\x00", "\n", "é", "0" * 200, "P1Y",
    "-1", "1e9",
    "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "99999999999999999999", "mon..fri", "*-*-* *:*:*", "~1",
]  # fmt: skip


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Everything that the server would log."""
    caplog.set_level(logging.INFO)


async def test_nonsense_is_refused_with_a_reason(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    for document in DOCUMENTS:
        _, errors = await api.execute(document)
        assert errors, document
        for error in errors:
            assert "Internal error" not in error["message"], (document, error)
            assert len(error["message"]) < 1_000
    assert [record.getMessage() for record in caplog.records if record.name.startswith("cronograph")] == []


async def test_faults_that_only_the_engine_can_see_are_data(api: Api) -> None:
    for mutation in REFUSED_AS_DATA:
        data = await api.ask(f"mutation {{ it: {mutation} {{ errors {{ code message path }} }} }}")
        (error,) = data["it"]["errors"]
        assert error["code"] in ("INVALID_INPUT", "NOT_FOUND"), (mutation, error)
        assert error["message"], mutation


async def test_any_text_is_judged_as_a_schedule(api: Api) -> None:
    document = """
    query($syntax: ScheduleSyntax!, $value: String!, $zone: String!) {
      validateSchedule(schedule: { syntax: $syntax, value: $value, timezone: $zone }, count: 3) {
        isValid nextExecutions error { code message position field suggestion }
      }
    }
    """
    for syntax in ("CRON", "CALENDAR", "INTERVAL", "TIMESTAMP"):
        for value in VALUES:
            for zone in ("UTC", "Europe/Berlin"):
                answer = (await api.ask(document, syntax=syntax, value=value, zone=zone))["validateSchedule"]
                assert answer["isValid"] is (answer["error"] is None), (syntax, value)
                assert answer["isValid"] is bool(answer["nextExecutions"]), (syntax, value)


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "../../etc/passwd", "UTC\x00", "x" * 5_000, "/etc/localtime"])
async def test_a_zone_that_is_none_is_named(api: Api, zone: str) -> None:
    document = """
    query($zone: String!) {
      validateSchedule(schedule: { syntax: CRON, value: "@daily", timezone: $zone }) { isValid error { code field } }
    }
    """
    answer = (await api.ask(document, zone=zone))["validateSchedule"]
    assert answer == {"isValid": False, "error": {"code": "UNKNOWN_TIMEZONE", "field": "timezone"}}


SET = "mutation($input: SetSecretInput!) { setSecret(input: $input) { errors { message } } }"
BESIDE_SECRETS: list[Any] = [
    {"name": "a", "value": "hunter2", "note": "x"},
    {"nam": "a", "value": "hunter2"},
    {"name": "a", "valeu": "hunter2"},
    {"name": "a", "value": {"password": "hunter2"}},
    {"name": "a", "value": ["hunter2"]},
    {"name": "a", "value": 4711},
    "hunter2",
    ["hunter2"],
]


@pytest.mark.parametrize("given", BESIDE_SECRETS, ids=repr)
async def test_no_fault_of_an_input_quotes_a_secret(api: Api, given: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    literal = re.sub(r'"(\w+)":', r"\1:", json.dumps(given))
    for document, variables in ((SET, {"input": given}), (SET.replace("($input: SetSecretInput!)", ""), {})):
        _, (error, *_) = await api.execute(document.replace("$input", literal, not variables), **variables)
        assert "SetSecretInput" in error["message"] or "non string value" in error["message"]
        for text in (error["message"], caplog.text):
            assert "hunter2" not in text
            assert "4711" not in text


WRONG: dict[str, list[Any]] = {
    "Int": ["1", 1.5, True, [], {}, 2**31],
    "String": [1, True, {}, ["a", "b"]],
    "Boolean": [1, "true"],
}
"""Values that are not of a kind."""


@pytest.mark.parametrize("kind", ["Int", "String", "Boolean"])
async def test_variables_of_another_kind_are_refused(api: Api, kind: str) -> None:
    argument = {"Int": "limit", "String": "jobName", "Boolean": "onlyFailures"}[kind]
    for value in WRONG[kind]:
        _, errors = await api.execute(f"query($v: {kind}!) {{ jobLogs({argument}: $v) {{ id }} }}", v=value)
        assert len(errors) == 1, value
        assert "Internal error" not in errors[0]["message"]


def test_large_arguments_take_no_step_for_each_value() -> None:
    """They are judged on the event loop of the API."""

    @dataclass
    class Input:
        args: dict[str, Any]

    many = ["ä", 1, 0.5, True, None] * 10_000
    with counting() as calls:
        assert list(input_faults(Input({"many": many}))) == []
    assert calls() < 1_000
    for bad in ("\0", "\ud800", math.inf):
        (fault,) = input_faults(Input({"many": [*many, {"deep": [bad]}]}))
        assert fault.path == ("args", "many", "50000", "deep", "0")
