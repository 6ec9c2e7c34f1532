"""What happened: the stored events as a list; and plans and figures of a part of everything."""

from typing import Any

from cronograph.jobs.core.outcome import Failed, Succeeded
from tests.graphql_api.api import Api, take

EVENTS = """query($first: Int, $after: String, $last: Int, $before: String, $filter: EventFilter) {
  events(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
    totalCount nodes { cursor kind } edges { cursor } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}"""


async def history(api: Api, **arguments: Any) -> dict[str, Any]:
    """A page of the stored events."""
    found: dict[str, Any] = (await api.ask(EVENTS, **arguments))["events"]
    return found


async def worked(api: Api) -> list[dict[str, Any]]:
    """The events of a run from its submission to its success, and of its nodes, once they are all published."""
    worker = api.stored.node("w")
    api.stored.enqueue(group="mail")
    worker.end(worker.start(), Succeeded(1))
    api.publish()
    async with api.subscribed('subscription { events(after: "0.0") { cursor kind } }') as source:
        return await take(source, 7)


async def test_the_stored_events_are_a_list_whose_cursors_are_those_of_the_subscription(api: Api) -> None:
    told = await worked(api)
    everything = await history(api)
    assert everything["nodes"] == told
    assert [edge["cursor"] for edge in everything["edges"]] == [one["cursor"] for one in told]
    assert everything["totalCount"] == len(told)
    assert (everything["pageInfo"]["hasNextPage"], everything["pageInfo"]["hasPreviousPage"]) == (False, False)
    # The newest come without asking, in the order in which they happened.
    assert (await history(api, last=2))["nodes"] == told[-2:]
    assert (await history(api, first=0))["nodes"] == []


async def test_pages_of_events_lead_through_all_of_them_in_both_directions(api: Api) -> None:
    await worked(api)
    everything = (await history(api))["nodes"]
    for size in (1, 3):
        met: list[dict[str, Any]] = []
        page = await history(api, first=size)
        while True:
            met += page["nodes"]
            if not page["pageInfo"]["hasNextPage"]:
                break
            page = await history(api, first=size, after=page["pageInfo"]["endCursor"])
        assert met == everything
        met = []
        page = await history(api, last=size)
        while True:
            met = page["nodes"] + met
            if not page["pageInfo"]["hasPreviousPage"]:
                break
            page = await history(api, last=size, before=page["pageInfo"]["startCursor"])
        assert met == everything
    between = await history(api, after=everything[0]["cursor"], before=everything[3]["cursor"])
    assert between["nodes"] == everything[1:3]


async def test_events_are_filtered_and_faulty_pages_refused(api: Api) -> None:
    await worked(api)
    finished = await history(api, filter={"kinds": ["EXECUTION_FINISHED"], "group": "mail"})
    assert ([one["kind"] for one in finished["nodes"]], finished["totalCount"]) == (["EXECUTION_FINISHED"], 1)
    for arguments, code, words in (
        ({"first": 1, "last": 1}, "INVALID_INPUT", "last: must not be given together with first"),
        ({"first": 201}, "INVALID_INPUT", "first: must be a whole number from 0 to 200"),
        ({"before": "x"}, "INVALID_CURSOR", "before: must be an event cursor"),
    ):
        assert (await api.refused(EVENTS, **arguments))[0] == code
        assert words in (await api.refused(EVENTS, **arguments))[1]


async def test_the_plan_can_be_of_some_tasks_only(api: Api) -> None:
    for name, group in (("a", "mail"), ("b", "default")):
        api.stored.task("0 * * * * *", name=name, group=group)
    document = """query($filter: TaskFilter) {
      upcoming(first: 3, filter: $filter) { nodes { task { name } } totalCount }
    }"""
    for condition, expected in (
        ({"group": {"eq": "mail"}}, ["a"] * 3),
        ({"isStalled": {"eq": False}, "name": {"eq": "b"}}, ["b"] * 3),
        ({"isStalled": {"eq": True}}, []),
    ):
        found = (await api.ask(document, filter=condition))["upcoming"]["nodes"]
        assert [one["task"]["name"] for one in found] == expected


async def test_figures_can_be_of_one_group_or_one_node(api: Api) -> None:
    first, second = api.stored.node("first"), api.stored.node("second")
    for group, worker, outcome in (
        ("mail", first, Succeeded(2)),
        ("mail", second, Failed("ValueError", "no")),
        ("default", second, Succeeded(5)),
    ):
        api.stored.enqueue(group=group, retries=0)
        started = worker.start()
        api.stored.pass_time(2)
        worker.end(started, outcome)
    api.stored.pass_time(1)
    data = await api.ask(
        """{
          mail: statistics(group: "mail") { count failures records p50 points { count } }
          second: statistics(node: "second") { count failures records }
          both: statistics(group: "mail", node: "second", jobName: "work") { count failures isEstimated }
          none: statistics(group: "other") { count points { at } }
        }"""
    )
    assert data == {
        "mail": {"count": 2, "failures": 1, "records": 2, "p50": 2.0, "points": [{"count": 2}]},
        "second": {"count": 2, "failures": 1, "records": 5},
        "both": {"count": 1, "failures": 1, "isEstimated": False},
        "none": {"count": 0, "points": []},
    }
