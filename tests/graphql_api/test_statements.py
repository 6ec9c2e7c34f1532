"""N+1 free: the number of SQL statements of a query does not grow with its rows."""

import pytest

from cronograph.jobs.actions.runs import put
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.core.outcome import Failed, Succeeded
from tests.graphql_api.api import Api, counted_statements

pytestmark = pytest.mark.both_databases  # the statements themselves are counted

TASKS = """
query($n: Int!) {
  tasks(first: $n) {
    totalCount
    nodes {
      name isJobKnown isStalled
      job { name nodes tasks(first: 1) { totalCount nodes { name } } }
      schedule { humanized nextExecutions(count: 3) }
      lastStatus { id outcome run { id task { name } } logLines(first: 5) { lines { message } cut } }
      explain { sentence run { state } }
      occurrences(first: 5) { nodes { ... on Run { id } ... on SkippedOccurrence { reason run { id } } } totalCount }
      executions(first: 3) { nodes { id duration } totalCount }
      runs(first: 2, filter: { state: { ne: WAITING } }) { nodes { id explain { sentence } retriedFrom { id } } }
      skippedOccurrences(first: 2) { nodes { reason run { id } task { id } } totalCount }
    }
  }
}
"""
RUNS = """
query($n: Int!) {
  runs(first: $n) {
    totalCount
    edges {
      node { id explain { code } task { name lastStatus { id } } executions(first: 2) { nodes { id } } }
    }
  }
  executions(first: $n) { nodes { id task { name } run { id group } logLines(first: 2) { lines { line } } } }
  jobLogs(limit: $n) { run { task { job { executions(first: 1) { nodes { id } } } } } }
}
"""

MOST = 40
"""Statements: about one for each place in these documents that needs one."""


@pytest.mark.costly
@pytest.mark.parametrize("document", [TASKS, RUNS], ids=["tasks", "runs"])
async def test_the_number_of_statements_does_not_grow_with_the_rows(api: Api, document: str) -> None:
    stored = api.stored
    for number in range(100):
        stored.task("* * * * * *", name=f"task-{number:03}", retries=0)
    worker = stored.node("w", slots=200)
    stored.at(1)
    stored.dispatch()
    for place, started in enumerate(worker.take(100).started):
        worker.end(started, Failed("ValueError", "no") if place % 2 else Succeeded())
    for second in (2, 3):
        stored.at(second)
        stored.dispatch()
    counts: dict[int, int] = {}
    for rows in (1, 10, 100):
        with counted_statements() as sent:
            await api.ask(document, n=rows)
        counts[rows] = len([statement for statement in sent if "SELECT" in statement.upper()])
    # A key that several places ask for may be read with the one or with the other; the places bound the statements.
    assert max(counts.values()) <= MOST, counts


@pytest.mark.costly
async def test_what_is_not_asked_for_is_not_read(api: Api) -> None:
    api.stored.enqueue()
    with counted_statements() as sent:
        await api.ask("{ runs(first: 10) { totalCount } }")
    assert len([statement for statement in sent if "count(" in statement.lower()]) == 1
    assert len([statement for statement in sent if "FROM run" in statement]) == 1
    with counted_statements() as sent:
        await api.ask("{ runs(first: 10) { nodes { id } pageInfo { hasNextPage } edges { cursor } } }")
    assert len([statement for statement in sent if "FROM run" in statement]) == 1


async def test_the_depth_of_a_group_is_counted_only_when_asked_for(api: Api) -> None:
    for name in "abc":
        api.stored.enqueue(group=name)
    with counted_statements() as sent:
        await api.ask("{ groups { nodes { name isPaused } } }")
    assert not [statement for statement in sent if "count(" in statement.lower()]
    with counted_statements() as sent:
        await api.ask("{ groups { nodes { name waiting running stuck scheduled oldestWait } } }")
    assert len([statement for statement in sent if "count(" in statement.lower()]) == 1


async def test_only_the_groups_of_the_page_are_counted_and_all_of_them_at_once(api: Api) -> None:
    for number in range(30):
        api.stored.enqueue(group=f"group-{number:02}")
    document = (
        "query($n: Int!) { groups(first: $n) { nodes { name waiting stuck oldestWait } pageInfo { endCursor } } }"
    )
    counts: dict[int, int] = {}
    for rows in (1, 30):
        with counted_statements() as sent:
            await api.ask(document, n=rows)
        counts[rows] = len([statement for statement in sent if "FROM run" in statement])
    assert counts == {1: 3, 30: 3}


BULK = {
    "setRunPriorities": "priority: HIGH",
    "cancelRuns": 'reason: "enough"',
    "retryRuns": "",
}
"""Mutations of many runs by filter, in an order in which each finds all of them."""


@pytest.mark.costly
async def test_the_number_of_statements_of_a_bulk_mutation_does_not_grow_with_its_runs(api: Api) -> None:
    # The statements of the mutations alone count: the bus stands, and its last round has let go of the publisher's row.
    await api.bus.stop()
    await api.bus.look()
    counts: dict[int, list[int]] = {}
    # The first mutation of all begins the audit log.
    for many in (1, 3, 900):
        api.stored.do(put, [NewRun("work", Trigger.API, group=f"g{many}") for _ in range(many)])
        counts[many] = []
        for mutation, more in BULK.items():
            chosen = f'runs: {{ filter: {{ group: {{ eq: "g{many}" }} }} }}'
            with counted_statements() as sent:
                answer = await api.ask(f"mutation {{ it: {mutation}(input: {{ {chosen} {more} }}) {{ count }} }}")
            assert answer["it"]["count"] == many
            counts[many].append(len(sent))
    assert counts[900] == counts[3]
