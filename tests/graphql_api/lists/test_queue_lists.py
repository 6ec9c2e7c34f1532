"""The connections of groups and nodes."""

from typing import Any

import pytest

from cronograph.jobs.actions.nodes import set_state
from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.core.outcome import Succeeded
from tests.graphql_api.api import Api

GROUPS = """
query($first: Int, $after: String, $last: Int, $before: String, $filter: GroupFilter, $order: [GroupOrder!]) {
  groups(first: $first, after: $after, last: $last, before: $before, filter: $filter, orderBy: $order) {
    nodes { name }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    totalCount
  }
}
"""
NODES = """
query($first: Int, $after: String, $filter: NodeFilter, $order: [NodeOrder!]) {
  nodes(first: $first, after: $after, filter: $filter, orderBy: $order) {
    nodes { name }
    pageInfo { hasNextPage endCursor }
    totalCount
  }
}
"""


async def names(api: Api, document: str = GROUPS, **variables: Any) -> str:
    """The names of one page, in order."""
    (page,) = (await api.ask(document, **variables)).values()
    return " ".join(row["name"] for row in page["nodes"])


async def test_a_group_is_listed_while_a_task_or_an_unfinished_run_names_it_or_once_it_has_a_setting(api: Api) -> None:
    api.stored.task("0 0 0 1 1 *", name="yearly", group="of a task")
    await api.ask('mutation { updateGroup(input: { name: "limited", maxRunning: 3 }) { group { name } } }')
    await api.ask('mutation { pauseGroup(input: { name: "paused" }) { group { name } } }')
    worker = api.stored.node("w")
    api.stored.enqueue(group="done")
    api.stored.at(1)
    worker.end(worker.start(), Succeeded())
    api.stored.enqueue(group="held")
    api.stored.at(2)
    worker.start()
    for group in ("queued", "queued", "another", "queued"):
        api.stored.enqueue(group=group)
    page = (await api.ask(GROUPS))["groups"]
    expected = ["another", "default", "held", "limited", "of a task", "paused", "queued"]
    assert [group["name"] for group in page["nodes"]] == expected
    assert page["totalCount"] == len(expected)


async def test_without_anything_there_is_the_default_group(api: Api) -> None:
    assert await names(api) == "default"


@pytest.mark.costly
async def test_more_groups_than_a_page_holds_are_read_page_by_page_in_both_directions(api: Api) -> None:
    expected = sorted(["default", *(f"tenant-{number:03}" for number in range(250))])
    for name in expected[1:]:
        api.stored.enqueue(group=name)
    page = (await api.ask(GROUPS, first=200))["groups"]
    assert [group["name"] for group in page["nodes"]] == expected[:200]
    assert page["pageInfo"]["hasNextPage"]
    rest = (await api.ask(GROUPS, first=200, after=page["pageInfo"]["endCursor"]))["groups"]
    assert [group["name"] for group in rest["nodes"]] == expected[200:]
    assert (rest["pageInfo"]["hasNextPage"], rest["pageInfo"]["hasPreviousPage"]) == (False, True)
    assert page["totalCount"] == rest["totalCount"] == len(expected)
    last = (await api.ask(GROUPS, last=2))["groups"]
    assert [group["name"] for group in last["nodes"]] == expected[-2:]
    earlier = await names(api, last=2, before=last["pageInfo"]["startCursor"])
    assert earlier.split() == expected[-4:-2]


async def test_a_group_that_comes_meanwhile_neither_shifts_nor_repeats_pages(api: Api) -> None:
    for name in ("b", "d", "f"):
        api.stored.enqueue(group=name)
    first = (await api.ask(GROUPS, first=2))["groups"]
    assert [group["name"] for group in first["nodes"]] == ["b", "d"]
    api.stored.enqueue(group="a")
    assert await names(api, after=first["pageInfo"]["endCursor"]) == "default f"


@pytest.mark.costly
@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ({"name": {"startsWith": "MA"}}, "mail mail-eu"),
        ({"name": {"contains": "-"}}, "files-eu mail-eu"),
        ({"name": {"in": ["mail", "nowhere"]}}, "mail"),
        ({"name": {"isNull": True}}, ""),
        ({"isPaused": {"eq": True}}, "files"),
        ({"isPaused": {"eq": False}}, "default files-eu mail mail-eu"),
        ({"isPaused": {"ne": True}, "name": {"startsWith": "files"}}, "files-eu"),
        ({"maxRunning": {"isNull": False}}, "mail mail-eu"),
        ({"maxRunning": {"gte": 5}}, "mail-eu"),
        ({"maxRunning": {"eq": None}}, "default files files-eu"),
        ({"or": [{"isPaused": {"eq": True}}, {"maxRunning": {"lt": 5}}]}, "files mail"),
        ({"not": {"maxRunning": {"isNull": True}}}, "mail mail-eu"),
    ],
)
async def test_groups_are_filtered(api: Api, filter: dict[str, Any], expected: str) -> None:
    for name, limit in (("mail", 2), ("mail-eu", 9)):
        change = f'updateGroup(input: {{ name: "{name}", maxRunning: {limit} }}) {{ group {{ name }} }}'
        await api.ask(f"mutation {{ {change} }}")
    await api.ask('mutation { pauseGroup(input: { name: "files" }) { group { name } } }')
    api.stored.enqueue(group="files-eu")
    page = (await api.ask(GROUPS, filter=filter))["groups"]
    assert " ".join(group["name"] for group in page["nodes"]) == expected
    assert page["totalCount"] == len(expected.split())


async def test_groups_can_be_turned_round(api: Api) -> None:
    for name in ("a", "z"):
        api.stored.enqueue(group=name)
    assert await names(api, order=[{"field": "NAME", "direction": "DESC"}]) == "z default a"


async def test_a_cursor_of_nodes_is_none_of_groups(api: Api) -> None:
    cursor = (await api.ask(NODES))["nodes"]["pageInfo"]["endCursor"]
    assert cursor is not None
    code, message = await api.refused(GROUPS, after=cursor)
    assert code == "INVALID_CURSOR"
    assert message.startswith("after: ")


async def test_nodes_are_read_page_by_page_newest_first(api: Api) -> None:
    for number in range(3):
        api.stored.pass_time(1)
        api.stored.node(f"n{number}")
    page = (await api.ask(NODES, first=2))["nodes"]
    assert [node["name"] for node in page["nodes"]] == ["n2", "n1"]
    assert page["pageInfo"]["hasNextPage"]
    assert page["totalCount"] == 4
    assert await names(api, NODES, after=page["pageInfo"]["endCursor"]) == "n0 node-a"


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ({"name": {"startsWith": "n"}}, "new node-a"),
        ({"state": {"eq": "STOPPED"}}, "new"),
        ({"state": {"notIn": ["STOPPED", "EXPIRED"]}}, "node-a"),
        ({"version": {"eq": "1"}}, "new node-a"),
        ({"version": {"ne": "1"}}, ""),
        ({"startedAt": {"gt": "2026-03-01T12:00:00Z"}}, "new"),
        ({"not": {"id": {"isNull": True}}}, "new node-a"),
    ],
)
async def test_nodes_are_filtered(api: Api, filter: dict[str, Any], expected: str) -> None:
    api.stored.pass_time(1)
    new = api.stored.node("new").node
    api.stored.do(set_state, new, NodeState.STOPPED)
    assert await names(api, NODES, filter=filter) == expected


async def test_nodes_are_ordered(api: Api) -> None:
    api.stored.pass_time(1)
    api.stored.node("alpha")
    for field, expected in (("NAME", "alpha node-a"), ("STARTED_AT", "node-a alpha"), ("ID", "node-a alpha")):
        assert await names(api, NODES, order=[{"field": field}]) == expected
