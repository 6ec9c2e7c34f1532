"""The steps of runs, and runs that go on from one of them."""

from datetime import timedelta
from typing import Any

from cronograph.jobs.core.base.times import time_text
from cronograph.jobs.core.outcome import Failed
from cronograph.jobs.core.steps import StepEnd
from cronograph.jobs.queue.steps import EndedStep, rows_of, rows_to_store
from tests.docs.blocks import all_blocks
from tests.graphql_api.api import Api, counted_statements
from tests.support.storage import START

STEPS = """
query($ids: [ID!], $first: Int, $after: String, $last: Int, $before: String) {
  runs(first: 2, filter: { id: { in: $ids } }) { nodes {
    id steps(first: $first, after: $after, last: $last, before: $before) {
      nodes { label name key use state attempt startedAt finishedAt value error isUsed isLatest }
      totalCount isTotalCountExact pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    }
  } }
}
"""
RETRY = """
mutation($input: RetryRunInput!) {
  retryRun(input: $input) { run { id state steps { nodes { label attempt value } } } errors { code message path } }
}
"""
EVENTS = """
subscription {
  events(after: "0.0", filter: { kinds: [STEP_FINISHED] }) {
    ... on StepEvent { kind step stepState runId run { jobName } }
  }
}
"""


def failed_run(api: Api, **changes: Any) -> int:
    """A run that took two steps and failed in a third one."""
    worker = api.stored.node("node-b")
    run = api.stored.enqueue(**changes)
    started = worker.start()
    ends = (
        StepEnd("charge", START, START + timedelta(seconds=1), {"total": 7}),
        StepEnd("ship[5]#2", START + timedelta(seconds=1), START + timedelta(seconds=2), "sent"),
        StepEnd("mail", START + timedelta(seconds=2), START + timedelta(seconds=3), error="no luck"),
    )
    rows = rows_of([EndedStep(started.run, one) for one in ends])
    api.stored.do(rows_to_store, (worker.node.id, worker.node.name), rows)
    worker.end(started, Failed("ValueError", "no luck", permanent=True))
    return run.id


async def test_a_run_shows_its_steps(api: Api) -> None:
    run_id = failed_run(api)
    with counted_statements() as sent:
        answer = await api.ask(STEPS, ids=[str(run_id)])
    # The rows, and how many there are.
    assert len([one for one in sent if "run_step" in one]) == 2
    (found,) = answer["runs"]["nodes"]
    times = [time_text(START + timedelta(seconds=second)) for second in range(4)]
    same = {"attempt": 1, "isUsed": True, "isLatest": True}
    assert (found["steps"]["totalCount"], found["steps"]["isTotalCountExact"]) == (3, True)
    assert found["steps"]["nodes"] == [
        {
            "label": "charge", "name": "charge", "key": None, "use": 1, "state": "DONE", "startedAt": times[0],
            "finishedAt": times[1], "value": {"total": 7}, "error": None, **same,
        },
        {
            "label": "ship[5]#2", "name": "ship", "key": "5", "use": 2, "state": "DONE", "startedAt": times[1],
            "finishedAt": times[2], "value": "sent", "error": None, **same,
        },
        {
            "label": "mail", "name": "mail", "key": None, "use": 1, "state": "FAILED", "startedAt": times[2],
            "finishedAt": times[3], "value": None, "error": "no luck", **same,
        },
    ]  # fmt: skip


async def test_pages_of_steps_lead_through_all_of_them_in_both_directions(api: Api) -> None:
    run_id = failed_run(api)

    async def page(**arguments: Any) -> tuple[list[str], dict[str, Any]]:
        (found,) = (await api.ask(STEPS, ids=[str(run_id)], **arguments))["runs"]["nodes"]
        return [one["label"] for one in found["steps"]["nodes"]], found["steps"]["pageInfo"]

    labels, first = await page(first=1)
    assert (labels, first["hasPreviousPage"], first["hasNextPage"]) == (["charge"], False, True)
    labels, second = await page(first=1, after=first["endCursor"])
    assert (labels, second["hasPreviousPage"], second["hasNextPage"]) == (["ship[5]#2"], True, True)
    labels, third = await page(first=5, after=second["endCursor"])
    assert (labels, third["hasPreviousPage"], third["hasNextPage"]) == (["mail"], True, False)
    assert (await page(after=third["endCursor"]))[0] == []
    labels, end = await page(last=2)
    assert (labels, end["hasPreviousPage"], end["hasNextPage"]) == (["ship[5]#2", "mail"], True, False)
    labels, begin = await page(last=2, before=end["startCursor"])
    assert (labels, begin["hasPreviousPage"], begin["hasNextPage"]) == (["charge"], False, True)
    assert (await page(first=5, after=first["startCursor"], before=third["startCursor"]))[0] == ["ship[5]#2"]
    assert (await page(first=0))[0] == []
    code, message = await api.refused("{ runs { nodes { steps(first: 1001) { isTotalCountExact } } } }")
    assert (code, message) == ("INVALID_INPUT", "first: must be a whole number from 0 to 1000, got 1001")
    assert (await api.refused(STEPS, ids=[str(run_id)], after="x"))[0] == "INVALID_CURSOR"


async def test_a_run_is_made_again_from_a_step(api: Api) -> None:
    run_id = failed_run(api)
    answer = (await api.ask(RETRY, input={"id": str(run_id), "fromStep": "mail"}))["retryRun"]
    assert answer["errors"] == []
    assert answer["run"]["steps"]["nodes"] == [
        {"label": "charge", "attempt": 0, "value": {"total": 7}},
        {"label": "ship[5]#2", "attempt": 0, "value": "sent"},
    ]
    blocks = [block.text for block in all_blocks() if block.document == "docs/steps.md"]
    (example,) = (text for text in blocks if text.startswith("mutation"))
    answer = (await api.ask(example.replace('"7"', f'"{run_id}"')))["retryRun"]
    assert (int(answer["run"]["id"]) > run_id, answer["errors"]) == (True, [])
    answer = (await api.ask(RETRY, input={"id": str(run_id), "fromStep": "charge"}))["retryRun"]
    assert (answer["run"]["steps"]["nodes"], answer["errors"]) == ([], [])


async def test_a_step_that_the_run_does_not_have_is_refused_and_nothing_is_made(api: Api) -> None:
    run_id = failed_run(api)
    answer = (await api.ask(RETRY, input={"id": str(run_id), "fromStep": "chrge"}))["retryRun"]
    message = "fromStep: the run has no step 'chrge'; did you mean 'charge'?"
    assert answer == {"run": None, "errors": [{"code": "UNKNOWN_STEP", "message": message, "path": ["fromStep"]}]}
    assert (await api.ask("{ runs { totalCount } }"))["runs"]["totalCount"] == 1


async def test_a_run_with_the_same_key_is_not_given_the_steps_of_another(api: Api) -> None:
    run_id = failed_run(api, unique_key="k")
    api.stored.enqueue(unique_key="k")
    answer = (await api.ask(RETRY, input={"id": str(run_id), "fromStep": "mail"}))["retryRun"]
    assert [one["code"] for one in answer["errors"]] == ["OVERLAP"]


async def test_each_end_of_a_step_is_an_event(api: Api) -> None:
    run_id = failed_run(api)
    async with api.subscribed(EVENTS) as source:
        api.publish()
        told = [(await anext(source)).data["events"] for _ in range(3)]
    same = {"kind": "STEP_FINISHED", "runId": str(run_id), "run": {"jobName": "work"}}
    assert told == [
        {**same, "step": "charge", "stepState": "DONE"},
        {**same, "step": "ship[5]#2", "stepState": "DONE"},
        {**same, "step": "mail", "stepState": "FAILED"},
    ]
