"""A request that is repeated with its idempotency key has one effect and one answer."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from strawberry.types import ExecutionResult

from cronograph.graphql.resolving.context import Person
from cronograph.jobs.actions.idempotent import OWNER
from cronograph.jobs.core.actor import Role
from cronograph.jobs.store.schema.tables import idempotency_key, periodic_task, run
from tests.graphql_api.api import Api

ENQUEUE = """
mutation($key: String, $group: String, $n: Int) {
  enqueueRuns(input: { runs: [{ jobName: "work", group: $group, retries: $n }], idempotencyKey: $key }) {
    runs { id } errors { code path }
  }
}
"""
CREATE = """
mutation($key: String, $name: String!) {
  createTask(input: {
    name: $name, jobName: "work", schedule: { syntax: CRON, value: "@daily" }, idempotencyKey: $key
  }) { task { id version } errors { code message } }
}
"""


async def test_the_same_request_answers_the_same_run(api: Api) -> None:
    first = await api.ask(ENQUEUE, key="k1", group="a")
    assert await api.ask(ENQUEUE, key="k1", group="a") == first
    assert len(api.stored.rows(run)) == 1


async def test_another_request_with_the_key_is_refused(api: Api) -> None:
    await api.ask(ENQUEUE, key="k1", group="a")
    answer = (await api.ask(ENQUEUE, key="k1", group="b"))["enqueueRuns"]
    assert answer == {"runs": [], "errors": [{"code": "IDEMPOTENCY_CONFLICT", "path": ["idempotencyKey"]}]}
    trigger = 'mutation { triggerJob(jobName: "work", idempotencyKey: "k1") { success errors { code } } }'
    assert (await api.ask(trigger))["triggerJob"] == {"success": False, "errors": [{"code": "IDEMPOTENCY_CONFLICT"}]}
    assert len(api.stored.rows(run)) == 1


async def test_without_a_key_each_request_counts(api: Api) -> None:
    await api.ask(ENQUEUE, group="a")
    await api.ask(ENQUEUE, group="a")
    assert len(api.stored.rows(run)) == 2


async def test_a_refused_request_is_not_remembered(api: Api) -> None:
    assert (await api.ask(ENQUEUE, key="k1", n=-1))["enqueueRuns"]["runs"] == []
    assert api.stored.rows(idempotency_key) == []
    assert len((await api.ask(ENQUEUE, key="k1", n=1))["enqueueRuns"]["runs"]) == 1


async def test_a_key_is_forgotten_after_a_day(api: Api) -> None:
    first = await api.ask(ENQUEUE, key="k1")
    api.stored.pass_time(24 * 3600)
    assert await api.ask(ENQUEUE, key="k1") == first
    api.stored.pass_time(1)
    assert await api.ask(ENQUEUE, key="k1") != first


async def test_the_answer_shows_the_thing_as_it_is_now(api: Api) -> None:
    await api.ask(CREATE, key="k1", name="a")
    await api.ask('mutation { pauseTask(input: { name: "a" }) { task { id } } }')
    assert (await api.ask(CREATE, key="k1", name="a"))["createTask"]["task"]["version"] == 2
    await api.ask('mutation { deleteTask(input: { name: "a" }) { deletedName } }')
    (error,) = (await api.ask(CREATE, key="k1", name="a"))["createTask"]["errors"]
    assert error["code"] == "NOT_FOUND"
    assert "deleted since" in error["message"]


async def test_requests_at_the_same_time_have_one_effect(api: Api) -> None:
    answers = await asyncio.gather(*(api.ask(CREATE, key="k1", name="a") for _ in range(8)))
    assert len({answer["createTask"]["task"]["id"] for answer in answers}) == 1
    assert len(api.stored.rows(periodic_task)) == 1


@pytest.mark.parametrize("key", ["x" * 201, "a\x00b"])
async def test_a_faulty_key_is_refused(api: Api, key: str) -> None:
    answer = (await api.ask(ENQUEUE, key=key))["enqueueRuns"]
    assert answer["errors"] == [{"code": "INVALID_INPUT", "path": ["idempotencyKey"]}]


async def test_each_account_has_keys_of_its_own(api: Api) -> None:
    """Neither a conflict nor an answer tells what somebody else has asked for."""

    async def ask(person: Person, group: str = "a") -> Any:
        context = replace(api.context(), person=person)
        variables = {"key": "k1", "group": group}
        result = await api.schema.execute(ENQUEUE, variable_values=variables, context_value=context)
        assert isinstance(result, ExecutionResult)
        return result.data

    made: dict[str, Any] = {}
    people = [Person("ada", Role.OPERATOR, 1), Person("eve", Role.OPERATOR, 2), Person("bob", Role.OPERATOR)]
    for person in (*people, Person("joe", Role.OPERATOR)):
        made[person.name] = await ask(person)
    for person in people:
        assert await ask(person) == made[person.name]
        other = (await ask(person, "b"))["enqueueRuns"]
        assert other["errors"] == [{"code": "IDEMPOTENCY_CONFLICT", "path": ["idempotencyKey"]}]
    assert len(api.stored.rows(run)) == len(made) == 4
    # Nobody's time is over because that of the first is.
    api.stored.do(lambda tx: tx.conn.execute(idempotency_key.delete().where(idempotency_key.c.key == "k1")))
    assert await ask(people[-1]) == made["bob"]


async def test_an_answer_that_an_earlier_version_stored_is_found(api: Api) -> None:
    """It does not say whose it is."""
    first = await api.ask(ENQUEUE, key="k1", group="a")
    (stored,) = api.stored.rows(idempotency_key)
    plain = {"runs": stored.answer["runs"], "deduplicated": stored.answer["deduplicated"]}
    assert set(stored.answer) == {*plain, OWNER}
    api.stored.do(lambda tx: tx.conn.execute(idempotency_key.update().values(answer=plain)))
    assert await api.ask(ENQUEUE, key="k1", group="a") == first
