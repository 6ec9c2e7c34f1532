"""Labels in the API: runs that are put with them, lists, counts and statistics by them, and what is refused."""

from typing import Any

import pytest

from cronograph.jobs.core.defaults import FOLLOWED
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.queue.enqueue.enqueue import put
from tests.graphql_api.api import Api
from tests.support.storage import START

FOUND = """query($runs: RunFilter, $executions: ExecutionFilter) {
  runs(filter: $runs) { totalCount nodes { id labels } }
  executions(filter: $executions) { totalCount nodes { runId labels } } }"""


def put_some(api: Api) -> None:
    """Ten runs of three customers and one without a label, all executed."""
    worker = api.stored.node("another")
    runs = [
        NewRun("work", Trigger.API, {"customer": {"id": place % 3}}, labels={"customer": str(place % 3)})
        for place in range(10)
    ]
    api.stored.do(put, [*runs, NewRun("work", Trigger.API)])
    for one in worker.take(20).started:
        worker.end(one)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("wanted", "number"),
    [
        ({"labels": {"key": "customer", "eq": "1"}}, 3),
        ({"labels": {"key": "customer", "in": ["1", "2"]}}, 6),
        ({"labels": {"key": "customer", "exists": True}}, 10),
        ({"labels": {"key": "customer", "exists": False}}, 1),
        ({"labels": {"key": "nothing", "eq": "1"}}, 0),
        ({"args": {"path": "customer.id", "eq": 0}}, 4),
        ({"args": {"path": "customer.id", "eq": 0}, "labels": {"key": "customer", "eq": "1"}}, 0),
        ({"jobName": {"eq": "work"}, "not": {"labels": {"key": "customer", "eq": "0"}}}, 7),
    ],
)
async def test_runs_and_executions_are_found_by_labels(api: Api, wanted: dict[str, Any], number: int) -> None:
    put_some(api)
    found = await api.ask(FOUND, runs=wanted, executions=wanted)
    assert (found["runs"]["totalCount"], len(found["runs"]["nodes"])) == (number, number)
    assert (found["executions"]["totalCount"], len(found["executions"]["nodes"])) == (number, number)
    for row in found["executions"]["nodes"]:
        assert row["labels"] in ([{}] if not wanted.get("labels", {}).get("exists", True) else [row["labels"]])


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ({"labels": {"key": "team", "eq": "a"}}, {"one"}),
        ({"labels": {"key": "team", "in": ["a", "b"]}}, {"one", "two"}),
        ({"labels": {"key": "team", "exists": True}}, {"one", "two"}),
        ({"labels": {"key": "team", "exists": False}}, {"three"}),
        ({"labels": {"key": "plan.x/y", "eq": "1"}, "not": {"labels": {"key": "team", "eq": "a"}}}, {"two"}),
        ({"and": [{"labels": {"key": "team", "eq": "b"}}, {"labels": {"key": "plan.x/y", "eq": "2"}}]}, set()),
    ],
)
async def test_tasks_are_found_by_their_labels(api: Api, wanted: dict[str, Any], names: set[str]) -> None:
    api.stored.node("another")
    both = {"plan.x/y": "1"}
    for name, labels in (("one", {"team": "a", **both}), ("two", {"team": "b", **both}), ("three", {})):
        api.stored.task(name=name, labels=labels)
    query = "query($f: TaskFilter) { tasks(filter: $f) { totalCount nodes { name labels } } }"
    found = (await api.ask(query, f=wanted))["tasks"]
    assert ({one["name"] for one in found["nodes"]}, found["totalCount"]) == (names, len(names))


@pytest.mark.parametrize(
    ("wanted", "fault"),
    [
        ({"labels": {"key": "a b", "eq": "1"}}, "a key must have 1 to 63 letters"),
        ({"labels": {"key": "a"}}, "filter.labels: must have an operator with a value"),
        ({"labels": {"key": "a", "eq": None}}, "filter.labels.eq: must have a value, got null"),
        ({"labels": {"key": "a", "eq": "x" * 1001}}, "must have at most 1000 characters"),
        ({"args": {"path": "a..b", "eq": 1}}, "filter.args.path: must be 1 to 10 names with dots between them"),
        ({"args": {"path": 'a"', "eq": 1}}, "without quotes and backslashes"),
        ({"args": {"path": "a"}}, "filter.args: must have an operator with a value"),
        ({"args": {"path": "a", "eq": [1]}}, "filter.args.eq: must be a text, a number, a truth value or null"),
    ],
)
async def test_conditions_that_say_nothing_or_too_much_are_refused(
    api: Api, wanted: dict[str, Any], fault: str
) -> None:
    _, message = await api.refused("query($f: RunFilter) { runs(filter: $f) { nodes { id } } }", f=wanted)
    assert fault in message


async def test_keys_values_and_statistics_of_labels(api: Api) -> None:
    put_some(api)
    api.stored.pass_time(1)
    found = await api.ask(
        """query($to: DateTime!) { labelKeys
        first: labelValues(key: "customer", first: 1) { nodes { value } totalCount isTotalCountExact }
        labelValues(key: "customer") { nodes { value runs hasMore } pageInfo { hasNextPage } }
        statistics(label: { key: "customer", value: "0" }, to: $to) { count failures } }""",
        to=api.stored.now.isoformat(),
    )
    assert found["labelKeys"] == ["customer"]
    assert found["labelValues"]["nodes"] == [
        {"value": one, "runs": 4 if one == "0" else 3, "hasMore": False} for one in "012"
    ]
    assert found["labelValues"]["pageInfo"] == {"hasNextPage": False}
    assert found["first"] == {"nodes": [{"value": "0"}], "totalCount": 3, "isTotalCountExact": True}
    page = """query($after: String) {
      labelValues(key: "customer", first: 1, after: $after) { nodes { value } pageInfo { endCursor } }
    }"""
    met = list[str]()
    after = None
    while (part := (await api.ask(page, after=after))["labelValues"])["nodes"]:
        met.append(part["nodes"][0]["value"])
        after = part["pageInfo"]["endCursor"]
    assert met == ["0", "1", "2"]
    assert found["statistics"] == {"count": 4, "failures": 0}
    for document in (
        '{ labelValues(key: "") { totalCount } }',
        '{ labelValues(key: "a", first: 201) { totalCount } }',
        '{ labelValues(key: "a", after: "x") { nodes { value } } }',
        '{ statistics(label: { key: "a", value: "" }) { count } }',
    ):
        await api.refused(document)


async def test_runs_are_put_with_labels_and_tasks_are_edited(api: Api) -> None:
    api.stored.node("another")
    api.stored.task(name="nightly")
    done = await api.ask(
        """mutation($labels: Labels, $fixed: JSON) {
        enqueueRuns(input: { runs: [{ jobName: "work", labels: $labels }, { jobName: "work" }] }) {
          runs { labels } errors { message } }
        triggerJob(jobName: "work", labels: $fixed) { run { labels } }
        updateTask(input: { name: "nightly", labels: $labels }) { task { labels definition } }
        triggerTask(input: { name: "nightly" }) { run { labels } } }""",
        labels={"customer": "42"},
        fixed={"customer": "42"},
    )
    wanted = {"customer": "42"}
    assert [run["labels"] for run in done["enqueueRuns"]["runs"]] == [wanted, {}]
    assert done["triggerJob"]["run"]["labels"] == done["triggerTask"]["run"]["labels"] == wanted
    task = done["updateTask"]["task"]
    assert (task["labels"], task["definition"]["labels"]) == (wanted, wanted)


@pytest.mark.parametrize("labels", [["a"], {"a": 1}, {"a b": "1"}, {str(one): "1" for one in range(17)}])
async def test_labels_that_cannot_be_are_refused_with_their_place(api: Api, labels: object) -> None:
    api.stored.node("another")
    done = await api.ask(
        """mutation($labels: Labels, $fixed: JSON) {
        enqueueRuns(input: { runs: [{ jobName: "work", labels: $labels }] }) { runs { id } errors { path message } }
        triggerJob(jobName: "work", labels: $fixed) { run { id } errors { path message } } }""",
        labels=labels,
        fixed=labels,
    )
    assert done["enqueueRuns"]["errors"][0]["path"][:3] == ["runs", "0", "labels"]
    assert done["triggerJob"]["errors"][0]["path"][0] == "labels"
    assert FOLLOWED
    assert api.stored.now >= START
