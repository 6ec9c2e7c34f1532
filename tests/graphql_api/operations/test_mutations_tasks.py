"""Mutations of tasks: what they change, and the refusals that they answer as data."""

from typing import Any

from cronograph.jobs.core.model import TaskSource
from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.store.schema.tables import periodic_task, run
from cronograph.jobs.store.statements import nodes
from tests.graphql_api.api import Api

CREATE = """
mutation($input: CreateTaskInput!) {
  createTask(input: $input) {
    task { id name version isEnabled submitter args group priority overlap retries jitter startAt nextExecutionAt }
    errors { code message path }
  }
}
"""
UPDATE = """
mutation($input: UpdateTaskInput!) {
  updateTask(input: $input) {
    task { name version isEnabled description retries overlap timeout schedule { value timezone } pausedBy }
    errors { code message path }
  }
}
"""
DAILY = {"syntax": "CRON", "value": "0 0 9 * * *"}


def new(**changes: Any) -> dict[str, Any]:
    """The input of a task, with changes."""
    return {"name": "nightly", "jobName": "work", "schedule": DAILY, **changes}


async def test_a_task_is_made_with_the_defaults(api: Api) -> None:
    answer = (await api.ask(CREATE, input=new()))["createTask"]
    assert answer["errors"] == []
    assert {**answer["task"], "id": "-"} == {
        "id": "-", "name": "nightly", "version": 1, "isEnabled": True, "submitter": "local administrator", "args": {},
        "group": "default", "priority": "LOW", "overlap": "SKIP", "retries": 2, "jitter": 0.0, "startAt": None,
        "nextExecutionAt": "2026-03-02T09:00:00Z",
    }  # fmt: skip


async def test_null_stands_for_the_default_when_a_task_is_made(api: Api) -> None:
    given = new(group=None, retries=None, overlap=None, args=None, enabled=None, jitter=None)
    assert (await api.ask(CREATE, input=given))["createTask"]["task"]["retries"] == 2


async def test_a_rate_of_a_task_is_set_changed_refused_and_taken_away(api: Api) -> None:
    rated = "task { version rate { limit per burst } definition } errors { message path }"
    create = f"mutation($input: CreateTaskInput!) {{ createTask(input: $input) {{ {rated} }} }}"
    update = f"mutation($input: UpdateTaskInput!) {{ updateTask(input: $input) {{ {rated} }} }}"
    task = (await api.ask(create, input=new(rate={"limit": 100, "per": 60})))["createTask"]["task"]
    full = {"limit": 100, "per": 60.0, "burst": 5}
    assert (task["rate"], task["definition"]["rate"]) == (full, full)
    assert (await api.ask("{ tasks { nodes { rate { limit } } } }"))["tasks"]["nodes"] == [{"rate": {"limit": 100}}]
    for wrong, path in (
        ({"limit": 0}, ["rate", "limit"]),
        ({"limit": 1, "per": 86_401}, ["rate"]),
        ({"limit": 100_001, "per": 1}, ["rate"]),
    ):
        refused = (await api.ask(update, input={"name": "nightly", "rate": wrong}))["updateTask"]
        assert (refused["task"], refused["errors"][0]["path"]) == (None, path)
    gone = (await api.ask(update, input={"name": "nightly", "rate": None}))["updateTask"]["task"]
    assert (gone["rate"], "rate" in gone["definition"], gone["version"]) == (None, False, 2)


async def test_everything_can_be_set_when_a_task_is_made(api: Api) -> None:
    given = new(
        args={"a": [1, None]},
        group="mail",
        priority="HIGH",
        overlap="ALLOW",
        retries=0,
        startAt="2027-01-01T01:00:00+01:00",
    )
    task = (await api.ask(CREATE, input=given))["createTask"]["task"]
    assert (task["args"], task["group"], task["priority"], task["overlap"]) == (
        {"a": [1, None]},
        "mail",
        "HIGH",
        "ALLOW",
    )
    assert (task["retries"], task["startAt"]) == (0, "2027-01-01T00:00:00Z")
    assert task["nextExecutionAt"] == "2027-01-01T09:00:00Z"


FAULTS: list[tuple[dict[str, Any], str, list[str]]] = [
    ({"name": ""}, "INVALID_INPUT", ["name"]),
    ({"name": "a/b"}, "INVALID_INPUT", ["name"]),
    ({"name": "a\nb"}, "INVALID_INPUT", ["name"]),
    ({"name": "a\x00b"}, "INVALID_INPUT", ["name"]),
    ({"name": "x" * 201}, "INVALID_INPUT", ["name"]),
    ({"jobName": "wrok"}, "UNKNOWN_JOB", ["jobName"]),
    ({"args": [1]}, "INVALID_INPUT", ["args"]),
    ({"args": "text"}, "INVALID_INPUT", ["args"]),
    ({"schedule": {"syntax": "CRON", "value": "0 0 9 * *"}}, "INVALID_SCHEDULE", ["schedule", "value"]),
    ({"schedule": {**DAILY, "timezone": "Europe/Berln"}}, "UNKNOWN_TIMEZONE", ["schedule", "timezone"]),
    ({"schedule": {"syntax": "CRON", "value": "0 0 0 31 2 *"}}, "NEVER_FIRES", ["schedule", "value"]),
    ({"schedule": {"syntax": "CRON", "value": "0 0 9 * * \x00"}}, "INVALID_INPUT", ["schedule", "value"]),
    ({"misfireGrace": -1.0}, "INVALID_INPUT", ["misfireGrace"]),
    ({"catchUpLimit": 0}, "INVALID_INPUT", ["catchUpLimit"]),
    ({"retries": -1}, "INVALID_INPUT", ["retries"]),
    ({"timeout": 0}, "INVALID_INPUT", ["timeout"]),
    ({"startAt": "2027-01-02T00:00:00Z", "endAt": "2027-01-01T00:00:00Z"}, "INVALID_INPUT", ["endAt"]),
    ({"description": "a\x1bb"}, "INVALID_INPUT", ["description"]),
]


async def test_faults_in_the_input_are_data(api: Api) -> None:
    for changes, code, path in FAULTS:
        answer = (await api.ask(CREATE, input=new(**changes)))["createTask"]
        assert answer["task"] is None, changes
        (error,) = answer["errors"]
        assert (error["code"], error["path"]) == (code, path)
        assert error["message"]
    assert api.stored.rows(periodic_task) == []


async def test_a_taken_name_is_refused(api: Api) -> None:
    await api.ask(CREATE, input=new())
    (error,) = (await api.ask(CREATE, input=new()))["createTask"]["errors"]
    assert (error["code"], error["path"]) == ("ALREADY_EXISTS", ["name"])


async def test_absent_fields_stay_and_null_sets_the_default(api: Api) -> None:
    await api.ask(CREATE, input=new(description="old", retries=7, overlap="ALLOW", timeout=5))
    changed = await api.ask(UPDATE, input={"name": "nightly", "retries": None, "timeout": None})
    assert changed["updateTask"]["task"] == {
        "name": "nightly", "version": 2, "isEnabled": True, "description": "old", "retries": 2, "overlap": "ALLOW",
        "timeout": None, "schedule": {"value": "0 0 9 * * *", "timezone": "UTC"}, "pausedBy": None,
    }  # fmt: skip


async def test_a_lost_update_is_refused(api: Api) -> None:
    await api.ask(CREATE, input=new())
    await api.ask(UPDATE, input={"name": "nightly", "expectedVersion": 1, "description": "mine"})
    answer = (await api.ask(UPDATE, input={"name": "nightly", "expectedVersion": 1, "description": "yours"}))[
        "updateTask"
    ]
    (error,) = answer["errors"]
    assert (error["code"], error["path"]) == ("VERSION_CONFLICT", ["expectedVersion"])
    assert "version 2, got 1" in error["message"]


async def test_a_faulty_edit_changes_nothing(api: Api) -> None:
    await api.ask(CREATE, input=new())
    faulty = {"name": "nightly", "description": "new", "schedule": {"syntax": "CRON", "value": "x"}}
    assert (await api.ask(UPDATE, input=faulty))["updateTask"]["task"] is None
    (row,) = api.stored.rows(periodic_task)
    assert (row.description, row.version) == ("", 1)


async def test_an_empty_name_of_a_job_is_not_taken_for_an_absent_one(api: Api) -> None:
    await api.ask(CREATE, input=new())
    (error,) = (await api.ask(UPDATE, input={"name": "nightly", "jobName": ""}))["updateTask"]["errors"]
    assert (error["code"], error["path"]) == ("UNKNOWN_JOB", ["jobName"])
    kept = (await api.ask(UPDATE, input={"name": "nightly", "jobName": None, "schedule": None}))["updateTask"]["task"]
    assert kept["schedule"] == {"value": "0 0 9 * * *", "timezone": "UTC"}


async def test_pausing_names_who_and_why(api: Api) -> None:
    api.stored.task(name="nightly")
    paused = await api.ask(
        'mutation { pauseTask(input: { name: "nightly", reason: "maintenance" }) { task { isEnabled pausedAt pausedBy '
        "pauseReason nextExecutionAt nextNominalAt explain { code } } } }"
    )
    assert paused["pauseTask"]["task"] == {
        "isEnabled": False, "pausedAt": "2026-03-01T12:00:00Z", "pausedBy": "local administrator",
        "pauseReason": "maintenance", "nextExecutionAt": None, "nextNominalAt": "2026-03-01T12:01:00Z",
        "explain": {"code": "PAUSED"},
    }  # fmt: skip
    resumed = await api.ask('mutation { resumeTask(input: { name: "nightly" }) { task { isEnabled pausedAt } } }')
    assert resumed["resumeTask"]["task"] == {"isEnabled": True, "pausedAt": None}


async def test_a_task_that_does_not_exist_is_named(api: Api) -> None:
    api.stored.task(name="nightly")
    for mutation in ("pauseTask", "resumeTask", "resetTask", "deleteTask", "triggerTask"):
        document = f'mutation {{ {mutation}(input: {{ name: "nightli" }}) {{ errors {{ code message path }} }} }}'
        (error,) = (await api.ask(document))[mutation]["errors"]
        assert (error["code"], error["path"]) == ("NOT_FOUND", ["name"])
        assert "task 'nightli' does not exist; did you mean 'nightly'" in error["message"]


async def test_a_deleted_task_leaves_its_history(api: Api) -> None:
    api.stored.task(name="nightly")
    await api.ask('mutation { triggerTask(input: { name: "nightly" }) { run { id } } }')
    deleted = await api.ask('mutation { deleteTask(input: { name: "nightly" }) { deletedName errors { code } } }')
    assert deleted["deleteTask"] == {"deletedName": "nightly", "errors": []}
    data = await api.ask('{ task(name: "nightly") { id } runs { nodes { state taskName task { id } } } }')
    assert data == {"task": None, "runs": {"nodes": [{"state": "CANCELLED", "taskName": "nightly", "task": None}]}}


async def test_deleting_a_task_can_be_tried_first(api: Api) -> None:
    api.stored.task(name="nightly")
    document = """
    mutation($dry: Boolean) {
      deleteTask(input: { name: "nightly", dryRun: $dry }) {
        deletedName cancelledRuns { jobName state } cancelledCount errors { code }
      }
    }
    """
    await api.ask('mutation { triggerTask(input: { name: "nightly" }) { run { id } } }')
    expected: dict[str, object] = {"deletedName": "nightly", "cancelledCount": 1, "errors": []}
    for _ in range(2):
        would = (await api.ask(document, dry=True))["deleteTask"]
        assert would == {**expected, "cancelledRuns": [{"jobName": "work", "state": "CANCELLED"}]}
    assert len(api.stored.rows(periodic_task)) == 1
    did = (await api.ask(document, dry=False))["deleteTask"]
    assert did == {**expected, "cancelledRuns": [{"jobName": "work", "state": "CANCELLED"}]}
    gone = (await api.ask(document, dry=True))["deleteTask"]
    assert gone == {"deletedName": None, "cancelledRuns": [], "cancelledCount": 0, "errors": [{"code": "NOT_FOUND"}]}


async def test_a_repeated_deletion_answers_as_the_first(api: Api) -> None:
    api.stored.task(name="nightly")
    await api.ask('mutation { triggerTask(input: { name: "nightly" }) { run { id } } }')
    document = """
    mutation {
      deleteTask(input: { name: "nightly", idempotencyKey: "once" }) {
        deletedName cancelledRuns { state } cancelledCount errors { code }
      }
    }
    """
    first = await api.ask(document)
    assert first["deleteTask"]["cancelledRuns"] == [{"state": "CANCELLED"}]
    assert await api.ask(document) == first


async def test_a_task_of_code_can_be_deleted_once_no_live_node_declares_it(api: Api) -> None:
    worker = api.stored.node("coder", jobs=["nightly"], schedule="0 0 3 * * *")
    api.stored.task(name="nightly")
    change = periodic_task.update().values(source=TaskSource.CODE.value)
    api.stored.do(lambda tx: tx.conn.execute(change))
    document = 'mutation { deleteTask(input: { name: "nightly" }) { deletedName errors { code } } }'
    chosen = '{ filter: { name: { eq: "nightly" } } }'
    many = f"mutation {{ deleteTasks(input: {{ tasks: {chosen}, dryRun: true }}) {{ deletedNames }} }}"
    shown = '{ task(name: "nightly") { isDeletable explain { details } } }'
    data = await api.ask(document)
    assert data["deleteTask"] == {"deletedName": None, "errors": [{"code": "CODE_TASK"}]}
    assert (await api.ask(many))["deleteTasks"] == {"deletedNames": []}
    assert (await api.ask(shown))["task"] == {"isDeletable": False, "explain": {"details": []}}
    api.stored.do(lambda tx: nodes.set_state(tx.conn, worker.node.id, NodeState.STOPPED))
    sentence = "No live node declares it in its code any more, so it can be deleted."
    assert (await api.ask(shown))["task"] == {"isDeletable": True, "explain": {"details": [sentence]}}
    assert (await api.ask(many))["deleteTasks"] == {"deletedNames": ["nightly"]}
    data = await api.ask(document)
    assert data["deleteTask"] == {"deletedName": "nightly", "errors": []}


async def test_the_tasks_of_an_owner_go_together_after_a_dry_run(api: Api) -> None:
    for name, owner in (("a", "channel:1"), ("b", "channel:1"), ("c", None)):
        api.stored.task(name=name, owner=owner)
    document = """
    mutation($dry: Boolean) {
      deleteTasksOfOwner(input: { owner: "channel:1", dryRun: $dry }) { deletedNames count errors { code } }
    }
    """
    expected = {"deletedNames": ["a", "b"], "count": 2, "errors": []}
    assert (await api.ask(document, dry=True))["deleteTasksOfOwner"] == expected
    assert len(api.stored.rows(periodic_task)) == 3
    assert (await api.ask(document, dry=False))["deleteTasksOfOwner"] == expected
    assert [row.name for row in api.stored.rows(periodic_task)] == ["c"]


async def test_triggering_a_task_obeys_its_overlap_policy(api: Api) -> None:
    api.stored.task(name="nightly", args={"a": 1})
    document = """
    mutation($args: JSON) {
      triggerTask(input: { name: "nightly", args: $args }) {
        run { id trigger args scheduledFor } errors { code message }
      }
    }
    """
    first = (await api.ask(document, args={"a": 2}))["triggerTask"]
    assert {**first["run"], "id": "-"} == {"id": "-", "trigger": "MANUAL", "args": {"a": 2}, "scheduledFor": None}
    second = (await api.ask(document))["triggerTask"]
    assert second["run"] is None
    (error,) = second["errors"]
    assert error["code"] == "OVERLAP"
    assert f"run {first['run']['id']} is unfinished" in error["message"]
    assert len(api.stored.rows(run)) == 1


async def test_a_window_that_has_passed_finishes_a_task_and_makes_no_new_one(api: Api) -> None:
    """A new task would never run; one that has run is finished this way, and keeps its history."""
    past = "2001-01-01T00:00:00Z"
    (of_new,) = (await api.ask(CREATE, input=new(endAt=past)))["createTask"]["errors"]
    assert of_new["code"] == "NEVER_FIRES"
    await api.ask(CREATE, input=new())
    assert (await api.ask(UPDATE, input={"name": "nightly", "endAt": past}))["updateTask"]["errors"] == []
    shown = (await api.ask('{ task(name: "nightly") { nextExecutionAt explain { code } } }'))["task"]
    assert shown == {"nextExecutionAt": None, "explain": {"code": "WINDOW_ENDED"}}
