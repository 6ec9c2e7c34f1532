"""A dry run of any mutation answers what would be, and leaves every row as it was."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from cronograph.jobs.store.schema import tables
from tests.graphql_api.api import Api

TASK: Final = {"name": "nightly", "jobName": "work", "schedule": {"syntax": "CRON", "value": "@daily"}}
ASKED: Final[Mapping[str, tuple[Mapping[str, Any], str]]] = {
    "pauseTask": ({"name": "nightly", "reason": "try"}, "task { name isEnabled }"),
    "deleteTask": ({"name": "nightly"}, "deletedName"),
    "enqueueFlow": ({"name": "f", "runs": [{"key": "a", "jobName": "work"}]}, "flow { name }"),
    "pauseGroup": ({"name": "default"}, "group { name isPaused }"),
    "updateGroup": ({"name": "default", "maxRunning": 3}, "group { name maxRunning }"),
    "createAccount": ({"name": "ada", "role": "VIEWER"}, "account { name } recoveryPath"),
    "saveView": ({"page": "/runs", "name": "all", "search": ""}, "view { name }"),
}
CREATE: Final = "mutation($input: CreateTaskInput!) { createTask(input: $input) { errors { message } } }"


def everything(api: Api) -> dict[str, list[Any]]:
    """Return all rows of the tables that a mutation could change; events get their numbers at any time."""
    names = ("periodic_task", "run", "flow", "queue_group", "account", "saved_view", "event", "audit_log")
    kept = {name: getattr(tables, name) for name in names if hasattr(tables, name)}
    return {name: [{**row._asdict(), "seq": None} for row in api.stored.rows(table)] for name, table in kept.items()}


@pytest.mark.parametrize("mutation", ASKED)
async def test_a_dry_run_answers_and_changes_nothing(api: Api, mutation: str) -> None:
    await api.ask(CREATE, input=TASK)
    given, fields = ASKED[mutation]
    kind = f"{mutation[0].upper()}{mutation[1:]}Input"
    before = everything(api)
    document = f"mutation($input: {kind}!) {{ {mutation}(input: $input) {{ {fields} errors {{ code }} }} }}"
    answer = (await api.ask(document, input={**given, "dryRun": True}))[mutation]
    assert everything(api) == before
    assert answer["errors"] == []
    assert next(value for name, value in answer.items() if name != "errors") is not None
    assert answer.get("recoveryPath") is None


async def test_a_stale_version_is_refused_by_every_change_of_a_task(api: Api) -> None:
    await api.ask(CREATE, input=TASK)
    for mutation in ("pauseTask", "resumeTask", "updateTask", "deleteTask"):
        kind = f"{mutation[0].upper()}{mutation[1:]}Input"
        document = f"mutation($input: {kind}!) {{ {mutation}(input: $input) {{ errors {{ code path }} }} }}"
        answer = (await api.ask(document, input={"name": "nightly", "expectedVersion": 7}))[mutation]
        assert answer["errors"] == [{"code": "VERSION_CONFLICT", "path": ["expectedVersion"]}], mutation


async def test_a_repeated_deletion_answers_with_what_was_deleted(api: Api) -> None:
    save = (
        'mutation { saveView(input: { page: "/runs", name: "all", search: "", idempotencyKey: "s" }) { view { id } } }'
    )
    view = (await api.ask(save))["saveView"]["view"]
    assert (await api.ask(save))["saveView"]["view"] == view
    delete = (
        f'mutation {{ deleteView(input: {{ id: "{view["id"]}", idempotencyKey: "d" }}) '
        "{ view { id name createdAt } errors { code } } }"
    )
    first = await api.ask(delete)
    assert first["deleteView"]["view"]["id"] == view["id"]
    assert await api.ask(delete) == first
