"""A row that cannot be read, because somebody wrote past this product, hides no other."""

import logging

import pytest
from sqlalchemy import text

from cronograph.jobs.actions.groups import pause_group
from cronograph.jobs.store.db.transaction import Tx
from tests.graphql_api.api import Api

LISTS = {
    "runs": ("run", "args = '{x'", "id"),
    "runs by another column": ("run", "available_at = 'x'", "id"),
    "tasks": ("periodic_task", "updated_at = 'x'", "id"),
    "skippedOccurrences": ("skipped_occurrence", "at = 'x'", "id"),
    "nodes": ("node", "heartbeat_at = 'x'", "id"),
    "executions": ("job_execution", "completed_at = 'x'", "id"),
    "jobs": ("job", "defaults = '[1]'", "name"),
}
"""By the list: its table, what becomes of its last row, and its key."""
SHOWN = {
    "runs": "id args availableAt",
    "tasks": "id updatedAt",
    "skippedOccurrences": "id at",
    "nodes": "id heartbeatAt",
    "executions": "id completedAt",
    "jobs": "name",
}


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """SQLite alone: PostgreSQL takes no such values."""
    return sqlite_url


async def fill(api: Api) -> None:
    """Put something into the tables."""
    stored = api.stored
    node = stored.node(name="another", jobs=("work", "other"))
    for name in ("a", "b"):
        stored.task(name=name)
        stored.enqueue()
        stored.do(pause_group, f"group-{name}")
    for _ in range(2):
        node.end(node.start())
    for _ in range(3):
        stored.pass_time(120)
        stored.dispatch()


def damaged(tx: Tx, table: str, change: str, where: str) -> None:
    """Write past the product."""
    tx.conn.exec_driver_sql("PRAGMA ignore_check_constraints = ON")
    assert tx.conn.execute(text(f"UPDATE {table} SET {change} WHERE {where}")).rowcount == 1
    tx.conn.exec_driver_sql("PRAGMA ignore_check_constraints = OFF")


@pytest.mark.altered_log
@pytest.mark.parametrize("case", LISTS)
async def test_a_list_shows_the_other_rows_and_the_log_names_the_bad_one(
    api: Api, case: str, caplog: pytest.LogCaptureFixture
) -> None:
    stored, (table, damage, key) = api.stored, LISTS[case]
    await fill(api)
    stored.do(damaged, table, damage, f"{key} = (SELECT max({key}) FROM {table})")
    field = case.split(maxsplit=1)[0]
    with caplog.at_level(logging.ERROR):
        data, errors = await api.execute(f"{{ {field} {{ nodes {{ {SHOWN[field]} }} }} }}")
    assert errors == []
    (rows,) = stored.do(lambda tx: tx.conn.execute(text(f"SELECT count(*) FROM {table}")).one())
    assert len(data[field]["nodes"]) == rows - 1 > 0
    assert f"left out a row that cannot be read: table {table}, row {key} " in caplog.text


SINGLE = {
    "task": ("periodic_task", 1, "updated_at = 'x'", 'task(name: "a") { name }', "a time such as"),
    "task by id": ("periodic_task", 1, "created_at = 'x'", 'task(id: "1") { name }', "a time such as"),
    "run": ("run", 1, "args = '{x'", 'run(id: "1") { id }', "a JSON document that is an object"),
    "task of a run": ("periodic_task", 1, "jitter = 'x'", 'run(id: "3") { task { jitter } }', "a finite number"),
    "execution": ("job_execution", 1, "started_at = 'x'", 'execution(id: "1") { id }', "a time such as"),
    "node": ("node", 2, "choice = '{\"a\": 1}'", 'node(name: "another") { name }', "what a node takes"),
    "job": ("job", 1, "isolation = 'zz'", 'job(name: "work") { name }', "one of 'async', 'process', 'thread'"),
    "group": ("queue_group", 1, "paused_at = 'x'", 'group(name: "group-a") { name }', "a time such as"),
    "a word": ("run", 1, "trigger = 'zz'", 'run(id: "1") { id }', "so that trigger IN ("),
    "a number": ("run", 1, "attempt = 'x'", 'run(id: "1") { attempt }', "a whole number"),
}
"""By what is asked for: its table, the place of its row there, what becomes of that, and what it must be."""


@pytest.mark.altered_log
@pytest.mark.parametrize("case", SINGLE)
async def test_one_that_cannot_be_read_is_refused_with_its_table_its_key_and_what_it_must_be(
    api: Api, case: str
) -> None:
    table, place, change, document, must_be = SINGLE[case]
    await fill(api)
    api.stored.do(damaged, table, change, f"rowid = {place}")
    code, message = await api.refused(f"{{ {document} }}")
    assert code == "UNREADABLE_ROW"
    assert message.startswith(f"table {table}, row ")
    assert f"column {change.split()[0]} must be {must_be}" in message


MUTATIONS = {
    "deleteTask": 'deleteTask(input: {name: "a"})',
    "pauseTask": 'pauseTask(input: {name: "a"})',
    "triggerTask": 'triggerTask(input: {name: "a"})',
}


@pytest.mark.parametrize("name", MUTATIONS)
async def test_a_mutation_of_a_row_that_cannot_be_read_names_it(api: Api, name: str) -> None:
    await fill(api)
    api.stored.do(damaged, "periodic_task", "updated_at = 'x'", "name = 'a'")
    answer = (await api.ask(f"mutation {{ it: {MUTATIONS[name]} {{ errors {{ code message }} }} }}"))["it"]
    (error,) = answer["errors"]
    assert (error["code"], error["message"][:34]) == ("UNREADABLE_ROW", "table periodic_task, row id 1: col")


async def test_a_row_that_was_set_right_is_there_again(api: Api) -> None:
    await fill(api)
    api.stored.do(damaged, "periodic_task", "description = x'ff00'", "name = 'a'")
    tasks = "{ tasks { nodes { name description } } }"
    assert [one["name"] for one in (await api.ask(tasks))["tasks"]["nodes"]] == ["b"]
    api.stored.do(damaged, "periodic_task", "description = 'well'", "name = 'a'")
    api.database.damaged.forget()
    assert [one["name"] for one in (await api.ask(tasks))["tasks"]["nodes"]] == ["b", "a"]
