"""A list reads the columns that are asked of it, and answers as if it had read whole rows."""

from functools import partial
from typing import Any

import pytest
from sqlalchemy import delete

from cronograph.graphql.execution.shown import ByField
from cronograph.graphql.types.entities import JobExecution
from cronograph.graphql.types.run import RunFields
from cronograph.graphql.types.task import TaskFields
from cronograph.jobs.actions.tasks import pause_task
from cronograph.jobs.core.model import Priority
from cronograph.jobs.core.outcome import Failed, Succeeded
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.queue.base.runs import save_progress
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import run
from tests.graphql_api.api import Api, counted_statements
from tests.support.storage import retry_runs

BELOW = {
    "schedule": "{ value timezone }",
    "declaredSchedule": "{ value }",
    "progress": "{ done message }",
    "rate": "{ limit }",
    "resources": "{ cpus options }",
    "run": "{ id __typename }",
}
"""What is asked of the fields that are objects."""

WHOLE = "job { name }"
"""No matter of columns: anyone who asks for it gets whole rows read."""

TYPES: dict[str, type[ByField]] = {"tasks": TaskFields, "runs": RunFields, "executions": JobExecution}
FIELDS = {
    name: [f"{field} {BELOW.get(field, '')}" for field in (*kind.FIELDS.names, *kind.FIELDS.ready)]
    for name, kind in TYPES.items()
}
LISTS = {"tasks": "tasks", "runs": "runs", "executions": "executions", "jobLogs": "executions"}


def report(run_id: int, attempt: int, node_id: int, tx: Tx) -> None:
    """Have a run say how far it is."""
    assert save_progress(tx.conn, [(run_id, attempt, node_id, {"done": 1, "total": 2, "message": "half"})])


def fill(api: Api) -> None:
    """Tasks, runs and executions with something in each column that a document can ask for."""
    stored = api.stored
    stored.task(
        "* * * * * *", name="failing", retries=0, group="slow", priority=Priority.HIGH, owner="me", args={"a": 1},
        labels={"team": "a"},
    )  # fmt: skip
    stored.task("10s", Syntax.INTERVAL, name="repeated", timeout=3.0, tolerance=1.0, description="again and again")
    stored.task("0 0 * * * *", name="idle")
    stored.task("0 * * * * *", name="paused")
    stored.do(pause_task, "paused", reason="a test", actor="tester")
    worker = stored.node("w")
    failed = list[int]()
    for second in (1, 12):
        stored.at(second)
        stored.dispatch()
        for place, started in enumerate(worker.take(2).started):
            stored.do(partial(report, started.run.id, started.run.attempt, worker.node.id))
            stored.pass_time(0.5)
            worker.end(started, Succeeded(7, {"b": [2]}) if place else Failed("ValueError", "no", "line 1"))
            failed += [] if place else [started.run.id]
    stored.do(retry_runs, failed[:1])
    for started in worker.take(2).started:
        worker.end(started)
    stored.enqueue(unique_key="once", submitter="tester", timeout=2.5)
    stored.at(20)
    stored.dispatch()
    worker.take(1)


async def rows_of(api: Api, name: str, selection: str, arguments: str = "") -> list[dict[str, Any]]:
    """The rows of a list, which is not empty, with these fields."""
    page, given = name != "jobLogs", f"({arguments})" if arguments else ""
    below = f"nodes {{ {selection} }}" if page else selection
    found = (await api.ask(f"{{ rows: {name}{given} {{ {below} }} }}"))["rows"]
    rows: list[dict[str, Any]] = found["nodes"] if page else found
    assert rows
    return rows


def selects(sent: list[str]) -> list[str]:
    """Those statements that read tasks: the bus, which polls, may send others meanwhile."""
    return [statement for statement in sent if statement.startswith("SELECT") and "periodic_task" in statement]


def without(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows without what was asked for in order to have them read whole."""
    return [{name: value for name, value in row.items() if name != "job"} for row in rows]


@pytest.mark.costly
@pytest.mark.parametrize("name", LISTS)
async def test_each_field_is_the_same_of_columns_and_of_a_whole_row(api: Api, name: str) -> None:
    fill(api)
    fields = FIELDS[LISTS[name]]
    for asked in (*fields, " ".join(fields), " ".join(fields[::3])):
        assert await rows_of(api, name, asked) == without(await rows_of(api, name, f"{asked} {WHOLE}")), asked


async def test_no_more_is_read_than_what_is_asked_for(api: Api) -> None:
    fill(api)
    documents = {
        "{ tasks { nodes { name nextExecutionAt } } }": "schedule_value",
        "{ runs { edges { node { ... on Run { state } __typename } } } }": "args",
        "{ executions { nodes { duration } } jobLogs { attempt } }": "traceback",
        "{ tasks { pageInfo { endCursor } totalCount } }": "schedule_value",
        "{ tasks { nodes { lastStatus { success } } } }": "traceback",
    }
    for document, column in documents.items():
        with counted_statements() as sent:
            await api.ask(document)
        assert not [statement for statement in sent if column in statement], document
    with counted_statements() as sent:
        await api.ask("{ tasks { nodes { name explain { code } } } }")
    assert "schedule_value" in selects(sent)[0]


@pytest.mark.costly
@pytest.mark.parametrize("order", ["", "orderBy: { field: NEXT_EXECUTION_AT, direction: DESC }", "last: 3"])
async def test_the_newest_execution_of_a_task_is_that_of_the_task_alone(api: Api, order: str) -> None:
    fill(api)
    status = f"lastStatus {{ {' '.join(FIELDS['executions'])} }}"
    with counted_statements() as sent:
        slim = await rows_of(api, "tasks", f"name {status}", order)
    assert len(selects(sent)) == 1
    assert slim == without(await rows_of(api, "tasks", f"name {status} {WHOLE}", order))
    assert [row["name"] for row in slim] == [row["name"] for row in await rows_of(api, "tasks", "name", order)]
    alone = "query($name: String!) { task(name: $name) { name " + status + " } }"
    assert slim == [(await api.ask(alone, name=row["name"]))["task"] for row in slim]
    assert {row["lastStatus"] is None for row in slim} == {True, False}


async def test_the_newest_execution_may_itself_be_asked_for_more_than_columns(api: Api) -> None:
    fill(api)
    states = {run["id"]: run["state"] for run in await rows_of(api, "runs", "id state")}
    shown = [row["lastStatus"] for row in await rows_of(api, "tasks", "lastStatus { runId run { state } }")]
    found = [one for one in shown if one is not None]
    assert 0 < len(found) < len(shown)
    assert [one["run"]["state"] for one in found] == [states[one["runId"]] for one in found]


async def test_pages_of_columns_have_the_cursors_of_pages_of_rows(api: Api) -> None:
    fill(api)
    page = "(first: 2, after: $after) { pageInfo { hasNextPage endCursor } edges { cursor node { name %s } } }"
    after: str | None = None
    for _ in range(2):
        pages = [
            (await api.ask(f"query($after: String) {{ tasks{page % also} }}", after=after))["tasks"]
            for also in ("", "lastStatus { id }", WHOLE)
        ]
        cursors = [[edge["cursor"] for edge in one["edges"]] for one in pages]
        assert cursors[0] == cursors[1] == cursors[2]
        assert pages[0]["pageInfo"] == pages[1]["pageInfo"] == pages[2]["pageInfo"]
        after = pages[0]["pageInfo"]["endCursor"]


async def test_a_field_that_was_not_read_is_missing_and_not_empty(api: Api) -> None:
    shown = TaskFields.FIELDS.cut(TaskFields, ["name"])
    assert shown is not None
    task = shown.show(tuple({"name": "nightly"}.get(column) for column in shown.columns))
    assert task.name == "nightly"
    with pytest.raises(AttributeError, match="TaskFields has no 'description' here"):
        _ = task.description


async def test_what_is_asked_of_the_runs_of_executions_is_read_with_the_page(api: Api) -> None:
    fill(api)
    of_run = "run { id } labels"
    with counted_statements() as sent:
        rows = await rows_of(api, "executions", f"id isRecovered {of_run}")
    asked = [one for one in sent if "job_execution" in one or "FROM run" in one]
    # Of the runs that failed it is looked up whether a retry has made that good.
    assert [("RECURSIVE" in one) for one in asked] == [False, True]
    assert {row["isRecovered"] for row in rows} == {True, False}
    assert {len(row["labels"]) for row in rows} == {0, 1}
    gone = rows[0]["run"]["id"]
    api.stored.do(lambda tx: tx.conn.execute(delete(run).where(run.c.id == int(gone))))
    again = await rows_of(api, "executions", f"id {of_run}")
    assert again == without(await rows_of(api, "executions", f"id {of_run} {WHOLE}"))
    assert [row["id"] for row in again if row["run"] is row["labels"] is None] == [
        row["id"] for row in rows if row["run"]["id"] == gone
    ]


async def test_of_the_run_of_an_execution_no_more_is_read_than_its_key(api: Api) -> None:
    fill(api)
    document = "{ executions { nodes { id jobName run { id %s } lastOf: task { lastStatus { run { id } } } } } }"
    with counted_statements() as sent:
        slim = await api.ask("{ executions { nodes { id run { id __typename } } } }")
    assert len([one for one in sent if "job_execution" in one or "FROM run" in one]) == 1
    whole = await api.ask(document % "state")
    nodes = slim["executions"]["nodes"]
    assert [(one["id"], one["run"]["id"]) for one in nodes] == [
        (one["id"], one["run"]["id"]) for one in whole["executions"]["nodes"]
    ]
    assert {one["run"]["__typename"] for one in nodes} == {"Run"}
    api.stored.do(lambda tx: tx.conn.execute(delete(run).where(run.c.id == int(nodes[0]["run"]["id"]))))
    again = (await api.ask("{ jobLogs { id run { id } } }"))["jobLogs"]
    assert [one["id"] for one in again if one["run"] is None] == [nodes[0]["id"]]
