"""Flows by the API: enqueued, looked at, cancelled and retried; runs with their places."""

from datetime import datetime, timedelta
from typing import Any

from cronograph.jobs.core.outcome import Failed
from tests.graphql_api.api import Api

ENQUEUE = """
mutation($input: EnqueueFlowInput!) {
  enqueueFlow(input: $input) {
    flow { id name state isOpen uniqueKey submitter progress { total done waiting suspended }
      jobs { nodes { jobName after progress { total } } totalCount }
      runs(orderBy: [{ field: ID }]) { nodes { id state flowPlace { flowId key when after skippedAfter } } } }
    errors { code message path }
  }
}
"""
DEAD = Failed("ValueError", "boom", permanent=True)


def two(**more: Any) -> dict[str, Any]:
    runs = [{"key": "a", "jobName": "work"}, {"key": "b", "jobName": "work", "after": ["a"]}]
    return {"name": "import", "runs": runs, **more}


def change(mutation: str, more: str = "") -> str:
    return f"""mutation($id: ID!) {{ {mutation}(input: {{ id: $id {more} }}) {{
        flow {{ id state isOpen progress {{ total done failed skipped cancelled success }} }}
        errors {{ code message path }} }} }}"""


async def test_a_flow_is_enqueued_and_shown(api: Api) -> None:
    flow = (await api.ask(ENQUEUE, input=two(uniqueKey="k")))["enqueueFlow"]["flow"]
    assert (flow["name"], flow["state"], flow["isOpen"], flow["uniqueKey"]) == ("import", "RUNNING", False, "k")
    assert flow["progress"] == {"total": 2, "done": 0, "waiting": 1, "suspended": 1}
    first, second = flow["runs"]["nodes"]
    assert [first["state"], second["state"]] == ["WAITING", "SUSPENDED"]
    place = {"flowId": flow["id"], "key": "b", "when": "SUCCESS", "after": [first["id"]], "skippedAfter": []}
    assert second["flowPlace"] == place
    found = await api.ask(
        """query($id: ID!) { flow(id: $id) { name } none: flow(id: "999") { name }
           flows(filter: { state: { eq: RUNNING } }, orderBy: [{ field: NAME }]) { totalCount nodes { id } }
           runs(filter: { flowId: { eq: $id } }) { totalCount } }""",
        id=flow["id"],
    )
    assert found == {
        "flow": {"name": "import"},
        "none": None,
        "flows": {"totalCount": 1, "nodes": [{"id": flow["id"]}]},
        "runs": {"totalCount": 2},
    }


async def test_what_is_wrong_with_a_flow_is_reported_with_its_path(api: Api) -> None:
    runs = [{"key": "a", "jobName": "work", "after": ["b"]}, {"key": "b", "jobName": "work", "after": ["a"]}]
    answer = (await api.ask(ENQUEUE, input={"name": "circle", "runs": runs}))["enqueueFlow"]
    assert answer["flow"] is None
    (error,) = answer["errors"]
    assert (error["code"], error["path"]) == ("INVALID_INPUT", ["runs", "0", "after"])
    assert "'a' → 'b' → 'a'" in error["message"]
    await api.ask(ENQUEUE, input=two(uniqueKey="k"))
    (error,) = (await api.ask(ENQUEUE, input=two(uniqueKey="k")))["enqueueFlow"]["errors"]
    assert (error["code"], error["path"]) == ("ALREADY_EXISTS", ["uniqueKey"])


async def test_a_repeated_request_makes_one_flow(api: Api) -> None:
    answers = [(await api.ask(ENQUEUE, input=two(idempotencyKey="once")))["enqueueFlow"]["flow"] for _ in range(2)]
    assert answers[0]["id"] == answers[1]["id"]


async def test_a_flow_is_added_to_closed_cancelled_and_retried(api: Api) -> None:
    flow = (await api.ask(ENQUEUE, input=two(open=True)))["enqueueFlow"]["flow"]
    add = """mutation($id: ID!, $runs: [FlowRunInput!]!) { addFlowRuns(input: { id: $id, runs: $runs }) {
        flow { progress { total } } errors { message } } }"""
    runs = [{"key": "c", "jobName": "work", "after": ["b"], "when": "ALWAYS"}]
    assert (await api.ask(add, id=flow["id"], runs=runs))["addFlowRuns"]["flow"]["progress"]["total"] == 3
    assert (await api.ask(change("closeFlow"), id=flow["id"]))["closeFlow"]["flow"]["isOpen"] is False
    (error,) = (await api.ask(add, id=flow["id"], runs=[{"key": "d", "jobName": "work"}]))["addFlowRuns"]["errors"]
    assert "takes no further runs" in error["message"]
    cancelled = (await api.ask(change("cancelFlow", 'reason: "enough"'), id=flow["id"]))["cancelFlow"]["flow"]
    assert (cancelled["state"], cancelled["progress"]["cancelled"]) == ("CANCELLED", 3)
    again = (await api.ask(change("retryFlow"), id=flow["id"]))["retryFlow"]["flow"]
    assert (again["state"], again["progress"]["total"], again["progress"]["done"]) == ("RUNNING", 3, 0)
    (error,) = (await api.ask(change("retryFlow"), id=flow["id"]))["retryFlow"]["errors"]
    assert (error["code"], error["path"]) == ("INVALID_STATE", ["id"])


async def test_a_finished_flow_is_made_again_from_one_of_its_runs(api: Api) -> None:
    flow = (await api.ask(ENQUEUE, input=two()))["enqueueFlow"]["flow"]
    first, second = [run["id"] for run in flow["runs"]["nodes"]]
    await api.ask(change("cancelFlow"), id=flow["id"])
    (error,) = (await api.ask(change("retryFlow", f'fromRun: "{second}"'), id=flow["id"]))["retryFlow"]["errors"]
    assert (error["code"], error["path"]) == ("INVALID_STATE", ["fromRun"])
    assert "'b' would be skipped again, since 'a' ended cancelled" in error["message"]
    asked = change("retryFlow", f'fromRun: "{first}", args: {{ value: 7 }}')
    again = (await api.ask(asked, id=flow["id"]))["retryFlow"]["flow"]
    assert (again["state"], again["progress"]["total"]) == ("RUNNING", 2)
    found = await api.ask(
        "query($id: ID!) { flow(id: $id) { runs(orderBy: [{ field: ID }]) { nodes { args flowPlace { key } } } } }",
        id=flow["id"],
    )
    placed = [run for run in found["flow"]["runs"]["nodes"] if run["flowPlace"]]
    assert placed == [{"args": {"value": 7}, "flowPlace": {"key": "a"}}, {"args": {}, "flowPlace": {"key": "b"}}]
    for wrong in ('fromRun: "x"', "args: {}", 'fromRun: "999"'):
        (error,) = (await api.ask(change("retryFlow", wrong), id=flow["id"]))["retryFlow"]["errors"]
        assert error["code"] in {"INVALID_INPUT", "INVALID_STATE", "NOT_FOUND"}


async def test_a_flow_has_a_deadline_and_is_found_by_it(api: Api) -> None:
    flow = (await api.ask(ENQUEUE, input=two(deadline=3600)))["enqueueFlow"]["flow"]
    await api.ask(ENQUEUE, input=two())
    found = await api.ask(
        """query { with: flows(filter: { deadlineAt: { isNull: false } }) {
             nodes { id submittedAt deadlineAt startedByRun { id } startedByTask { id } } }
           none: flows(filter: { startedByRunId: { eq: "1" }, startedByTaskId: { eq: "1" } }) { totalCount } }"""
    )
    (one,) = found["with"]["nodes"]
    assert (one["id"], one["startedByRun"], one["startedByTask"]) == (flow["id"], None, None)
    took = datetime.fromisoformat(one["deadlineAt"]) - datetime.fromisoformat(one["submittedAt"])
    assert (took, found["none"]["totalCount"]) == (timedelta(hours=1), 0)
    (error,) = (await api.ask(ENQUEUE, input=two(deadline=0)))["enqueueFlow"]["errors"]
    assert (error["code"], error["path"]) == ("INVALID_INPUT", ["deadline"])


async def test_flows_are_found_and_counted_by_their_labels(api: Api) -> None:
    for customer in ("1", "1", "2"):
        answer = await api.ask(ENQUEUE, input=two(labels={"customer": customer, "team": "a.b"}))
        assert answer["enqueueFlow"]["errors"] == []
    await api.ask(ENQUEUE, input=two())
    count = "query($labels: LabelFilter) { flows(filter: { labels: $labels }) { totalCount nodes { labels } } }"
    asked = [
        {"key": "customer", "eq": "1"},
        {"key": "customer", "in": ["1", "2"]},
        {"key": "team", "eq": "a.b"},
        {"key": "team", "exists": True},
        {"key": "team", "exists": False},
        {"key": "customer", "eq": "3"},
    ]
    found = [(await api.ask(count, labels=one))["flows"] for one in asked]
    assert [one["totalCount"] for one in found] == [2, 3, 3, 3, 1, 0]
    assert all(flow["labels"]["customer"] == "1" for flow in found[0]["nodes"])
    runs = "query($labels: LabelFilter) { runs(filter: { labels: $labels }) { totalCount } }"
    assert (await api.ask(runs, labels=asked[0]))["runs"]["totalCount"] == 4
