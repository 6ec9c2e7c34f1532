"""Dry runs of what enqueues: the API says what would become of it and which limits it would meet, and does nothing."""

from typing import Any

from cronograph.jobs.core.admission.caps import Cap, Rate
from cronograph.jobs.core.limits import Limits
from cronograph.jobs.store.schema import tables
from tests.graphql_api.api import Api

PREVIEW = """preview { sentence droppedIds runs { outcome jobName standsForId group
  explanation { code sentence changesAt } } } errors { code message path }"""
TRIGGER = f"""mutation($key: String) {{ triggerJob(jobName: "work", uniqueKey: $key, dryRun: true) {{
  success message run {{ id }} {PREVIEW} }} }}"""
ENQUEUE = f"mutation($input: EnqueueRunsInput!) {{ enqueueRuns(input: $input) {{ runs {{ id }} {PREVIEW} }} }}"
RETRY = f"mutation($input: RetryRunInput!) {{ retryRun(input: $input) {{ run {{ id }} {PREVIEW} }} }}"
RETRIES = f"mutation($input: RetryRunsInput!) {{ retryRuns(input: $input) {{ count runs {{ id }} {PREVIEW} }} }}"
TASK = f"mutation($input: TriggerTaskInput!) {{ triggerTask(input: $input) {{ run {{ id }} {PREVIEW} }} }}"
CREATE = f"mutation($input: CreateTaskInput!) {{ createTask(input: $input) {{ task {{ name retries }} {PREVIEW} }} }}"
UPDATE = f"mutation($input: UpdateTaskInput!) {{ updateTask(input: $input) {{ task {{ name retries }} {PREVIEW} }} }}"


def kept(api: Api) -> list[object]:
    """All that a mutation could have written; of events how many, since they are numbered in the background."""
    watched = (tables.run, tables.periodic_task, tables.audit_log, tables.idempotency_key)
    return [len(api.stored.rows(tables.event)), *(api.stored.rows(table) for table in watched)]


async def payload(api: Api, document: str, **variables: Any) -> dict[str, Any]:
    """The payload of a dry run that changed nothing at all."""
    before = kept(api)
    (found,) = (await api.ask(document, **variables)).values()
    assert kept(api) == before
    answer: dict[str, Any] = found
    return answer


def outcomes(answer: dict[str, Any]) -> list[str]:
    assert answer["errors"] == []
    return [one["outcome"] for one in answer["preview"]["runs"]]


async def test_each_mutation_that_enqueues_says_what_it_would_do(api: Api) -> None:
    worker = api.stored.node("node-b", limits=Limits(cap=Cap(1), rate=Rate(6, 60.0, 1)))
    done = api.stored.enqueue_by_job()
    worker.end(worker.start())
    api.stored.task(retries=3)
    found = await payload(api, TRIGGER)
    assert (found["success"], found["message"], found["run"]) == (True, "1 run would be enqueued.", None)
    assert found["preview"]["runs"][0]["explanation"]["code"] == "RATE_LIMIT"
    keyed = {"idempotencyKey": "a", "dryRun": True}
    found = await payload(api, ENQUEUE, input={"runs": [{"jobName": "work"}, {"jobName": "work"}], **keyed})
    assert (outcomes(found), found["runs"]) == (["REFUSED", "REFUSED"], [])
    found = await payload(api, RETRY, input={"id": str(done.id), "dryRun": True})
    assert (outcomes(found), found["run"]) == (["ENQUEUED"], None)
    found = await payload(api, RETRIES, input={"runs": {"ids": [str(done.id)]}, **keyed})
    assert (outcomes(found), found["count"]) == (["ENQUEUED"], 1)
    found = await payload(api, TASK, input={"name": "nightly", **keyed})
    assert (outcomes(found), found["run"]) == (["ENQUEUED"], None)
    schedule = {"syntax": "CRON", "value": "0 0 3 * * *"}
    new = {"name": "new", "jobName": "work", "schedule": schedule, "retries": 7}
    found = await payload(api, CREATE, input={**new, **keyed})
    assert (outcomes(found), found["task"]) == (["ENQUEUED"], {"name": "new", "retries": 7})
    found = await payload(api, UPDATE, input={"name": "nightly", "retries": 9, **keyed})
    assert (outcomes(found), found["task"]) == (["ENQUEUED"], {"name": "nightly", "retries": 9})


async def test_a_full_queue_is_a_part_of_the_answer(api: Api) -> None:
    api.stored.node("node-b", limits=Limits(cap=Cap(1)))
    waiting = api.stored.enqueue_by_job(unique_key="k")
    found = await payload(api, TRIGGER)
    assert (found["success"], found["message"], found["errors"]) == (False, "1 run would be refused.", [])
    found = await payload(api, TRIGGER, key="k")
    assert (outcomes(found), found["preview"]["runs"][0]["standsForId"]) == (["DEDUPLICATED"], str(waiting.id))
    assert found["success"]


async def test_what_is_wrong_is_refused_as_without_a_dry_run(api: Api) -> None:
    answer = await payload(api, ENQUEUE, input={"runs": [{"jobName": "nope"}], "dryRun": True})
    assert ([one["code"] for one in answer["errors"]], answer["preview"]) == (["UNKNOWN_JOB"], None)
