"""Actions on many rows: following the cursors of the answers ends, and what is as asked is not chosen again."""

from typing import Any

import pytest

from cronograph.jobs.actions.runs import enqueue_runs
from cronograph.jobs.core.model import NewRun, TaskSource, Trigger
from cronograph.jobs.core.outcome import Failed
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.store.schema.tables import periodic_task, run
from tests.graphql_api.api import Api
from tests.support.storage import Stored

RUNS = """mutation($input: {name}Input!) {{ {field}(input: $input) {{
  count hasMore endCursor runs {{ id priority state }} errors {{ code message path }} }} }}"""
TASKS = """mutation($input: {name}Input!) {{ {field}(input: $input) {{
  count hasMore endCursor tasks {{ name isEnabled pauseReason }} errors {{ code message path }} }} }}"""
COUNTS = (
    """mutation($input: {name}Input!) {{ {field}(input: $input) {{ count hasMore endCursor errors {{ code }} }} }}"""
)
DELETE = """mutation($input: DeleteTasksInput!) { deleteTasks(input: $input) {
  count hasMore endCursor deletedNames errors { code message path } } }"""


async def many(api: Api, field: str, **input: Any) -> dict[str, Any]:
    """The answer of one mutation of many."""
    template = TASKS if field in {"pauseTasks", "resumeTasks"} else RUNS
    document = DELETE if field == "deleteTasks" else template.format(field=field, name=field[0].upper() + field[1:])
    answer: dict[str, Any] = (await api.ask(document, input=input))[field]
    return answer


async def followed(api: Api, field: str, **input: Any) -> list[int]:
    """Return how many each call did while the cursors of the answers were followed."""
    counts: list[int] = []
    after: str | None = None
    for _ in range(5):
        document = COUNTS.format(field=field, name=field[0].upper() + field[1:])
        answer = (await api.ask(document, input={"after": after, **input}))[field]
        assert answer["errors"] == []
        counts.append(answer["count"])
        after = answer["endCursor"]
        if not answer["hasMore"]:
            return counts
    raise AssertionError(f"{field} does not end: {counts}")


def queue(stored: Stored, number: int) -> None:
    """Put many runs into the queue at once."""
    stored.do(enqueue_runs, [NewRun("work", Trigger.API)] * number)


@pytest.mark.costly
async def test_more_runs_than_one_call_changes_are_changed_once_each_by_following_the_cursors(api: Api) -> None:
    queue(api.stored, 10_005)
    counts = "{ runs(first: 1) { totalCount isTotalCountExact } }"
    assert (await api.ask(counts))["runs"] == {"totalCount": 10_001, "isTotalCountExact": False}
    assert await followed(api, "setRunPriorities", runs={"all": True}, priority="HIGH") == [10_000, 5]
    assert {row.priority for row in api.stored.rows(run)} == {"high"}
    assert await followed(api, "setRunPriorities", runs={"all": True}, priority="HIGH") == [0]
    # A statement that PostgreSQL was given again has used up numbers.
    keys = sorted(row.id for row in api.stored.rows(run))
    assert await followed(api, "cancelRuns", runs={"filter": {"id": {"lte": str(keys[10_002])}}}) == [10_000, 3]
    assert await followed(api, "cancelRuns", runs={"all": True}) == [2]
    assert await followed(api, "retryRuns", runs={"all": True}) == [10_000, 5]
    # The new runs wait; nothing is retried that was retried already.
    assert await followed(api, "retryRuns", runs={"filter": {"id": {"lte": str(keys[-1])}}}) == [0]


async def test_runs_that_were_retried_are_retried_again_only_if_asked_for(api: Api) -> None:
    worker = api.stored.node("w")
    for _ in range(3):
        api.stored.enqueue(retries=0)
        worker.end(worker.start(), Failed("ValueError", "no"))
    failed = {"state": {"eq": "FAILED"}}
    assert await followed(api, "retryRuns", runs={"filter": failed}) == [3]
    assert await followed(api, "retryRuns", runs={"filter": failed}) == [0]
    for _ in range(3):
        worker.end(worker.start(), Failed("ValueError", "no"))
    # The new runs are over as well: of all six only they are retried, since the others were already.
    assert await followed(api, "retryRuns", runs={"filter": failed}) == [3]
    assert await followed(api, "retryRuns", runs={"filter": failed}, excludeRetried=False, dryRun=True) == [6]


async def test_what_a_call_makes_is_not_looked_at_by_the_calls_that_follow_it(api: Api) -> None:
    for _ in range(2):
        api.stored.enqueue()
    await many(api, "cancelRuns", runs={"all": True})
    first = await many(api, "retryRuns", runs={"all": True}, excludeRetried=False)
    assert first["count"] == 2
    await many(api, "cancelRuns", runs={"all": True})
    again = await many(api, "retryRuns", runs={"all": True}, after=first["endCursor"], excludeRetried=False)
    assert (again["count"], again["hasMore"], again["endCursor"]) == (0, False, None)


async def test_a_run_that_was_asked_to_stop_is_not_asked_again(api: Api) -> None:
    worker = api.stored.node("w")
    api.stored.enqueue()
    worker.start()
    assert await followed(api, "cancelRuns", runs={"all": True}) == [1]
    assert await followed(api, "cancelRuns", runs={"all": True}) == [0]


async def test_runs_that_wait_for_their_time_are_made_due_together(api: Api) -> None:
    worker = api.stored.node("w")
    for _ in range(2):
        api.stored.enqueue()
        worker.end(worker.start(), Failed("ValueError", "no"))
    due = str(api.stored.enqueue().id)
    answer = await many(api, "retryRunsNow", runs={"all": True})
    assert (answer["count"], [one["id"] for one in answer["runs"]]) == (2, ["1", "2"])
    assert await followed(api, "retryRunsNow", runs={"all": True}) == [0]
    assert (await many(api, "retryRunsNow", runs={"ids": [due]}))["count"] == 1


async def test_many_tasks_are_paused_resumed_and_deleted(api: Api) -> None:
    for name in "abcd":
        api.stored.task(name=name, owner="x" if name in "ab" else None)
    api.stored.node("coder", jobs=["d"], schedule="0 * * * * *")
    coded = periodic_task.update().where(periodic_task.c.name == "d")
    declared = {"declared_syntax": Syntax.CRON.value, "declared_value": "0 * * * * *", "declared_timezone": "UTC"}
    api.stored.do(lambda tx: tx.conn.execute(coded.values(source=TaskSource.CODE.value, **declared)))
    owned = {"owner": {"eq": "x"}}
    dry = await many(api, "pauseTasks", tasks={"filter": owned}, dryRun=True)
    assert (dry["count"], [one["isEnabled"] for one in dry["tasks"]]) == (2, [False, False])
    paused = await many(api, "pauseTasks", tasks={"filter": owned}, reason="quota")
    assert [(one["name"], one["isEnabled"], one["pauseReason"]) for one in paused["tasks"]] == [
        ("a", False, "quota"),
        ("b", False, "quota"),
    ]
    assert await followed(api, "pauseTasks", tasks={"filter": owned}) == [0]
    assert (await many(api, "resumeTasks", tasks={"names": ["a", "c"]}))["count"] == 1
    assert [row.name for row in api.stored.rows(periodic_task, enabled=False)] == ["b"]
    (error,) = (await many(api, "deleteTasks", tasks={"names": ["a", "d"]}))["errors"]
    assert (error["code"], len(api.stored.rows(periodic_task))) == ("CODE_TASK", 4)
    (error,) = (await many(api, "pauseTasks", tasks={"names": ["a", "aa"]}))["errors"]
    assert (error["code"], error["path"]) == ("NOT_FOUND", ["tasks", "names"])
    for _ in range(2):
        gone = await many(api, "deleteTasks", tasks={"all": True}, idempotencyKey="once")
        assert (gone["deletedNames"], gone["count"], gone["hasMore"]) == (["a", "b", "c"], 3, False)
    assert [row.name for row in api.stored.rows(periodic_task)] == ["d"]


async def test_a_repeated_pause_of_many_answers_as_before(api: Api) -> None:
    api.stored.task(name="a")
    first = await many(api, "pauseTasks", tasks={"all": True}, idempotencyKey="k")
    assert await many(api, "pauseTasks", tasks={"all": True}, idempotencyKey="k") == first


@pytest.mark.parametrize("after", ["x", "WyJ0YXNrczotaWQiLDFd"])
async def test_a_faulty_cursor_is_data(api: Api, after: str) -> None:
    (error,) = (await many(api, "cancelRuns", runs={"all": True}, after=after))["errors"]
    assert (error["code"], error["path"]) == ("INVALID_INPUT", ["after"])


async def test_stalled_tasks_can_be_paused_together(api: Api) -> None:
    for name in "ab":
        api.stored.task("0 0 * * * *", name=name)
    worker = api.stored.node("w")
    api.stored.at(3600)
    api.stored.dispatch()
    worker.start()
    api.stored.at(3700)
    answer = await many(api, "pauseTasks", tasks={"filter": {"isStalled": {"eq": True}}})
    assert [one["name"] for one in answer["tasks"]] == ["b"]


async def test_a_reason_has_at_most_1000_characters_and_a_description_10000(api: Api) -> None:
    long = "x" * 1001
    document = """mutation($long: String!, $text: String!) {
      pauseGroup(input: { name: "mail", reason: $long }) { errors { message path } }
      pauseTask(input: { name: "a", reason: $long }) { errors { message path } }
      updateTask(input: { name: "a", description: $text }) { errors { message path } }
    }"""
    api.stored.task(name="a")
    answer = await api.ask(document, long=long, text="x" * 10_001)
    reason = [{"message": "reason: must have at most 1,000 characters, got 1,001", "path": ["reason"]}]
    assert answer["pauseGroup"]["errors"] == answer["pauseTask"]["errors"] == reason
    assert answer["updateTask"]["errors"][0]["path"] == ["description"]
