"""The API enqueues runs that expire, and runs whose keys hold; what cannot be is refused with its place."""

from typing import Any

import pytest

from tests.graphql_api.api import Api

ENQUEUE = """mutation($run: EnqueueRunInput!) { enqueueRuns(input: { runs: [$run] }) {
  runs { id args expiresAt skipReason deduplicated maxDuration deadlineAt } errors { code path message } } }"""


async def test_runs_are_debounced_and_expire(api: Api) -> None:
    api.stored.node("another")
    run = {"jobName": "work", "uniqueKey": "k", "debounce": {"delay": 5}, "ttl": 60, "maxDuration": 3600}
    answers = [(await api.ask(ENQUEUE, run={**run, "args": {"n": n}}))["enqueueRuns"] for n in (1, 2)]
    (first,), (second,) = (one["runs"] for one in answers)
    assert (first["deduplicated"], second["deduplicated"], second["id"]) == (False, True, first["id"])
    assert second["args"] == {"n": 2}
    assert second["expiresAt"] is not None
    assert second["skipReason"] is None
    assert (second["maxDuration"], second["deadlineAt"]) == (3600, None)


@pytest.mark.parametrize(
    ("options", "path", "fault"),
    [
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
