"""Relay connections: pages in both directions, filters, orders, counts, and cursors that belong to one list."""

import json
from collections.abc import Iterable
from itertools import chain
from typing import Any

import pytest

from cronograph.graphql.lists.connections import encode
from cronograph.jobs.core.model import Priority
from cronograph.jobs.core.outcome import Failed, Succeeded
from cronograph.jobs.store.statements.listing.keyset import OrderKey
from tests.graphql_api.api import Api

RUNS = """
query($first: Int, $after: String, $last: Int, $before: String, $filter: RunFilter, $order: [RunOrder!]) {
  runs(first: $first, after: $after, last: $last, before: $before, filter: $filter, orderBy: $order) {
    edges { cursor node { id } }
    nodes { id }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}
"""


async def pages(api: Api, *, backwards: bool = False, size: int = 2, **variables: Any) -> list[list[str]]:
    """The ids of all pages, in the order in which they are met."""
    found: list[list[str]] = []
    cursor: str | None = None
    while True:
        paging = {"last": size, "before": cursor} if backwards else {"first": size, "after": cursor}
        page = (await api.ask(RUNS, **variables, **paging))["runs"]
        assert [edge["node"] for edge in page["edges"]] == page["nodes"]
        found.append([node["id"] for node in page["nodes"]])
        info = page["pageInfo"]
        if not info["hasPreviousPage" if backwards else "hasNextPage"]:
            return found
        cursor = info["startCursor" if backwards else "endCursor"]


def flat(pages: Iterable[list[str]]) -> list[str]:
    """The rows of all pages."""
    return list(chain.from_iterable(pages))


@pytest.fixture
def five(api: Api) -> list[str]:
    """Five runs, of which every other one is urgent."""
    high, low = Priority.HIGH, Priority.LOW
    return [str(api.stored.enqueue(priority=priority).id) for priority in (low, high, low, high, low)]


async def test_pages_forwards_show_every_row_once(api: Api, five: list[str]) -> None:
    newest_first = five[::-1]
    assert await pages(api) == [newest_first[:2], newest_first[2:4], newest_first[4:]]


async def test_pages_backwards_show_the_same_order_from_the_end(api: Api, five: list[str]) -> None:
    newest_first = five[::-1]
    assert await pages(api, backwards=True) == [newest_first[3:], newest_first[1:3], newest_first[:1]]


async def test_an_order_with_equal_values_is_made_unique_by_the_key(api: Api, five: list[str]) -> None:
    order = [{"field": "PRIORITY", "direction": "ASC"}]
    found = await pages(api, order=order)
    assert flat(found) == [five[1], five[3], five[0], five[2], five[4]]
    assert flat(reversed(await pages(api, order=order, backwards=True))) == flat(found)


async def test_rows_without_a_value_come_last_and_first_when_descending(api: Api) -> None:
    ids = [str(api.stored.enqueue().id) for _ in range(3)]
    worker = api.stored.node("w")
    api.stored.at(1)
    worker.start()
    for direction, expected in (("ASC", [ids[0], ids[1], ids[2]]), ("DESC", [ids[2], ids[1], ids[0]])):
        assert flat(await pages(api, order=[{"field": "STARTED_AT", "direction": direction}], size=1)) == expected


async def test_rows_that_come_meanwhile_neither_shift_nor_repeat_pages(api: Api, five: list[str]) -> None:
    first = (await api.ask(RUNS, first=2))["runs"]
    api.stored.enqueue()
    rest = (await api.ask(RUNS, first=10, after=first["pageInfo"]["endCursor"]))["runs"]
    assert [node["id"] for node in rest["nodes"]] == five[2::-1]


async def test_both_cursors_cut_out_what_lies_between(api: Api, five: list[str]) -> None:
    edges = (await api.ask(RUNS))["runs"]["edges"]
    between = (await api.ask(RUNS, after=edges[0]["cursor"], before=edges[4]["cursor"]))["runs"]
    assert [node["id"] for node in between["nodes"]] == five[3:0:-1]


async def test_a_page_of_no_rows_is_allowed(api: Api, five: list[str]) -> None:
    page = (await api.ask(RUNS, first=0))["runs"]
    assert page["nodes"] == []
    assert page["pageInfo"] == {"hasNextPage": True, "hasPreviousPage": False, "startCursor": None, "endCursor": None}
    assert five


IMPOSSIBLE: list[tuple[dict[str, int], str]] = [
    ({"first": -1}, "first: must be a whole number from 0 to 200, got -1"),
    ({"first": 201}, "first: must be a whole number from 0 to 200, got 201"),
    ({"last": 201}, "last: must be a whole number from 0 to 200, got 201"),
    ({"first": 1, "last": 1}, "last: must not be given together with first; page forwards or backwards"),
]


async def test_impossible_pages_are_refused(api: Api) -> None:
    for paging, message in IMPOSSIBLE:
        assert await api.refused(RUNS, **paging) == ("INVALID_INPUT", message)


OTHER_ORDER = encode("runs", (OrderKey("priority"), OrderKey("id")), ("low", 1))
OTHER_LIST = encode("tasks", (OrderKey("id", descending=True),), (1,))
WRONG_KIND = encode("runs", (OrderKey("id", descending=True),), ("one",))
TOO_LARGE = encode("runs", (OrderKey("id", descending=True),), (2**70,))
NO_KEY = encode("runs", (OrderKey("id", descending=True),), (None,))


TAMPERED = [
    "",
    "x",
    "!!!",
    "WyJydW5z",
    "é",
    "A" * 5000,
    "bnVsbA",
    "W10",
    OTHER_ORDER,
    OTHER_LIST,
    WRONG_KIND,
    TOO_LARGE,
    NO_KEY,
]


async def test_tampered_cursors_are_refused(api: Api) -> None:
    for argument in ("after", "before"):
        for cursor in TAMPERED:
            code, message = await api.refused(RUNS, **{argument: cursor})
            assert code == "INVALID_CURSOR", cursor
            assert message.startswith(f"{argument}: ")
            assert len(message) < 300


async def test_a_cursor_of_another_order_says_so(api: Api) -> None:
    _, message = await api.refused(RUNS, after=OTHER_ORDER)
    assert "belongs to another list or another order" in message


async def test_a_cursor_with_half_a_surrogate_pair_is_refused(api: Api) -> None:
    cursor = "WyJydW5zOmpvYl9uYW1lOmlkIiwiXHVkODAwIiwxXQ"
    code, _ = await api.refused(RUNS, after=cursor, order=[{"field": "JOB_NAME"}])
    assert code == "INVALID_CURSOR"


@pytest.mark.parametrize("text", ["tomorrow", "0001-01-01T00:00:00+14:00"], ids=["no time", "before all times"])
async def test_a_cursor_with_an_impossible_time_is_refused(api: Api, text: str) -> None:
    cursor = encode("runs", (OrderKey("available_at"), OrderKey("id")), (text, 1))
    code, message = await api.refused(RUNS, after=cursor, order=[{"field": "AVAILABLE_AT"}])
    assert code == "INVALID_CURSOR"
    assert "belongs to another" not in message


FILTERS: list[tuple[dict[str, Any], str]] = [
    ({"state": {"eq": "WAITING"}}, "abcd"),
    ({"state": {"ne": "WAITING"}}, ""),
    ({"state": {"in": ["RUNNING", "WAITING"]}, "priority": {"eq": "HIGH"}}, "b"),
    ({"state": {"in": []}}, ""),
    ({"state": {"notIn": []}}, "abcd"),
    ({"uniqueKey": {"eq": "K_1"}}, "b"),
    ({"uniqueKey": {"ne": "K_1"}}, "acd"),
    ({"uniqueKey": {"notIn": ["K_1"]}}, "acd"),
    ({"uniqueKey": {"isNull": True}}, "acd"),
    ({"uniqueKey": {"isNull": False}}, "b"),
    ({"uniqueKey": {"eq": None}}, "acd"),
    ({"uniqueKey": {"ne": None}}, "b"),
    ({"uniqueKey": {"contains": "k_"}}, "b"),
    ({"uniqueKey": {"contains": "_%"}}, ""),
    ({"group": {"startsWith": "MAIL"}}, "ab"),
    ({"group": {"contains": "%"}}, "d"),
    ({"availableAt": {"gt": "2026-03-01T12:00:00Z"}}, "c"),
    ({"availableAt": {"lte": "2026-03-01T14:00:00+02:00"}}, "abd"),
    ({"attempt": {"gte": 0, "lt": 1}}, "abcd"),
    ({"or": [{"group": {"eq": "mail"}}, {"priority": {"eq": "HIGH"}}]}, "ab"),
    ({}, "abcd"),
    ({"not": {"group": {"eq": "mail"}}}, "bcd"),
    ({"not": {"uniqueKey": {"eq": "K_1"}}}, "acd"),
    ({"and": [{"group": {"startsWith": "mail"}}], "not": {"or": [{"priority": {"eq": "HIGH"}}]}}, "a"),
    ({"group": {"eq": "mail", "ne": None}}, "a"),
]


@pytest.mark.parametrize(
    "condition",
    [
        {"contains": "äöü"},
        {"contains": "ÄÖÜ"},
        {"startsWith": "größe äÖÜ"},
        {"contains": "(ä"},
        {"contains": "[ö*] ?"},
        {"contains": "\\Ж^$.|-]"},
        {"contains": "ΣΊΣΥΦΟΣ"},
        {"contains": "ß"},
    ],
)
async def test_texts_are_found_in_any_case_of_any_letters(api: Api, condition: dict[str, str]) -> None:
    text = "Größe ÄÖÜ (Ä) [Ö*] ? \\ж^$.|-] σίσυφοσ"
    for description in (text, "Grosse AOU", "oe ue ae", "[x*] ?"):
        api.stored.enqueue(description=description)
    query = "query($f: RunFilter) { runs(filter: $f) { nodes { description } } }"
    found = (await api.ask(query, f={"description": condition}))["runs"]["nodes"]
    assert [run["description"] for run in found] == [text]


async def test_filters_find_what_they_say(api: Api) -> None:
    stored = api.stored
    runs = {
        "a": stored.enqueue(group="mail"),
        "b": stored.enqueue(group="mail-2", priority=Priority.HIGH, unique_key="K_1"),
        "c": stored.enqueue(available_at=stored.now.replace(hour=13)),
        "d": stored.enqueue(group="100%"),
    }
    for condition, expected in FILTERS:
        found = flat(await pages(api, filter=condition, size=50))
        assert sorted(found) == sorted(str(runs[letter].id) for letter in expected), condition


async def test_executions_are_filtered_by_outcome_duration_and_records(api: Api) -> None:
    worker = api.stored.node("w")
    for seconds, outcome in ((1, Succeeded(5)), (20, Failed("ValueError", "broken pipe")), (3, Succeeded())):
        api.stored.enqueue(retries=0)
        started = worker.start()
        api.stored.pass_time(seconds)
        worker.end(started, outcome)
    api.stored.enqueue()
    worker.start()
    cases = {
        "success: { eq: false }": ["20.0"],
        "outcome: { isNull: true }": ["None"],
        "outcome: { ne: FAILED }": ["1.0", "3.0", "None"],
        "duration: { gte: 3 }": ["20.0", "3.0"],
        "duration: { lt: 3 }": ["1.0"],
        "recordsProcessed: { gt: 4 }": ["1.0"],
        'errorMessage: { contains: "PIPE" }': ["20.0"],
        'completedAt: { lte: "2026-03-01T12:00:21Z" }': ["1.0", "20.0"],
    }
    for condition, expected in cases.items():
        data = await api.ask(f"{{ executions(filter: {{ {condition} }}) {{ nodes {{ duration }} }} }}")
        assert sorted(str(node["duration"]) for node in data["executions"]["nodes"]) == expected, condition
    by_duration = "executions(orderBy: [{ field: DURATION, direction: DESC }]) { nodes { duration } }"
    data = await api.ask(f"{{ {by_duration} }}")
    assert [node["duration"] for node in data["executions"]["nodes"]] == [None, 20.0, 3.0, 1.0]


async def test_executions_are_filtered_by_the_group_of_their_run_and_the_owner_of_their_task(api: Api) -> None:
    worker = api.stored.node("w")
    api.stored.task(name="owned", owner="channel:42")
    api.stored.pass_time(60)
    api.stored.enqueue(group="shop")
    api.stored.enqueue(group="media")
    for _ in range(api.stored.dispatch() + 2):
        worker.end(worker.start(), Succeeded())
    cases = {
        'group: { eq: "shop" }': ["shop"],
        'group: { ne: "shop" }': ["default", "media"],
        'owner: { eq: "channel:42" }': ["default"],
        "owner: { isNull: true }": ["media", "shop"],
        'group: { in: ["shop", "media"] }, owner: { isNull: false }': [],
    }
    for condition, expected in cases.items():
        data = await api.ask(f"{{ executions(filter: {{ {condition} }}) {{ nodes {{ group }} totalCount }} }}")
        assert sorted(node["group"] for node in data["executions"]["nodes"]) == expected, condition
        assert data["executions"]["totalCount"] == len(expected)


async def test_tasks_are_filtered_and_ordered(api: Api) -> None:
    for name, owner in (("b", "channel:1"), ("a", None), ("c", "channel:2")):
        api.stored.task(name=name, owner=owner)
    await api.ask('mutation { pauseTask(input: { name: "c" }) { errors { code } } }')
    queries = {
        "tasks": "cab",
        "tasks(orderBy: [{ field: NAME, direction: DESC }])": "cba",
        'tasks(filter: { owner: { startsWith: "channel:" } })': "cb",
        "tasks(filter: { isEnabled: { eq: false } })": "c",
        "tasks(filter: { isEnabled: { ne: false } }, orderBy: [{ field: ID }])": "ba",
        "tasks(filter: { pausedAt: { isNull: false } })": "c",
        "tasks(filter: { source: { eq: API } }, orderBy: [{ field: OWNER }, { field: NAME }])": "bca",
    }
    for query, expected in queries.items():
        data = await api.ask(f"{{ {query} {{ nodes {{ name }} }} }}")
        assert "".join(node["name"] for node in data["tasks"]["nodes"]) == expected, query


async def test_paused_tasks_are_found_by_the_next_time_that_they_do_not_show(api: Api) -> None:
    for name in ("due", "paused"):
        api.stored.task(name=name)
    await api.ask('mutation { pauseTask(input: { name: "paused" }) { errors { code } } }')
    shown = await api.ask("{ tasks { nodes { name nextExecutionAt } } }")
    (at,) = (node["nextExecutionAt"] for node in shown["tasks"]["nodes"] if node["name"] == "due")
    found = {
        "paused": ("isNull: true", "eq: null", f'ne: "{at}"', f'notIn: ["{at}"]'),
        "due": ("isNull: false", "ne: null", f'eq: "{at}"', f'in: ["{at}"]', f'gte: "{at}"'),
    }
    for name, condition in ((name, condition) for name, some in found.items() for condition in some):
        data = await api.ask(f"{{ tasks(filter: {{ nextExecutionAt: {{ {condition} }} }}) {{ nodes {{ name }} }} }}")
        assert [node["name"] for node in data["tasks"]["nodes"]] == [name], condition


@pytest.mark.parametrize("direction", ["ASC", "DESC"])
async def test_tasks_are_ordered_by_the_next_time_that_they_show(api: Api, direction: str) -> None:
    for name in ("paused first", "due", "paused last", "due later"):
        api.stored.task("0 0 0 1 1 *" if name == "due later" else "* * * * * *", name=name)
    for name in ("paused first", "paused last"):
        await api.ask(f'mutation {{ pauseTask(input: {{ name: "{name}" }}) {{ errors {{ code }} }} }}')
    due = ["due", "due later", "paused first", "paused last"]
    for filter, expected in {"": due, "filter: { isEnabled: { eq: true } }": due[:2]}.items():
        found: list[str] = []
        page: dict[str, Any] = {"endCursor": None, "hasNextPage": True}
        while page["hasNextPage"]:
            behind = json.dumps(page["endCursor"])
            data = await api.ask(
                f"{{ tasks(orderBy: [{{ field: NEXT_EXECUTION_AT, direction: {direction} }}], {filter}, first: 1, "
                f"after: {behind}) {{ nodes {{ name }} pageInfo {{ endCursor hasNextPage }} }} }}"
            )
            found += [node["name"] for node in data["tasks"]["nodes"]]
            page = data["tasks"]["pageInfo"]
        assert found == (expected if direction == "ASC" else expected[::-1])


async def test_the_count_is_of_the_whole_list_and_meets_the_filter(api: Api, five: list[str]) -> None:
    data = await api.ask(
        "{ runs(first: 1) { totalCount } urgent: runs(filter: { priority: { eq: HIGH } }, first: 1) { totalCount } }"
    )
    assert data == {"runs": {"totalCount": len(five)}, "urgent": {"totalCount": 2}}


FAULTY: list[tuple[dict[str, Any], str]] = [
    ({"id": {"eq": "x"}}, "filter.id: must be an id as this API gives them, a decimal number, got 'x'"),
    ({"id": {"in": ["1", "99999999999999999999"]}}, "a decimal number, got '99999999999999999999'"),
    ({"jobName": {"eq": "a\x00b"}}, "filter.jobName: must not contain U+0000"),
    ({"jobName": {"contains": "x" * 1001}}, "must have at most 1000 characters, got 1001"),
    ({"group": {"in": ["x"] * 1001}}, "filter: must compare with at most 1000 values in all, got 1001"),
]


async def test_faulty_filters_are_refused(api: Api) -> None:
    for condition, message in FAULTY:
        code, got = await api.refused(RUNS, filter=condition)
        assert code == "INVALID_INPUT"
        assert message in got


async def test_no_more_than_four_fields_make_an_order(api: Api) -> None:
    code, message = await api.refused(RUNS, order=[{"field": "ID"}] * 5)
    assert (code, message) == ("INVALID_INPUT", "orderBy: must have at most 4 fields, got 5")


async def test_lists_of_a_task_have_pages_of_their_own(api: Api) -> None:
    for name in ("a", "b"):
        api.stored.task("* * * * * *", name=name)
    worker = api.stored.node("w")
    for second in range(1, 4):
        api.stored.at(second)
        api.stored.dispatch()
        for started in worker.take(2).started:
            worker.end(started)
    query = """
    query($after: String) { tasks { nodes { name
      runs(first: 2, after: $after) { nodes { scheduledFor } pageInfo { hasNextPage endCursor } totalCount } } } }
    """
    first = (await api.ask(query))["tasks"]["nodes"]
    assert [len(task["runs"]["nodes"]) for task in first] == [2, 2]
    assert [task["runs"]["totalCount"] for task in first] == [3, 3]
    assert all(task["runs"]["pageInfo"]["hasNextPage"] for task in first)
    second_page = (await api.ask(query, after=first[0]["runs"]["pageInfo"]["endCursor"]))["tasks"]["nodes"]
    assert second_page[0]["runs"]["nodes"] == [{"scheduledFor": "2026-03-01T12:00:01Z"}]


async def test_occurrences_show_runs_and_skips_in_one_list(api: Api) -> None:
    api.stored.task("* * * * * *")
    worker = api.stored.node("w")
    # The first runs until 3.5, so 2 and 3 are skipped; 4 runs; 5 is skipped.
    api.stored.at(1)
    api.stored.dispatch()
    started = worker.start()
    for second in (2, 3):
        api.stored.at(second)
        api.stored.dispatch()
    worker.end(started)
    for second in (4, 5):
        api.stored.at(second)
        api.stored.dispatch()
    query = """
    query($first: Int, $after: String, $last: Int, $before: String) { tasks { nodes {
      occurrences(first: $first, after: $after, last: $last, before: $before) {
        nodes {
          __typename ... on Run { scheduledFor state } ... on SkippedOccurrence { lastScheduledFor reason count }
        } totalCount
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } } }
    """

    async def occurrences(**paging: Any) -> dict[str, Any]:
        found: dict[str, Any] = (await api.ask(query, **paging))["tasks"]["nodes"][0]["occurrences"]
        return found

    everything = await occurrences()
    newest = [
        (one["__typename"], (one.get("scheduledFor") or one["lastScheduledFor"])[-3:-1]) for one in everything["nodes"]
    ]
    assert newest == [("SkippedOccurrence", "05"), ("Run", "04"), ("SkippedOccurrence", "03"), ("Run", "01")]
    assert (everything["nodes"][2]["reason"], everything["nodes"][2]["count"]) == ("OVERLAP", 2)
    assert everything["totalCount"] == 4
    walked: list[dict[str, Any]] = []
    page = await occurrences(first=1)
    while True:
        walked += page["nodes"]
        if not page["pageInfo"]["hasNextPage"]:
            break
        page = await occurrences(first=1, after=page["pageInfo"]["endCursor"])
    assert walked == everything["nodes"]
    page = await occurrences(last=3)
    assert page["nodes"] == everything["nodes"][1:]
    page = await occurrences(last=3, before=page["pageInfo"]["startCursor"])
    assert page["nodes"] == everything["nodes"][:1]
    assert not page["pageInfo"]["hasPreviousPage"]
