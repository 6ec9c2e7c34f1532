"""The API enqueues runs that expire, and runs whose keys hold; what cannot be is refused with its place."""

import asyncio
from typing import Any

import pytest

from cronograph.jobs.store.schema import tables
from tests.graphql_api.api import Api

ENQUEUE = """mutation($run: EnqueueRunInput!) { enqueueRuns(input: { runs: [$run] }) {
  runs { id args expiresAt skipReason isDeduplicated maxDuration deadlineAt } errors { code path message } } }"""


async def test_runs_are_debounced_and_expire(api: Api) -> None:
    api.stored.node("another")
    run = {"jobName": "work", "uniqueKey": "k", "debounce": {"delay": 5}, "ttl": 60, "maxDuration": 3600}
    answers = [(await api.ask(ENQUEUE, run={**run, "args": {"n": n}}))["enqueueRuns"] for n in (1, 2)]
    (first,), (second,) = (one["runs"] for one in answers)
    assert (first["isDeduplicated"], second["isDeduplicated"], second["id"]) == (False, True, first["id"])
    assert second["args"] == {"n": 2}
    assert second["expiresAt"] is not None
    assert second["skipReason"] is None
    assert (second["maxDuration"], second["deadlineAt"]) == (3600, None)


TRIGGER = """mutation($n: JSON, $debounce: DebounceInput, $ttl: Float, $uniqueFor: Float,
  $uniqueAmong: [RunState!], $throttle: ThrottleInput, $expiresAt: DateTime) {
  triggerJob(jobName: "work", args: $n, uniqueKey: "k", debounce: $debounce, ttl: $ttl, uniqueFor: $uniqueFor,
    uniqueAmong: $uniqueAmong, throttle: $throttle, expiresAt: $expiresAt) {
    success run { id args expiresAt isDeduplicated trigger } errors { code path message } } }"""


async def test_a_run_that_is_triggered_by_hand_is_debounced_and_expires(api: Api) -> None:
    api.stored.node("another")
    options = {"debounce": {"delay": 5, "maxWait": 60}, "ttl": 60}
    first, second = [(await api.ask(TRIGGER, n={"n": n}, **options))["triggerJob"]["run"] for n in (1, 2)]
    assert (first["isDeduplicated"], second["isDeduplicated"], second["id"]) == (False, True, first["id"])
    assert (second["args"], second["trigger"]) == ({"n": 2}, "MANUAL")
    assert second["expiresAt"] is not None


async def test_many_who_ask_at_once_get_their_own_answers(api: Api) -> None:
    api.stored.node("another")
    asked = [
        *(api.ask(TRIGGER, n={"n": n}, debounce={"delay": 5}) for n in range(20)),
        api.ask(ENQUEUE, run={"jobName": "nothing", "uniqueKey": "k"}),
        api.ask(ENQUEUE, run={"jobName": "work", "uniqueKey": "other"}),
    ]
    *triggered, unknown, other = await asyncio.gather(*asked)
    assert len({one["triggerJob"]["run"]["id"] for one in triggered}) == 1
    assert unknown["enqueueRuns"]["errors"][0]["code"] == "UNKNOWN_JOB"
    assert other["enqueueRuns"]["errors"] == []
    assert len(api.stored.rows(tables.audit_log)) == 21


@pytest.mark.parametrize(
    ("options", "path", "fault"),
    [
        ({"uniqueFor": -1}, ["uniqueFor"], "uniqueFor: must be seconds from 0.001"),
        ({"ttl": -1}, ["ttl"], "ttl: must be seconds from 0.001"),
        ({"ttl": 1, "expiresAt": "2030-01-01T00:00:00Z"}, ["ttl"], "must not be given together with expiresAt"),
        ({"debounce": {"delay": 1}, "throttle": {"period": 1}}, ["debounce"], "debounce: contradicts throttle"),
        ({"throttle": {"period": 0}}, ["throttle", "period"], "throttle.period: must be seconds"),
        ({"uniqueAmong": ["RUNNING"]}, ["uniqueAmong"], "uniqueAmong: must be"),
    ],
)
async def test_what_triggerjob_cannot_do_is_refused_with_its_place(
    api: Api, options: dict[str, Any], path: list[str], fault: str
) -> None:
    api.stored.node("another")
    done = (await api.ask(TRIGGER, **options))["triggerJob"]
    assert (done["success"], done["errors"][0]["path"]) == (False, path)
    assert fault in done["errors"][0]["message"]


@pytest.mark.costly
@pytest.mark.parametrize(
    ("options", "path", "fault"),
    [
        ({"debounce": {"delay": 5}, "runAt": "2030-01-01T00:00:00Z"}, "runAt", "runAt: contradicts debounce"),
        ({"throttle": {"period": 5, "last": True}, "runAt": "2030-01-01T00:00:00Z"}, "runAt", "throttle with last"),
        (
            {"expiresAt": "2030-01-01T00:00:00Z", "runAt": "2031-01-01T00:00:00Z"},
            "expiresAt",
            "must be after runAt (2031-01-01T00:00:00Z)",
        ),
        ({"expiresAt": "2030-01-01T00:00:00Z", "ttl": 5}, "ttl", "must not be given together with expiresAt"),
        ({"labels": {"a": "x" * 201}}, "labels", "labels.a: must have 1 to 200 characters, got 201"),
        ({"labels": {"k" * 64: "x"}}, "labels", "a key must have 1 to 63 letters"),
        ({"labels": {str(n): "x" for n in range(17)}}, "labels", "must be at most 16 labels, got 17"),
        ({"ttl": -1}, "ttl", "ttl: must be seconds from"),
        ({"maxDuration": 0}, "maxDuration", "maxDuration: must be from 0.001"),
        ({"uniqueFor": 0}, "uniqueFor", "uniqueFor: must be seconds from"),
        ({"uniqueAmong": ["FAILED"]}, "uniqueAmong", "uniqueAmong: must be"),
        ({"debounce": {"delay": 5, "maxWait": 1}}, "debounce", "must not be less than the delay"),
        ({"throttle": {"period": 5}, "uniqueFor": 5}, "throttle", "throttle: contradicts uniqueFor"),
    ],
)
async def test_what_cannot_be_is_refused_with_its_place(
    api: Api, options: dict[str, Any], path: str, fault: str
) -> None:
    api.stored.node("another")
    (error,) = (await api.ask(ENQUEUE, run={"jobName": "work", **options}))["enqueueRuns"]["errors"]
    assert error["path"][:3] == ["runs", "0", path]
    assert fault in error["message"]
