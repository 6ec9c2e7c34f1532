"""Mutations of runs, groups and nodes."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from cronograph.jobs.actions.nodes import set_state
from cronograph.jobs.core.base.times import time_text
from cronograph.jobs.core.model import Priority
from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.core.outcome import Failed
from cronograph.jobs.store.schema.tables import job, job_execution, run
from cronograph.jobs.store.statements import nodes
from tests.graphql_api.api import Api
from tests.support.history import history
from tests.support.storage import START

TRIGGER = """
mutation($job: String!, $args: JSON) {
  triggerJob(jobName: $job, args: $args) { success message jobName run { state trigger } errors { code path } }
}
"""
ENQUEUE = """
mutation($runs: [EnqueueRunInput!]!) {
  enqueueRuns(input: { runs: $runs }) {
    runs { id jobName group priority retries retryDelay timeout availableAt uniqueKey isDeduplicated trigger submitter }
    errors { code message path }
  }
}
"""


def bulk(mutation: str, more: str = "") -> str:
    """A bulk mutation of selected runs."""
    return f"""
    mutation($runs: RunSelection!, $dry: Boolean) {{
      {mutation}(input: {{ runs: $runs, dryRun: $dry {more} }}) {{
        runs {{ id state priority }} count hasMore errors {{ code message path }}
      }}
    }}
    """


async def test_a_job_is_triggered(api: Api) -> None:
    answer = (await api.ask(TRIGGER, job="work"))["triggerJob"]
    assert answer == {
        "success": True, "message": "Job work triggered successfully", "jobName": "work",
        "run": {"state": "WAITING", "trigger": "MANUAL"}, "errors": [],
    }  # fmt: skip


UPDATE = """
mutation($input: UpdateRunInput!) {
  updateRun(input: $input) { run { args availableAt submitter state } errors { code message path } }
}
"""
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}


async def test_a_run_that_waits_gets_other_arguments_and_another_time(api: Api) -> None:
    waits = str(api.stored.enqueue(args={"n": 1}, unique_key="k").id)

    async def change(**changes: Any) -> Any:
        return (await api.ask(UPDATE, input={"id": waits, **changes}))["updateRun"]

    later = "2026-03-01T18:00:00Z"
    changed = {"args": {"n": 2}, "availableAt": later, "submitter": "local administrator", "state": "WAITING"}
    assert await change(args={"n": 2}, runAt=later) == {"run": changed, "errors": []}
    assert (await change())["run"] == changed
    # The one that has the key is still this one.
    again = {"jobName": "work", "uniqueKey": "k"}
    assert (await api.ask(ENQUEUE, runs=[again]))["enqueueRuns"]["runs"][0]["isDeduplicated"]
    assert (await change(runAt=None, args=None))["run"] == {**changed, "args": {}, "availableAt": time_text(START)}


async def test_a_change_of_a_run_is_judged_as_its_enqueueing(api: Api) -> None:
    waits = api.stored.enqueue(args={"n": 1})
    api.stored.do(lambda tx: tx.conn.execute(update(job).values(args_schema=SCHEMA)))
    for args, path in (({"n": "x"}, ["args", "n"]), ({"m": 1}, ["args"])):
        answer = (await api.ask(UPDATE, input={"id": str(waits.id), "args": args}))["updateRun"]
        assert answer["run"] is None
        assert [(error["code"], error["path"]) for error in answer["errors"]] == [("INVALID_ARGS", path)]
    assert api.stored.rows(run)[0].args == {"n": 1}


async def test_what_has_begun_keeps_its_arguments_and_what_runs_its_time(api: Api) -> None:
    worker = api.stored.node("w")
    stuck = str(api.stored.enqueue(retries=1).id)
    started = worker.start()

    async def refused(**changes: Any) -> Any:
        (error,) = (await api.ask(UPDATE, input={"id": stuck, **changes}))["updateRun"]["errors"]
        return error["code"], error["path"]

    assert await refused(runAt="2026-03-02T12:00:00Z") == ("INVALID_STATE", ["id"])
    worker.end(started, Failed("ValueError", "no"))
    assert await refused(args={"n": 2}) == ("INVALID_STATE", ["args"])
    answer = (await api.ask(UPDATE, input={"id": stuck, "runAt": "2026-03-02T12:00:00Z"}))["updateRun"]
    assert (answer["run"]["state"], answer["run"]["availableAt"]) == ("STUCK", "2026-03-02T12:00:00Z")


async def test_an_unknown_job_is_data_and_leaves_no_row(api: Api) -> None:
    answer = (await api.ask(TRIGGER, job="wrok"))["triggerJob"]
    assert answer == {
        "success": False, "message": "Unknown job: wrok", "jobName": "wrok", "run": None,
        "errors": [{"code": "UNKNOWN_JOB", "path": ["jobName"]}],
    }  # fmt: skip
    assert api.stored.rows(run) == []


@pytest.mark.parametrize(("job", "args"), [("work", [1]), ("work", "x"), ("a\x00b", None), ("", None)])
async def test_nonsense_triggers_nothing(api: Api, job: str, args: object) -> None:
    answer = (await api.ask(TRIGGER, job=job, args=args))["triggerJob"]
    assert answer["success"] is False
    assert len(answer["errors"]) == 1
    assert api.stored.rows(run) == []


async def test_runs_are_put_into_the_queue_in_their_order(api: Api) -> None:
    wanted = [
        {"jobName": "work", "group": "mail", "priority": "HIGH", "runAt": "2026-03-02T00:00:00Z", "retries": 0,
         "retryDelay": 1.5, "timeout": 9},
        {"jobName": "work", "uniqueKey": "k"},
        {"jobName": "work", "uniqueKey": "k", "group": None},
    ]  # fmt: skip
    answer = (await api.ask(ENQUEUE, runs=wanted))["enqueueRuns"]
    assert answer["errors"] == []
    first, second, third = answer["runs"]
    assert {**first, "id": "-"} == {
        "id": "-", "jobName": "work", "group": "mail", "priority": "HIGH", "retries": 0, "retryDelay": 1.5,
        "timeout": 9.0,
        "availableAt": "2026-03-02T00:00:00Z", "uniqueKey": None, "isDeduplicated": False, "trigger": "API",
        "submitter": "local administrator",
    }  # fmt: skip
    assert (second["isDeduplicated"], third["isDeduplicated"]) == (False, True)
    assert second["id"] == third["id"]


async def test_one_faulty_run_keeps_all_out_and_is_named_by_its_place(api: Api) -> None:
    answer = (await api.ask(ENQUEUE, runs=[{"jobName": "work"}, {"jobName": "work", "retries": -1}]))["enqueueRuns"]
    assert answer["runs"] == []
    (error,) = answer["errors"]
    assert error["path"] == ["runs", "1", "retries"]
    assert api.stored.rows(run) == []


async def test_there_must_be_a_run_and_not_too_many(api: Api) -> None:
    (error,) = (await api.ask(ENQUEUE, runs=[]))["enqueueRuns"]["errors"]
    assert error["message"] == "runs: must be 1 to 10,000 runs, got 0"
    # More are refused before any of them is looked at.
    code, _ = await api.refused(ENQUEUE, runs=[{"jobName": "work"}] * 10_001)
    assert code == "LIMIT_COST"


async def test_a_waiting_run_is_cancelled_at_once(api: Api) -> None:
    waiting = api.stored.enqueue()
    data = await api.ask(
        'mutation($id: ID!) { cancelRun(input: { id: $id, reason: "no need" }) { run { state error cancelReason } '
        "errors { code } } }",
        id=str(waiting.id),
    )
    reason = "cancelled by local administrator: no need"
    assert data["cancelRun"] == {
        "run": {"state": "CANCELLED", "error": reason, "cancelReason": reason}, "errors": []
    }  # fmt: skip


@pytest.mark.parametrize("mutation", ["cancelRun", "retryRun", "retryRunNow"])
async def test_a_run_that_does_not_exist_is_named(api: Api, mutation: str) -> None:
    document = (
        f"mutation($id: ID!) {{ {mutation}(input: {{ id: $id }}) {{ run {{ id }} errors {{ code message path }} }} }}"
    )
    (error,) = (await api.ask(document, id="77"))[mutation]["errors"]
    assert (error["code"], error["path"]) == ("NOT_FOUND", ["id"])
    assert "77" in error["message"]
    (error,) = (await api.ask(document, id="seven"))[mutation]["errors"]
    assert (error["code"], error["path"]) == ("INVALID_INPUT", ["id"])


async def test_only_a_finished_run_is_made_again(api: Api) -> None:
    waiting = str(api.stored.enqueue().id)
    document = "mutation($id: ID!) { retryRun(input: { id: $id, args: { a: 1 } }) { run { args } errors { code } } }"
    assert (await api.ask(document, id=waiting))["retryRun"] == {"run": None, "errors": [{"code": "INVALID_STATE"}]}
    await api.ask("mutation($id: ID!) { cancelRun(input: { id: $id }) { run { id } } }", id=waiting)
    assert (await api.ask(document, id=waiting))["retryRun"] == {"run": {"args": {"a": 1}}, "errors": []}


async def test_a_stuck_run_is_made_due_now(api: Api) -> None:
    worker = api.stored.node("w")
    api.stored.enqueue()
    started = worker.start()
    worker.end(started, Failed("ValueError", "no"))
    data = await api.ask(
        "mutation($id: ID!) { retryRunNow(input: { id: $id }) { run { state availableAt explain { code } } } }",
        id=str(started.run.id),
    )
    assert data["retryRunNow"]["run"]["state"] == "STUCK"
    assert data["retryRunNow"]["run"]["availableAt"] < "2026-03-01T12:00:00Z"


async def test_a_dry_run_counts_and_shows_without_changing(api: Api) -> None:
    runs = [api.stored.enqueue(group="mail") for _ in range(3)]
    api.stored.enqueue()
    condition = {"group": {"eq": "mail"}}
    dry = (await api.ask(bulk("cancelRuns"), runs={"filter": condition}, dry=True))["cancelRuns"]
    assert dry["count"] == 3
    assert [(one["id"], one["state"]) for one in dry["runs"]] == [(str(one.id), "CANCELLED") for one in runs]
    done = (await api.ask(bulk("cancelRuns"), runs={"filter": condition}))["cancelRuns"]
    assert (done["count"], done["hasMore"]) == (3, False)
    assert {one["state"] for one in done["runs"]} == {"CANCELLED"}
    again = (await api.ask(bulk("cancelRuns"), runs={"filter": condition}))["cancelRuns"]
    assert (again["count"], again["runs"]) == (0, [])


async def test_bulk_by_ids_counts_only_what_changed(api: Api) -> None:
    first, second = str(api.stored.enqueue().id), str(api.stored.enqueue().id)
    await api.ask(bulk("cancelRuns"), runs={"ids": [first]})
    answer = (await api.ask(bulk("cancelRuns"), runs={"ids": [first, second, second]}))["cancelRuns"]
    assert (answer["count"], [one["id"] for one in answer["runs"]]) == (1, [first, second])


async def test_many_runs_are_made_again_and_changed_in_priority(api: Api) -> None:
    for _ in range(2):
        api.stored.enqueue()
    await api.ask(bulk("cancelRuns"), runs={"all": True})
    again = (await api.ask(bulk("retryRuns"), runs={"filter": {"state": {"eq": "CANCELLED"}}}))["retryRuns"]
    assert (again["count"], {one["state"] for one in again["runs"]}) == (2, {"WAITING"})
    changed = (await api.ask(bulk("setRunPriorities", ", priority: HIGH"), runs={"all": True}))["setRunPriorities"]
    assert (changed["count"], {one["priority"] for one in changed["runs"]}) == (2, {"HIGH"})
    assert [row.priority for row in api.stored.rows(run, state="waiting")] == [Priority.HIGH.value] * 2


FAULTY: list[tuple[dict[str, Any], str, list[str]]] = [
    ({"filter": {}}, "NO_CONDITION", ["runs", "filter"]),
    ({"all": False}, "NO_CONDITION", ["runs", "all"]),
    ({"ids": ["one"]}, "INVALID_INPUT", ["runs", "ids", "0"]),
    ({"ids": ["77"]}, "NOT_FOUND", ["runs", "ids"]),
    ({"filter": {"id": {"eq": "x"}}}, "INVALID_INPUT", ["runs", "filter"]),
]
NOT_ONE: list[dict[str, Any]] = [
    {},
    {"ids": ["1"], "filter": {}},
    {"ids": ["1"], "all": True},
    {"filter": {"state": {"eq": "WAITING"}}, "all": True},
    {"ids": None},
    {"filter": None},
    {"ids": None, "all": True},
]


async def test_a_faulty_selection_is_data(api: Api) -> None:
    for selection, code, path in FAULTY:
        (error,) = (await api.ask(bulk("cancelRuns"), runs=selection))["cancelRuns"]["errors"]
        assert (error["code"], error["path"]) == (code, path)
    many = "mutation($ids: [ID!]!) { cancelRuns(input: { runs: { ids: $ids } }) { errors { code path } } }"
    (error,) = (await api.ask(many, ids=[str(one) for one in range(1, 10_002)]))["cancelRuns"]["errors"]
    assert error == {"code": "INVALID_INPUT", "path": ["runs", "ids"]}


async def test_a_selection_is_exactly_one_of_its_fields(api: Api) -> None:
    for selection in NOT_ONE:
        _, errors = await api.execute(bulk("cancelRuns"), runs=selection)
        assert {error["extensions"]["code"] for error in errors} == {"INVALID_VARIABLES"}, selection
        assert "exactly one field must be specified" in errors[0]["message"], selection
    for written in ("", 'ids: ["1"], all: true', "filter: null"):
        document = f"mutation {{ cancelRuns(input: {{ runs: {{ {written} }} }}) {{ count }} }}"
        _, errors = await api.execute(document)
        assert {error["extensions"]["code"] for error in errors} == {"VALIDATION_ERROR"}, written
        assert "exactly one field must be specified" in errors[0]["message"], written
    nullable = "mutation($ids: [ID!]) { cancelRuns(input: { runs: { ids: $ids } }) { count } }"
    code, message = await api.refused(nullable, ids=["1"])
    assert (code, "must be non-nullable" in message) == ("VALIDATION_ERROR", True)


async def test_a_group_is_paused_limited_and_resumed(api: Api) -> None:
    api.stored.enqueue(group="mail")
    paused = await api.ask(
        'mutation { pauseGroup(input: { name: "mail", reason: "quota" }) { group { isPaused pausedAt pausedBy '
        "pauseReason waiting } errors { code } } }"
    )
    assert paused["pauseGroup"] == {
        "group": {
            "isPaused": True, "pausedAt": "2026-03-01T12:00:00Z", "pausedBy": "local administrator",
            "pauseReason": "quota", "waiting": 1,
        },
        "errors": [],
    }  # fmt: skip
    limit = """
    mutation($n: Int) {
      updateGroup(input: { name: "mail", maxRunning: $n }) { group { maxRunning } errors { path } }
    }
    """
    assert (await api.ask(limit, n=3))["updateGroup"]["group"] == {"maxRunning": 3}
    absent = 'mutation { updateGroup(input: { name: "mail" }) { group { maxRunning isPaused } } }'
    assert (await api.ask(absent))["updateGroup"]["group"] == {"maxRunning": 3, "isPaused": True}
    assert (await api.ask(limit, n=None))["updateGroup"]["group"] == {"maxRunning": None}
    assert (await api.ask(limit, n=-1))["updateGroup"]["errors"] == [{"path": ["maxRunning"]}]
    rate = """
    mutation($rate: RateInput) {
      updateGroup(input: { name: "mail", rate: $rate }) {
        group { maxRunning rate { limit per burst } tokens nextTokenAt } errors { message path }
      }
    }
    """
    asked = await api.ask(rate, rate={"limit": 100, "per": 60.0})
    assert asked["updateGroup"] == {
        "group": {
            "maxRunning": None,
            "rate": {"limit": 100, "per": 60.0, "burst": 5},
            "tokens": 5,
            "nextTokenAt": None,
        },
        "errors": [],
    }
    refused = await api.ask(rate, rate={"limit": 1_000_000, "per": 1.0})
    assert refused["updateGroup"]["errors"] == [
        {"message": "rate: must be at most 100,000 a second, got 1,000,000 in 1 s", "path": ["rate"]}
    ]
    listed = await api.ask('{ groups(filter: { name: { eq: "mail" } }) { nodes { rate { limit } tokens } } }')
    assert listed["groups"]["nodes"] == [{"rate": {"limit": 100}, "tokens": 5}]
    taken_away = (await api.ask(rate, rate=None))["updateGroup"]["group"]
    assert (taken_away["rate"], taken_away["tokens"]) == (None, None)
    resumed = await api.ask('mutation { resumeGroup(input: { name: "mail" }) { group { isPaused pausedAt } } }')
    assert resumed["resumeGroup"]["group"] == {"isPaused": False, "pausedAt": None}


async def test_a_live_node_is_drained_and_others_are_not_found(api: Api) -> None:
    document = (
        "mutation($name: String!) { drainNode(input: { name: $name }) { node { state } errors { code message } } }"
    )
    assert (await api.ask(document, name="node-a"))["drainNode"] == {"node": {"state": "DRAINING"}, "errors": []}
    (error,) = (await api.ask(document, name="node-b"))["drainNode"]["errors"]
    assert error["code"] == "NOT_FOUND"


async def test_a_drain_is_taken_back_unless_the_node_stops_for_good(api: Api) -> None:
    document = (
        "mutation($name: String!) { drainNode(input: { name: $name }) { node { state } } "
        "resumeNode(input: { name: $name }) { node { state } errors { code message path } } }"
    )
    assert (await api.ask(document, name="node-a"))["resumeNode"] == {"node": {"state": "ACTIVE"}, "errors": []}
    node = api.stored.do(lambda tx: nodes.live(tx.conn))[0]
    api.stored.do(set_state, node, NodeState.STOPPING)
    answer = await api.ask(document, name="node-a")
    assert answer["drainNode"] == {"node": {"state": "STOPPING"}}
    message = "node 'node-a' is stopping and ends; start its process again once it has"
    refused = [{"code": "INVALID_STATE", "message": message, "path": ["name"]}]
    assert answer["resumeNode"] == {"node": None, "errors": refused}


async def test_pruning_is_a_run_of_its_job(api: Api) -> None:
    document = """
    mutation($age: Float) {
      pruneHistory(input: { maxAgeDays: $age }) { run { jobName args trigger } errors { code message } }
    }
    """
    (error,) = (await api.ask(document, age=3.5))["pruneHistory"]["errors"]
    assert error["code"] == "UNKNOWN_JOB"
    api.stored.node("node-b", jobs=("prune_history",))
    answer = (await api.ask(document, age=3.5))["pruneHistory"]
    assert answer["run"] == {"jobName": "prune_history", "args": {"max_age_days": 3.5}, "trigger": "MANUAL"}
    assert (await api.ask(document, age=None))["pruneHistory"]["run"]["args"] == {}


@pytest.mark.altered_log
async def test_pruning_can_be_tried_first(api: Api) -> None:
    document = """
    mutation($input: PruneHistoryInput!) {
      pruneHistory(input: $input) { run { id } executions { id run { id } } count hasMore errors { code } }
    }
    """
    nothing: dict[str, object] = {"run": None, "executions": [], "count": 0, "hasMore": False, "errors": []}
    answer = await api.ask(document, input={"dryRun": True})
    assert answer["pruneHistory"] == {**nothing, "errors": [{"code": "UNKNOWN_JOB"}]}
    api.stored.node("node-b", jobs=("prune_history",))
    ends = [timedelta(days=days) for days in (40, 31, 29, 2)]
    pairs = api.stored.do(lambda tx: history(tx.conn, None, *[tx.now - end for end in ends]))
    shown = [{"id": str(execution), "run": {"id": str(run_id)}} for run_id, execution in pairs]
    for _ in range(2):
        answer = await api.ask(document, input={"dryRun": True, "idempotencyKey": "look"})
        assert answer["pruneHistory"] == {**nothing, "executions": shown[:2], "count": 2}
    answer = await api.ask(document, input={"dryRun": True, "maxAgeDays": 1})
    assert answer["pruneHistory"]["count"] == 4
    kept = 'mutation { updateGroup(input: { name: "default", keep: 86400 }) { group { keep } errors { code } } }'
    assert (await api.ask(kept))["updateGroup"] == {"group": {"keep": 86400.0}, "errors": []}
    assert (await api.ask(document, input={"dryRun": True}))["pruneHistory"]["count"] == 4
    held = await api.ask("{ retention { seconds maxPerTask groups { name seconds } jobs { name } } }")
    groups = [{"name": "default", "seconds": 86400.0}]
    assert held["retention"] == {"seconds": 30 * 86400.0, "maxPerTask": None, "groups": groups, "jobs": []}
    explained = (await api.ask("{ runs(last: 1) { nodes { explain { details } } } }"))["runs"]["nodes"][0]["explain"]
    assert "kept for good: no task prunes it" in explained["details"][-1]
    daily = '{ syntax: CRON, value: "0 0 3 * * *" }'
    task = f'createTask(input: {{ name: "prune_history", jobName: "prune_history", schedule: {daily} }})'
    assert (await api.ask(f"mutation {{ {task} {{ errors {{ code }} }} }}"))["createTask"]["errors"] == []
    explained = (await api.ask("{ runs(last: 1) { nodes { explain { details } } } }"))["runs"]["nodes"][0]["explain"]
    assert "as group 'default' says" in " ".join(explained["details"])
    assert len(api.stored.rows(job_execution)) == 4
    assert [row.job_name for row in api.stored.rows(run)] == ["j"] * 4
