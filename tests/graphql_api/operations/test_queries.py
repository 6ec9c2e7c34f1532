"""What single queries answer."""

from dataclasses import replace
from typing import Any

import pytest
from strawberry.types import ExecutionResult

from cronograph.graphql.resolving.context import Person
from cronograph.jobs.core.actor import Role
from cronograph.jobs.core.model import MisfirePolicy, OverlapPolicy
from cronograph.jobs.core.outcome import Failed, JobOutcome, Succeeded
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.store.db.transaction import ReplicaState
from tests.graphql_api.api import Api

LOGS = "jobLogs(limit: 10) { id jobName startedAt completedAt success errorMessage recordsProcessed }"


async def test_the_available_jobs_are_listed(api: Api) -> None:
    api.stored.node("node-b", jobs=("work", "other"))
    data = await api.ask("{ availableJobs { name description schedule isKnown nodes argsSchema isolation } }")
    assert data["availableJobs"] == [
        {
            "name": "other", "description": "", "schedule": None, "isKnown": True, "nodes": ["node-b"],
            "argsSchema": {"type": "object"}, "isolation": "ASYNC",
        },
        {
            "name": "work", "description": "", "schedule": None, "isKnown": True, "nodes": ["node-a", "node-b"],
            "argsSchema": {"type": "object"}, "isolation": "ASYNC",
        },
    ]  # fmt: skip


async def test_a_root_field_that_fails_leaves_the_others(api: Api) -> None:
    data, errors = await api.execute("{ upcoming(apart: 0) { totalCount } availableJobs { name } }")
    assert data == {"upcoming": None, "availableJobs": [{"name": "work"}]}
    assert [error["path"] for error in errors] == [["upcoming"]]


async def test_a_job_that_no_node_has_published_is_null(api: Api) -> None:
    assert await api.ask('{ job(name: "nothing") { name } }') == {"job": None}


async def test_the_log_is_newest_first_and_can_show_failures_only(api: Api) -> None:
    worker = api.stored.node("w")
    outcomes: list[JobOutcome] = [Succeeded(7), Failed("ValueError", "no"), Succeeded()]
    for seconds, outcome in enumerate(outcomes):
        api.stored.at(seconds)
        api.stored.enqueue(retries=0)
        worker.end(worker.start(), outcome)
    data = await api.ask(f"{{ {LOGS} failed: jobLogs(onlyFailures: true) {{ id errorMessage }} }}")
    assert [(row["success"], row["errorMessage"], row["recordsProcessed"]) for row in data["jobLogs"]] == [
        (True, None, None),
        (False, "no", None),
        (True, None, 7),
    ]
    assert data["jobLogs"][0]["startedAt"] == "2026-03-01T12:00:02Z"
    assert data["failed"] == [{"id": data["jobLogs"][1]["id"], "errorMessage": "no"}]


async def test_the_log_of_one_job_shows_only_that_job(api: Api) -> None:
    worker = api.stored.node("w", jobs=("work", "other"))
    for name in ("work", "other", "work"):
        api.stored.enqueue(job_name=name)
        worker.start()
    data = await api.ask('{ jobLogs(jobName: "work") { jobName success completedAt } }')
    assert data["jobLogs"] == [{"jobName": "work", "success": None, "completedAt": None}] * 2


@pytest.mark.parametrize("limit", [0, 1001, -1])
async def test_the_limit_of_the_log_has_bounds(api: Api, limit: int) -> None:
    code, message = await api.refused("query($n: Int) { jobLogs(limit: $n) { id } }", n=limit)
    assert code == "INVALID_INPUT"
    assert message == f"limit: must be a whole number from 1 to 1000, got {limit}"


async def test_a_task_is_found_by_name_and_by_id(api: Api) -> None:
    task = api.stored.task(name="nightly")
    query = 'query($id: ID) { a: task(name: "nightly") { id } b: task(id: $id) { name } c: task(name: "x") { id } }'
    assert await api.ask(query, id=str(task.id)) == {"a": {"id": str(task.id)}, "b": {"name": "nightly"}, "c": None}


@pytest.mark.parametrize("arguments", ["", '(name: "a", id: "1")'])
async def test_a_task_is_asked_for_in_one_way(api: Api, arguments: str) -> None:
    code, message = await api.refused(f"{{ task{arguments} {{ id }} }}" if arguments else "{ task { id } }")
    assert code == "INVALID_INPUT"
    assert "either name or id" in message


async def test_a_task_shows_the_policies_in_force(api: Api) -> None:
    api.stored.task("90", Syntax.INTERVAL, name="pulse", jitter=0)
    data = await api.ask(
        '{ task(name: "pulse") { overlap tolerance timeout misfire misfireGrace catchUpLimit retries retryDelay group '
        "priority source schedule { humanized nextExecutions(count: 2) } nextExecutionAt nextNominalAt isFinished "
        "version } }"
    )
    assert data["task"] == {
        "overlap": "QUEUE", "tolerance": 5.0, "timeout": 45.0, "misfire": "LAST", "misfireGrace": 60.0,
        "catchUpLimit": 100, "retries": 2, "retryDelay": 60.0, "group": "default", "priority": "LOW", "source": "API",
        "schedule": {
            "humanized": "Every 1 minute 30 seconds",
            "nextExecutions": ["2026-03-01T12:01:30Z", "2026-03-01T12:03:00Z"],
        },
        "nextExecutionAt": "2026-03-01T12:01:30Z", "nextNominalAt": "2026-03-01T12:01:30Z", "isFinished": False,
        "version": 1,
    }  # fmt: skip


async def test_the_last_status_is_the_newest_finished_execution(api: Api) -> None:
    api.stored.task("* * * * * *", overlap=None)
    worker = api.stored.node("w")
    api.stored.at(1)
    api.stored.dispatch()
    worker.end(worker.start(), Succeeded(3))
    api.stored.at(2)
    api.stored.dispatch()
    worker.start()
    data = await api.ask("{ tasks { nodes { lastStatus { recordsProcessed completedAt } } } }")
    assert data["tasks"]["nodes"] == [{"lastStatus": {"recordsProcessed": 3, "completedAt": "2026-03-01T12:00:01Z"}}]


async def test_a_task_that_should_have_started_is_stalled(api: Api) -> None:
    api.stored.task("0 * * * * *", misfire_grace=10.0)
    api.stored.at(60)
    api.stored.dispatch()
    assert (await api.ask("{ tasks { nodes { isStalled } } }"))["tasks"]["nodes"] == [{"isStalled": False}]
    api.stored.at(71)
    data = await api.ask("{ tasks { nodes { isStalled } } overview { stalledTasks waiting } statistics { stalled } }")
    assert data["tasks"]["nodes"] == [{"isStalled": True}]
    assert data["overview"] == {"stalledTasks": 1, "waiting": 1}
    assert data["statistics"] == {"stalled": 1}


async def test_a_task_that_is_due_more_often_than_its_grace_is_long_is_stalled_too(api: Api) -> None:
    api.stored.task("* * * * * *", misfire_grace=10.0)
    worker = api.stored.node("w")
    document = "{ tasks { nodes { isStalled } } overview { stalledTasks } }"
    found: list[bool] = []
    for second in (1, 5, 11, 12, 30):
        api.stored.at(second)
        api.stored.dispatch()
        data = await api.ask(document)
        (task,) = data["tasks"]["nodes"]
        assert data["overview"]["stalledTasks"] == int(task["isStalled"])
        found.append(task["isStalled"])
    assert found == [False, False, False, True, True]
    worker.start()
    assert (await api.ask(document))["tasks"]["nodes"] == [{"isStalled": False}]


async def _late(api: Api) -> bool:
    """Return whether the only task is late; all that say so agree."""
    document = (
        "{ tasks { nodes { isStalled } } late: tasks(filter: { isStalled: { eq: true } }) { totalCount } "
        "overview { stalledTasks } statistics { stalled } }"
    )
    data = await api.ask(document)
    (task,) = data["tasks"]["nodes"]
    said = {data["late"]["totalCount"], data["overview"]["stalledTasks"], data["statistics"]["stalled"]}
    assert said == {int(task["isStalled"])}
    late: bool = task["isStalled"]
    return late


async def test_a_task_whose_occurrence_was_missed_and_is_not_made_up_is_not_late(api: Api) -> None:
    api.stored.task("0 * * * * *", misfire=MisfirePolicy.NONE, misfire_grace=10.0)
    api.stored.node("w")
    api.stored.at(100)
    api.stored.dispatch()
    (skip,) = (await api.ask("{ skippedOccurrences { nodes { reason } } }"))["skippedOccurrences"]["nodes"]
    assert skip == {"reason": "MISSED"}
    assert not await _late(api)


async def test_a_task_whose_occurrences_overlap_a_long_run_is_not_late(api: Api) -> None:
    api.stored.task("0 * * * * *", overlap=OverlapPolicy.SKIP, misfire_grace=10.0)
    worker = api.stored.node("w")
    api.stored.at(60)
    api.stored.dispatch()
    worker.start()
    for seconds in (120, 180, 200):
        api.stored.at(seconds)
        api.stored.dispatch()
    assert not await _late(api)


async def test_a_task_that_was_paused_over_a_due_time_is_not_late_once_it_is_resumed(api: Api) -> None:
    api.stored.task("0 * * * * *", name="nightly", misfire_grace=10.0)
    api.stored.node("w")
    await api.ask('mutation { pauseTask(input: { name: "nightly" }) { errors { message } } }')
    api.stored.at(60)
    api.stored.dispatch()
    api.stored.at(75)
    await api.ask('mutation { resumeTask(input: { name: "nightly" }) { errors { message } } }')
    assert not await _late(api)


async def test_a_task_whose_waiting_run_was_cancelled_is_not_late(api: Api) -> None:
    api.stored.task("0 * * * * *", misfire_grace=10.0)
    api.stored.node("w")
    api.stored.at(60)
    api.stored.dispatch()
    api.stored.at(75)
    assert await _late(api)
    (run,) = (await api.ask("{ runs { nodes { id } } }"))["runs"]["nodes"]
    await api.ask("mutation($id: ID!) { cancelRun(input: { id: $id }) { errors { message } } }", id=run["id"])
    assert not await _late(api)


async def test_a_run_leads_to_its_task_its_attempts_and_the_run_it_retries(api: Api) -> None:
    task = api.stored.task("* * * * * *", retries=0)
    worker = api.stored.node("w")
    api.stored.at(1)
    api.stored.dispatch()
    failed = worker.start()
    worker.end(failed, Failed("ValueError", "no"))
    run_id = str(failed.run.id)
    again = await api.ask("mutation($id: ID!) { retryRun(input: { id: $id }) { run { id } } }", id=run_id)
    data = await api.ask(
        "query($id: ID!) { run(id: $id) { trigger scheduledFor task { name } retriedFrom { id state error "
        "executions { nodes { attempt outcome errorType run { id } } totalCount } } } }",
        id=again["retryRun"]["run"]["id"],
    )
    assert data["run"] == {
        "trigger": "RETRY",
        "scheduledFor": "2026-03-01T12:00:01Z",
        "task": {"name": task.name},
        "retriedFrom": {
            "id": run_id,
            "state": "FAILED",
            "error": "no",
            "executions": {
                "nodes": [{"attempt": 1, "outcome": "FAILED", "errorType": "ValueError", "run": {"id": run_id}}],
                "totalCount": 1,
            },
        },
    }


async def test_skipped_occurrences_report_why(api: Api) -> None:
    api.stored.task("* * * * * *")
    for second in range(1, 5):
        api.stored.at(second)
        api.stored.dispatch()
    data = await api.ask(
        "{ skippedOccurrences { nodes { reason count firstScheduledFor lastScheduledFor policy task { name } } } "
        "tasks { nodes { skippedOccurrences { totalCount } } } }"
    )
    assert data["skippedOccurrences"]["nodes"] == [
        {
            "reason": "OVERLAP", "count": 3, "firstScheduledFor": "2026-03-01T12:00:02Z",
            "lastScheduledFor": "2026-03-01T12:00:04Z", "task": {"name": "nightly"},
            "policy": {"overlap": "skip", "unfinishedAllowed": 1},
        }
    ]  # fmt: skip
    assert data["tasks"]["nodes"][0]["skippedOccurrences"]["totalCount"] == 1


async def test_groups_show_their_depth_and_their_limits(api: Api) -> None:
    api.stored.enqueue(group="mail")
    api.stored.pass_time(5)
    await api.ask('mutation { updateGroup(input: { name: "files", maxRunning: 3 }) { group { name } } }')
    data = await api.ask("{ groups { nodes { name isPaused maxRunning waiting running oldestWait } } }")
    empty: dict[str, Any] = {"isPaused": False, "maxRunning": None, "waiting": 0, "running": 0, "oldestWait": None}
    assert data["groups"]["nodes"] == [
        {"name": "default", **empty},
        {"name": "files", **empty, "maxRunning": 3},
        {"name": "mail", **empty, "waiting": 1, "oldestWait": 5.0},
    ]


async def test_nodes_show_themselves(api: Api) -> None:
    data = await api.ask("{ nodes { nodes { name state slots running version jobs jobCount clockSkew } } }")
    (node,) = data["nodes"]["nodes"]
    assert {key: node[key] for key in ("name", "state", "slots", "running", "version", "jobs", "jobCount")} == {
        "name": "node-a", "state": "ACTIVE", "slots": 20, "running": 0, "version": "1", "jobs": ["work"],
        "jobCount": 1,
    }  # fmt: skip


async def test_the_slots_in_use_follow_the_runs_without_a_heartbeat(api: Api) -> None:
    worker = api.stored.node("w")
    for _ in range(3):
        api.stored.enqueue()
    started = [worker.start(), worker.start()]
    query = '{ nodes(filter: { name: { eq: "w" } }) { nodes { running runs { totalCount } } } }'
    assert (await api.ask(query))["nodes"]["nodes"] == [{"running": 2, "runs": {"totalCount": 2}}]
    for one in started:
        worker.end(one)
    assert (await api.ask(query))["nodes"]["nodes"][0]["running"] == 0


async def test_the_viewer_is_the_local_administrator(api: Api) -> None:
    assert await api.ask("{ viewer { name role } }") == {"viewer": {"name": "local administrator", "role": "ADMIN"}}


class Away:
    """A standby that is out of reach."""

    state = ReplicaState(in_use=False, lag=None, reason="it cannot be asked", said="connection to 10.0.0.7 refused")


@pytest.mark.parametrize(
    ("role", "reason"),
    [
        (Role.VIEWER, "it cannot be asked"),
        (Role.OPERATOR, "it cannot be asked"),
        (Role.ADMIN, "it cannot be asked: connection to 10.0.0.7 refused"),
    ],
)
async def test_administrators_alone_see_the_address_of_a_read_replica(api: Api, role: Role, reason: str) -> None:
    context = replace(api.context(), person=Person("eve", role), replica=Away())
    result = await api.schema.execute("{ readReplica { isInUse lag reason } }", context_value=context)
    assert isinstance(result, ExecutionResult)
    assert result.data == {"readReplica": {"isInUse": False, "lag": None, "reason": reason}}


async def test_the_servers_time_has_only_the_decimals_it_needs(api: Api) -> None:
    api.stored.at(0.25)
    assert await api.ask("{ serverTime }") == {"serverTime": "2026-03-01T12:00:00.25Z"}


async def test_a_valid_schedule_shows_its_sentence_and_its_next_times(api: Api) -> None:
    data = await api.ask(
        '{ validateSchedule(schedule: { syntax: CRON, value: "0 30 9 * * MON-FRI", timezone: "Europe/Berlin" }, '
        'count: 2, from: "2026-03-27T12:00:00Z") { isValid humanized nextExecutions error { message } } }'
    )
    answer = data["validateSchedule"]
    assert answer["isValid"] is True
    assert answer["error"] is None
    assert "Europe/Berlin" in answer["humanized"]
    assert answer["nextExecutions"] == ["2026-03-30T07:30:00Z", "2026-03-31T07:30:00Z"]


async def test_a_faulty_schedule_is_an_answer_and_no_error(api: Api) -> None:
    data = await api.ask(
        '{ validateSchedule(schedule: { syntax: CRON, value: "0 0 12 * *" }) { isValid nextExecutions error { code '
        "field position suggestion message } } }"
    )
    answer = data["validateSchedule"]
    assert answer["isValid"] is False
    assert answer["nextExecutions"] == []
    assert answer["error"]["code"] == "INVALID_SCHEDULE"
    assert answer["error"]["suggestion"] == "0 0 0 12 * *"


@pytest.mark.parametrize("count", [0, 101])
async def test_no_more_than_a_hundred_times_are_computed(api: Api, count: int) -> None:
    query = 'query($n: Int!) { validateSchedule(schedule: { syntax: CRON, value: "@daily" }, count: $n) { isValid } }'
    assert await api.refused(query, n=count) == (
        "INVALID_INPUT",
        f"count: must be a whole number from 1 to 100, got {count}",
    )


async def test_explanations_name_the_run_in_the_way(api: Api) -> None:
    api.stored.task("0 * * * * *")
    api.stored.at(60)
    api.stored.dispatch()
    data = await api.ask(
        "{ tasks { nodes { explain { code sentence run { id state } } } } runs { nodes { id explain { code } } } }"
    )
    (run,) = data["runs"]["nodes"]
    (task,) = data["tasks"]["nodes"]
    assert task["explain"]["code"] == "QUEUED"
    assert task["explain"]["run"] == {"id": run["id"], "state": "WAITING"}
    assert run["explain"]["code"] == "NEXT"


async def test_groups_with_any_limit_are_found_as_limited(api: Api) -> None:
    limits = ("maxRunning: 1", "rate: { limit: 5 }", "cap: { limit: 5 }", "maxWaitLow: 60")
    for name, limit in zip("abcd", limits, strict=True):
        change = f'mutation {{ updateGroup(input: {{ name: "{name}", {limit} }}) {{ errors {{ message }} }} }}'
        assert (await api.ask(change))["updateGroup"]["errors"] == []
    found = {
        is_limited: (
            await api.ask(
                "query($is: Boolean) { groups(filter: { isLimited: { eq: $is } }) { nodes { name } } }",
                **{"is": is_limited},
            )
        )["groups"]["nodes"]
        for is_limited in (True, False)
    }
    assert [[one["name"] for one in found[which]] for which in (True, False)] == [["a", "b", "c"], ["d", "default"]]
