"""What lists can be asked beyond conditions on single columns: states that are computed, places of nulls, links."""

from datetime import timedelta
from typing import Any

from cronograph.jobs.core.outcome import Failed, Succeeded
from tests.graphql_api.api import Api
from tests.support.storage import START

TASKS = """query($filter: TaskFilter, $order: [TaskOrder!]) {
  tasks(filter: $filter, orderBy: $order) { nodes { name } }
}"""
GROUPS = """query($order: [GroupOrder!], $after: String) {
  groups(first: 2, after: $after, orderBy: $order) { nodes { name } pageInfo { endCursor } }
}"""


async def names(api: Api, filter: dict[str, Any] | None = None, order: list[dict[str, str]] | None = None) -> str:
    """The names of the tasks that a filter finds, put together."""
    found = (await api.ask(TASKS, filter=filter, order=order))["tasks"]["nodes"]
    return "".join(node["name"] for node in found)


async def test_tasks_are_found_by_what_became_of_them(api: Api) -> None:
    # Of four tasks due at one time the job of one fails, that of one succeeds, and two never start; the last is over.
    for name in "abc":
        api.stored.task("0 0 * * * *", name=name, retries=0)
    api.stored.task("0 0 * * * *", name="d", end_at=START + timedelta(hours=1))
    worker = api.stored.node("w")
    api.stored.at(3600)
    api.stored.dispatch()
    for outcome in (Failed("ValueError", "no"), Succeeded()):
        worker.end(worker.start(), outcome)
    assert await names(api, {"lastOutcome": {"eq": "FAILED"}}) == "a"
    assert await names(api, {"lastOutcome": {"in": ["FAILED", "SUCCESS"]}}) == "ba"
    assert await names(api, {"lastOutcome": {"isNull": True}}) == "dc"
    assert await names(api, {"isFinished": {"eq": True}}) == "d"
    assert await names(api, {"isFinished": {"eq": False}}, [{"field": "NAME"}]) == "abc"
    assert await names(api, {"isStalled": {"eq": True}}) == ""
    api.stored.at(3700)
    assert await names(api, {"isStalled": {"eq": True}, "isEnabled": {"eq": True}}, [{"field": "NAME"}]) == "cd"
    assert await names(api, {"not": {"isStalled": {"eq": True}}}, [{"field": "NAME"}]) == "ab"
    assert await names(api, {"isStalled": {"isNull": True}}) == ""
    counted = await api.ask("{ tasks(filter: { isStalled: { ne: true } }) { totalCount } }")
    assert counted["tasks"]["totalCount"] == 2


async def test_rows_without_a_value_stand_where_they_are_asked_to(api: Api) -> None:
    for name, owner in (("a", None), ("b", "y"), ("c", "x"), ("d", None)):
        api.stored.task(name=name, owner=owner)
    for direction, nulls, expected in (
        ("ASC", "FIRST", "adcb"),
        ("ASC", "LAST", "cbad"),
        ("DESC", "FIRST", "dabc"),
        ("DESC", "LAST", "bcda"),
    ):
        order = [{"field": "OWNER", "direction": direction, "nulls": nulls}]
        assert await names(api, order=order) == expected
        for size, backwards in ((1, False), (3, False), (1, True)):
            assert await walked(api, order, size, backwards=backwards) == expected


async def walked(api: Api, order: list[dict[str, str]], size: int, *, backwards: bool) -> str:
    """The names met on a walk by pages of a size, put in the order of the list."""
    document = """query($order: [TaskOrder!], $first: Int, $after: String, $last: Int, $before: String) {
      tasks(orderBy: $order, first: $first, after: $after, last: $last, before: $before) {
        nodes { name } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }"""
    met, cursor = "", None
    for _ in range(10):
        paging = {"last": size, "before": cursor} if backwards else {"first": size, "after": cursor}
        page = (await api.ask(document, order=order, **paging))["tasks"]
        part = "".join(node["name"] for node in page["nodes"])
        met = part + met if backwards else met + part
        info = page["pageInfo"]
        if not info["hasPreviousPage" if backwards else "hasNextPage"]:
            return met
        cursor = info["startCursor" if backwards else "endCursor"]
    raise AssertionError("the pages do not end")


async def test_a_cursor_belongs_to_the_place_of_the_nulls_as_well(api: Api) -> None:
    for name in "ab":
        api.stored.task(name=name)
    document = "query($order: [TaskOrder!], $after: String) { tasks(first: 1, after: $after, orderBy: $order) {"
    document += " pageInfo { endCursor } } }"
    order = {"field": "OWNER", "direction": "ASC"}
    page = await api.ask(document, order=[{**order, "nulls": "FIRST"}])
    cursor = page["tasks"]["pageInfo"]["endCursor"]
    code, _ = await api.refused(document, order=[{**order, "nulls": "LAST"}], after=cursor)
    assert code == "INVALID_CURSOR"


async def test_groups_are_ordered_by_what_waits_what_runs_and_by_wait(api: Api) -> None:
    api.stored.enqueue(group="busy")
    api.stored.node("w").start()
    for second, group, count in ((0, "old", 1), (1, "deep", 3), (2, "young", 2)):
        api.stored.at(second)
        for _ in range(count):
            api.stored.enqueue(group=group)
    expected = {
        "DEPTH": ["deep", "young", "old", "default", "busy"],
        "RUNNING": ["busy", "young", "old", "default", "deep"],
        "WAIT": ["old", "deep", "young", "default", "busy"],
    }
    for field, order in expected.items():
        found: list[str] = []
        cursor = None
        for _ in range(3):
            page = await api.ask(GROUPS, order=[{"field": field, "direction": "DESC"}], after=cursor)
            found += [node["name"] for node in page["groups"]["nodes"]]
            cursor = page["groups"]["pageInfo"]["endCursor"]
        assert found == order


async def test_times_and_durations_can_be_one_of_several(api: Api) -> None:
    ids: list[str] = []
    for second in range(3):
        api.stored.at(second)
        ids.append(str(api.stored.enqueue().id))
    document = "query($filter: RunFilter) { runs(filter: $filter) { nodes { id submittedAt } } }"
    runs = (await api.ask(document))["runs"]["nodes"]
    times = [runs[0]["submittedAt"], runs[2]["submittedAt"]]
    found = (await api.ask(document, filter={"submittedAt": {"in": times}}))["runs"]["nodes"]
    assert [run["id"] for run in found] == [ids[2], ids[0]]
    found = (await api.ask(document, filter={"submittedAt": {"notIn": times}}))["runs"]["nodes"]
    assert [run["id"] for run in found] == [ids[1]]
    worker = api.stored.node("w")
    started = worker.start()
    api.stored.at(4)
    worker.end(started, Succeeded())
    document = "query($filter: ExecutionFilter) { executions(filter: $filter) { nodes { duration } } }"
    for operator, number in (("in", 1), ("notIn", 0)):
        executions = (await api.ask(document, filter={"duration": {operator: [2.0, 7.5]}}))["executions"]["nodes"]
        assert len(executions) == number, operator


async def test_things_lead_to_each_other(api: Api) -> None:
    api.stored.task(name="nightly", group="mail", args={"days": 7})
    worker = api.stored.node("w")
    api.stored.enqueue(group="mail", args={"days": 7})
    api.stored.enqueue(group="mail", args={})
    worker.start()
    data = await api.ask(
        """{
          group(name: "mail") { name waiting tasks { nodes { name } } runs { nodes { state job { name } } } }
          nobody: group(name: "nobody") { name }
          node(name: "w") { name state runs { nodes { state args } } }
          gone: node(name: "gone") { name }
          jobs(filter: { name: { eq: "work" } }) { totalCount nodes { name isKnown nodes isolation } }
          executions { nodes { runId taskId group args job { name } run { job { name } } } }
        }"""
    )
    job = {"name": "work"}
    assert data["group"] == {
        "name": "mail",
        "waiting": 1,
        "tasks": {"nodes": [{"name": "nightly"}]},
        "runs": {"nodes": [{"state": "WAITING", "job": job}, {"state": "RUNNING", "job": job}]},
    }
    assert (data["nobody"], data["gone"]) == (None, None)
    assert data["node"]["runs"] == {"nodes": [{"state": "RUNNING", "args": {"days": 7}}]}
    assert data["jobs"]["totalCount"] == 1
    assert data["jobs"]["nodes"][0]["isKnown"] is True
    assert "w" in data["jobs"]["nodes"][0]["nodes"]
    (execution,) = data["executions"]["nodes"]
    assert execution == {
        "runId": "1", "taskId": None, "group": "mail", "args": {"days": 7}, "job": job, "run": {"job": job},
    }  # fmt: skip


async def test_runs_that_were_retried_can_be_distinguished_from_those_that_were_not(api: Api) -> None:
    worker = api.stored.node("w")
    for _ in range(2):
        api.stored.enqueue(retries=0)
        worker.end(worker.start(), Failed("ValueError", "no"))
    await api.ask('mutation { retryRun(input: { id: "1" }) { errors { code } } }')
    document = "query($filter: RunFilter) { runs(filter: $filter) { nodes { id } } }"
    for retried, expected in ((True, ["1"]), (False, ["3", "2"])):
        found = (await api.ask(document, filter={"isRetried": {"eq": retried}}))["runs"]["nodes"]
        assert [run["id"] for run in found] == expected
