"""A refusal brings along what a client needs to act on it, and reads like any other without that."""

from typing import Any

import pytest

from tests.graphql_api.api import Api

CREATE = """
mutation($input: CreateTaskInput!) {
  it: createTask(input: $input) {
    task { id }
    errors { __typename code message path ... on ScheduleError { field position suggestion corrected } }
  }
}
"""
TASK: dict[str, Any] = {"name": "nightly", "jobName": "work", "schedule": {"syntax": "CRON", "value": "@daily"}}


async def errors_of(api: Api, document: str, **variables: Any) -> list[dict[str, Any]]:
    errors: list[dict[str, Any]] = (await api.ask(document, **variables))["it"]["errors"]
    return errors


async def test_a_refusal_without_a_type_of_its_own_is_general(api: Api) -> None:
    (error,) = await errors_of(api, 'mutation { it: cancelRun(input: { id: "7" }) { errors { __typename code } } }')
    assert error == {"__typename": "GeneralError", "code": "NOT_FOUND"}


VALIDATE = """
query($schedule: ScheduleInput!) {
  validateSchedule(schedule: $schedule) {
    error { __typename code message path field position suggestion corrected }
  }
}
"""


@pytest.mark.parametrize(
    ("schedule", "parts"),
    [
        ({"syntax": "CRON", "value": "0 0 22-2 * * *"}, ("hour", 4, "22-23,0-2", "0 0 22-23,0-2 * * *")),
        ({"syntax": "CRON", "value": "0 0 25 * * *"}, ("hour", 4, None, None)),
        ({"syntax": "CRON", "value": "@dayly"}, ("value", 0, "@daily", "@daily")),
        ({"syntax": "CRON", "value": "@daily", "timezone": "Europe/Berln"}, ("timezone", None, "Europe/Berlin", None)),
    ],
)
async def test_a_faulty_schedule_brings_its_suggestion_along(api: Api, schedule: Any, parts: Any) -> None:
    (refused,) = await errors_of(api, CREATE, input={**TASK, "schedule": schedule})
    assert refused["__typename"] == "ScheduleError"
    assert (refused["field"], refused["position"], refused["suggestion"], refused["corrected"]) == parts
    found = (await api.ask(VALIDATE, schedule=schedule))["validateSchedule"]["error"]
    assert refused == {**found, "path": ["schedule", *found["path"]], "message": refused["message"]}
    assert found["message"] in refused["message"]


async def test_a_version_conflict_shows_the_task_as_it_is_now(api: Api) -> None:
    await api.ask(CREATE, input=TASK)
    document = """
    mutation { it: pauseTask(input: { name: "nightly", expectedVersion: 9 }) {
      errors { code ... on VersionConflictError { current { name version isEnabled } } }
    } }
    """
    assert await errors_of(api, document) == [
        {"code": "VERSION_CONFLICT", "current": {"name": "nightly", "version": 1, "isEnabled": True}}
    ]


async def test_an_overlap_names_the_unfinished_run(api: Api) -> None:
    await api.ask(CREATE, input={**TASK, "overlap": "SKIP"})
    document = """
    mutation { it: triggerTask(input: { name: "nightly" }) {
      run { id } errors { code ... on OverlapError { runId run { id state } } }
    } }
    """
    first = (await api.ask(document))["it"]["run"]["id"]
    assert await errors_of(api, document) == [
        {"code": "OVERLAP", "runId": first, "run": {"id": first, "state": "WAITING"}}
    ]


async def test_a_full_queue_says_its_limit_and_how_many_wait(api: Api) -> None:
    update = 'mutation { updateGroup(input: { name: "g", cap: { limit: 1 } }) { errors { code } } }'
    await api.ask(update)
    document = """
    mutation { it: enqueueRuns(input: { runs: [{ jobName: "work", group: "g" }] }) {
      errors { code ... on QueueFullError { limit waiting } }
    } }
    """
    await api.ask(document)
    assert await errors_of(api, document) == [{"code": "QUEUE_FULL", "limit": 1, "waiting": 1}]
