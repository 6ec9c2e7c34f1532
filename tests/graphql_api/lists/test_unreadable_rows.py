"""A row that cannot be read, because somebody wrote past this product, hides no other."""

import pytest
from sqlalchemy import text

from cronograph.jobs.actions.groups import pause_group
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import run
from tests.graphql_api.api import Api, counted_statements

LISTS = {
    "runs": ("run", "args = '{x'", "id"),
    "runs by another column": ("run", "available_at = 'x'", "id"),
    "tasks": ("periodic_task", "updated_at = 'x'", "id"),
    "skippedOccurrences": ("skipped_occurrence", "at = 'x'", "id"),
    "nodes": ("node", "heartbeat_at = 'x'", "id"),
    "executions": ("job_execution", "completed_at = 'x'", "id"),
    "jobs": ("job", "args_schema = '{x'", "name"),
}
"""By the list: its table, what becomes of its last row, and its key."""
SHOWN = {
    "runs": "id args availableAt",
    "tasks": "id updatedAt",
    "skippedOccurrences": "id at",
    "nodes": "id heartbeatAt",
    "executions": "id completedAt",
    "jobs": "name argsSchema",
}


pytestmark = pytest.mark.altered_log


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


def damaged(tx: Tx, table: str, change: str, where: str, rows: int = 1) -> None:
    """Write past the product."""
    tx.conn.exec_driver_sql("PRAGMA ignore_check_constraints = ON")
    assert tx.conn.execute(text(f"UPDATE {table} SET {change} WHERE {where}")).rowcount == rows
    tx.conn.exec_driver_sql("PRAGMA ignore_check_constraints = OFF")


@pytest.mark.costly
@pytest.mark.parametrize("case", LISTS)
async def test_a_list_shows_the_other_rows_and_names_the_bad_one_in_its_errors(api: Api, case: str) -> None:
    stored, (table, damage, key) = api.stored, LISTS[case]
    await fill(api)
    stored.do(damaged, table, damage, f"{key} = (SELECT max({key}) FROM {table})")
    (bad,) = stored.do(lambda tx: tx.conn.execute(text(f"SELECT max({key}) FROM {table}")).one())
    field = case.split(maxsplit=1)[0]
    data, errors = await api.execute(f"{{ {field} {{ nodes {{ {SHOWN[field]} }} }} }}")
    (rows,) = stored.do(lambda tx: tx.conn.execute(text(f"SELECT count(*) FROM {table}")).one())
    assert len(data[field]["nodes"]) == rows - 1 > 0
    (error,) = errors
    assert error["extensions"]["code"] == "UNREADABLE_ROW"
    assert error["message"].startswith(f"table {table}, row {key} {bad}: column {damage.split()[0]} cannot be read")


async def test_what_nobody_asked_for_may_be_unreadable(api: Api) -> None:
    await fill(api)
    api.stored.do(damaged, "run", "args = '{x'", "id = 1")
    data, errors = await api.execute("{ runs { nodes { id } } }")
    assert (errors, "1" in [one["id"] for one in data["runs"]["nodes"]]) == ([], True)


NESTED = """{ tasks(orderBy: [{field: ID}]) { nodes {
  name runs { nodes { id args } } lastStatus { id startedAt } } } }"""


async def test_a_bad_row_below_a_list_is_left_out_there_alone(api: Api) -> None:
    await fill(api)
    worker = api.stored.node(name="third")
    while (started := worker.take(1).started) or api.stored.dispatch():
        for one in started:
            worker.end(one)
        if len(api.stored.rows(run)) > 7:
            break
        api.stored.pass_time(60)
    sound = (await api.ask(NESTED))["tasks"]["nodes"]
    (bad, *others) = (one["id"] for one in sound[0]["runs"]["nodes"])
    last = sound[1]["lastStatus"]["id"]
    api.stored.do(damaged, "run", "args = '{x'", f"id = {bad}")
    api.stored.do(damaged, "job_execution", "started_at = 'x'", f"id = {last}")
    data, errors = await api.execute(NESTED)
    first, second = data["tasks"]["nodes"]
    assert ([one["id"] for one in first["runs"]["nodes"]], second["runs"]) == (others, sound[1]["runs"])
    assert (first["lastStatus"], second["lastStatus"]) == (sound[0]["lastStatus"], None)
    assert sorted(one["message"].partition(":")[0] for one in errors) == [
        f"table job_execution, row id {last}",
        f"table run, row id {bad}",
    ]


@pytest.mark.parametrize("size", ["first: 2", "last: 2"])
async def test_pages_go_on_behind_rows_that_cannot_be_read(api: Api, size: str) -> None:
    await fill(api)
    for _ in range(5):
        api.stored.enqueue()
    asked = "{ runs(%s) { nodes { id args } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }"
    all_of_them = [one["id"] for one in (await api.ask("{ runs { nodes { id } } }"))["runs"]["nodes"]]
    bad = all_of_them[2:5]
    api.stored.do(damaged, "run", "args = '{x'", f"id IN ({', '.join(bad)})", rows=3)
    found, named, place = list[str](), set[str](), ""
    for _ in all_of_them:
        data, errors = await api.execute(asked % (size + place))
        page = data["runs"]
        found += [one["id"] for one in page["nodes"]]
        named |= {one["message"].partition(":")[0].rpartition(" ")[2] for one in errors}
        backwards = "last" in size
        if not page["pageInfo"]["hasPreviousPage" if backwards else "hasNextPage"]:
            break
        cursor = page["pageInfo"]["startCursor" if backwards else "endCursor"]
        place = f', {"before" if backwards else "after"}: "{cursor}"'
    assert (sorted(found), named) == (sorted(set(all_of_them) - set(bad)), set(bad))


async def test_a_page_behind_which_nobody_could_go_on_is_refused_by_name(api: Api) -> None:
    await fill(api)
    api.stored.do(damaged, "run", "submitted_at = 'x' || id", "id IN (1, 2)", rows=2)
    by_time = "{ runs(first: %d, orderBy: [{field: SUBMITTED_AT, direction: DESC}]) { nodes { id } } }"
    assert (await api.refused(by_time % 1))[0] == "UNREADABLE_ROW"
    data, errors = await api.execute(by_time % 3)
    assert (len(data["runs"]["nodes"]), len(errors)) == (1, 2)


SINGLE = {
    "task": ("periodic_task", 1, "updated_at = 'x'", 'task(name: "a") { name }'),
    "task by id": ("periodic_task", 1, "created_at = 'x'", 'task(id: "1") { name }'),
    "run": ("run", 1, "args = '{x'", 'run(id: "1") { id }'),
    "task of a run": ("periodic_task", 1, "rate = '7'", 'run(id: "3") { task { jitter } }'),
    "execution": ("job_execution", 1, "started_at = 'x'", 'execution(id: "1") { id }'),
    "node": ("node", 2, "choice = '{\"a\": 1}'", 'node(name: "another") { name }'),
    "job": ("job", 1, "isolation = 'zz'", 'job(name: "work") { name }'),
    "group": ("queue_group", 1, "paused_at = 'x'", 'group(name: "group-a") { name pausedAt }'),
    "a word": ("run", 1, "trigger = 'zz'", 'run(id: "1") { id }'),
    "no text": ("periodic_task", 1, "description = CAST(x'ff' AS TEXT)", 'task(name: "a") { name }'),
}
"""By what is asked for: its table, the place of its row there, what becomes of that, and the document."""


@pytest.mark.costly
@pytest.mark.parametrize("case", SINGLE)
async def test_one_that_cannot_be_read_is_refused_with_its_table_and_its_key(api: Api, case: str) -> None:
    table, place, change, document = SINGLE[case]
    await fill(api)
    api.stored.do(damaged, table, change, f"rowid = {place}")
    code, message = await api.refused(f"{{ {document} }}")
    assert code == "UNREADABLE_ROW"
    assert message.startswith(f"table {table}, row ")


async def test_of_many_that_are_asked_for_only_the_bad_one_fails(api: Api) -> None:
    await fill(api)
    api.stored.do(damaged, "periodic_task", "updated_at = 'x'", "name = 'a'")
    data, errors = await api.execute('{ bad: task(name: "a") { name } good: task(name: "b") { name } }')
    assert (data["bad"], data["good"], len(errors)) == (None, {"name": "b"}, 1)


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


RETRY = """mutation { retryRun(input: { id: "1", args: [1], fromStep: "never" }) {
  errors { code path } } }"""


async def test_a_refusal_for_wrong_values_costs_no_search(api: Api) -> None:
    await fill(api)
    with counted_statements() as sent:
        answer = (await api.ask(RETRY))["retryRun"]
    assert answer["errors"]
    assert len(sent) < 12, sent
    assert not [one for one in sent if "typeof" in one or "CASE" in one]


async def test_a_row_that_was_set_right_is_there_again(api: Api) -> None:
    await fill(api)
    api.stored.do(damaged, "periodic_task", "description = CAST(x'ff00' AS TEXT)", "name = 'a'")
    tasks = "{ tasks { nodes { name description } } }"
    data, _ = await api.execute(tasks)
    assert [one["name"] for one in data["tasks"]["nodes"]] == ["b"]
    api.stored.do(damaged, "periodic_task", "description = 'well'", "name = 'a'")
    assert [one["name"] for one in (await api.ask(tasks))["tasks"]["nodes"]] == ["b", "a"]
